"""Stage 2 for a batch: all encoded rows of a key at once, every window reported that is its to report, rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import NEVER
from skyband.runtime import steps
from skyband.runtime.clock import EventTime
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import Positions
from skyband.runtime.results import Results
from skyband.runtime.time_ranges import EVERY_END, Ends
from skyband.spark.event_time import CLOCK, SHIFT
from skyband.spark.stages.slices import PartitionSlice, feed, one_table
from skyband.spark.stages.stream_fates import of_stream
from skyband.spark.stages.stream_reports import REPORTS, StreamReports, packed_stretches
from skyband.spark.stages.unpack import packed_answers
from skyband.spark.state.keys import LATE, BatchPart
from skyband.spark.worker import settled


@dataclass(frozen=True)
class AnswerBatch:
    """The same, but answers as encoded rows: those of all buckets are still to be merged. What is known of the stream
    alone says which reports there are, where lines are asked for."""

    parts: dict[str, BatchPart]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, slices in settled(by_key(batches)):
            if key == LATE:
                families = [part.planned for part in self.parts.values()]
                reports = StreamReports(families).every(of_stream(one_table(slices)), sum(each.size for each in slices))
                yield packed_answers(REPORTS, packed_stretches(reports))
                continue
            planned, ends = self.parts[key]
            for answers in every_answer(FamilyOperator(planned), slices, ends):
                yield packed_answers(key, answers)


@dataclass(frozen=True)
class MaintainBatch:
    """What `mapInArrow` calls on every partition of encoded rows; those of one key are in one partition."""

    parts: dict[str, BatchPart]
    results: Results

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, slices in settled(by_key(batches)):
            planned, ends = self.parts[key]
            for answers in every_answer(FamilyOperator(planned), slices, ends):
                yield from self.results.batches(planned.family, answers)


def by_key(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, list[PartitionSlice]]]:
    """The encoded rows of each key, where they lie: they are most of what came."""
    slices: dict[str, list[PartitionSlice]] = {}
    for batch in batches:
        keys, places, sizes = (batch.column(name).to_pylist() for name in ("state_key", "slice", "size"))
        newest = pc.coalesce(batch.column(CLOCK).cast(pa.int64()), int(NEVER) + SHIFT).to_pylist()
        for key, rows, place, size, at in zip(keys, batch.column("rows"), places, sizes, newest, strict=True):
            slices.setdefault(key, []).append(PartitionSlice(rows.as_buffer(), place, size, at - SHIFT))
    while slices:
        yield slices.popitem()


def every_answer(operator: FamilyOperator, slices: list[PartitionSlice], ends: Ends = EVERY_END) -> Iterator[pa.Table]:
    """Answers to all reports that end there, oldest first, in pieces: nobody has to hold all of them."""
    newest = max(each.newest for each in slices)
    if operator.planned.family.kind == "rows":
        positions = Positions()
        yield from feed(operator, slices, positions, operator.clock.of(""))
        yield from steps.close(operator, positions.seen, newest)
    elif (rows := one_table(slices)) is not None:
        operator.end(newest)
        operator.begin(rows, EventTime(ends.after))
        yield from steps.feed(operator, None, ends.until)
