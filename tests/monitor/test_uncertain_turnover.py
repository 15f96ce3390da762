"""Queries join and leave an uncertain stream: the plan changes, but nobody waits longer than asked, and every row of a
full window is what the recurrence says of its records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import skyband as sb
from skyband.engines.oracle import uncertain as oracle
from skyband.model import Query
from skyband.runtime.executors.uncertain_groups import UncertainGroups
from tests.monitor import test_uncertain as worlds
from tests.support import micros

Change = tuple[int, str, Any]
"""Before which push; `add` and a query, or `remove` and a name."""


def dense(count: int, seed: int, rules: bool = True) -> list[tuple[Any, ...]]:
    """A record each microsecond, so that no window is empty."""
    draw = np.random.default_rng(seed)
    score, p = draw.integers(0, 9, count).tolist(), (1 - draw.random(count)).tolist()
    rule = [str(number) if rules and number < 4 else None for number in draw.integers(0, 9, count).tolist()]
    color = ["red", "blue"] * (count // 2 + 1)
    return [(at, at, float(score[at]), p[at], rule[at], color[at]) for at in range(count)]


def run(queries: Sequence[Query], pushes: Sequence[pa.Table], changes: Sequence[Change], restart: int) -> pa.Table:
    monitor, parts = sb.Monitor(sb.Workload(queries, stream=worlds.stream())), []
    for number, table in enumerate(pushes):
        for before, what, whom in changes:
            if before == number:
                getattr(monitor, what)(whom)
        if number == restart:
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        parts.append(monitor.push(table))
    return pa.concat_tables(parts, promote_options="permissive")


def ends_of(rows: pa.Table, query: str) -> dict[str, list[int]]:
    """By group: when there was a report."""
    found: dict[str, list[int]] = {}
    for row in rows.set_column(2, "window_end", rows.column("window_end").cast(pa.int64())).to_pylist():
        if row["query"] == query:
            end = row["window_end"] if row["row_end"] is None else row["row_end"]
            ends = found.setdefault(row["group_key"], [])
            if not ends or ends[-1] != end:
                ends.append(end)
    return found


def check_rows(queries: Sequence[Query], rows: pa.Table, pushes: Sequence[pa.Table]) -> int:
    """Every report of a full window; how many there were."""
    at: dict[str, int] = {}
    records = [row for table in pushes for row in worlds.plain(table)]
    for row in records:
        for name in ("", row["color"]):
            row[f"row {name}"] = at[name] = at.get(name, -1) + 1
    warm = rows.filter(rows.column("warming").is_null())
    said = worlds.reports(sb.Workload(queries, stream=worlds.stream()), warm)
    by_name = {query.name: query for query in queries}
    for (name, end, group), listed in said.items():
        query = by_name[name]
        assert isinstance(query, sb.TopK)
        mine = [row for row in records if group in ("", row["color"])]
        place = f"row {group}" if query.window.kind == "rows" else "ts"
        inside = [row | {"at": row[place], "tie": (row["id"], 0)} for row in mine]
        inside = [row for row in inside if end - query.window.width <= row["at"] < end]
        exact = worlds.probabilities(query, inside)
        best = sorted(exact.values(), reverse=True)[: query.k]
        assert [p for _, p in listed] == pytest.approx(best, abs=1e-9)
        assert [exact[id] for id, _ in listed] == pytest.approx(best, abs=1e-9)
    return len(said)


@st.composite
def queries(draw: st.DrawFn, name: str, rows: bool, per: bool) -> sb.TopK:
    step = draw(st.integers(2, 9))
    often = {draw(st.sampled_from(["frequency", "frequency", "slide"])): step if rows else micros(step)}
    window = f"{draw(st.sampled_from([9, 9, 12]))} {'rows' if rows else 'us'}"
    options: dict[str, Any] = {"per": ("color",) if per else ()} | often
    return sb.TopK(name, k=draw(st.integers(1, 4)), by="score", window=window, **options)


@pytest.mark.parametrize(("rows", "per"), [(False, False), (False, True), (True, False), (True, True)])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_nobody_waits_longer_than_asked(rows: bool, per: bool, data: st.DataObject) -> None:
    asked = [data.draw(queries(name, rows, per)) for name in ("stays", "goes", "joins", "last")]
    stays, goes, joins, last = asked
    turns = sorted(data.draw(st.lists(st.integers(1, 7), min_size=3, max_size=3)))
    changes = list(zip(turns, ("add", "remove", "add"), (joins, "goes", last), strict=True))
    table = worlds.table_of(dense(80, data.draw(st.integers(0, 99))))
    pushes = [table.slice(10 * number, 10) for number in range(8)]
    found = run([stays, goes], pushes, changes, data.draw(st.integers(0, 7)))
    check_rows(asked, found, pushes)
    warming = {row["query"] for row in found.to_pylist() if row["warming"]}
    assert not warming & {"stays", "goes"}
    size = {"": 80, **{color: table["color"].to_pylist().count(color) for color in ("red", "blue")}}
    for query in (stays, joins, last):
        for group, ends in ends_of(found, query.name).items():
            assert max(b - a for a, b in pairwise([*ends, ends[-1]])) <= query.window.slide
            if rows:
                assert size[group] - ends[-1] < query.window.slide
    for ends in ends_of(found, "stays").values():
        if not per:
            assert ends[0] <= stays.window.slide


def test_a_query_keeps_its_moments_to_the_end_of_its_cycle() -> None:
    """With f = 2 and 5 the second is executed every 4. At 9 the first goes and a query of f = 3 comes: from 12 on it is
    executed every 3."""
    first = sb.TopK("first", k=3, by="score", window="20 us", frequency="2 us")
    second = sb.TopK("second", k=9, by="score", window="20 us", frequency="5 us")
    third = sb.TopK("third", k=4, by="score", window="20 us", frequency="3 us")
    table = worlds.table_of(dense(31, 1, rules=False))
    pushes = [table.slice(0, 10), table.slice(10)]
    changes: list[Change] = [(1, "remove", "first"), (1, "add", third)]
    rows = run([first, second], pushes, changes, restart=1)
    assert ends_of(rows, "second")[""] == [4, 8, 12, 15, 18, 21, 24, 27, 30]
    assert ends_of(rows, "third")[""] == [12, 15, 18, 21, 24, 27, 30]
    young = {row["window_end"].microsecond for row in rows.to_pylist() if row["warming"]}
    assert young == {12, 15, 18, 21, 24, 27}


def test_a_group_has_an_engine_of_its_own_until_it_has_gone_over() -> None:
    """ROWS with PER: each group counts by itself, so it leaves the old plan by itself, and comes back to the table."""
    often = sb.TopK("often", k=3, by="score", window="20 rows", frequency=2, per="color")
    seldom = sb.TopK("seldom", k=9, by="score", window="20 rows", frequency=5, per="color")
    monitor = sb.Monitor(sb.Workload([often, seldom], stream=worlds.stream()))
    table = worlds.table_of(dense(60, 1))
    monitor.push(table.slice(0, 18))
    monitor.remove("often")
    executor = monitor._streams["s"].families[0].executor
    assert isinstance(executor, UncertainGroups)
    assert set(executor.members) == {"red", "blue"}
    rows = monitor.push(table.slice(18))
    assert ends_of(rows, "seldom") == {"blue": [12, 15, 20, 25, 30], "red": [12, 15, 20, 25, 30]}
    assert not executor.members
    assert not executor.saved_plan(monitor._streams["s"].families[0].planned)["pending"]


def test_what_is_dropped_on_arrival_depends_on_no_plan() -> None:
    """Thousands of records at a time are pruned before the plan's moments are known to be the old ones."""
    often = sb.TopK("often", k=2, by="score", window="300 us", frequency="70 us")
    seldom = sb.TopK("seldom", k=3, by="score", window="300 us", frequency="180 us")
    joins = sb.TopK("joins", k=3, by="score", window="300 us", frequency="90 us")
    table = worlds.table_of(dense(2_400, 2, rules=False))
    pushes = [table.slice(800 * number, 800) for number in range(3)]
    rows = run([often, seldom], pushes, [(1, "add", joins), (2, "remove", "often")], restart=-1)
    said = worlds.reports(sb.Workload([often], stream=worlds.stream()), rows.filter(rows.column("warming").is_null()))
    records = worlds.plain(table)
    for (name, end, _), listed in said.items():
        inside = sorted(records[max(end - 300, 0) : end], key=lambda row: (-row["score"], -row["ts"]))
        k = {"often": 2, "seldom": 3, "joins": 3}[name]
        exact = oracle.recurrence([oracle.Tuple(row["p"]) for row in inside], k)
        assert [p for _, p in listed] == pytest.approx(sorted(exact, reverse=True)[:k], abs=1e-12)
    assert max(b - a for a, b in pairwise(ends_of(rows, "seldom")[""])) <= 180


def test_a_plan_that_did_not_change_waits_for_nothing() -> None:
    one, other = (sb.TopK(name, k=3, by="score", window="20 us", frequency="4 us") for name in ("one", "other"))
    monitor = sb.Monitor(sb.Workload([one], stream=worlds.stream()))
    monitor.push(worlds.table_of(dense(10, 3)))
    monitor.add(other)
    assert monitor.explain().count("frequency") == 0
    rows = monitor.push(worlds.table_of(dense(30, 3)[10:]))
    assert ends_of(rows, "one") == ends_of(rows, "other") == {"": [12, 16, 20, 24, 28]}
    (counters,) = monitor.counters["families"].values()
    assert counters["passes"] == 7
