"""The pipeline on Spark: prune, maintain, unpack. The only room that imports PySpark."""

from skyband.spark.pipeline import over

__all__ = ["over"]
