"""A batch whose answers are found but not written: for benchmarks that leave the output apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from skyband.planner import Plan, PlannedFamily
from skyband.runtime.board_intake import bind
from skyband.runtime.family import FamilyRun
from skyband.runtime.intake import StreamIntake
from skyband.runtime.keeper import Reports
from skyband.spark.batch import by_key, every_answer
from skyband.spark.columns import arrow_schema
from skyband.spark.keys import by_state_key
from skyband.spark.pipeline import by_family, packed_rows
from skyband.spark.prune import Prune
from skyband.spark.thresholds import drop_hopeless

COUNTS_DDL = "reports BIGINT, entries BIGINT"


class _CountingRun(FamilyRun):
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
        for _, planned, chunks in by_key(self.families, batches):
            run = _CountingRun(planned)
            for _ in every_answer(run, chunks):
                raise AssertionError("a counting run has no answers")
            yield pa.record_batch({"reports": [run.reports], "entries": [run.entries]})


def over(plan: Plan, df: DataFrame) -> DataFrame:
    """(reports, entries) per family of a batch with RANGE families over one stream."""
    intake = StreamIntake(plan.streams[0], arrow_schema(df))
    bound = [bind(planned, intake.schema) for planned in plan.families]
    known = by_state_key(plan.families)
    packed = packed_rows(drop_hopeless(df, intake, bound), Prune(intake, bound))
    return by_family(packed).mapInArrow(_Count(known), COUNTS_DDL)
