"""COUNT(DISTINCT x) with APPROXIMATE, in a Monitor: exact of few values, within bounds of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model.query import Query
from skyband.runtime import operator
from skyband.runtime.arrivals import Arrivals
from skyband.runtime.data_models import sketched_groups
from tests import groups
from tests.drawn import examples
from tests.support import micros

FEW = 3
"""Values that are kept of a group and pane."""


@pytest.fixture(autouse=True)
def _fold_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is few."""
    monkeypatch.setattr(operator, "SLACK", 4)


@st.composite
def queries(draw: st.DrawFn, number: int) -> Query:
    """All groups are listed."""
    width = draw(st.integers(1, 12))
    slide = draw(st.integers(1, width))
    frame: dict[str, Any] = {"window": f"{width} rows", "slide": slide}
    if draw(st.booleans()):
        frame = {"window": f"{width} microseconds", "slide": micros(slide)}
    shown = {"n": "COUNT(*)", "total": "SUM(bytes)", "hosts": "COUNT(DISTINCT host)", "values": "COUNT(DISTINCT bytes)"}
    by = draw(st.sampled_from(["COUNT(DISTINCT bytes)", "COUNT(DISTINCT host)"]))
    per = draw(st.sampled_from([(), "color"]))
    options: dict[str, Any] = {"select": {"client": "client"} | shown, "per": per, "approximate": True}
    return sb.TopK(f"q{number}", 9, by, **frame, group_by="client", **options)


@examples(100)
@given(made=st.lists(st.integers(), min_size=1, max_size=2), tables=groups.tables(60), data=st.data())
def test_every_group_is_there_and_counts_are_exact_up_to_so_many_values(
    made: list[int], tables: list[pa.Table], data: st.DataObject
) -> None:
    """However the stream is cut, and started again."""
    asked = [data.draw(queries(number)) for number in range(len(made))]
    stream = sb.Stream("s", time="ts", lateness=micros(data.draw(st.integers(0, 6))))
    rough, cut, parts = sb.Workload(asked, stream=stream), data.draw(st.integers(0, len(tables))), []
    exact = sb.Workload([_exact(query) for query in asked], stream=stream)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketched_groups, "VALUES_KEPT", FEW)
        monitor = sb.Monitor(rough)
        for number, table in enumerate(tables):
            if number == cut:
                monitor = sb.Monitor.restore(rough, monitor.snapshot())
            parts.append(monitor.push(table))
        parts.append(monitor.close())
    truth = sb.Monitor(exact)
    expected = [truth.push(table) for table in tables]
    _agree(pa.concat_tables(parts), pa.concat_tables([*expected, truth.close()]))


def _exact(query: Query) -> Query:
    assert query.grouping is not None
    shown = {item.name: item.by for item in query.grouping.items}
    return sb.TopK(query.name, 9, query.by, query.window, group_by="client", select=shown, per=query.per)


def _agree(rows: pa.Table, truth: pa.Table) -> None:
    named = ["query", "window_end", "row_end", "group_key", "client"]
    true = {tuple(row[name] for name in named): row for row in truth.to_pylist()}
    found = rows.to_pylist()
    assert len(found) == len(true)
    for row in found:
        right = true[tuple(row[name] for name in named)]
        assert (row["n"], row["total"]) == (right["n"], right["total"])
        for name in ("hosts", "values"):
            assert row[name] == right[name] or right[name] > FEW
        assert row["score_low"] <= row["score"] <= row["score_high"]
        if right["score"] <= FEW:
            assert row["score_low"] == right["score"] == row["score_high"]


GROUPS, PANE, KEPT = 200, 40_000, 64


def test_many_values_are_within_bounds_and_few_of_them_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred groups with some hundred values each, of which panes have many in common, in windows of four panes:
    97 of 100 counts should be within their bounds."""
    monkeypatch.setattr(sketched_groups, "VALUES_KEPT", KEPT)
    monkeypatch.setattr(Arrivals, "many", True)
    draw = np.random.default_rng(12)
    size = 8 * PANE
    group = draw.integers(0, GROUPS, size)
    value = group * 10_000 + (draw.random(size) * (300 + 5 * group)).astype(np.int64)
    table = pa.table({"ts": pa.array(np.arange(size), pa.timestamp("us")), "g": group, "x": value})
    window = f"{4 * PANE} microseconds", micros(PANE)
    query = sb.TopK("q", GROUPS, "COUNT(DISTINCT x)", *window, group_by="g", approximate=True)
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    parts = [monitor.push(table.slice(first, PANE // 3)) for first in range(0, size, PANE // 3)]
    family = next(iter(monitor.counters["families"].values()))
    assert family["candidates_peak"] <= 2 * 5 * GROUPS * (KEPT + 1)
    inside, told = [], pa.concat_tables([*parts, monitor.close()]).to_pylist()
    for end in range(PANE, size + 3 * PANE, PANE):
        rows = [row for row in told if row["window_end"] == np.datetime64(end, "us").astype(object)]
        assert len(rows) == GROUPS
        true = np.unique(value[max(end - 4 * PANE, 0) : end]) // 10_000
        count = np.bincount(true, minlength=GROUPS)
        inside += [row["score_low"] <= count[row["g"]] <= row["score_high"] for row in rows]
        assert any(row["score_low"] < row["score_high"] for row in rows)
    assert np.mean(inside) >= 0.95


def test_a_score_that_is_exact_has_no_bounds() -> None:
    query = sb.TopK(
        "q", 3, "COUNT(*)", "5 rows", group_by="client", select=["client", "COUNT(DISTINCT bytes)"], approximate=True
    )
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts"))
    assert "at most 1,024 values of each group and pane, for COUNT(DISTINCT bytes)" in workload.explain()
    monitor = sb.Monitor(workload)
    monitor.push(groups.table_of([(at, "a", 1, value, 1.0, "red") for at, value in enumerate([3, 3, 4])]))
    (row,) = monitor.close().to_pylist()
    assert (row["score"], row["score_low"], row["score_high"], row["count_distinct_bytes"]) == (3, None, None, 2)


@pytest.mark.parametrize(
    ("by", "rough", "said"),
    [
        ("COUNT(DISTINCT x)", sb.Approximate(groups=9), "values are left out there, and no group"),
        ("COUNT(DISTINCT x) / COUNT(*)", sb.Approximate(), "which has no bounds"),
    ],
)
def test_what_has_no_bounds_is_refused(by: str, rough: sb.Approximate, said: str) -> None:
    query = sb.TopK("q", 3, by, "5 rows", group_by="g", approximate=rough)
    with pytest.raises(sb.SkybandError) as caught:
        sb.Workload([query], stream=sb.Stream("s", time="ts"))
    assert said in str(caught.value)
