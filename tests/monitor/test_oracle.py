"""A Monitor against the oracle: whatever the queries, the stream and the pushes, every row of every window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from tests import support
from tests.drawn import examples

TOP_ENGINES = sorted(name for name, able in sb.engines().items() if able.data == "complete" and not able.thresholds)


@pytest.mark.parametrize("engine", [None, *TOP_ENGINES])
@examples(60)
@given(data=st.data())
def test_every_row_is_the_oracles(engine: str | None, data: st.DataObject) -> None:
    workload = data.draw(support.workloads())
    tables = data.draw(support.tables())
    expected = support.expected_rows(workload, tables)
    assert support.run_monitor(workload, tables, engine) == expected


@examples(40)
@given(workload=support.workloads(most=40), tables=support.tables())
def test_up_to_forty_queries(workload: sb.Workload, tables: list[pa.Table]) -> None:
    assert support.run_monitor(workload, tables) == support.expected_rows(workload, tables)


@examples(100)
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


@pytest.mark.parametrize("kind", ["microseconds", "rows"])
def test_one_large_push_of_many_groups_keeps_few_and_loses_none(kind: str) -> None:
    """Ties, disorder and a filter; of 3,000 records in six groups, all pushed at once, a tenth is ever kept."""
    draw = np.random.default_rng(7)
    at = np.arange(3_000) + draw.integers(-9, 10, 3_000)
    columns = at.tolist(), range(3_000), draw.integers(0, 90, 3_000).tolist(), draw.integers(-1, 9, 3_000).tolist()
    table = support.table_of(list(zip(*columns, draw.choice(list("abcdef"), 3_000).tolist(), strict=True)))
    wide, narrow = (900, 300) if kind == "microseconds" else (150, 50)
    queries = [
        sb.TopK("best", 3, "score", f"{wide} {kind}", f"{narrow} {kind}", per="color"),
        sb.TopK("fine", 2, "score", f"{narrow} {kind}", f"7 {kind}", per="color", where="bonus > 0"),
        sb.TopK("last", 3, "score", f"{wide} {kind}", per="color", ascending=True),
    ]
    workload = sb.Workload(queries, stream=sb.Stream("s", time="ts", key="id"))
    assert support.run_monitor(workload, [table]) == support.expected_rows(workload, [table])
    monitor = sb.Monitor(sb.Workload(queries[:1], stream=sb.Stream("s", time="ts", key="id")))
    monitor.push(table)
    monitor.close()
    assert monitor.counters["records"] == 3_000
    assert max(each["candidates_peak"] for each in monitor.counters["families"].values()) <= 300


def _losses(counters: dict[str, Any]) -> dict[str, Any]:
    return {name: counters[name] for name in ("records", "late", "dropped", "unranked", "bad", "queries")}
