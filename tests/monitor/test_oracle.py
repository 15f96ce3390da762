"""A Monitor against the oracle: whatever the queries, the stream and the pushes, every row of every window."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import skyband as sb
from tests import support

TOP_ENGINES = sorted(name for name, able in sb.engines().items() if able.data == "complete" and not able.thresholds)


@pytest.mark.parametrize("engine", [None, *TOP_ENGINES])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_row_is_the_oracles(engine: str | None, data: st.DataObject) -> None:
    workload = data.draw(support.workloads())
    tables = data.draw(support.tables())
    expected = support.expected_rows(workload, tables)
    assert support.run_monitor(workload, tables, engine) == expected


@settings(max_examples=40, deadline=None)
@given(workload=support.workloads(most=40), tables=support.tables())
def test_up_to_forty_queries(workload: sb.Workload, tables: list[pa.Table]) -> None:
    assert support.run_monitor(workload, tables) == support.expected_rows(workload, tables)


@settings(max_examples=100, deadline=None)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_a_snapshot_at_any_point_changes_nothing(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(tables)))
    other = data.draw(st.sampled_from([None, *TOP_ENGINES]))
    undisturbed, monitor = sb.Monitor(workload), sb.Monitor(workload)
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot(), engine=other)
        assert monitor.push(table) == undisturbed.push(table)
    if cut == len(tables):
        monitor = sb.Monitor.restore(workload, monitor.snapshot(), engine=other)
    assert monitor.close() == undisturbed.close()
    assert _losses(monitor.counters) == _losses(undisturbed.counters)


def _losses(counters: dict[str, Any]) -> dict[str, Any]:
    return {name: counters[name] for name in ("records", "late", "dropped", "unranked", "bad", "queries")}
