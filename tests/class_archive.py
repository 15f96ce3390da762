"""Spark's classes, read and checked once: half of what a JVM does until it has answered a first query is that.

Dozens of JVMs are started here. `python -m tests.class_archive` writes what they share, and `make test` calls it before
the first; those that start without it, or with other jars, go without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn256m"
"""JVMs live for half a minute each: code that is compiled fast serves them better than fast code, and what they make by
then is mostly gone when it is first looked for."""


def use() -> None:
    """Let every JVM that is started from here take its classes from the archive, if it can."""
    os.environ.setdefault("JDK_JAVA_OPTIONS", f"{QUICK} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable")


def write() -> None:
    unfinished = ARCHIVE.with_suffix(f".{os.getpid()}")
    os.environ |= {"SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={unfinished}", "JDK_JAVA_OPTIONS": QUICK}
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    gateway: Any = session.sparkContext._gateway
    with TemporaryDirectory() as name:
        session.range(10).write.parquet(f"{name}/in")
        records = session.readStream.schema("id long").parquet(f"{name}/in").dropDuplicates()
        stream = records.writeStream.format("noop").option("checkpointLocation", f"{name}/checkpoint")
        stream.trigger(availableNow=True).start().awaitTermination()
    session.stop()
    gateway.proc.stdin.close()  # It leaves with its parent, and writes then.
    gateway.proc.wait()
    unfinished.rename(ARCHIVE)


if __name__ == "__main__":
    write()
