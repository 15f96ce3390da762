"""TOP k AT MOST n PER c: one list, in which no c has more than n records, also where much is dropped before it is
kept. That every row is the oracle's, whatever the windows, late records and snapshots, is in `test_oracle.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb
from tests import support

STREAM = sb.Stream("s", time="ts", key="id", lateness="9 microseconds")


def crowd(count: int, scores: int, colors: int) -> pa.Table:
    """In some disorder."""
    draw = np.random.default_rng(11)
    at = np.arange(count) + draw.integers(-9, 10, count)
    columns = at.tolist(), range(count), draw.integers(0, scores, count).tolist(), draw.integers(-1, 9, count).tolist()
    color = [f"c{number}" if number else None for number in draw.integers(0, colors, count).tolist()]
    return support.table_of(list(zip(*columns, color, strict=True)))


def asked(kind: str, **options: Any) -> list[sb.TopK]:
    """Queries of one family: lists and windows of different lengths, with another n."""
    return [
        sb.TopK("few", 3, "score", f"900 {kind}", f"300 {kind}", at_most=(1, "color"), **options),
        sb.TopK("many", 30, "score", f"600 {kind}", f"70 {kind}", at_most=(4, "color"), **options),
        sb.TopK("all", 900, "score", f"300 {kind}", f"100 {kind}", at_most=(40, "color"), **options),
    ]


@pytest.mark.parametrize("kind", ["microseconds", "rows"])
@pytest.mark.parametrize("colors", [3, 500])
@pytest.mark.parametrize("options", [{}, {"per": "bonus"}, {"then": "bonus ASC", "where": "bonus > 0"}])
def test_nothing_is_missed_whatever_is_pruned(kind: str, colors: int, options: dict[str, Any]) -> None:
    workload, table = sb.Workload(asked(kind, **options), stream=STREAM), crowd(3_000, 60, colors)
    tables = [table.slice(0, 2_000), table.slice(2_000)]
    assert len(workload.plan().families) == 1, "they share candidates"
    assert support.run_monitor(workload, tables) == support.expected_rows(workload, tables)


@pytest.mark.parametrize("colors", [3, 100_000])
def test_what_cannot_be_listed_is_dropped(colors: int) -> None:
    """Of 3,000 records in a window little more is kept than a list asks for, however many values there are."""
    query = sb.TopK("q", 5, "score", "3000 microseconds", "1000 microseconds", at_most=(2, "color"))
    monitor, table = sb.Monitor(sb.Workload([query], stream=STREAM)), crowd(9_000, 100_000, colors)
    for low in range(0, len(table), 500):
        monitor.push(table.slice(low, 500))
    (family,) = monitor.counters["families"].values()
    assert family["candidates"] < 100


def listed(text: str, **columns: Any) -> list[Any]:
    """What is shown of one window over records a second apart, best first."""
    monitor = sb.Monitor(sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts); SELECT {text} ORDER BY x;"))
    at = pa.array(range(len(columns["x"])), pa.timestamp("s"))
    rows = pa.concat_tables([monitor.push(pa.table({"ts": at, **columns})), monitor.close()])
    assert rows.column("rank").to_pylist() == list(range(1, len(rows) + 1))
    return list(rows.column("score").to_pylist())


def test_a_record_is_skipped_whose_category_is_full() -> None:
    x, c = [1, 2, 3, 4, 5, 6], ["a", "b", "b", "a", "a", "a"]
    assert listed("TOP 4 AT MOST 2 PER c FROM s [ROWS 6]", x=x, c=c) == [6, 5, 3, 2]
    assert listed("TOP 9 AT MOST 1 PER c FROM s [ROWS 6]", x=x, c=c) == [6, 3]
    assert listed("TOP 1 AT MOST 2 PER c FROM s [ROWS 6]", x=x, c=c) == [6]


def test_null_is_a_value_of_its_own() -> None:
    a, b = [None, "u", None, "u", None, "\\N"], ["u", None, "u", None, None, None]
    x = [1, 2, 3, 4, 5, 6]
    assert listed("TOP 9 AT MOST 1 PER a FROM s [ROWS 6]", x=x, a=a) == [6, 5, 4]
    assert listed("TOP 9 AT MOST 1 PER a, b FROM s [ROWS 6]", x=x, a=a, b=b) == [6, 5, 4, 3]


@pytest.mark.parametrize("per", [(), "color"])
def test_a_query_that_joins_with_a_larger_n_warms_up(per: Any) -> None:
    """Records that only its lists could have had were dropped before it came; later none is missing."""
    options: dict[str, Any] = {"k": 4, "by": "score", "window": "300 microseconds", "slide": "100 microseconds"}
    stays = sb.TopK("stays", **options, at_most=(1, "bonus"), per=per)
    joins = sb.TopK("joins", **options, at_most=(3, "bonus"), per=per)
    table, both = crowd(2_000, 500, 4), sb.Workload([stays, joins], stream=STREAM)
    monitor = sb.Monitor(sb.Workload([stays], stream=STREAM))
    parts = [monitor.push(table.slice(0, 1_000))]
    monitor.add(joins)
    assert len(monitor.counters["families"]) == 1
    parts += [monitor.push(table.slice(1_000)), monitor.close()]
    expected = support.expected_rows(both, [table.slice(0, 1_000), table.slice(1_000)])
    rows = pa.concat_tables(parts, promote_options="permissive")
    found = support.actual_rows(rows.filter(pa.compute.fill_null(pa.compute.invert(rows["warming"]), True)))
    assert [row for row in found if row.query == "stays"] == [row for row in expected if row.query == "stays"]
    complete = [row for row in found if row.query == "joins"]
    assert complete == [row for row in expected if row.query == "joins" and row.end >= complete[0].end]
    assert complete[0].end < 1_700


def test_queries_that_count_other_columns_share_nothing() -> None:
    queries = [
        sb.TopK(f"q{number}", 1 + number, "price", "1 minute", at_most=at_most)
        for number, at_most in enumerate([None, (1, "a"), (2, ["a"]), (1, ["a", "b"]), (1, "b")])
    ]
    plan = sb.Workload(queries, stream=sb.Stream("s", time="ts")).plan()
    assert [family.family.places for family in plan.families] == [(0,), (1, 2), (3,), (4,)]
    assert len({family.family.fingerprint for family in plan.families}) == 4


def test_many_scores_with_at_most_stay_by_themselves() -> None:
    """An index for many scores counts no categories."""
    queries = [sb.TopK(f"q{n}", 1, f"price * {n + 1}", "1 minute", at_most=(1, "a")) for n in range(12)]
    plan = sb.Workload(queries, stream=sb.Stream("s", time="ts")).plan("sma")
    assert {family.family.data_model for family in plan.families} == {"complete"}
    assert {family.choice.engine for family in plan.families} == {"panes"}


@pytest.mark.parametrize(
    ("options", "query", "why"),
    [
        (", PROBABILITY = p", "TOP 2 AT MOST 1 PER a FROM s [ROWS 5] ORDER BY x", "no record's own .PROBABILITY"),
        ("", "TOP 2 AT MOST 1 PER a FROM s [ROWS 5] ORDER BY x WITH ERROR y", "no record's own .WITH ERROR"),
        ("", "TOP 2 AT MOST 1 PER a FROM s [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x)", "own .OBJECT"),
        ("", "TOP 2 AT MOST 1 PER a b FROM s [ROWS 5] GROUP BY b ORDER BY COUNT(*)", "both GROUP BY and AT MOST"),
        (", KEY = id, OP = op", "TOP 2 AT MOST 1 PER a FROM s [ROWS 5] ORDER BY x", "AT MOST over stream s, which has"),
        ("", "TOP 2 WITH TIES AT MOST 1 PER a FROM s [ROWS 5] ORDER BY x", "AT MOST 1 PER a, and WITH TIES"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: str, query: str, why: str) -> None:
    with pytest.raises(sb.SkybandError, match=why):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts{options}); SELECT {query};").explain()


@pytest.mark.parametrize(
    ("at_most", "why"),
    [
        ((0, "a"), "query q: AT MOST takes a whole number from 1 on, not 0"),
        ((True, "a"), "query q: AT MOST takes a whole number from 1 on, not True"),
        ((2, ()), "query q: AT MOST 2 without columns"),
        (2, "query q: at_most=2"),
    ],
)
def test_python_is_told_what_is_expected(at_most: Any, why: str) -> None:
    with pytest.raises(sb.SkybandError, match=why):
        sb.TopK("q", 3, "x", "1 minute", at_most=at_most)


@pytest.mark.parametrize(("column", "why"), [("nowhere", "there is no column"), ("score", "which is of type double")])
def test_columns_are_checked_with_the_first_records(column: str, why: str) -> None:
    monitor = sb.Monitor(sb.Workload([sb.TopK("q", 3, "score", "5 rows", at_most=(1, column))], stream=STREAM))
    with pytest.raises(sb.SkybandError, match=f"query q.*AT MOST.*{why}"):
        monitor.push(crowd(5, 5, 5))


def test_explain_says_what_is_counted() -> None:
    said = sb.Workload(asked("rows"), stream=STREAM).explain()
    assert "1 or 4 or 40 with the same color" in said
    assert "at most 4 per color" in said
    assert "engine    panes: AT MOST" in said
