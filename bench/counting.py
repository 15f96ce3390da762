"""A batch whose answers are found but not written: for benchmarks that leave the output apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from skyband.planner import Plan
from skyband.runtime.executors.base import Reports
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.reader import StreamReader
from skyband.spark.columns import arrow_schema
from skyband.spark.inputs import Input
from skyband.spark.pipeline import batch_parts, batch_prune, by_key_partition, encoded_rows
from skyband.spark.stages.batch import by_key, every_answer
from skyband.spark.state.keys import BatchPart

COUNTS_DDL = "reports BIGINT, entries BIGINT"


class _CountingOperator(FamilyOperator):
    """Keeps the sizes of the answers in place of the answers."""

    reports = 0
    entries = 0

    def _answers(self, reports: Reports) -> None:
        self.reports += len(reports)
        self.entries += int(reports.size.sum())


@dataclass(frozen=True)
class _Count:
    """What `mapInArrow` calls in place of `MaintainBatch`."""

    parts: dict[str, BatchPart]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, slices in by_key(batches):
            planned, ends = self.parts[key]
            operator = _CountingOperator(planned)
            for _ in every_answer(operator, slices, ends):
                raise AssertionError("there are no answers where they are counted")
            yield pa.record_batch({"reports": [operator.reports], "entries": [operator.entries]})


def over(plan: Plan, records: Input) -> DataFrame:
    """(reports, entries) per part of a batch with RANGE families over one stream."""
    reader = StreamReader(plan.streams[0], arrow_schema(records.frame))
    prune = batch_prune(records, reader, plan.families)
    encoded = encoded_rows(records, prune, sampled=True)
    parts = batch_parts(prune)
    return by_key_partition(encoded, parts).mapInArrow(_Count(parts), COUNTS_DDL)
