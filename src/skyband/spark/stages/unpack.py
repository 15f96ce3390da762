"""Stage 3: answers to result rows; where buckets have answered the same reports, merged first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.engines.codec import table_bytes
from skyband.planner import PlannedFamily
from skyband.runtime.partitioning import merged
from skyband.runtime.results import Results
from skyband.spark.stages.spill import ANSWERS_DDL, received
from skyband.spark.stages.stream_reports import REPORTS, stretch_rows
from skyband.spark.stages.worker import settle
from skyband.spark.state.keys import merges


def packed_answers(key: str, answers: pa.Table) -> pa.RecordBatch:
    """A row of `ANSWERS_DDL`."""
    data = pa.array([table_bytes(answers.combine_chunks())])
    return pa.record_batch({"state_key": [key], "answers": data, "spilled": pa.nulls(1, pa.string())})


def unpacked(answers: DataFrame, families: dict[str, PlannedFamily], results: Results) -> DataFrame:
    """Result rows. Where answers are merged, all those of a family come into one partition first; of a stream all
    those of a micro-batch, which are all there are to its reports."""
    if any(map(merges, families.values())):
        if answers.isStreaming:
            answers = answers.mapInArrow(_inline, ANSWERS_DDL)
        answers = answers.repartition(f.substring_index("state_key", "/", 1))
    schema = from_arrow_schema(results.schema, prefer_timestamp_ntz=True)
    return answers.mapInArrow(Unpack(families, results), schema)


def _inline(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files are read where they were written: the next stage may run on another machine."""
    for batch in batches:
        for row in batch.to_pylist():
            for answers in received(row["answers"], row["spilled"]):
                yield packed_answers(row["state_key"], answers)


@dataclass(frozen=True)
class Unpack:
    """What `mapInArrow` calls on every partition of answers."""

    families: dict[str, PlannedFamily]
    results: Results

    @cached_property
    def _merges(self) -> dict[str, bool]:
        return {key: merges(planned) for key, planned in self.families.items()}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        parts: dict[str, tuple[PlannedFamily, list[pa.Table]]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                if row["state_key"] == REPORTS:
                    for packed in received(row["answers"], row["spilled"]):
                        yield from stretch_rows(packed, self.results.schema).to_batches()
                    continue
                planned = self.families[row["state_key"]]
                for answers in received(row["answers"], row["spilled"]):
                    if self._merges[row["state_key"]]:
                        parts.setdefault(planned.family.fingerprint, (planned, []))[1].append(answers)
                    else:
                        yield from self.results.batches(planned.family, answers)
        for planned, answered in parts.values():
            yield from self.results.batches(planned.family, merged(planned, answered))
