"""What somebody else's session has: how many cores; and settings that cost, of which `over()` says so, once for each
session. And what only a checkpoint's place tells."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("skyband")
PARTITIONS = "spark.sql.shuffle.partitions"
ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
PLAIN_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
MANY_PARTITIONS = 32
FEW_ROWS = 50_000
CORES = 8
"""Where nobody says how many there are."""
_told: set[tuple[str, str]] = set()


def cores(spark: SparkSession) -> int:
    context = getattr(spark, "_sc", None)  # none with Spark Connect
    return CORES if context is None else int(context.defaultParallelism)


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


def suit_checkpoint(spark: SparkSession, path: str) -> None:
    """On a disk Spark starts 40 processes in every micro-batch, 32 of them to ask whether a file of the checkpoint is a
    link. Its other way to write one asks nobody, and a rename is as much one step there. Elsewhere it may not be: HDFS
    and the like keep the usual way, and so does a session where somebody chose."""
    if spark.conf.get(FILE_MANAGER, None) is None and _on_disk(spark, path):
        try:
            _jvm(spark).java.lang.Class.forName(PLAIN_FILES)
        except Py4JError:
            return  # Another release of Spark has it by another name: slower, and as right.
        spark.conf.set(FILE_MANAGER, PLAIN_FILES)


def _on_disk(spark: SparkSession, path: str) -> bool:
    """Of this machine, or mounted like one. Nobody is asked who has it: a place that does not answer is told later."""
    hadoop = _jvm(spark).org.apache.hadoop.fs
    usual = hadoop.FileSystem.getDefaultUri(spark._jsc.hadoopConfiguration()).getScheme()
    return bool((hadoop.Path(path).toUri().getScheme() or usual) == "file")


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm


def use_this_python(df: DataFrame) -> None:
    """Workers of a local session run the `python3` on PATH unless somebody chose: in a virtual environment that is not
    activated that is another one, without skyband. On a cluster only its operator can choose."""
    context = getattr(df.sparkSession, "_sc", None)  # none with Spark Connect
    if context is None or "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python"):
        return
    if _is_this_python(shutil.which(context.pythonExec)):
        return
    if context.master.startswith("local"):
        context.pythonExec = sys.executable
    else:
        _say("PYSPARK_PYTHON", "not set", f"executors run their own {context.pythonExec}, which needs skyband as well")


def _is_this_python(path: str | None) -> bool:
    """Not only the same program: an environment is known by the path it was called by."""
    return path is not None and os.path.abspath(path) == os.path.abspath(sys.executable)


def _value(spark: SparkSession, name: str, default: str) -> str:
    return spark.conf.get(name, default) or default


def _say(name: str, value: str, said: str) -> None:
    if (name, value) not in _told:
        _told.add((name, value))
        log.warning("%s is %s: %s", name, value, said)
