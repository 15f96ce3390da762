"""Records that a Python function makes, made by the tasks that prune them: only numbers of tables cross from Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skyband.runtime.locations import Location
from skyband.spark.event_time import clock_columns
from skyband.spark.inputs import OnePartition
from skyband.spark.io.generated import FIRST, LAST, RANGES, Tables, between
from skyband.spark.stages.prune import ENCODED_DDL, Piece, Prune, in_utc
from skyband.spark.worker import settled

PIECE_ROWS = 100_000
"""Records that are looked at together, as many as Spark would send in one batch."""


class MadeByTasks(OnePartition):
    """`ranges`: which tables there are to make, in one partition."""

    def __init__(
        self, frame: DataFrame, why: str, ranges: DataFrame, tables: Tables, options: Mapping[str, str]
    ) -> None:
        super().__init__(frame, why)
        self._ranges, self._tables, self._options = ranges, tables, dict(options)

    def encoded(self, prune: Prune, sampled: bool) -> DataFrame:
        ranges = self._ranges.selectExpr("*", *clock_columns(prune.reader.stream))
        return ranges.mapInArrow(Make(prune, self._tables, self._options), ENCODED_DDL)

    def way(self, prune: Prune) -> str:
        return f"tasks make the records: {self._why}"


def made_by_tasks(
    spark: SparkSession, location: Location, frame: DataFrame, tables: Tables, streaming: bool
) -> MadeByTasks:
    """What the source of this location gives as `frame`, whose columns nobody has changed."""
    reader = spark.readStream if streaming else spark.read
    ranges = reader.format(location.kind + RANGES).options(**location.options).load()
    return MadeByTasks(frame, f"they are made by {location.kind}://", ranges, tables, location.options)


@dataclass(frozen=True)
class Make:
    """What `mapInArrow` calls on the numbers of tables."""

    prune: Prune
    tables: Tables
    options: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settled(self.prune.pruned(lambda _: self._pieces(batches)))

    def _pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Piece]:
        columns = self.prune.reader.schema.names
        for batch in self.prune.told(batches):
            for first, last in zip(*(batch.column(name).to_pylist() for name in (FIRST, LAST)), strict=True):
                for table in gathered(between(self.tables, self.options, first, last)):
                    yield Piece(self.prune.reader, in_utc(table.select(columns)))


def gathered(tables: Iterable[pa.Table], rows: int = PIECE_ROWS) -> Iterator[pa.Table]:
    """The same records in tables of about so many."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= rows:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)
