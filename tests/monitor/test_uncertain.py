"""A Monitor over uncertain streams: every row of every report is what the recurrence says of the window's records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines.oracle import uncertain as oracle
from skyband.model import Query, TopK, Using
from skyband.runtime.executors import small_groups
from skyband.runtime.hashing import hash_rows
from tests.drawn import examples
from tests.engines.conformance.models import with_examples
from tests.support import check_structures, micros

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")), ("id", pa.int64()), ("score", pa.float64()), ("p", pa.float64()),
        ("rule", pa.string()), ("color", pa.string()),
    ]
)  # fmt: skip
Report = tuple[str, int, str]
"""Query, end and group."""


def stream(lateness: int = 0, rule: str | None = "rule") -> sb.Stream:
    return sb.Stream("s", time="ts", key="id", lateness=micros(lateness), probability="p", rule=rule)


@st.composite
def workloads(draw: st.DrawFn) -> sb.Workload:
    members: list[Query] = []
    for number in range(draw(st.integers(1, 5))):
        rows = draw(st.integers(0, 3)) == 0
        width = draw(st.integers(1, 14))
        step = draw(st.integers(1, width))
        frame: dict[str, Any] = {"window": f"{width} rows" if rows else f"{width} microseconds"}
        frame[draw(st.sampled_from(["slide", "frequency"]))] = step if rows else micros(step)
        options: dict[str, Any] = {
            "per": draw(st.sampled_from([(), (), "color"])),
            "ascending": draw(st.booleans()),
            "using": draw(st.sampled_from([None, "PK_TOPK", "GLOBAL_TOPK", "PT_K(0.2)"])),
        }
        members.append(sb.TopK(f"q{number}", k=draw(st.integers(1, 4)), by="score", **frame, **options))
    return sb.Workload(members, stream=stream(draw(st.integers(0, 4))))


@st.composite
def tables(draw: st.DrawFn) -> list[pa.Table]:
    rows, at = [], 0
    for number in range(draw(st.integers(0, 30))):
        at += draw(st.sampled_from([0, 0, 1, 1, 2, -1, -3, 20]))
        score = draw(st.sampled_from([None, 1.0, 2.0, 3.0, 4.0, 5.0]))
        p = draw(st.sampled_from([1.0, 0.5, 0.25, 0.7, 0.31, 0.11, None, 0.0, 1.5]))
        rule, color = draw(st.sampled_from([None, None, "a", "b"])), draw(st.sampled_from(["red", "blue"]))
        rows.append((at, number, score, p, rule, color))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return [table_of(rows[low:high]) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def table_of(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(values, each.type) for values, each in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def plain(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
    return rows


def expected(workload: sb.Workload, pushes: Sequence[pa.Table]) -> dict[Report, dict[int, float]]:
    """By report: the top-k probability of every record of its window that counts."""
    found: dict[Report, dict[int, float]] = {}
    for planned in workload.plan().families:
        for number, query in enumerate(planned.family.queries):
            mine = planned.meta.query == number
            due = list(zip(planned.meta.period[mine].tolist(), planned.meta.phase[mine].tolist(), strict=True))
            for report, members in windows(query, due, workload.streams[0], pushes).items():
                found[query.name, *report] = probabilities(query, members)
    return found


def windows(
    query: Query, due: list[tuple[int, int]], of: sb.Stream, pushes: Sequence[pa.Table]
) -> dict[tuple[int, str], list[dict[str, Any]]]:
    watermark, seen, inside = -(2**62), dict[str, int](), dict[tuple[int, str], list[dict[str, Any]]]()
    for table in pushes:
        rows = plain(table)
        for row, hashed in zip(rows, hash_rows(table).tolist(), strict=True):
            if row["p"] is None or not 0 < row["p"] <= 1:
                continue
            group = row["color"] if query.per else ""
            position = seen[group] = seen.get(group, -1) + 1
            in_rows = query.window.kind == "rows"
            at = position if in_rows else row["ts"]
            if row["score"] is None:
                continue
            for period, phase in due:
                end = at + 1 + (phase - at - 1) % period
                while end <= at + query.window.width:
                    if in_rows or end > watermark:
                        inside.setdefault((end, group), []).append(row | {"at": at, "tie": (row["id"], hashed)})
                    end += period
        good = [row["ts"] for row in rows if row["p"] is not None and 0 < row["p"] <= 1]
        watermark = max([watermark, *(ts - of.lateness for ts in good)])
    return inside


def probabilities(query: Query, members: list[dict[str, Any]]) -> dict[int, float]:
    assert isinstance(query, TopK)
    in_time = sorted(members, key=lambda row: (row["at"], row["tie"]))
    fits = oracle.fitting([oracle.Tuple(row["p"], row["rule"]) for row in in_time])
    counted = [row for row, fit in zip(in_time, fits, strict=True) if fit]
    sign = 1 if query.ascending else -1
    best_first = sorted(counted, key=lambda row: (sign * row["score"], -row["at"], row["tie"]))
    ranked = [oracle.Tuple(row["p"], row["rule"], row["id"]) for row in best_first]
    exact = oracle.recurrence_with_rules(ranked, query.k)
    return {record.row: p for record, p in zip(ranked, exact, strict=True)}


def reports(workload: sb.Workload, rows: pa.Table) -> dict[Report, list[tuple[int, float]]]:
    found: dict[Report, list[tuple[int, float]]] = {}
    for row in rows.set_column(2, "window_end", rows.column("window_end").cast(pa.int64())).to_pylist():
        end = row["window_end"] if row["row_end"] is None else row["row_end"]
        listed = found.setdefault((row["query"], end, row["group_key"]), [])
        listed.append((row["id"], row["probability"]))
        assert row["rank"] == len(listed)
    return found


def check(workload: sb.Workload, said: dict[Report, list[tuple[int, float]]], exact: dict[Report, Any]) -> None:
    by_name = {query.name: query for query in workload.queries}
    for report, truth in exact.items():
        query, listed = by_name[report[0]], said.get(report, [])
        assert isinstance(query, TopK)
        assert [p for _, p in listed] == pytest.approx([truth[id] for id, _ in listed], abs=1e-9)
        assert len({id for id, _ in listed}) == len(listed)
        if query.using == Using("PT_K", 0.2):
            assert {id for id, p in truth.items() if p > 0.2 + 1e-9} <= {id for id, _ in listed}
            assert all(p >= 0.2 - 1e-9 for _, p in listed)
        else:
            best = sorted(truth.values(), reverse=True)[: query.k]
            assert [p for _, p in listed] == pytest.approx(best, abs=1e-9)
    assert set(said) <= set(exact)


@examples(150)
@given(workload=workloads(), pushes=tables(), data=st.data())
def test_every_row_is_the_recurrence_s(workload: sb.Workload, pushes: list[pa.Table], data: st.DataObject) -> None:
    monitor, parts = sb.Monitor(workload), []
    cut = data.draw(st.integers(0, len(pushes)))
    for number, table in enumerate(pushes):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
        check_structures(monitor)
    said = reports(workload, pa.concat_tables([*parts, monitor.close()]))
    check(workload, said, expected(workload, pushes))


def test_the_plan_drives_the_reports() -> None:
    """f = 2, 3, 5 and k = 3, 4, 5: a cycle of four, and no query waits longer than it may."""
    asked = {"a": (2, 3), "b": (3, 4), "c": (5, 5)}
    workload = sb.Workload(
        [sb.TopK(name, k=k, by="score", window="20 us", frequency=f"{f} us") for name, (f, k) in asked.items()],
        stream=stream(rule=None),
    )
    monitor = sb.Monitor(workload)
    rows = monitor.push(table_of([(at, at, float(at % 7), 0.5, None, "red") for at in range(100)]))
    ends: dict[str, list[int]] = {}
    for name, end in zip(rows["query"].to_pylist(), rows["window_end"].cast(pa.int64()).to_pylist(), strict=True):
        ends.setdefault(name, []).append(end)
    due = {name: np.unique(each) for name, each in ends.items()}
    assert {name: np.unique(np.diff(each)).tolist() for name, each in due.items()} == {
        "a": [2],
        "b": [2],
        "c": [4],
    }
    (counters,) = monitor.counters["families"].values()
    assert counters["passes"] == len(due["a"])


def test_bad_probabilities_are_counted_and_left_out() -> None:
    workload = sb.Workload([sb.TopK("q", k=5, by="score", window="4 rows")], stream=stream())
    monitor = sb.Monitor(workload)
    p = [0.5, None, 0.0, -1.0, 1.5, float("nan"), 1.0]
    monitor.push(table_of([(at, at, 1.0, each, None, "red") for at, each in enumerate(p)]))
    assert monitor.counters["bad"] == {"probability outside (0, 1]": 5}
    assert monitor.close()["probability"].to_pylist() == [1.0, 0.5]


def test_a_rule_that_holds_too_much_is_counted() -> None:
    workload = sb.Workload([sb.TopK("q", k=5, by="score", window="10 us")], stream=stream())
    monitor = sb.Monitor(workload)
    monitor.push(table_of([(at, at, float(at), 0.6, "same", "red") for at in range(3)]))
    assert monitor.close()["id"].to_pylist() == [0]
    assert monitor.counters["left_out"] == 2


def test_expected_ranks_have_a_column_of_their_own() -> None:
    """p = 0.5, 0.8, 1 from the best down: expected ranks 0.9, 0.7 and 1.3."""
    records = [(at, at, float(3 - at), p, None, "red") for at, p in enumerate((0.5, 0.8, 1.0))]
    expected = sb.TopK("expected", k=3, by="score", window="9 us", using="EXPECTED_RANK", select="id")
    likely = sb.TopK("likely", k=1, by="score", window="9 us", select="expected_rank")
    table = table_of(records).append_column("expected_rank", pa.array([7, 7, 7]))
    monitor = sb.Monitor(sb.Workload([expected, likely], stream=stream()))
    monitor.push(table)
    rows = monitor.close()
    assert rows.column_names[10:] == ["warming", "expected_rank", "id", "record_expected_rank"]
    found = rows.select(["query", "id", "expected_rank", "probability"]).to_pylist()
    assert [(row["id"], row["probability"]) for row in found[:3]] == [(1, None), (0, None), (2, None)]
    assert [row["expected_rank"] for row in found[:3]] == pytest.approx([0.7, 0.9, 1.3])
    assert (found[3]["expected_rank"], found[3]["probability"]) == (None, 0.5)
    plain_monitor = sb.Monitor(sb.Workload([likely], stream=stream()))
    assert "expected_rank" in plain_monitor.push(table).column_names


def test_of_equal_expected_ranks_the_better_score_comes_first() -> None:
    """0.5 and 1.0 both have 1.2 on paper, and something next to it in doubles."""
    records = [(at, at, 10.0 - at, p, None, "red") for at, p in enumerate((0.7, 0.5, 1.0))]
    query = sb.TopK("q", k=3, by="score", window="9 us", using="EXPECTED_RANK")
    monitor = sb.Monitor(sb.Workload([query], stream=stream()))
    monitor.push(table_of(records))
    rows = monitor.close()
    assert rows["expected_rank"].to_pylist() == pytest.approx([0.45, 1.2, 1.2])
    assert rows["id"].to_pylist() == [0, 1, 2]


def test_changes_of_an_uncertain_list() -> None:
    query = sb.TopK("q", k=1, by="score", window="2 rows", slide=1, changes=True)
    monitor = sb.Monitor(sb.Workload([query], stream=stream(rule=None)))
    rows = monitor.push(table_of([(0, 0, 1.0, 0.9, None, "red"), (1, 1, 2.0, 1.0, None, "red")]))
    assert rows.select(["change", "id", "probability"]).to_pylist() == [
        {"change": "enter", "id": 0, "probability": 0.9},
        {"change": "leave", "id": 0, "probability": None},
        {"change": "enter", "id": 1, "probability": 1.0},
    ]


@examples(40)
@given(pushes=tables(), per=st.booleans())
def test_a_log_of_changes_folds_back_into_lists(pushes: list[pa.Table], per: bool) -> None:
    options: dict[str, Any] = {"k": 2, "by": "score", "window": "6 us", "slide": "2 us", "per": "color" if per else ()}
    both = [sb.TopK("lists", **options), sb.TopK("log", changes=True, **options)]
    monitor = sb.Monitor(sb.Workload(both, stream=stream(4)))
    rows = pa.concat_tables([*map(monitor.push, pushes), monitor.close()])
    by_report: dict[tuple[str, int], dict[str, list[dict[str, Any]]]] = {}
    for row in rows.set_column(2, "window_end", rows.column("window_end").cast(pa.int64())).to_pylist():
        report = by_report.setdefault((row["group_key"], row["window_end"]), {"lists": [], "log": []})
        report[row["query"]].append(row)
    folded: dict[str, dict[int, int]] = {}
    for (group, _), report in sorted(by_report.items()):
        now = folded.setdefault(group, {})
        for row in report["log"]:
            if row["change"] == "leave":
                del now[row["id"]]
            else:
                now[row["id"]] = row["rank"]
        assert sorted(now, key=now.__getitem__) == [row["id"] for row in report["lists"]]


def test_groups_that_outgrow_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of their own says the same, from the moment on that they have one; late records and restarts too."""
    draw = np.random.default_rng(9)
    at = np.arange(120) // 2 - draw.integers(0, 4, 120) * (draw.random(120) < 0.3)
    rule = [None if each > 3 else str(each) for each in draw.integers(0, 9, 120).tolist()]
    color = ["red" if each else "blue" for each in (draw.random(120) < 0.8).tolist()]
    rows = [(int(max(at[i], 0)), i, float(i * 37 % 11), 1 - draw.random(), rule[i], color[i]) for i in range(120)]
    frames: list[dict[str, Any]] = [
        {"window": "12 us", "frequency": "5 us"},
        {"window": "9 us", "slide": "3 us", "using": "U_KRANKS"},
        {"window": "14 rows", "slide": 4, "using": "U_TOPK"},
        {"window": "14 rows", "frequency": 6, "using": "EXPECTED_RANK"},
    ]
    tops = [sb.TopK(f"q{i}", k=i + 1, by="score", per="color", **frame) for i, frame in enumerate(frames)]

    def monitored(large: int) -> pa.Table:
        monkeypatch.setattr(small_groups, "LARGE", large)
        monitor, parts = sb.Monitor(sb.Workload(tops, stream=stream(1))), []
        for low in range(0, 120, 17):
            parts.append(monitor.push(table_of(rows[low : low + 17])))
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        return pa.concat_tables([*parts, monitor.close()])

    in_table, outgrown, apart = (monitored(large) for large in (4_096, 9, 0))
    figures = ["probability", "expected_rank"]
    for other in (outgrown, apart):
        assert in_table.drop_columns(figures) == other.drop_columns(figures)
        for name in figures:
            mine, theirs = (pc.fill_null(table[name], -1.0).to_numpy() for table in (in_table, other))
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)


def test_an_engine_that_is_asked_for_serves_small_groups_too() -> None:
    """The table of small groups is another engine's."""
    query = sb.TopK("q", k=2, by="score", window="4 rows", slide=2, per="color")
    workload = sb.Workload([query], stream=stream())
    records = table_of([(n, n, float(n % 3), 0.25, "ab"[n % 2], ("red", "blue")[n % 5 > 2]) for n in range(20)])
    with with_examples():
        asked, usual = sb.Monitor(workload, engine="chance_sort"), sb.Monitor(workload)
        mine, theirs = (reports(workload, monitor.push(records)) for monitor in (asked, usual))
    assert mine == theirs
    (counters,) = asked.counters["families"].values()
    assert counters["engine"] == "chance_sort"
    assert "scanned" not in counters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ABOVE 3 FROM s [ROWS 5] ORDER BY x", "asks for ABOVE, but stream s is uncertain"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x USING PT_K", "does not say how likely"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x USING PT_K(1.5)", "PT_K takes a probability above 0 and up to 1"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x USING U_TOPK(0.5)", "takes no level"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x USING U_TOPP", "there is no semantics called `U_TOPP`"),
        ("SELECT TOP 3 FROM s [ROWS 5] ORDER BY x USING U_KRANKS EMIT CHANGES", "several ranks"),
        ("SELECT TOP 3 FROM c [ROWS 5] ORDER BY x USING U_TOPK", "stream c is not uncertain"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(text: str, message: str) -> None:
    streams = "CREATE STREAM s WITH (TIME = t, PROBABILITY = p); CREATE STREAM c WITH (TIME = t);"
    with pytest.raises(sb.SkybandError, match=message.replace("(", "\\(")) as caught:
        sb.Workload.from_sql(f"{streams}\n{text};")
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize("options", ["RULE = r", "KEY = k, OP = o, PROBABILITY = p"])
def test_streams_that_make_no_sense(options: str) -> None:
    with pytest.raises(sb.SkybandError, match="PROBABILIT"):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = t, {options}); SELECT TOP 1 FROM s [ROWS 5] ORDER BY x;")
