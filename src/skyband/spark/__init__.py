"""The pipeline on Spark: prune, maintain, unpack. The only room that imports PySpark."""
