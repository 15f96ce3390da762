"""Reports with the same answer share its ids until rows are made of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import skyband as sb
from skyband.model import NEVER
from skyband.model.times import Times
from skyband.runtime.executors.base import Reports
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.reader import StreamReader

STREAM = sb.Stream("s", time="ts", key="id")
WORKLOAD = sb.Workload(
    [sb.TopK("five", 5, "score", "1 second", "1 ms"), sb.TopK("three", 3, "score", "1 second", "1 ms")], stream=STREAM
)


class _Noting(FamilyOperator):
    """Keeps its reports."""

    def _answers(self, reports: Reports) -> pa.Table | None:
        self.noted.append(reports)
        return super()._answers(reports)

    noted: list[Reports]


def test_lists_that_stand_are_not_copied_for_every_report() -> None:
    at = 1_000 * np.arange(3_000)
    times, score = pa.array(at).cast(pa.timestamp("us", "UTC")), np.random.default_rng(2).random(3_000)
    table = pa.table({"ts": times, "id": at, "score": score})
    (planned,) = WORKLOAD.plan().families
    operator = _Noting(planned)
    operator.noted = []
    operator.bind(StreamReader(STREAM, table.schema).schema)
    operator.begin(operator.encode(table, Times(at), None, int(NEVER)).rows, operator.clock)
    rows = operator.close()
    listed = sum(int(reports.size.sum()) for reports in operator.noted)
    assert rows is not None
    assert len(rows) == listed > 30_000
    assert sum(len(reports.id) for reports in operator.noted) < listed / 5
    monitor = sb.Monitor(WORKLOAD)
    expected = pa.concat_tables([monitor.push(table), monitor.close()])
    for number, name in enumerate(("five", "three")):
        mine, theirs = (
            each.filter(pa.compute.field(column) == wanted)
            for each, column, wanted in ((rows, "#query", number), (expected, "query", name))
        )
        assert mine["id"].to_pylist() == theirs["id"].to_pylist()
