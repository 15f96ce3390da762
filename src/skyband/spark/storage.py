"""Files wherever Spark keeps them: local, HDFS, object stores. Through Hadoop's FileSystem, so that paths mean the same
as in Spark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


class Storage:
    """A path and what can be asked of it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark._jvm
        self._spark = spark
        self.path = jvm.org.apache.hadoop.fs.Path(path)
        self.system = self.path.getFileSystem(spark._jsc.hadoopConfiguration())

    def __truediv__(self, name: str) -> Storage:
        return Storage(self._spark, f"{self.path.toString()}/{name}")

    def __str__(self) -> str:
        return str(self.path.toString())

    def exists(self) -> bool:
        return bool(self.system.exists(self.path))

    def matches(self) -> int:
        """How many files or folders the path names, taken as a pattern."""
        return len(self.system.globStatus(self.path) or ())

    def names(self) -> list[str]:
        """What lies in the folder; nothing if it is not there."""
        return [entry.getPath().getName() for entry in self.system.listStatus(self.path)] if self.exists() else []

    def read(self) -> str:
        stream = self.system.open(self.path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, text: str) -> None:
        """Whole or not at all: written beside, then renamed."""
        beside = self.path.suffix(".new")
        stream = self.system.create(beside, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.system.delete(self.path, False)
        self.system.rename(beside, self.path)

    def delete(self) -> None:
        self.system.delete(self.path, True)
