"""A batch whose answers are found but not written: for benchmarks that leave the output apart."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from skyband.planner import Plan
from skyband.runtime.board_intake import bind
from skyband.runtime.family import FamilyRun
from skyband.runtime.intake import StreamIntake
from skyband.runtime.keeper import Reports
from skyband.runtime.stream import FOREVER
from skyband.spark.batch import annotated
from skyband.spark.chunks import Chunk, one_table
from skyband.spark.pipeline import arrow_schema, packed_rows
from skyband.spark.prune import Prune
from skyband.spark.thresholds import drop_hopeless

COUNTS_DDL = "family STRING, reports BIGINT, entries BIGINT"
COUNTS = pa.schema({"family": pa.string(), "reports": pa.int64(), "entries": pa.int64()})


class _CountingRun(FamilyRun):
    """Keeps the sizes of the answers in place of the answers."""

    reports = 0
    entries = 0

    def _answers(self, reports: Reports) -> None:
        self.reports += len(reports)
        self.entries += int(reports.size.sum())


def over(plan: Plan, df: DataFrame) -> DataFrame:
    """(family, reports, entries) of a batch with RANGE families over one stream."""
    intake = StreamIntake(plan.streams[0], arrow_schema(df))
    bound = [bind(planned, intake.schema) for planned in plan.families]
    known = {planned.family.fingerprint: planned for planned in plan.families}
    packed = packed_rows(drop_hopeless(df, intake, bound), Prune(intake, bound))

    def count(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        name = key[0].as_py()
        run = _CountingRun(known[name.partition("/")[0]])
        chunks = [Chunk(*row.values()) for row in table.select(["rows", "chunk", "size"]).to_pylist()]
        run.feed(one_table(chunks), FOREVER)
        return pa.table([[name], [run.reports], [run.entries]], schema=COUNTS)

    return packed.groupBy("family").applyInArrow(annotated(count), COUNTS_DDL)
