"""Top groups in a Monitor: every row of every window is the oracle's."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings, strategies as st

import skyband as sb
from tests import groups


@settings(max_examples=300, deadline=None)
@given(workload=groups.workloads(), tables=groups.tables())
def test_every_row_is_the_oracles(workload: sb.Workload, tables: list[pa.Table]) -> None:
    assert groups.run_monitor(workload, tables) == groups.expected(workload, tables)


@settings(max_examples=80, deadline=None)
@given(workload=groups.workloads(), tables=groups.tables(), data=st.data())
def test_a_snapshot_at_any_point_changes_nothing(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    rows = groups.actual(workload, pa.concat_tables([*parts, monitor.close()]))
    assert rows == groups.run_monitor(workload, tables)
