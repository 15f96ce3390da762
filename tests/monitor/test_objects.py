"""A Monitor over objects whose values arrive apart: every row of every report is the oracle's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines.base import registered
from skyband.engines.objects.family import nothing_prunes
from skyband.model import Query
from skyband.model.across import COLLECTED
from skyband.planner.families.objects import why_everything
from tests.drawn import examples
from tests.objects import EXPRESSIONS, expected, reported, table_of
from tests.support import check_structures, micros


@st.composite
def expressions(draw: st.DrawFn) -> tuple[sb.Across, str]:
    """A product is monotone because values are bounded, or by their form, or because they are counted."""
    collect, value = draw(st.sampled_from(COLLECTED)), draw(st.sampled_from(["x", "abs(x)"]))
    ever, objects = draw(st.booleans()), draw(st.sampled_from([["client"], ["client", "port"]]))
    bounds = [None, (0, 4), (1, 5), (-2, 4)] if collect != "COUNT" else [None]
    between = draw(st.sampled_from(bounds))
    feeds = [sb.Feed("a", alias="a"), sb.Feed("b", alias="b"), sb.Feed("c", alias="c")]
    floor = collect == "COUNT" or (between is None and value == "abs(x)") or (between is not None and between[0] >= 0)
    across = sb.Across(objects, "server", collect, feeds, between, times=40, ever=ever, value=value)
    return across, draw(st.sampled_from(list(EXPRESSIONS)[: None if floor else -1]))


@st.composite
def acrosses(draw: st.DrawFn) -> tuple[sb.Across, str]:
    """Also one that tells every score, with the streams declared or not."""
    feeds: list[str | sb.Feed]
    collect = draw(st.sampled_from(COLLECTED))
    objects = draw(st.sampled_from([["client"], ["client"], ["port"], ["client", "port"]]))
    if draw(st.integers(0, 3)) == 0:
        return sb.Across(objects, "server", collect), draw(st.sampled_from(["SUM(x)", "MAX(abs(x))"]))
    if collect == "COUNT":
        times, feeds = draw(st.sampled_from([None, 40])), ["a", sb.Feed("b", weight=2.0), sb.Feed("c", times=40)]
        across = sb.Across(objects, "server", collect, feeds, times=times, ever=draw(st.booleans()) and times == 40)
        return across, draw(st.sampled_from(["SUM(x)", "MAX(x)", "MIN(x)", "PRODUCT(x)"]))
    feeds = ["a", sb.Feed("b", weight=2.0), sb.Feed("c", between=(0.5, 3))]
    between = draw(st.sampled_from([None, (0, 4), (0, 4), (-2, 4), (1, 5)]))
    across = sb.Across(objects, "server", collect, feeds, between, times=40, ever=draw(st.booleans()))
    words = ["SUM(x)", "MAX(x)", "MIN(x)"] + ["PRODUCT(x)"] * (between != (-2, 4))
    return across, draw(st.sampled_from(words))


@st.composite
def workloads(
    draw: st.DrawFn, approximate: sb.Approximate | None = None, above: bool = False, expressed: bool = False
) -> sb.Workload:
    members: list[Query] = []
    each = acrosses() | expressions() if expressed else acrosses()
    kinds = draw(st.lists(each, min_size=1, max_size=2))
    for number in range(draw(st.integers(1, 4))):
        width = draw(st.integers(1, 16))
        rows = draw(st.integers(0, 2)) == 0
        frame: dict[str, Any] = {"window": f"{width} {'rows' if rows else 'microseconds'}"}
        slide = draw(st.integers(1, width))
        frame["slide"] = slide if rows else micros(slide)
        across, by = draw(st.sampled_from(kinds))
        options: dict[str, Any] = {
            "per": draw(st.sampled_from([(), (), (), "color"])),
            "ascending": draw(st.integers(0, 4)) == 0,
            "where": draw(st.sampled_from([None, None, "port > 1"])),
            "approximate": approximate or False,
        }
        if above and draw(st.booleans()):
            level = draw(st.sampled_from([-2, 0, 1.5, 4]))
            members.append(sb.Above(f"q{number}", level, by, across=across, **frame, **options))
        else:
            members.append(sb.TopK(f"q{number}", k=draw(st.integers(1, 4)), by=by, across=across, **frame, **options))
    return sb.Workload(members, stream=sb.Stream("s", time="ts", key="id", lateness=micros(draw(st.integers(0, 4)))))


@st.composite
def tables(draw: st.DrawFn) -> list[pa.Table]:
    rows, at = [], 0
    for number in range(draw(st.integers(0, 36))):
        at += draw(st.sampled_from([0, 0, 1, 1, 2, -1, -3, 20]))
        client = draw(st.sampled_from(["u", "v", "w", "x", "y", None]))
        server = draw(st.sampled_from(["a", "b", "c", "a", "b", "c", "d", None]))
        x = draw(st.sampled_from([None, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, -1.0, 9.0, float("inf")]))
        rows.append((at, number, client, draw(st.integers(0, 3)), server, x, draw(st.sampled_from(["red", "blue"]))))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return [table_of(rows[low:high]) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


@pytest.mark.parametrize("engine", registered("objects"))
@examples(50)
@given(pushes=tables(), data=st.data())
def test_every_row_is_the_oracle_s(engine: str, pushes: list[pa.Table], data: st.DataObject) -> None:
    """Also by an engine that may miss some, where everything is asked for."""
    able = sb.engines()[engine]
    rough = None if able.exact else sb.Approximate(precision=1.0)
    workload = data.draw(workloads(rough, able.thresholds, able.expressions))
    monitor, parts = sb.Monitor(workload, engine), []
    cut = data.draw(st.integers(0, len(pushes)))
    for number, table in enumerate(pushes):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot(), engine)
        parts.append(monitor.push(table))
        check_structures(monitor)
    said = reported(pa.concat_tables([*parts, monitor.close()]))
    assert said == expected(workload, pushes)
    for planned in workload.plan(engine).families:
        assert (why_everything(planned.family) is None) == (nothing_prunes(planned.meta) is None)


def monitored(by: str, across: sb.Across, rows: list[tuple[Any, ...]], **options: Any) -> tuple[sb.Monitor, pa.Table]:
    query = sb.TopK("q", by=by, across=across, **{"k": 2, "window": "10 us", **options})
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts", key="id")))
    return monitor, pa.concat_tables([monitor.push(table_of(rows)), monitor.close()])


def test_bad_records_are_counted_by_reason_and_left_out() -> None:
    rows = [
        (0, 0, "u", 1, "a", 1.0, "red"),
        (0, 1, None, 1, "a", 1.0, "red"),
        (0, 2, "u", 1, "z", 1.0, "red"),
        (0, 3, "u", 1, None, 1.0, "red"),
        (0, 4, "u", 1, "a", 11.0, "red"),
        (0, 5, "u", 1, "b", -1.0, "red"),
        (0, 6, "u", 1, "b", float("inf"), "red"),
        (0, 7, "u", 1, "b", float("nan"), "red"),
    ]
    across = sb.Across("client", "server", streams=["a", "b"], between=(0, 10), times=9)
    monitor, out = monitored("SUM(x)", across, rows)
    assert out["score"].to_pylist() == [1.0]
    assert monitor.counters["bad"] == {
        "null object": 1,
        "unknown stream": 2,
        "value out of its stream's bounds": 2,
        "infinite value": 1,
    }
    assert monitor.counters["unranked"] == 1


def test_the_largest_attribute_may_be_one_that_is_missing() -> None:
    """p lacks b, which counts with 0; so nobody can leave it out because the streams are not declared."""
    rows = [(0, 0, "p", 1, "a", -5.0, "red"), (0, 1, "q", 1, "a", -7.0, "red"), (0, 2, "q", 1, "b", -1.0, "red")]
    _, out = monitored("MAX(x)", sb.Across("client", "server", streams=["a", "b"]), rows)
    assert list(zip(out["client"].to_pylist(), out["score"].to_pylist(), strict=True)) == [("p", 0.0), ("q", -1.0)]
    with pytest.raises(sb.SkybandError, match="query q: MAX over streams that are not declared, of values that may be"):
        monitored("MAX(x)", sb.Across("client", "server"), rows)
    _, out = monitored("MAX(abs(x))", sb.Across("client", "server"), rows)
    assert list(zip(out["client"].to_pylist(), out["score"].to_pylist(), strict=True)) == [("q", 7.0), ("p", 5.0)]


def test_the_streams_may_be_numbers() -> None:
    rows = [(0, 0, "u", 7, "a", 1.0, "red"), (0, 1, "u", -8, "a", 2.0, "red"), (0, 2, "u", 9, "a", 4.0, "red")]
    monitor, out = monitored("SUM(x)", sb.Across("client", "port", streams=[7, -8]), rows)
    assert out["score"].to_pylist() == [3.0]
    assert monitor.counters["bad"] == {"unknown stream": 1}


def test_an_expression_over_attributes_of_the_issue() -> None:
    """q is missing at the gate and in the tunnel, which count 0; r has nothing that counts."""
    rows = [
        (0, 0, "p", 1, "a", 30.0, "red"),
        (1, 1, "p", 1, "b", 16.0, "red"),
        (2, 2, "q", 1, "a", 40.0, "red"),
        (3, 3, "p", 1, "c", 120.0, "red"),
        (4, 4, "r", 1, "z", 99.0, "red"),
    ]
    feeds = [sb.Feed("a", alias="bridge"), sb.Feed("b", alias="tunnel"), sb.Feed("c", alias="gate")]
    across = sb.Across("client", "server", "MAX", feeds, value="x")
    by = "2 * bridge + sqrt(tunnel) + least(gate, 100)"
    _, out = monitored(by, across, rows)
    assert list(zip(out["client"].to_pylist(), out["score"].to_pylist(), strict=True)) == [("p", 164.0), ("q", 80.0)]
    _, out = monitored("ln(tunnel) + bridge", across, rows)
    assert out["client"].to_pylist() == ["p"], "q has no score"


def test_a_count_and_a_mean_of_what_is_in_the_window() -> None:
    """NULL is no value, infinity is one to be counted; means go up and down as values come and go."""
    rows = [
        (0, 0, "u", 1, "a", 9.0, "red"),
        (1, 1, "u", 1, "a", 2.0, "red"),
        (1, 2, "v", 1, "a", 5.0, "red"),
        (2, 3, "v", 1, "a", None, "red"),
        (2, 4, "u", 1, "a", float("inf"), "red"),
        (3, 5, "u", 1, "b", 1.0, "red"),
    ]

    def scores(collect: str) -> list[dict[str, float]]:
        _, out = monitored("SUM(x)", sb.Across("client", "server", collect), rows, window="3 us", slide="1 us")
        found: dict[int, dict[str, float]] = {}
        for end, client, score in zip(out["window_end"].cast(pa.int64()).to_pylist(), out["client"].to_pylist(),
                                      out["score"].to_pylist(), strict=True):  # fmt: skip
            found.setdefault(end, {})[client] = score
        return [found[end] for end in sorted(found)]

    assert scores("COUNT")[:4] == [{"u": 1}, {"u": 2, "v": 1}, {"u": 3, "v": 1}, {"u": 3, "v": 1}]
    assert scores("AVG")[:4] == [{"u": 9}, {"u": 5.5, "v": 5}, {"u": 5.5, "v": 5}, {"v": 5, "u": 3}]


def test_changes_are_about_objects_not_records() -> None:
    rows = [
        (0, 0, "u", 1, "a", 1.0, "red"),
        (1, 1, "v", 1, "a", 2.0, "red"),
        (2, 2, "v", 1, "b", 1.0, "red"),
        (3, 3, "u", 1, "b", 3.0, "red"),
        (9, 4, "w", 1, "b", 0.5, "red"),
    ]
    _, out = monitored("SUM(x)", sb.Across("client", "server"), rows, window="4 us", slide="1 us", changes=True)
    log = out.set_column(2, "window_end", out["window_end"].cast(pa.int64()))
    told = [
        (row["window_end"], row["change"], row["client"], row["rank"], row["score"])
        for row in log.select(["window_end", "change", "client", "rank", "score"]).to_pylist()
    ]
    assert told == [
        (1, "enter", "u", 1, 1.0),
        (2, "enter", "v", 1, 2.0),
        (2, "move", "u", 2, 1.0),
        # At 3 v has a new score and a new record, and the same rank; at 4 u overtakes it.
        (4, "move", "u", 1, 4.0),
        (4, "move", "v", 2, 3.0),
        # At 5 and 6 values leave, and the order stays.
        (7, "leave", "v", None, None),
        (8, "leave", "u", None, None),
        (10, "enter", "w", 1, 0.5),
        (14, "leave", "w", None, None),
    ]


@examples(25)
@given(pushes=tables(), level=st.sampled_from([0, 1.5, 4]))
def test_a_log_of_who_is_above_folds_to_the_lists(pushes: list[pa.Table], level: float) -> None:
    feeds = [sb.Feed("a", alias="a"), sb.Feed("b", alias="b"), sb.Feed("c", alias="c")]
    across = sb.Across("client", "server", "SUM", feeds, (0, 4), times=40, value="x")
    options: dict[str, Any] = {"window": "9 us", "slide": "3 us", "across": across}
    members = [sb.Above(name, level, "a * b + c", changes=name == "log", **options) for name in ("list", "log")]
    monitor = sb.Monitor(sb.Workload(members, stream=sb.Stream("s", time="ts", key="id", lateness=micros(40))))
    rows = pa.concat_tables([*map(monitor.push, pushes), monitor.close()]).to_pylist()
    listed, lists = dict[str, int](), dict[Any, dict[str, int]]()
    ends = sorted({row["window_end"] for row in rows})
    for end in ends:
        for row in (row for row in rows if row["window_end"] == end):
            if row["query"] == "list":
                lists.setdefault(end, {})[row["client"]] = row["rank"]
            elif row["change"] == "leave":
                del listed[row["client"]]
            else:
                listed[row["client"]] = row["rank"]
        assert listed == lists.get(end, {})


def test_a_query_joins_and_leaves_a_running_family() -> None:
    across = sb.Across("client", "server", streams=["a", "b"], between=(0, 9), times=40)
    one = sb.TopK("one", k=1, by="SUM(x)", window="20 us", slide="5 us", across=across, select=["id"])
    more = sb.TopK("more", k=3, by="SUM( x )", window="10 us", slide="5 us", across=across, select=["id"])
    stream = sb.Stream("s", time="ts", key="id")
    records = [(at, at, "uvwxy"[at * 7 % 5], 1, "ab"[at % 2], float(at * 5 % 9), "red") for at in range(80)]
    parts = [table_of(records[low : low + 20]) for low in range(0, 80, 20)]
    monitor = sb.Monitor(sb.Workload([one], stream=stream))
    rows = [monitor.push(parts[0])]
    monitor.add(more)
    assert "2 queries over s by SUM(x)" in monitor.explain()
    rows += [monitor.push(parts[1]), monitor.push(parts[2])]
    monitor.remove("one")
    rows += [monitor.push(parts[3]), monitor.close()]
    said = pa.concat_tables(rows)
    truth = expected(sb.Workload([one, more], stream=stream), parts)
    settled = said.filter(pc.invert(pc.fill_null(said["warming"], False)))
    ends = {name: [end for query, end, _ in reported(settled) if query == name] for name in ("one", "more")}
    assert {report: listed for report, listed in truth.items() if report[1] in ends[report[0]]} == reported(settled)
    assert (ends["one"][-1], min(ends["more"]), max(ends["more"])) == (55, 30, 85)


def test_late_values_count_in_windows_that_are_open() -> None:
    stream = sb.Stream("s", time="ts", key="id")
    across = sb.Across("client", "server", streams=["a", "b"], between=(0, 9), times=9)
    query = sb.TopK("q", k=1, by="SUM(x)", window="10 us", slide="5 us", across=across, select=["id"])
    workload = sb.Workload([query], stream=stream)
    pushes = [
        table_of([(0, 0, "u", 1, "a", 1.0, "r"), (8, 1, "v", 1, "a", 5.0, "r")]),
        table_of([(4, 2, "u", 1, "b", 9.0, "r"), (7, 3, "u", 1, "b", 9.0, "r")]),
    ]
    monitor = sb.Monitor(workload)
    said = reported(pa.concat_tables([*map(monitor.push, pushes), monitor.close()]))
    assert said == expected(workload, pushes)
    assert said["q", 10, ""] == [(3, 19.0)]
    assert monitor.counters["late"] == 1


@pytest.mark.parametrize(("times", "counted"), [(None, 0), (1, 1), (2, 0)])
def test_where_nothing_was_promised_nothing_is_broken(times: int | None, counted: int) -> None:
    across = sb.Across("client", "server", streams=["a"], times=times)
    rows = [(0, 0, "u", 1, "a", 2.0, "r"), (1, 1, "u", 1, "a", 3.0, "r")]
    monitor, out = monitored("SUM(x)", across, rows)
    assert out["score"].to_pylist() == [5.0]
    assert monitor.counters["beyond_declared"] == counted


def test_more_than_was_promised_is_counted() -> None:
    across = sb.Across("client", "server", streams=["a"], between=(0, 9), times=1)
    rows = [(0, 0, "u", 1, "a", 2.0, "r"), (1, 1, "u", 1, "a", 3.0, "r")]
    monitor, out = monitored("SUM(x)", across, rows)
    assert out["score"].to_pylist() == [5.0]
    assert monitor.counters["beyond_declared"] == 1
