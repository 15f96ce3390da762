"""Queries join and leave a running Monitor: on a board at once complete, elsewhere warming; nobody else notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from tests.drawn import examples
from tests.monitor import test_boards as boards
from tests.support import Expected, actual_rows, in_order

thorough = examples(30, suppress_health_check=list(HealthCheck))


def by_query(rows: list[Expected], name: str) -> list[Expected]:
    return [row for row in rows if row.query == name]


@pytest.mark.parametrize("engine", [None, "tma"])
@given(data=st.data())
@thorough
def test_queries_come_and_go_in_the_middle(engine: str | None, data: st.DataObject) -> None:
    workload, pushes = data.draw(boards.workloads(None, most=4)), data.draw(boards.tables(deletes=False))
    late = data.draw(boards.queries(90, boards.FRAMES))
    leaver = data.draw(st.sampled_from([query.name for query in workload.queries]))
    comes, goes = sorted((data.draw(st.integers(0, len(pushes))), data.draw(st.integers(0, len(pushes)))))
    monitor = sb.Monitor(workload, engine)
    parts, reached, fed = [], {}, 0
    for number, table in enumerate(pushes):
        if number == comes:
            monitor.add(late)
            reached["comes"] = fed
        if number == goes:
            monitor.remove(leaver)
        if data.draw(st.booleans()):
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot(), engine)
        parts.append(monitor.push(table))
        fed += len(table)
    if comes < len(pushes):
        parts.append(monitor.close())
    else:
        monitor.add(late)
        parts.append(monitor.close())
    everyone = sb.Workload([*workload.queries, late], stream=workload.streams[0])
    found = in_order(everyone, actual_rows(pa.concat_tables(parts, promote_options="permissive")))
    wanted = boards.expected_rows(everyone, pushes)
    for query in workload.queries:
        if query.name != leaver:
            assert by_query(found, query.name) == by_query(wanted, query.name)
    assert set(by_query(found, leaver)) <= set(by_query(wanted, leaver))
    complete = _not_warming(parts, late.name)
    assert complete <= set(by_query(wanted, late.name))


def _not_warming(parts: list[pa.Table], name: str) -> set[Expected]:
    """Rows of windows that lie wholly behind the query's beginning, or of a board."""
    found: set[Expected] = set()
    for part in parts:
        flag = part.column("warming").to_pylist()
        mine = [row for row, young in zip(actual_rows(part), flag, strict=True) if row.query == name and not young]
        found |= set(mine)
    return found


def workload(count: int, **options: Any) -> sb.Workload:
    return sb.Workload(boards.many(count, **options), stream=sb.Stream("s", time="ts", key="id"))


def some_rows(count: int) -> pa.Table:
    draw = np.random.default_rng(3)
    a, b = draw.random(count).round(2).tolist(), draw.integers(0, 9, count).tolist()
    return boards.table_of([(i, i, a[i], b[i], None) for i in range(count)])


def test_a_query_that_joins_a_board_is_complete_at_once() -> None:
    monitor = sb.Monitor(workload(40))
    monitor.push(some_rows(7))
    joining = sb.TopK("joining", k=2, by="0.5 * a - 0.25 * b", window="6 rows", slide=2)
    monitor.add(joining)
    assert "multi-score family 1 of 1: 41 queries" in monitor.explain()
    rows = monitor.push(some_rows(9).slice(7))
    alone = sb.Monitor(sb.Workload([joining], stream=sb.Stream("s", time="ts", key="id")))
    alone.push(some_rows(7))
    wanted = alone.push(some_rows(9).slice(7))
    assert by_query(actual_rows(rows), "joining") == actual_rows(wanted)
    assert rows.column("warming").null_count == len(rows)
    monitor.remove("joining")
    monitor.remove("q3")
    assert monitor.push(some_rows(20).slice(9)).num_rows > 0
    assert "joining" not in monitor.counters["queries"]
    assert len(monitor.workload.queries) == 39


def test_elsewhere_the_first_windows_are_warming() -> None:
    monitor = sb.Monitor(workload(2))
    monitor.push(some_rows(7))
    monitor.add(sb.TopK("joining", k=3, by="b", window="6 rows", slide=2))
    rows = pa.concat_tables([monitor.push(some_rows(20).slice(7)), monitor.close()])
    mine = [row for row in rows.to_pylist() if row["query"] == "joining"]
    assert {row["row_end"] for row in mine if row["warming"]} == {8, 10, 12}
    assert all(row["warming"] is None for row in mine if row["row_start"] >= 8)
    assert all(row["warming"] is None for row in rows.to_pylist() if row["query"] == "q0")


def test_families_that_stand_in_another_order_after_a_restart_keep_their_counts() -> None:
    """A Monitor seats them as they come, a plan by their first query; here the first query of the first one left."""
    tops = [sb.TopK(f"q{i}", k=1, by=by, window="6 rows", slide=2) for i, by in enumerate(("a", "b", "a"))]
    monitor = sb.Monitor(sb.Workload(tops, stream=sb.Stream("s", time="ts", key="id")))
    monitor.push(boards.table_of([(0, 0, None, 1, None), (1, 1, None, 1, None), (2, 2, 1.0, 1, None)]))
    monitor.remove("q0")
    monitor.add(sb.TopK("q9", k=1, by="a", window="8 rows", slide=2))
    again = sb.Monitor.restore(monitor.workload, monitor.snapshot())
    for each in (monitor, again):
        each.push(boards.table_of([(3, 3, None, 1, None)]))
    assert again.counters["queries"] == monitor.counters["queries"]
    assert {name: each["unranked"] for name, each in again.counters["queries"].items()} == {"q1": 0, "q2": 3, "q9": 1}


def test_what_cannot_join_or_leave_is_refused() -> None:
    monitor = sb.Monitor(workload(2))
    with pytest.raises(sb.SkybandError, match="two queries are called 'q1'"):
        monitor.add(sb.TopK("q1", k=1, by="a", window="6 rows"))
    with pytest.raises(sb.SkybandError, match="there is no query called 'q9'"):
        monitor.remove("q9")
    monitor.remove("q0")
    with pytest.raises(sb.SkybandError, match="without queries"):
        monitor.remove("q1")


def test_a_query_that_is_refused_leaves_nothing_behind() -> None:
    monitor, undisturbed = sb.Monitor(workload(2)), sb.Monitor(workload(2))
    for number in range(3):
        rows = some_rows(9).slice(3 * number, 3)
        assert monitor.push(rows) == undisturbed.push(rows)
        with pytest.raises(sb.SkybandError, match="there is no column `nowhere`"):
            monitor.add(sb.TopK("q9", k=1, by="nowhere", window="6 rows"))
        assert len(monitor.counters["families"]) == len(undisturbed.counters["families"])
