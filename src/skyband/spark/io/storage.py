"""Files wherever Spark keeps them: local, HDFS, object stores. Through Hadoop's FileSystem, so that paths mean the same
as in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


class Storage:
    """A path and what can be asked of it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark._jvm
        self.spark = spark
        self.path = jvm.org.apache.hadoop.fs.Path(path)
        self.system = self.path.getFileSystem(spark._jsc.hadoopConfiguration())

    @classmethod
    def at(cls, spark: SparkSession, address: str) -> Storage:
        """By an address in which odd letters are written as %20 and so on."""
        jvm: Any = spark._jvm
        return cls(spark, jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address)).toString())

    def __truediv__(self, name: str) -> Storage:
        return Storage(self.spark, f"{self.path.toString()}/{name}")

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
        jvm: Any = self.spark._jvm
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

    @property
    def scheme(self) -> str:
        return str(self.system.getUri().getScheme())

    def on_disk(self) -> Path | None:
        """The path where the file system is this machine's."""
        whole = self.system.makeQualified(self.path).toUri()
        return Path(str(whole.getPath())) if whole.getScheme() == "file" else None

    def fill(self, text: str) -> None:
        """Write it; a reader may see it half written, but in an object store."""
        stream = self.system.create(self.path, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def replace(self, other: Storage) -> None:
        """Take the other's place: one step, where the file system has one."""
        jvm: Any = self.spark._jvm
        gateway: Any = self.spark.sparkContext._gateway
        hadoop = jvm.org.apache.hadoop.fs
        how = gateway.new_array(hadoop.Options.Rename, 1)
        how[0] = hadoop.Options.Rename.OVERWRITE
        context = hadoop.FileContext.getFileContext(self.system.getUri(), self.system.getConf())
        context.rename(self.path, other.path, how)

    def move(self, other: Storage) -> None:
        """To where nothing is yet, in one step but in object stores."""
        other.system.mkdirs(other.path.getParent())
        if not self.system.rename(self.path, other.path):
            raise OSError(f"{self} cannot be renamed to {other}")

    def files(self) -> Iterator[str]:
        """Every file below, by its path from here."""
        if not self.exists():
            return
        root, found = str(self.system.makeQualified(self.path).toString()), self.system.listFiles(self.path, True)
        while found.hasNext():
            yield str(found.next().getPath().toString()).removeprefix(root).lstrip("/")

    def size(self) -> int:
        """Bytes of all files below."""
        return int(self.system.getContentSummary(self.path).getLength())

    def delete(self) -> None:
        self.system.delete(self.path, True)
