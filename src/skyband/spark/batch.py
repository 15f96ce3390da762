"""Stage 2 for a batch: all packed rows of a family (and bucket) at once, every window reported, rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from skyband.planner import PlannedFamily
from skyband.runtime import pieces
from skyband.runtime.family import FOREVER, FamilyRun
from skyband.runtime.positions import Positions
from skyband.runtime.results import Results
from skyband.spark.chunks import Chunk, feed_rows, one_table
from skyband.spark.unpack import packed_answers


@dataclass(frozen=True)
class AnswerBatch:
    """The same, but answers as packed rows: those of all buckets are still to be merged."""

    families: dict[str, PlannedFamily]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for name, planned, chunks in by_key(self.families, batches):
            for answers in every_answer(FamilyRun(planned), chunks):
                yield packed_answers(name, answers)


@dataclass(frozen=True)
class MaintainBatch:
    """What `mapInArrow` calls on every partition of packed rows; those of one key are in one partition."""

    families: dict[str, PlannedFamily]
    results: Results

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, planned, chunks in by_key(self.families, batches):
            for answers in every_answer(FamilyRun(planned), chunks):
                yield from self.results.batches(planned.family, answers)


def by_key(
    families: dict[str, PlannedFamily], batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[str, PlannedFamily, list[Chunk]]]:
    """The packed rows of each key."""
    chunks: dict[str, list[Chunk]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            chunks.setdefault(row["family"], []).append(Chunk(row["rows"], row["chunk"], row["size"]))
    while chunks:
        name, mine = chunks.popitem()
        yield name, families[name], mine


def every_answer(run: FamilyRun, chunks: list[Chunk]) -> Iterator[pa.Table]:
    """Answers to all there is, oldest first, in pieces: nobody has to hold all of them."""
    if run.planned.family.kind == "rows":
        positions = Positions()
        yield from feed_rows(run, chunks, positions)
        yield from pieces.close(run, positions.seen)
    elif (rows := one_table(chunks)) is not None:
        yield from pieces.feed(run, rows, FOREVER)
