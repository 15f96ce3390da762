"""Stage 2 for a batch: all packed rows of a family (and bucket) at once, every window reported, rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.planner import PlannedFamily
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import AT, GROUP, ints
from skyband.runtime.results import Results
from skyband.runtime.stream import FOREVER
from skyband.spark.chunks import Chunk, feed_rows, one_table
from skyband.spark.unpack import packed_answers

STEP = 500_000
"""Result rows that are made at a time: nobody has to hold all of them."""
MOST_STEPS = 256


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
    """Answers to all there is, oldest first."""
    if run.planned.family.kind == "rows":
        found = [feed_rows(run, run.planned, chunks, {}), run.close(FOREVER)]
        yield from (part for part in found if part is not None)
        return
    rows = one_table(chunks)
    for until in [] if rows is None else _steps(run.planned, rows):
        part = run.feed(rows, until)
        rows = None
        if part is not None:
            yield part


def _steps(planned: PlannedFamily, rows: pa.Table) -> list[int]:
    """Moments up to which answers are made, so that a step makes about `STEP` result rows."""
    meta, at = planned.meta, ints(rows, AT)
    if not len(at):
        return []
    first, last = int(at.min()), int(at.max()) + int(meta.width.max())
    groups = len(rows.column(GROUP).unique()) if GROUP in rows.column_names else 1
    in_all_windows = len(at) * float((meta.width / meta.period).sum())
    made = min(groups * (last - first) * float((meta.k / meta.period).sum()), in_all_windows)
    count = int(min(max(made / STEP, 1), MOST_STEPS))
    cuts: Ints = np.linspace(first, last, count + 1).astype(np.int64)[1:-1]
    return [*cuts.tolist(), FOREVER]
