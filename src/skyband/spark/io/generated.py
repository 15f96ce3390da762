"""Streams made by a Python function, such as the built-in market, as Spark data sources for batch and streaming: one of
the records, and one of nothing but the numbers of the tables, which tasks make themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from skyband.errors import SkybandError
from skyband.spark.compatible import is_everything, most_rows

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

Tables = Callable[[Mapping[str, str]], Iterator[pa.Table]]
"""The same options give the same tables; a stream reads one after the other."""
MOST_SECONDS = "5"
"""What becomes due in so many seconds is the most that a micro-batch takes, unless `most` says otherwise."""
MOST_TABLES = 600
"""That a micro-batch takes where there is no such time."""
RANGES = "_tables"
"""Behind the name of a source: which tables there are, from one number up to another."""
FIRST, LAST = "first", "last"
PREPARED = "prepared"
_running: dict[tuple[object, ...], tuple[int, Iterator[pa.Table]]] = {}


def register(spark: SparkSession, name: str, schema: pa.Schema, tables: Tables) -> None:
    """Let `spark.read.format(name)` and `spark.readStream.format(name)` give these tables."""
    given: Mapping[str, tuple[type[_Source], pa.Schema]]
    given = {name: (_Source, schema), name + RANGES: (_Ranges, pa.schema({FIRST: pa.int64(), LAST: pa.int64()}))}
    for label, (kind, columns) in given.items():
        known = {"label": label, "columns": from_arrow_schema(columns, prefer_timestamp_ntz=True)}
        spark.dataSource.register(type(label, (kind,), known | {"tables": staticmethod(tables)}))


def check_options(name: str, tables: Tables, options: Mapping[str, str]) -> None:
    """What is wrong with the options is said before a worker stumbles over it."""
    try:
        tables(options)
        for each in ("speed", "ahead", "most", "seconds"):
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


class _Ranges(_Source):
    """What there is to make."""

    def reader(self, schema: StructType) -> DataSourceReader:
        return _AllTables()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _RangesReader(type(self).tables, dict(self.options))


class _AllTables(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield _range(0, None)


class _Reader(DataSourceReader):
    def __init__(self, tables: Tables, options: dict[str, str]) -> None:
        self.tables, self.options = tables, options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for table in self.tables(self.options):
            yield from table.to_batches()


class Pace:
    """How many tables are due. `ahead` of them are there at once, then `speed` more each second (all there are, if 0);
    but a micro-batch gets those of `most` seconds, and while one takes longer, time stands still: nothing piles
    up behind workers that still compile, or behind a machine that is too slow."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.speed = float(options.get("speed", "1"))
        self.ahead = int(options.get("ahead", "1"))
        self.end = int(float(options["seconds"])) if "seconds" in options else None
        seconds = float(options.get("most", MOST_SECONDS))
        self.most = max(self.ahead, int(self.speed * seconds)) if self.speed else MOST_TABLES
        self._due: float | None = None
        self._asked = 0.0

    def due(self, given: int, now: float, everything: bool = False) -> int:
        """How many there are by now, of which so many were given out; `everything` where that is asked for at once."""
        if everything and not self.speed and self.end is not None:
            return self.end
        if self._due is None:
            self._due = given + self.ahead
        elif self.speed:
            self._due = min(self._due + (now - self._asked) * self.speed, given + self.most)
        self._asked = now
        due = int(self._due) if self.speed else given + self.most
        return max(given, due if self.end is None else min(due, self.end))


class _StreamReader(DataSourceStreamReader):
    """An offset is the number of tables given out. With `prepare` there is first a micro-batch without any, after every
    start (the offset counts them): it begins what a micro-batch takes, and the time of the stream stands still."""

    def __init__(self, tables: Tables, options: dict[str, str]) -> None:
        self.tables, self.options = tables, options
        self.pace = Pace(options)
        self.reached = {"tables": 0}
        self.prepared = "prepare" not in options or not self.pace.speed

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"tables": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The pace is the limit; only `--once` asks for everything."""
        return most_rows(self.pace.most)

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, int]:
        """Spark 4.1 does not say from where, but has asked for the partitions up to there."""
        before = self.reached if start is None else start
        if not self.prepared:
            self.prepared = True
            return {**before, PREPARED: before.get(PREPARED, 0) + 1}
        return {**before, "tables": self.pace.due(int(before["tables"]), time.monotonic(), is_everything(limit))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        self.reached = end
        return [InputPartition((start["tables"], end["tables"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first, last = partition.value
        for table in between(self.tables, self.options, first, last):
            yield from table.to_batches()


class _RangesReader(_StreamReader):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield _range(*partition.value)


def _range(first: int, last: int | None) -> pa.RecordBatch:
    return pa.record_batch({FIRST: pa.array([first], pa.int64()), LAST: pa.array([last], pa.int64())})


def between(tables: Tables, options: Mapping[str, str], first: int, last: int | None) -> Iterator[pa.Table]:
    """Tables `first` up to `last`, or to the end: going on where this worker stopped, passing over what others made
    meanwhile; from the beginning again where that is behind it."""
    key = (tables.__module__, tables.__qualname__, *sorted(options.items()))
    at, stream = _running.pop(key, (0, None))
    if stream is None or at > first:
        at, stream = 0, tables(options)
    next(islice(stream, first - at, first - at), None)
    yield from stream if last is None else islice(stream, last - first)
    if last is not None:
        _running[key] = last, stream
