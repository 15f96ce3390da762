"""Fill and read Kafka topics from a process of its own: `python -m tests.spark.topics VERB SERVER TOPIC FILE ...`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession, functions as f

from skyband.spark.maven import KAFKA, connector
from skyband.spark.session import session
from skyband.spark.sinks import MOMENTS


def fill(spark: SparkSession, server: str, topic: str, path: str) -> None:
    """A JSON value for each row of a Parquet file, in its order."""
    rows = spark.read.parquet(path).coalesce(1)
    values = rows.select(f.to_json(f.struct(*rows.columns), MOMENTS).alias("value"))
    values.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


def read(spark: SparkSession, server: str, topic: str, path: str) -> None:
    """Key, value and offset of everything in the topic, as Parquet."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", topic)
    rows = reader.load().selectExpr("cast(key as string) key", "cast(value as string) value", "offset")
    rows.coalesce(1).write.parquet(path)


if __name__ == "__main__":
    verb, server, topic, path, *packages = sys.argv[1:]
    {"fill": fill, "read": read}[verb](session(False, packages or [connector(KAFKA)], "local[1]"), server, topic, path)
