"""A small local Spark, started once and only when a test asks for it; and files that take long before the others."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A zone far from UTC, with summer time: what the SQL means must not depend on it.
ZONE = "Pacific/Auckland"
# Counters and cards are those of the engines themselves: tests of what stands in for them say so.
os.environ.setdefault("SKYBAND_COMPILE", "first")
SETTINGS = {
    "spark.ui.enabled": "false",
    # As `skyband run` does; and with one daemon of workers instead of two (see `warm_command.py`).
    "spark.python.daemon.module": "skyband.spark.daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": ZONE,
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
class_archive.use()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take file by file: one that took a long one last would let the others wait."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own, about pandas 3
        from pyspark.sql import SparkSession

        from skyband.spark.interpreter import interpreter, of_the_driver

        python = interpreter()
        builder = SparkSession.builder.master("local[2]")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        with of_the_driver(python):
            session = builder.getOrCreate()
        if python is not None:
            session.sparkContext.pythonExec = python
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
