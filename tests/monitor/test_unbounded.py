"""`[UNBOUNDED SLIDE s]`: lists of all time.

That their rows are the oracle's, `test_oracle.py` and `test_groups.py` say: their workloads have such windows among
others. Here is what belongs to them alone: little is kept, nothing is dropped, and there is a last report.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.runtime import operator
from tests import groups, support
from tests.drawn import examples

STREAM = sb.Stream("s", time="ts", key="id", lateness=support.micros(10))
EVER: dict[str, Any] = {"window": "unbounded", "slide": support.micros(10)}
TALKERS: dict[str, Any] = {"group_by": "client", "select": {"client": "client", **groups.ASKED}}
QUICK = examples(60, suppress_health_check=list(HealthCheck))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are put together as soon as there are some."""
    monkeypatch.setattr(operator, "SLACK", 1)


@QUICK
@given(workload=groups.workloads(kinds=["range"]), tables=groups.tables(), data=st.data())
def test_rows_that_stand_for_others_change_no_answer(
    eager: None, workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    """In the middle there is a snapshot."""
    cut, monitor, parts = data.draw(st.integers(0, len(tables))), sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    rows = groups.actual(workload, pa.concat_tables([*parts, monitor.close()]))
    assert rows == groups.expected(workload, tables)


@QUICK
@given(tables=groups.tables(), k=st.integers(1, 3), per=st.sampled_from([(), "color"]), cut=st.integers(0, 4))
def test_the_log_of_groups_is_the_list(
    eager: None, tables: list[pa.Table], k: int, per: str | tuple[()], cut: int
) -> None:
    asked: dict[str, Any] = EVER | TALKERS | {"per": per, "k": k, "by": "SUM(bytes)"}
    workload = sb.Workload(
        [sb.TopK("full", **asked), sb.TopK("log", **asked, changes=True)],
        stream=sb.Stream("s", time="ts", lateness=support.micros(3)),
    )
    monitor, parts = sb.Monitor(workload), []
    for place, table in enumerate(tables):
        if place == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    lists: dict[str, dict[Any, Any]] = {}
    shown: dict[Any, dict[Any, Any]] = {}
    for row in pa.concat_tables([*parts, monitor.close()]).to_pylist():
        told = [groups.plain(row[name]) for name in ("rank", "score", *sorted(groups.ASKED))]
        if row["query"] == "full":
            shown.setdefault((row["group_key"], number(row)), {})[row["client"]] = told
            continue
        listed = lists.setdefault(row["group_key"], {})
        if row["change"] == "leave":
            del listed[row["client"]]
        else:
            known = row["change"] in ("move", "update")
            assert (row["client"] in listed) == known
            listed[row["client"]] = told
    # A sum that leaves BIGINT, or is NULL, leaves the list.
    last = (support.newest(tables) // 10 + 1) * 10
    lists = {group: listed for group, listed in lists.items() if listed}
    assert lists == {group: listed for (group, end), listed in shown.items() if end == last}


def test_of_records_k_are_kept() -> None:
    """Scores that fall, each of which would stay in a skyband, and scores that rise."""
    queries = [sb.TopK("high", 3, "score", **EVER), sb.TopK("low", 4, "score", **EVER, ascending=True, per="color")]
    monitor = sb.Monitor(sb.Workload(queries, stream=STREAM))
    for first in range(0, 4_000, 100):
        monitor.push(support.table_of([(at, at, -float(at), 0, "ab"[at % 2]) for at in range(first, first + 100)]))
    kept = [each["candidates"] for each in monitor.counters["families"].values()]
    assert kept == [3, 8]
    assert max(each["held_back"] for each in monitor.counters["families"].values()) <= 11


@pytest.mark.parametrize("per", [(), "color"])
def test_of_groups_one_row_is_kept(per: str | tuple[()]) -> None:
    """Fifty groups in 800 panes: 40,000 partial aggregates came, and about one for each group is there; in a snapshot
    as well."""
    query = sb.TopK("q", 3, "SUM(bytes)", **EVER, group_by="host", per=per)
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts"))
    monitor, most, size = sb.Monitor(workload), 0, 0
    for first in range(0, 8_000, 100):
        rows = [(at, "a", host, at % 7, 1.0, "red") for at in range(first, first + 100) for host in range(50)]
        monitor.push(groups.table_of(rows))
        (family,) = monitor.counters["families"].values()
        most = max(most, family["candidates"])
        size = max(size, len(monitor.snapshot()))
    # What a push brings is fed at once: ten panes.
    assert most <= 2 * 50 + operator.SLACK + 10 * 50
    assert size < 100_000
    (best, *_) = sorted(monitor.close().to_pylist(), key=lambda row: (-row["window_end"].timestamp(), row["rank"]))
    assert best["score"] == sum(at % 7 for at in range(8_000))


def test_no_record_is_dropped_and_the_last_report_is_behind_the_newest() -> None:
    queries = [
        sb.TopK("often", 2, "score", **EVER, where="bonus > 0"),
        sb.TopK("seldom", 1, "score", "unbounded", support.micros(1_000), offset=support.micros(3)),
    ]
    monitor = sb.Monitor(sb.Workload(queries, stream=STREAM))
    first = monitor.push(support.table_of([(5, 0, 1.0, 1, "red"), (41, 1, 2.0, 1, "red")]))
    late = monitor.push(support.table_of([(-700, 2, 9.0, 1, "red"), (54, 3, 5.0, 0, "red")]))
    last = monitor.close()
    told = [[(row["query"], number(row), row["id"]) for row in rows.to_pylist()] for rows in (first, late, last)]
    assert told == [
        [("often", 10, 0), ("often", 20, 0), ("often", 30, 0)],
        [("often", 40, 2), ("often", 40, 0)],
        [("often", 50, 2), ("often", 50, 1), ("often", 60, 2), ("often", 60, 1), ("seldom", 1_003, 2)],
    ]
    assert all(row["window_start"] is None for rows in (first, late, last) for row in rows.to_pylist())
    assert (monitor.counters["late"], monitor.counters["dropped"]) == (1, 0)
    assert monitor.counters["queries"]["often"]["late"] == 1
    # From the first record of the stream that came on time; one that came late opens no report before that.
    assert [each["reports"] for each in monitor.counters["queries"].values()] == [6, 1]


def test_times_tens_of_thousands_of_years_apart() -> None:
    slide, far = 2**59, 3 * 2**59
    queries = [
        sb.TopK("q", 2, "score", "unbounded", support.micros(slide)),
        sb.TopK("r", 2, "SUM(score)", "unbounded", support.micros(slide), group_by="color"),
    ]
    monitor = sb.Monitor(sb.Workload(queries, stream=sb.Stream("s", time="ts", ahead=None)))
    rows = [monitor.push(support.table_of([(at, at, 1.0, 0, "red")])) for at in (-far, far)]
    told = pa.concat_tables([*rows, monitor.close()])
    columns = [told.column("query"), told.column("window_end").cast(pa.int64()), told.column("score")]
    ends = [-far + step * slide for step in range(1, 8)]
    expected = [
        [("q", end, 1.0), *([("q", end, 1.0)] if end > far else []), ("r", end, 2.0 if end > far else 1.0)]
        for end in ends
    ]
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == list(chain(*expected))


def test_a_query_that_joins_is_warming_for_ever_unless_all_it_needs_is_there() -> None:
    record = [(number, number, float(number), 0, "ab"[number % 2]) for number in range(30)]
    asked: dict[str, Any] = {"by": "score", **EVER}
    grouped: dict[str, Any] = {"by": "SUM(score)", **EVER, "group_by": "color"}
    queries = [sb.TopK("q", 2, **asked), sb.TopK("g", 1, **grouped)]
    monitor = sb.Monitor(sb.Workload(queries, stream=STREAM))
    monitor.add(sb.TopK("first", 2, **asked, where="bonus = 0"))
    monitor.push(support.table_of(record[:20]))
    joining = [
        sb.TopK("more", 3, **asked),
        sb.TopK("less", 1, **asked, select=["score"]),
        sb.TopK("after less", 1, **asked),
        sb.TopK("other", 1, **asked, per="color"),
        sb.TopK("groups", 9, **grouped),
        sb.TopK("counts", 9, **grouped | {"by": "COUNT(*)"}),
    ]
    for query in joining:
        monitor.add(query)
    monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
    rows = pa.concat_tables([monitor.push(support.table_of(record[20:])), monitor.close()]).to_pylist()
    warming = {row["query"] for row in rows if row["warming"]}
    assert warming == {"more", "other", "counts"}
    assert {row["query"] for row in rows if not row["warming"]} == {"q", "g", "first", "less", "after less", "groups"}
    told = [row["score"] for row in rows if row["query"] == "groups" and row["rank"] == 1]
    assert told[-1] == sum(range(1, 30, 2))


def number(row: dict[str, Any]) -> int:
    found = support.number(row["window_end"])
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("stream", "clauses", "said"),
    [
        ("", "ABOVE 1 FROM s {ever} ORDER BY x", "asks for ABOVE of records in an UNBOUNDED window"),
        ("", "TOP 1 WITH TIES FROM s {ever} ORDER BY x", "asks for WITH TIES of records"),
        (
            "",
            "TOP 1 FROM s {ever} ORDER BY x WITH ERROR 1",
            "asks for UNBOUNDED of scores that are no",
        ),
        (
            ", PROBABILITY = p",
            "TOP 1 FROM s {ever} ORDER BY x",
            "asks for UNBOUNDED of scores that are",
        ),
        (
            ", KEY = id, OP = op",
            "TOP 1 FROM s {ever} ORDER BY x",
            "UNBOUNDED over stream s, which has",
        ),
        (
            ", KEY = id, OP = op",
            "TOP 1 id FROM s {ever} GROUP BY id ORDER BY COUNT(*)",
            "ranks groups, and stream s has OP",
        ),
        (
            "",
            "TOP 1 FROM s {ever} OBJECT o ACROSS c (SUM) ORDER BY SUM(x)",
            "asks for UNBOUNDED of scores that are no",
        ),
    ],
)
def test_what_is_refused_before_anything_runs(stream: str, clauses: str, said: str) -> None:
    ever = "[UNBOUNDED SLIDE 1 SECOND]"
    with pytest.raises(sb.SkybandError, match=said):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts{stream}); SELECT {clauses.format(ever=ever)};").plan()


def test_explain_says_what_is_kept() -> None:
    told = sb.Workload(
        [sb.TopK("q", 7, "x", **EVER), sb.TopK("g", 3, "SUM(x)", **EVER, offset=support.micros(1), group_by="c")],
        stream=STREAM,
    ).explain()
    for line in (
        "keeps     the best 7 of all time, and nothing else",
        "engine    grouped: UNBOUNDED: ",
        "keeps     for each group of all time: SUM(x)",
        "q      top 7    all time     10 MICROSECONDS",
        "windows end at multiples of the slide plus 1 MICROSECOND",
    ):
        assert line in told


def test_where_changes_are_sent_a_gap_costs_nothing() -> None:
    """A year, of which every second has a report: 31 million of each list, of which three are looked at."""
    asked: dict[str, Any] = {"window": "unbounded", "slide": "1 second", "changes": True}
    queries = [
        sb.TopK("q", 2, "score", **asked, per="color"),
        sb.TopK("g", 2, "SUM(score)", **asked, group_by="color"),
    ]
    monitor, year = sb.Monitor(sb.Workload(queries, stream=STREAM)), 365 * 86_400_000_000
    for number in range(3):
        monitor.push(support.table_of([(number * year, number, 1.0, 0, "ab"[number % 2])]))
    rows = monitor.close()
    assert [row["change"] for row in rows.to_pylist()] == ["enter", "move", "move", "move"]
    assert [each["reports"] for each in monitor.counters["queries"].values()] == [2 * 365 * 86_400 + 1] * 2
    work = [each["comparisons"] for each in monitor.counters["families"].values()]
    assert max(work) < 1_000
