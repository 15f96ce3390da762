"""Every report is a line, also an empty one: against brute force over the definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.model import CumulatingWindow, Query, Window
from tests import support
from tests.drawn import examples

NEVER = -(2**62)
SECOND = 1_000_000
Line = tuple[str, int, int, str | None, int, bool]
"""Query, start, end, group, rows, final."""


def told(lines: pa.Table) -> list[Line]:
    plain = lines
    for name in ("window_start", "window_end"):
        plain = plain.set_column(plain.column_names.index(name), name, plain.column(name).cast(pa.int64()))
    found = []
    for row in plain.to_pylist():
        start = row["window_start"] if row["row_start"] is None else row["row_start"]
        end = row["window_end"] if row["row_end"] is None else row["row_end"]
        found.append((row["query"], start, end, row["group_key"], row["rows"], row["final"]))
    return found


class Definition:
    """The lines of each push, from the rows it gave and the definition alone; and what is to be counted."""

    def __init__(self, stream: sb.Stream) -> None:
        self.stream = stream
        self.watermark, self.oldest, self.newest = NEVER, 2**62, NEVER
        self.records: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()

    def push(self, queries: Sequence[Query], table: pa.Table, rows: pa.Table) -> list[Line]:
        at = table.column("ts").cast(pa.int64()).to_pylist()
        before, counts = self.watermark, self.records.copy()
        self.oldest, self.newest = min([self.oldest, *at]), max([self.newest, *at])
        self.watermark = max(before, self.newest - self.stream.lateness) if at else before
        for color in table.column("color").to_pylist():
            self.records.update(["", "PER " + (r"\N" if color is None else color)])
        low = max(before, self.oldest)
        spans = {query.name: self._span(query, low, self.watermark, counts, self.records) for query in queries}
        return self._lines(queries, spans, rows, final=True)

    def close(self, queries: Sequence[Query], rows: pa.Table) -> list[Line]:
        spans = {}
        for query in queries:
            empties = query.changes and not query.window.unbounded
            reach = held(query.window, self.newest) + (query.window.slide if empties else 0)
            low = max(self.watermark, self.oldest)
            after = Counter({group: count - 1 + reach for group, count in self.records.items()})
            spans[query.name] = self._span(query, low, self.newest + reach, self.records, after)
        return self._lines(queries, spans, rows, final=False)

    def _span(
        self, query: Query, low: int, high: int, before: Counter[str], after: Counter[str]
    ) -> list[tuple[int, int]]:
        if query.window.kind == "range":
            return [(low, high)]
        groups = [group for group in after if group.startswith("PER ")] if query.per else [""]
        return [(before[group], after[group]) for group in groups]

    def _lines(
        self, queries: Sequence[Query], spans: dict[str, list[tuple[int, int]]], rows: pa.Table, final: bool
    ) -> list[Line]:
        given: Counter[tuple[str, int, str]] = Counter()
        for row in rows.set_column(2, "window_end", rows.column("window_end").cast(pa.int64())).to_pylist():
            given[row["query"], row["window_end"] if row["row_end"] is None else row["row_end"], row["group_key"]] += 1
        found: list[tuple[Any, Line]] = []
        for place, query in enumerate(queries):
            window, in_rows = query.window, query.window.kind == "rows"
            ends = [end for low, high in spans[query.name] for end in due_reports(query, low, high)]
            self.counted[query.name] += len(ends)
            with_rows = {key: count for key, count in given.items() if key[0] == query.name}
            assert {end for _, end, _ in with_rows} <= set(ends)
            lines: list[tuple[int, str | None, int]] = [(end, group, n) for (_, end, group), n in with_rows.items()]
            if not (in_rows and query.per):
                empty = None if query.per else ""
                lines += [(end, empty, 0) for end in ends if not any(key[1] == end for key in with_rows)]
            for end, group, count in lines:
                line = query.name, begin(window, end), end, group, count, final
                found.append(((in_rows, end, place, group or ""), line))
        return [line for _, line in sorted(found, key=lambda each: each[0])]


def held(window: Window, at: int) -> int:
    """How long some window holds what is at this time, or position; where all do, until the next report."""
    if window.unbounded:
        return window.slide
    grows = isinstance(window, CumulatingWindow)
    return window.width - (at - window.offset) % window.width if grows else window.width


def begin(window: Window, end: int) -> Any:
    if window.unbounded:
        return None
    if not isinstance(window, CumulatingWindow):
        return end - window.width
    return max(at for at in range(end - window.width, end) if (at - window.offset) % window.width == 0)


def due_reports(query: Query, low: int, high: int) -> Iterator[int]:
    window = query.window
    for end in range(low + 1, high + 1):
        if (end - window.end_phase()) % window.slide == 0:
            yield end


def with_changes(query: Query) -> Query:
    logged = copy(query)
    object.__setattr__(logged, "changes", True)
    return logged


@examples(120)
@given(data=st.data())
def test_lines_are_those_of_the_definition(data: st.DataObject) -> None:
    """Also late records, gaps, a query that joins and one that leaves, and a snapshot in between."""
    drawn, tables = data.draw(support.workloads()), data.draw(support.tables())
    queries = [with_changes(query) if data.draw(st.integers(0, 3)) == 0 else query for query in drawn.queries]
    monitor = sb.Monitor(sb.Workload(queries, streams=drawn.streams))
    definition = Definition(drawn.streams[0])
    # In groups that nobody counted positions begin elsewhere: see below.
    extra = data.draw(support.queries(99).filter(lambda query: query.window.kind == "range" or not query.per))
    push = st.integers(0, len(tables))
    joins, leaves, stored = data.draw(push), data.draw(push), data.draw(push)
    for number, table in enumerate(tables):
        if number == joins:
            monitor.add(extra)
            queries.append(extra.over("s"))
        if number == leaves and len(queries) > 1:
            monitor.remove(queries.pop(0).name)
        if number == stored:
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        rows = monitor.push(table)
        expected = definition.push(queries, table, rows)
        assert told(monitor.reports) == expected
    assert_counted(monitor, definition)
    rows = monitor.close()
    assert told(monitor.reports) == definition.close(queries, rows)
    assert_counted(monitor, definition)
    assert len(monitor.close()) == len(monitor.reports) == 0


def assert_counted(monitor: sb.Monitor, definition: Definition) -> None:
    found = {name: counts["reports"] for name, counts in monitor.counters["queries"].items()}
    assert found == {name: definition.counted[name] for name in found}


@examples(60)
@given(workload=support.workloads(), tables=support.tables(), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_any_split_gives_the_same_lines(workload: sb.Workload, tables: list[pa.Table], cuts: list[int]) -> None:
    """Where nothing is late."""
    whole = pa.concat_tables(tables).sort_by("ts")
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    parts = [whole.slice(low, high - low) for low, high in pairwise(edges)]
    assert every_line(workload, parts) == every_line(workload, [whole])


def every_line(workload: sb.Workload, tables: Sequence[pa.Table]) -> list[Line]:
    monitor, found = sb.Monitor(workload), []
    for table in tables:
        monitor.push(table)
        found += told(monitor.reports)
    monitor.close()
    return sorted(found + told(monitor.reports), key=str)


def test_changes_are_counted_and_an_unchanged_report_has_none() -> None:
    query = sb.TopK("log", k=1, by="x", window="4 s", slide="1 s", changes=True)
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    monitor.push(pa.table({"ts": pa.array([0, 3], pa.timestamp("s")), "x": [5.0, 1.0]}))
    assert [line[2:] for line in told(monitor.reports)] == [
        (1 * SECOND, "", 1, True), (2 * SECOND, "", 0, True), (3 * SECOND, "", 0, True)
    ]  # fmt: skip
    monitor.close()
    assert [line[2:] for line in told(monitor.reports)] == [
        (4 * SECOND, "", 0, False), (5 * SECOND, "", 2, False), (6 * SECOND, "", 0, False),
        (7 * SECOND, "", 0, False), (8 * SECOND, "", 1, False)
    ]  # fmt: skip


def test_a_long_gap_is_counted_whole_and_told_of_in_part() -> None:
    """2⁵⁹ reports: whoever walked through them would not come back."""
    query = sb.TopK("fine", k=1, by="x", window="1 microsecond")
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts", ahead=None)))
    monitor.push(pa.table({"ts": pa.array([0, 2**59], pa.timestamp("us")), "x": [5.0, 1.0]}))
    fine = {what: count for what, count in monitor.counters["queries"]["fine"].items() if count}
    assert fine == {"reports": 2**59, "rows": 1, "ranked": 2}
    lines = told(monitor.reports)
    assert len(lines) == 10_001
    assert lines[0] == ("fine", 0, 1, "", 1, True)
    assert lines[1:] == [("fine", end - 1, end, "", 0, True) for end in range(2**59 - 9_999, 2**59 + 1)]


def test_queries_that_go_over_to_a_new_plan_report_by_the_old_one_until_then() -> None:
    """Every window has a record, so no report is empty, and those with rows are all there are."""

    def shared(name: str, k: int, every: int) -> Query:
        return sb.TopK(name, k=k, by="x", window="20 s", frequency=f"{every} s")

    stream = sb.Stream("s", time="ts", probability="p")
    monitor = sb.Monitor(sb.Workload([shared("a", 2, 9), shared("b", 3, 20)], stream=stream))
    ends: dict[str, set[int]] = {name: set() for name in "abcd"}
    found: Counter[str] = Counter()
    joining = {28: shared("c", 5, 2), 38: shared("d", 2, 7)}
    for second in range(60):
        if second in joining:
            monitor.add(joining[second])
        if second == 33:
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        times = pa.array([second], pa.timestamp("s"))
        rows = monitor.push(pa.table({"ts": times, "x": [float(second % 7)], "p": [0.5]}))
        lines = told(monitor.reports)
        assert all(count > 0 for *_, count, _ in lines)
        found.update(name for name, *_ in lines)
        for row in rows.select(["query", "window_end"]).to_pylist():
            ends[row["query"]].add(row["window_end"])
    assert found == {name: len(mine) for name, mine in ends.items()}
    assert found == {name: counts["reports"] for name, counts in monitor.counters["queries"].items()}
    assert min(found.values()) > 1


def test_groups_that_nobody_counted_are_counted_from_where_they_begin() -> None:
    """Ten records came before: positions begin at 12, and the reports at 14, 18 and 22 are made in two groups."""
    first = sb.TopK("first", k=1, by="x", window="5 rows")
    monitor = sb.Monitor(sb.Workload([first], stream=sb.Stream("s", time="ts")))

    def push(low: int, high: int) -> None:
        times = pa.array(range(low, high), pa.timestamp("s"))
        monitor.push(pa.table({"ts": times, "g": ["a", "b"] * ((high - low) // 2), "x": [1.0] * (high - low)}))

    push(0, 10)
    monitor.add(sb.TopK("later", k=1, by="x", window="6 rows", slide=4, per="g", where="g = 'a'"))
    push(10, 30)
    assert [line[2:5] for line in told(monitor.reports) if line[0] == "later"] == [
        (end, "a", 1) for end in (14, 18, 22)
    ]
    assert {name: each["reports"] for name, each in monitor.counters["queries"].items()} == {"first": 6, "later": 6}


@pytest.mark.parametrize("kind", ["rows", "range"])
def test_nothing_came_and_nothing_is_reported(kind: str) -> None:
    window = "5 rows" if kind == "rows" else "5 seconds"
    monitor = sb.Monitor(sb.Workload([sb.TopK("q", k=1, by="x", window=window)], stream=sb.Stream("s", time="ts")))
    assert monitor.reports.num_rows == 0
    monitor.push(pa.table({"ts": pa.array([], pa.timestamp("s")), "x": pa.array([], pa.float64())}))
    assert monitor.reports.num_rows == 0
    assert monitor.close().num_rows == monitor.reports.num_rows == 0
    assert monitor.counters["queries"]["q"]["reports"] == 0
    assert monitor.reports.column_names[-3:] == ["group_key", "rows", "final"]
