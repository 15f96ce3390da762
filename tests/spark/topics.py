"""Fill and read Kafka topics, in a process whose JVM has the connector: the fixture `topics` asks it.

python -m tests.spark.topics ANSWERS SERVER, and then a line for every verb, with its topic and files.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions as f
from pyspark.sql.avro.functions import from_avro, to_avro

from skyband.spark.io.maven import AVRO, KAFKA, connector
from skyband.spark.io.sinks import MOMENTS
from skyband.spark.session import session


def fill(spark: SparkSession, server: str, topic: str, path: str) -> None:
    """A JSON value for each row of a Parquet file, in its order."""
    rows = spark.read.parquet(path).coalesce(1)
    values = rows.select(f.to_json(f.struct(*rows.columns), MOMENTS).alias("value"))
    values.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


def fill_both(spark: SparkSession, server: str, topic: str, path: str, schema: str) -> None:
    """The same rows twice: as JSON, and as Avro in a topic of its own; in front of each what is neither."""
    wrong = spark.createDataFrame([(bytearray(b'{"ts":'),), (None,)], "value BINARY")
    wrong.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()
    fill(spark, server, topic, path)
    fill_avro(spark, server, f"{topic}_avro", path, schema)


def fill_avro(spark: SparkSession, server: str, topic: str, path: str, schema: str) -> None:
    """An Avro value for each row of a Parquet file, in its order, and in front one that is none."""
    rows = spark.read.parquet(path).coalesce(1)
    values = rows.select(to_avro(f.struct(*rows.columns), Path(schema).read_text()).alias("value"))
    wrong = spark.createDataFrame([(bytearray(b"\xff"),)], "value BINARY")
    for each in (wrong, values):
        each.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


def fill_values(spark: SparkSession, server: str, topic: str, path: str) -> None:
    """The values of a Parquet file as they are, in its order."""
    values = spark.read.parquet(path).coalesce(1)
    values.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


def judge(spark: SparkSession, server: str, path: str, schema: str, to: str) -> None:
    """What Spark's `from_avro` makes of the values of a Parquet file, as another one, in their order."""
    record = from_avro(f.col("value"), Path(schema).read_text(), {"mode": "PERMISSIVE"})
    spark.read.parquet(path).coalesce(1).select(record.alias("record")).select("record.*").write.parquet(to)


def read(spark: SparkSession, server: str, topic: str, path: str) -> None:
    """Key, value and offset of everything in the topic, as Parquet."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", topic)
    rows = reader.load().selectExpr("cast(key as string) key", "cast(value as string) value", "offset")
    rows.coalesce(1).write.parquet(path)


COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
"""The last value of a key is kept; of what is not being written to any more, and that soon."""


def compacted(spark: SparkSession, server: str, topic: str) -> None:
    """A new topic of that kind."""
    java: Any = spark.sparkContext._jvm
    settings = java.java.util.Properties()
    settings.put("bootstrap.servers", server)
    admin = java.org.apache.kafka.clients.admin.Admin.create(settings)
    new = java.org.apache.kafka.clients.admin.NewTopic(topic, 1, 1).configs(COMPACTED)
    admin.createTopics([new]).all().get()
    admin.close()


def finish(spark: SparkSession, server: str, topic: str) -> None:
    """One message more, of no row: what was written before is not written to any more."""
    time.sleep(0.2)
    last = spark.createDataFrame([("#end", "{}")], "key STRING, value STRING")
    last.write.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


def serve(answers: int, server: str) -> None:
    spark = session(False, [connector(KAFKA), connector(AVRO)], "local[1]")
    verbs: dict[str, Callable[..., None]] = {
        each.__name__: each for each in (fill, fill_both, fill_values, judge, read, compacted, finish)
    }
    for line in sys.stdin:
        verb, *words = json.loads(line)
        verbs[verb](spark, server, *words)
        os.write(answers, b"0")


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
