"""Streams made by a Python function, such as the built-in market, as a Spark data source for batch and streaming."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from skyband.errors import SkybandError

Tables = Callable[[Mapping[str, str]], Iterator[pa.Table]]
"""The same options give the same tables; a stream reads one after the other."""
_running: dict[tuple[object, ...], tuple[int, Iterator[pa.Table]]] = {}


def register(spark: SparkSession, name: str, schema: pa.Schema, tables: Tables) -> None:
    """Let `spark.read.format(name)` and `spark.readStream.format(name)` give these tables."""
    columns = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    spark.dataSource.register(
        type(name, (_Source,), {"label": name, "columns": columns, "tables": staticmethod(tables)})
    )


def check_options(name: str, tables: Tables, options: Mapping[str, str]) -> None:
    """What is wrong with the options is said before a worker stumbles over it."""
    try:
        tables(options)
        for each in ("speed", "ahead", "seconds"):
            float(options.get(each, "1"))
    except ValueError as error:
        raise SkybandError(f"{name}://: {error}", expected=f"numbers, as in {name}://?seconds=60&rate=100") from None


class _Source(DataSource):
    label: ClassVar[str]
    columns: ClassVar[StructType]
    tables: ClassVar[Tables]

    @classmethod
    def name(cls) -> str:
        return cls.label

    def schema(self) -> StructType:
        return self.columns

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(type(self).tables, dict(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _StreamReader(type(self).tables, dict(self.options))


class _Reader(DataSourceReader):
    def __init__(self, tables: Tables, options: dict[str, str]) -> None:
        self.tables, self.options = tables, options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for table in self.tables(self.options):
            yield from table.to_batches()


class _StreamReader(DataSourceStreamReader):
    """An offset is the number of tables given out. `ahead` of them are there at once, then `speed` more become due each
    second; 1 unless said otherwise."""

    def __init__(self, tables: Tables, options: dict[str, str]) -> None:
        self.tables, self.options = tables, options
        self.speed = float(options.get("speed", "1"))
        self.ahead = int(options.get("ahead", "1"))
        self.began: tuple[float, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"tables": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        now = time.monotonic()
        if self.began is None:
            self.began = now, int(start["tables"])
        due = self.began[1] + self.ahead + int((now - self.began[0]) * self.speed)
        last = int(float(self.options.get("seconds", "inf"))) if "seconds" in self.options else due
        return {"tables": max(int(start["tables"]), min(due, last) if self.speed else last)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition((start["tables"], end["tables"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first, last = partition.value
        for table in _between(self.tables, self.options, first, last):
            yield from table.to_batches()


def _between(tables: Tables, options: dict[str, str], first: int, last: int) -> Iterator[pa.Table]:
    """Tables `first` up to `last`: going on where this worker stopped, or from the beginning again."""
    key = (tables.__module__, tables.__qualname__, *sorted(options.items()))
    at, stream = _running.pop(key, (0, iter(())))
    if at != first or not at:
        stream = islice(tables(options), first, None)
    yield from islice(stream, last - first)
    _running[key] = last, stream
