"""Stage 2 for a batch: all packed rows of a family (and bucket) at once, every window reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from skyband.planner import PlannedFamily
from skyband.runtime.family import FamilyRun
from skyband.runtime.state import table_bytes
from skyband.runtime.stream import FOREVER
from skyband.spark.chunks import Chunk, feed_rows, one_table

PerKey = Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]
ANSWERS = pa.schema({"family": pa.string(), "answers": pa.binary()})
ANSWERS_DDL = "family STRING, answers BINARY"


@dataclass(frozen=True)
class MaintainBatch:
    """What `applyInArrow` calls for each key."""

    families: dict[str, PlannedFamily]

    def __call__(self, key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        name: str = key[0].as_py()
        planned = self.families[name.partition("/")[0]]
        run = FamilyRun(planned)
        chunks = [Chunk(*row.values()) for row in table.select(["rows", "chunk", "size"]).to_pylist()]
        in_rows = planned.family.kind == "rows"
        fed = feed_rows(run, planned, chunks, {}) if in_rows else run.feed(one_table(chunks), FOREVER)
        found = [fed, run.close(FOREVER)]
        answers = [table_bytes(part) for part in found if part is not None]
        return pa.table({"family": [name] * len(answers), "answers": pa.array(answers, pa.binary())}, schema=ANSWERS)


def annotated(act: PerKey) -> PerKey:
    """What `applyInArrow` takes: PySpark reads the signature of a function, not of an object that can be called."""

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return act(key, table)

    run.__annotations__ = {"key": tuple[pa.Scalar, ...], "table": pa.Table, "return": pa.Table}
    return run
