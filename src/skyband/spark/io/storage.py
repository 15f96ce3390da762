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

    @classmethod
    def at(cls, spark: SparkSession, address: str) -> Storage:
        """By an address in which odd letters are written as %20 and so on."""
        jvm: Any = spark._jvm
        return cls(spark, jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address)).toString())

    def __truediv__(self, name: str) -> Storage:
        return Storage(self._spark, f"{self.path.toString()}/{name}")

    def __str__(self) -> str:
        return str(self.path.toString())

    def exists(self) -> bool:
        return bool(self.system.exists(self.path))

    def is_folder(self) -> bool:
        return self.exists() and bool(self.system.getFileStatus(self.path).isDirectory())

    def matches(self) -> int:
        """How many files or folders the path names, taken as a pattern."""
        return len(self.system.globStatus(self.path) or ())

    def names(self) -> list[str]:
        """What lies in the folder; nothing if it is not there."""
        return [entry.getPath().getName() for entry in self.system.listStatus(self.path)] if self.exists() else []

    def read(self) -> str:
        return self.content().decode()

    def content(self) -> bytes:
        stream = self.system.open(self.path)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def first_line(self, encoding: str, comment: str | None = None) -> str:
        """Of a text, compressed or not: the first that is neither empty nor a comment."""
        jvm: Any = self._spark._jvm
        codecs = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(self.system.getConf())
        codec, stream = codecs.getCodec(self.path), self.system.open(self.path)
        plain = stream if codec is None else codec.createInputStream(stream)
        lines = jvm.java.io.BufferedReader(jvm.java.io.InputStreamReader(plain, encoding))
        try:
            while (line := lines.readLine()) is not None:
                text = str(line).lstrip("\ufeff")
                if text.strip() and not (comment and text.startswith(comment)):
                    return text
            return ""
        finally:
            lines.close()

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
