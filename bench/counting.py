"""A batch whose answers are found but not written: for benchmarks that leave the output apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from skyband.planner import Plan, PlannedFamily
from skyband.runtime.executors.base import Reports
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.reader import StreamReader
from skyband.spark.columns import arrow_schema
from skyband.spark.inputs import Input
from skyband.spark.pipeline import by_state_key_partition, encoded_rows
from skyband.spark.stages.batch import by_key, every_answer
from skyband.spark.stages.prune import Bound, Prune
from skyband.spark.state.keys import by_state_key

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

    families: dict[str, PlannedFamily]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, slices in by_key(batches):
            operator = _CountingOperator(self.families[key])
            for _ in every_answer(operator, slices):
                raise AssertionError("there are no answers where they are counted")
            yield pa.record_batch({"reports": [operator.reports], "entries": [operator.entries]})


def over(plan: Plan, records: Input) -> DataFrame:
    """(reports, entries) per family of a batch with RANGE families over one stream."""
    reader = StreamReader(plan.streams[0], arrow_schema(records.frame))
    bound = [Bound.of(planned, reader.schema) for planned in plan.families]
    known = by_state_key(plan.families)
    encoded = encoded_rows(records, Prune(reader, bound), sampled=True)
    return by_state_key_partition(encoded).mapInArrow(_Count(known), COUNTS_DDL)
