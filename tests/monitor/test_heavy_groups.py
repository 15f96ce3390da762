"""APPROXIMATE groups by counts and sums, in a Monitor: bounds hold for certain, and what is kept is bounded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model.frozen import set_fields
from skyband.model.query import Query
from skyband.runtime import operator
from skyband.runtime.arrivals import Arrivals
from tests import groups, heavy_groups
from tests.drawn import examples
from tests.support import micros


@pytest.fixture(autouse=True)
def _fold_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is few."""
    monkeypatch.setattr(operator, "SLACK", 4)


@examples(120)
@given(workload=heavy_groups.workloads(), tables=groups.tables(60), data=st.data())
def test_bounds_hold_however_the_stream_is_cut_and_started_again(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    heavy_groups.check(workload, tables, pa.concat_tables([*parts, monitor.close()]))


@examples(40)
@given(workload=heavy_groups.workloads((50, 50)), tables=groups.tables())
def test_where_every_group_is_kept_the_rows_are_exact(workload: sb.Workload, tables: list[pa.Table]) -> None:
    """A negative value makes a bad record here, and counts there."""
    sound = "bytes >= 0 OR bytes IS NULL"
    asked = [_asked(query, where=sound if query.by == "SUM(bytes)" else query.where) for query in workload.queries]
    exact = [_asked(query, approximate=None) for query in asked]
    rough, plain = (sb.Workload(queries, streams=workload.streams) for queries in (asked, exact))
    assert groups.run_monitor(rough, tables) == groups.run_monitor(plain, tables)


def _asked(query: Query, **fields: object) -> Query:
    same = query.over("s")
    set_fields(same, aggregates=None, **fields)
    return same


@examples(40)
@given(tables=groups.tables(60), data=st.data())
def test_bounds_hold_for_who_joins_and_who_was_there(tables: list[pa.Table], data: st.DataObject) -> None:
    """The windows of one cut those of the other. Whatever was left out before, rows that are not warming know it."""

    def query(name: str) -> sb.TopK:
        width = data.draw(st.integers(1, 12))
        window = f"{width} microseconds", micros(data.draw(st.integers(1, width)))
        shown = {"client": "client", "host": "host", "total": "COUNT(*)"}
        rough = sb.Approximate(groups=2)
        return sb.TopK(name, 2, "COUNT(*)", *window, group_by=("client", "host"), select=shown, approximate=rough)

    old, new = query("old"), query("new")
    monitor, parts = sb.Monitor(sb.Workload([old], stream=sb.Stream("s", time="ts"))), []
    joins = data.draw(st.integers(0, len(tables) - 1))
    for number, table in enumerate(tables):
        if number == joins:
            monitor.add(new)
        parts.append(monitor.push(table))
    both = sb.Workload([old, new], stream=sb.Stream("s", time="ts"))
    rows = pa.concat_tables([part.select(monitor.results.schema.names) for part in [*parts[joins:], monitor.close()]])
    sure = rows.filter(pc.invert(pc.fill_null(rows["warming"], False)))
    for each in both.queries:
        truth = heavy_groups.true_values(each, both, tables)
        for window, told in heavy_groups.reported(both, each, sure).items():
            heavy_groups.check_window(each, truth[window], told)


KEPT, PANE, PUSH, PUSHES = 20, 10_000, 2_000, 60
"""Groups kept; and microseconds, that is records, of a pane and a push."""


def test_what_is_kept_is_bounded_and_the_heaviest_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty pushes to a window of five panes, each with hundreds of groups: of one pane no more rows stay than twice
    those of a summary, beside those of a push. A group that leads in every push loses nothing, and of no other is more
    unknown than is promised."""
    monkeypatch.setattr(operator, "SLACK", KEPT + 1)
    monkeypatch.setattr(Arrivals, "many", True)
    draw = np.random.default_rng(3)
    size = PUSH * PUSHES
    client = np.minimum(draw.zipf(1.4, size), 50_000)
    table = pa.table({"ts": pa.array(np.arange(size), pa.timestamp("us")), "client": client})
    window = f"{5 * PANE} microseconds", timedelta(microseconds=PANE)
    query = sb.TopK("q", 20, "COUNT(*)", *window, group_by="client", approximate=sb.Approximate(groups=KEPT))
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    parts, rows = [], 0
    for first in range(0, size, PUSH):
        parts.append(monitor.push(table.slice(first, PUSH)))
        family = next(iter(monitor.counters["families"].values()))
        rows = max(rows, family["candidates_peak"] + family["held_back"])
    assert 5 * KEPT < rows <= (2 * 6 + 2) * (KEPT + 1)
    last = pa.concat_tables(parts).to_pylist()[-20:]
    end = int(np.datetime64(last[0]["window_end"], "us").astype(int))
    inside = client[end - 5 * PANE : end]
    true = [int((inside == row["client"]).sum()) for row in last]
    assert [row["score"] for row in last[:5]] == true[:5] == [row["score_high"] for row in last[:5]]
    for row, value in zip(last, true, strict=True):
        assert row["score_low"] <= value <= row["score_high"] <= row["score_low"] + len(inside) / (KEPT + 1)
    assert any(row["score_low"] < row["score_high"] for row in last)


def test_a_negative_value_makes_a_bad_record() -> None:
    query = sb.TopK("q", 3, "SUM(bytes)", "5 rows", group_by="client", approximate=True)
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    monitor.push(groups.table_of([(at, "a", 1, value, 1.0, "red") for at, value in enumerate([3, -1, None, 4])]))
    (row,) = monitor.close().to_pylist()
    assert (row["score"], row["score_low"], row["score_high"]) == (7, 7, 7)
    assert monitor.counters["bad"] == {"negative value": 1}


def test_sums_of_doubles_are_refused_with_the_first_records() -> None:
    query = sb.TopK("q", 3, "SUM(weight)", "5 rows", group_by="client", approximate=True)
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    with pytest.raises(sb.SkybandError, match=r"query q: APPROXIMATE with SUM\(weight\) of a column of type double"):
        monitor.push(groups.table_of([(0, "a", 1, 1, 1.0, "red")]))


def test_bounds_are_columns_only_where_somebody_asks() -> None:
    """Another query of the table has none."""
    stream = sb.Stream("s", time="ts", columns=[("ts", "TIMESTAMP_NTZ"), ("x", "BIGINT")])
    exact = sb.TopK("e", 3, "COUNT(*)", "1 hour", group_by="x")
    rough = sb.TopK("r", 3, "COUNT(*)", "1 hour", group_by="x", approximate=True)
    assert "score_low" not in sb.Monitor(sb.Workload([exact], stream=stream)).results.schema.names
    monitor = sb.Monitor(sb.Workload([exact, rough], stream=stream))
    monitor.push(pa.table({"ts": pa.array([1], pa.timestamp("us")), "x": [5]}))
    rows = monitor.close()
    bounds = [(row["query"], row["score_low"], row["score_high"]) for row in rows.to_pylist()]
    assert bounds == [("e", None, None), ("r", 1, 1)]
    assert "score_low" not in monitor.results.of("e").schema.names
    assert monitor.results.of("r").schema.field("score_high").type == pa.int64()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "AVG(x)"}, "is APPROXIMATE and ranks groups by AVG"),
        ({"by": "SUM(x) / 2"}, "expected: ORDER BY COUNT"),
        ({"by": "COUNT(*)", "ascending": True}, "wants the groups with the least"),
        ({"by": "COUNT(*)", "having": "COUNT(*) > 5"}, "ABOVE x lists the groups"),
        ({"by": "COUNT(*)", "select": ["g", "SUM(x)"]}, "asks for SUM"),
        ({"by": "COUNT(*)", "rest": True}, "APPROXIMATE and WITH REST"),
        ({"by": "COUNT(*)", "changes": True}, "APPROXIMATE and EMIT CHANGES"),
        ({"by": "COUNT(*)", "approximate": sb.Approximate(groups=2)}, "lists 3 groups and keeps 2 of each pane"),
        ({"by": "COUNT(*)", "approximate": sb.Approximate(precision=0.9)}, "which is about objects"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_has_no_bounds_is_refused(asked: dict[str, Any], said: str) -> None:
    options: dict[str, Any] = {"group_by": "g", "approximate": True} | asked
    query = sb.TopK("q", 3, window="5 rows", **options)
    with pytest.raises(sb.SkybandError, match="query q") as caught:
        sb.Workload([query], stream=sb.Stream("s", time="ts"))
    assert said in str(caught.value)


def test_text_and_python_are_two_spellings() -> None:
    query = sb.TopK("q", 3, "COUNT(*)", "5 rows", group_by="g", stream="s", approximate=sb.Approximate(groups=64))
    asked = sb.Workload([query], stream=sb.Stream("s", time="ts"))
    text = "CREATE STREAM s WITH (TIME = ts);" + str(asked.queries[0])
    assert "APPROXIMATE KEEPING 64 GROUPS" in text
    assert sb.Workload.from_sql(text).queries == asked.queries
    assert "at most 1/65 of the window's COUNT(*) apart" in asked.explain()


def test_deletes_are_refused() -> None:
    query = sb.TopK("q", 3, "COUNT(*)", "5 rows", group_by="g", approximate=True)
    with pytest.raises(sb.SkybandError, match="query q is APPROXIMATE, and stream s has deletes"):
        sb.Workload([query], stream=sb.Stream("s", time="ts", key="id", op="op"))
