"""Where the records of a stream come from, and which way they take into Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

from pyspark.sql import Column, DataFrame, functions as f

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.runtime.time_ranges import Reach
from skyband.spark.event_time import clock_columns, quoted
from skyband.spark.stages.prune import ENCODED_DDL, SLICE, Prune
from skyband.spark.stages.push_down import push_down_bounds
from skyband.spark.stages.written_times import in_time

OBSERVED = "skyband"


class Input(Protocol):
    """The records of a stream."""

    @property
    def frame(self) -> DataFrame:
        """As Spark reads them."""
        ...

    def encoded(self, prune: Prune, sampled: bool) -> DataFrame:
        """Encoded rows, and for each partition one with what was counted, under the key `LATE`. `sampled`: what a
        sample proves hopeless need not be looked at."""
        ...

    def way(self, prune: Prune) -> str:
        """Who reads the records, and why."""
        ...

    def reach(self, prune: Prune) -> Reach | None:
        """Of a batch, where something tells before the records are read."""
        ...


class SparkRows:
    """Records that Spark reads and hands to Python."""

    def __init__(self, frame: DataFrame, why: str = "a DataFrame was given") -> None:
        self.frame, self._why = frame, why

    def encoded(self, prune: Prune, sampled: bool) -> DataFrame:
        df = push_down_bounds(self.frame, prune.reader, prune.families) if sampled else self.frame
        columns = [*map(quoted, prune.reader.schema.names), *clock_columns(prune.reader.stream)]
        if prune.counts_rows:
            # Partitions become slices of the stream, in its order: positions can be counted through.
            df, time = in_time(df, prune.reader)
            order = [f.col(quoted(name)) for name in (time, prune.reader.stream.key) if name]
            df = self._slices(df, order)
            columns.append(f"cast(spark_partition_id() as bigint) AS {quoted(SLICE)}")
        return df.selectExpr(*columns).mapInArrow(prune, ENCODED_DDL)

    def _slices(self, df: DataFrame, order: list[Column]) -> DataFrame:
        return df.repartitionByRange(*order)

    def way(self, prune: Prune) -> str:
        return f"Spark reads the records: {self._why}"

    def reach(self, prune: Prune) -> Reach | None:
        return None


class OnePartition(SparkRows):
    """Records that are all in one partition, which is the stream in its order as it stands. (To cut a stream by ranges
    Spark reads it twice.)"""

    def _slices(self, df: DataFrame, order: list[Column]) -> DataFrame:
        return df


class ReadByTasks:
    """Records that tasks read themselves, unless there is a reason why Spark has to. Who reads them makes no difference
    to any row or counter."""

    frame: DataFrame

    def encoded(self, prune: Prune, sampled: bool) -> DataFrame:
        if (why := self._why_not(prune)) is not None:
            return SparkRows(self.frame, why).encoded(prune, sampled)
        return self._read_by_tasks(prune)

    def way(self, prune: Prune) -> str:
        if (why := self._why_not(prune)) is not None:
            return SparkRows(self.frame, why).way(prune)
        return f"tasks read {self._how(prune)}"

    def reach(self, prune: Prune) -> Reach | None:
        return None if self._why_not(prune) is not None else self._reach(prune)

    def _why_not(self, prune: Prune) -> str | None:
        if prune.counts_rows:
            return "positions of ROWS are counted in the order of the whole stream"
        return self._unfit

    @cached_property
    def _unfit(self) -> str | None:
        """Why Spark has to read them, whatever is asked."""
        raise NotImplementedError

    def _read_by_tasks(self, prune: Prune) -> DataFrame:
        raise NotImplementedError

    def _how(self, prune: Prune) -> str:
        raise NotImplementedError

    def _reach(self, prune: Prune) -> Reach | None:
        return None


Given = DataFrame | Input | Mapping[str, DataFrame | Input]
Inputs = Mapping[str, Input]


def by_stream(streams: Sequence[Stream], given: Given) -> dict[str, Input]:
    """The records of each stream; one that is missing is refused."""
    names = [stream.name for stream in streams]
    if not isinstance(given, Mapping):
        if len(names) > 1:
            raise SkybandError(
                f"one DataFrame for {len(names)} streams",
                expected="a mapping of " + ", ".join(names) + " to DataFrames",
            )
        return {names[0]: _input(given)}
    missing = [name for name in names if name not in given]
    if missing:
        raise SkybandError(f"no DataFrame for stream {missing[0]}", expected="one each for " + ", ".join(names))
    return {name: _input(each) for name, each in given.items()}


def _input(given: DataFrame | Input) -> Input:
    return SparkRows(given) if isinstance(given, DataFrame) else given
