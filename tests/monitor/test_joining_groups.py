"""PER … [ROWS n] joins a running Monitor: where its positions begin, which rows are warming, and that all others are
the oracle's."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.engines.oracle import complete as oracle
from skyband.runtime.positions import first_position
from tests import support
from tests.drawn import examples
from tests.support import SCORES, Expected, actual_rows

thorough = examples(60, suppress_health_check=list(HealthCheck))
STREAM = sb.Stream("s", time="ts", key="id")


class Joined(NamedTuple):
    """A query, and the number of pushes before it came; groups have been counted, from `first` on, since so many."""

    query: sb.TopK
    after: int
    since: int
    first: int


def joined(query: sb.TopK, after: int, tables: list[pa.Table], counting: bool = False) -> Joined:
    """In a family of its own: it counts for itself, unless another has counted its groups from the beginning."""
    before, slide = sum(len(table) for table in tables[:after]), query.window.slide
    return (
        Joined(query, after, 0, 0)
        if counting or not before
        else Joined(query, after, after, -(-before // slide) * slide)
    )


def expected(joined: Joined, tables: list[pa.Table]) -> tuple[list[Expected], dict[str, int]]:
    """Rows over the records that came after it, and from where on the windows of each group hold no earlier one."""
    query, first = joined.query, joined.first
    seen: dict[str, int] = {}
    for row in (row for table in tables[joined.since : joined.after] for row in table.to_pylist()):
        group = row["color"] or "\\N"
        seen[group] = seen.get(group, first) + 1
    begin, records = dict(seen), []
    for row in (row for table in tables[joined.after :] for row in table.to_pylist()):
        group = row["color"] or "\\N"
        at = seen.get(group, first)
        seen[group] = at + 1
        # Nothing came before the first record of a group that was counted from the beginning.
        begin.setdefault(group, first or -(2**62))
        records.append(oracle.Record(at, SCORES[query.by](row), (row["id"], 0), group, -(2**62), row))
    rows = [
        Expected(query.name, report.start, report.end, report.group, rank, (each.score or 0.0) + 0.0, each.row["id"])
        for report in oracle.answer(query, records)
        for rank, each in enumerate(report.best, 1)
    ]
    return sorted(rows, key=lambda row: (row.end, row.group, row.rank)), begin


def told(parts: list[pa.Table], name: str) -> tuple[list[Expected], set[Expected]]:
    """Its rows, and those of them that are warming."""
    rows, young = [], set()
    for part in parts:
        flags = part.column("warming").to_pylist()
        mine = [(row, flag) for row, flag in zip(actual_rows(part), flags, strict=True) if row.query == name]
        rows += [row for row, _ in mine]
        young |= {row for row, flag in mine if flag}
    return sorted(rows, key=lambda row: (row.end, row.group, row.rank)), young


def top(name: str, by: str, width: int, slide: int, per: str | tuple[str, ...] = "color", k: int = 2) -> sb.TopK:
    return sb.TopK(name, k=k, by=by, window=f"{width} rows", slide=slide, per=per, select=["id"])


def tables_of(colors: list[str], cuts: list[int]) -> list[pa.Table]:
    rows = [(at, at, float(at % 7), at % 3 - 1, color) for at, color in enumerate(colors)]
    table = pa.table(list(zip(*rows, strict=True)), schema=support.SCHEMA)
    return [table.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


@pytest.mark.parametrize(("records", "slides", "first"), [
    (0, (5,), 0), (1, (5,), 5), (10, (5,), 10), (11, (5,), 15), (7, (4, 6), 12), (13, (4, 6), 24),
    (100, (2**40 - 1, 2**40 - 3), 2**40 - 1),
])  # fmt: skip
def test_the_first_position_of_a_group_that_nobody_counted(records: int, slides: tuple[int, ...], first: int) -> None:
    assert first_position(records, *slides) == first


def test_groups_that_nobody_counted_begin_at_the_stream_s_count() -> None:
    """Ten records before it joins: with a slide of 4 every group begins at 12."""
    pushes = tables_of(["red", "blue"] * 15, [10])
    monitor = sb.Monitor(sb.Workload([top("before", "score", 6, 2, per=())], stream=STREAM))
    parts = [monitor.push(pushes[0])]
    monitor.add(top("joins", "score", 8, 4))
    assert "from the stream's record count on" in monitor.explain()
    parts += [monitor.push(pushes[1]), monitor.close()]
    rows = [row for part in parts for row in part.to_pylist() if row["query"] == "joins"]
    assert {row["row_end"] for row in rows if row["warming"]} == {16}
    assert {row["row_end"] for row in rows if not row["warming"]} == {20, 24, 28}
    assert {(row["group_key"], row["row_start"]) for row in rows if row["row_end"] == 20} == {("red", 12), ("blue", 12)}


@pytest.mark.parametrize(
    ("stream", "options"),
    [
        (STREAM, {"by": "SUM(bonus + 1)", "across": sb.Across("id", "bonus")}),
        (sb.Stream("s", time="ts", probability="p"), {"by": "score"}),
        (STREAM, {"by": "score", "error": "p"}),
        (STREAM, {"by": "score", "ascending": True, "changes": True}),
    ],
    ids=["objects", "uncertain", "errors", "changes"],
)
def test_positions_begin_there_whatever_is_ranked(stream: sb.Stream, options: dict[str, Any]) -> None:
    whole = tables_of(["red", "blue"] * 15, [])[0].append_column("p", pa.array([0.5] * 30))
    ranged = sb.TopK("before", k=1, by="score", window="6 us")
    monitor = sb.Monitor(sb.Workload([ranged], stream=stream))
    monitor.push(whole.slice(0, 10))
    monitor.add(sb.TopK("joins", k=9, window="8 rows", slide=4, per="color", **options))
    monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
    parts = [monitor.push(whole.slice(10, 3)), monitor.push(whole.slice(13)), monitor.close()]
    rows = [row for part in parts for row in part.to_pylist() if row["query"] == "joins" and row["rank"]]
    assert {row["row_end"] for row in rows if row["warming"]} == {16}
    assert {row["row_end"] for row in rows if not row["warming"]} == {20, 24, 28}


def test_a_query_that_joins_before_the_first_record_misses_nothing() -> None:
    monitor = sb.Monitor(sb.Workload([top("before", "score", 6, 2, per=())], stream=STREAM))
    monitor.add(top("joins", "score", 6, 2))
    monitor.add(top("plain", "score - bonus", 6, 2, per=()))
    rows = monitor.push(tables_of(["red"] * 9, [])[0])
    assert rows["warming"].null_count == len(rows)
    assert rows["row_start"].to_pylist()[0] == -4


def test_who_comes_back_does_not_repeat_the_ends_of_its_reports() -> None:
    """And whoever stays counts on as ever."""
    pushes = tables_of(["red", "blue", "red"] * 20, [20, 41])
    monitor = sb.Monitor(sb.Workload([top("stays", "score", 4, 2, per=())], stream=STREAM))
    ends = []
    for table in pushes:
        monitor.add(top("guest", "score", 6, 3))
        rows = monitor.push(table)
        ends.append({row["row_end"] for row in rows.to_pylist() if row["query"] == "guest"})
        monitor.remove("guest")
    assert all(ends)
    assert max(ends[0]) < min(ends[1])
    assert max(ends[1]) < min(ends[2])


def test_positions_of_a_stream_with_deletes_count_records_only() -> None:
    """Whoever asks: a query that was there from the start and one that joins see the same ends."""
    stream = sb.Stream("s", time="ts", key="id", op="op")
    first, later = (sb.TopK(name, k=1, by="x", window="4 rows", slide=2) for name in ("first", "later"))
    ranged = sb.TopK("ranged", k=1, by="x", window="4 us")
    columns = {"ts": pa.array(range(12), pa.timestamp("us")), "id": [0, 0, *range(1, 11)], "x": [1.0] * 12}
    table = pa.table(columns | {"op": ["I", "D", *["I"] * 10]})
    ends = []
    for workload in ([first], [ranged]):
        monitor = sb.Monitor(sb.Workload(workload, stream=stream))
        monitor.push(table.slice(0, 5))
        if workload == [ranged]:
            monitor.add(later)
        rows = monitor.push(table.slice(5)).to_pylist()
        ends.append([row["row_end"] for row in rows if row["query"] in ("first", "later")])
    assert ends[0] == ends[1]


@st.composite
def joiners(draw: st.DrawFn, name: str) -> sb.TopK:
    width = draw(st.integers(1, 9))
    slide, by = draw(st.integers(1, width)), draw(st.sampled_from(sorted(SCORES)))
    return top(name, by, width, slide, k=draw(st.integers(1, 3)))


def run(pushes: list[pa.Table], first: sb.TopK, joining: list[tuple[int, sb.TopK]], cut: int) -> list[pa.Table]:
    """A Monitor to which queries are added before some pushes, and which starts again from a snapshot before one."""
    monitor, parts = sb.Monitor(sb.Workload([first], stream=STREAM)), []
    for number, table in enumerate(pushes):
        for query in (query for after, query in joining if after == number):
            monitor.add(query)
        if number == cut:
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        parts.append(monitor.push(table))
    return [*parts, monitor.close()]


@thorough
@given(pushes=support.tables(), counting=st.booleans(), data=st.data())
def test_every_row_that_is_not_warming_is_the_oracle_s(
    pushes: list[pa.Table], counting: bool, data: st.DataObject
) -> None:
    """In a family of its own or in one that runs; where its groups were counted, and where nobody did."""
    first = data.draw(joiners("first")) if counting else top("first", "score", 4, 2, per=())
    query, after = data.draw(joiners("joins")), data.draw(st.integers(0, len(pushes) - 1))
    parts = run(pushes, first, [(after, query)], data.draw(st.integers(0, len(pushes))))
    wanted, begin = expected(joined(query, after, pushes, counting), pushes)
    rows, young = told(parts, "joins")
    assert young == {row for row in rows if row.start < begin[row.group]}
    assert [row for row in rows if row not in young] == [row for row in wanted if row.start >= begin[row.group]]
    if not counting or first.by != query.by:
        assert rows == wanted


@thorough
@given(pushes=support.tables(), data=st.data())
def test_families_that_joined_count_each_for_itself(pushes: list[pa.Table], data: st.DataObject) -> None:
    one, other = top("one", "score", 6, 2), data.draw(joiners("other"))
    other = top("other", "score - bonus", other.window.width, other.window.slide, k=other.k)
    comes, follows = sorted(data.draw(st.integers(0, len(pushes) - 1)) for _ in range(2))
    parts = run(pushes, top("first", "score", 4, 2, per=()), [(comes, one), (follows, other)], follows)
    counting = not sum(len(table) for table in pushes[:comes])
    for each in (joined(one, comes, pushes), joined(other, follows, pushes, counting)):
        wanted, begin = expected(each, pushes)
        rows, young = told(parts, each.query.name)
        assert rows == wanted
        assert young == {row for row in rows if row.start < begin[row.group]}


@thorough
@given(pushes=support.tables(), data=st.data())
def test_who_joins_a_family_that_joined_changes_nobody_s_rows(pushes: list[pa.Table], data: st.DataObject) -> None:
    """So it takes the positions as they are, whatever its slide."""
    one, other = top("one", "score", 6, 4, k=3), data.draw(joiners("other"))
    other = top("other", "score", other.window.width, other.window.slide, k=other.k)
    comes, follows = sorted(data.draw(st.integers(0, len(pushes) - 1)) for _ in range(2))
    first = top("first", "score", 4, 2, per=())
    both = run(pushes, first, [(comes, one), (follows, other)], follows)
    assert told(both, "one") == told(run(pushes, first, [(comes, one)], follows), "one")
    wanted, begin = expected(joined(one, comes, pushes)._replace(query=other, after=follows), pushes)
    rows, young = told(both, "other")
    assert young == {row for row in rows if row.start < begin[row.group]}
    assert [row for row in rows if row not in young] == [row for row in wanted if row.start >= begin[row.group]]
