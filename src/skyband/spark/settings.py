"""Settings of somebody else's session that cost: `over()` says so, once for each session."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("skyband")
PARTITIONS = "spark.sql.shuffle.partitions"
ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MANY_PARTITIONS = 32
FEW_ROWS = 50_000
_told: set[tuple[str, str]] = set()


def warn_about_settings(df: DataFrame) -> None:
    """Batch and stream pay for small Arrow batches; a stream for shuffle partitions and for the default state store."""
    spark = df.sparkSession
    rows = int(_value(spark, ARROW_ROWS, "10000"))
    if 0 < rows < FEW_ROWS:
        _say(ARROW_ROWS, str(rows), "rows leave the JVM in small batches; 100000 is 40 % faster")
    if not df.isStreaming:
        return
    partitions = int(_value(spark, PARTITIONS, "200"))
    if partitions >= MANY_PARTITIONS:
        cost = "every micro-batch pays for each (13 s for 200 on two cores); set it to the number of cores before the"
        _say(PARTITIONS, str(partitions), f"{cost} first start")
    provider = _value(spark, PROVIDER, "HDFSBackedStateStoreProvider")
    if "RocksDB" not in provider:
        _say(PROVIDER, provider, f"transformWithState needs {ROCKSDB}, or the stream will not start")
    elif _value(spark, CHANGELOG, "false") != "true":
        _say(CHANGELOG, "false", "every micro-batch writes whole files of state; true writes what changed")


def _value(spark: SparkSession, name: str, default: str) -> str:
    return spark.conf.get(name, default) or default


def _say(name: str, value: str, said: str) -> None:
    if (name, value) not in _told:
        _told.add((name, value))
        log.warning("%s is %s: %s", name, value, said)
