"""Steps that a stream, its queries and the process that answers them can take, in any order: records, late ones and
deletes come, queries join, leave and come back, the process starts again. Every row that is not `warming` is the
oracle's.

Who the process is (a Monitor, a job on Spark) is said by those who lead such a life.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, groupby
from typing import Any, Protocol

import pyarrow as pa
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import skyband as sb
from skyband.model import Query
from tests import support
from tests.monitor import test_boards as boards

A_LIFE = 30
Draw = Callable[[Any], Any]
Window = tuple[str, Any, int, str]


def thorough(steps: int) -> settings:
    """As many lives as it takes for so many steps."""
    return settings(
        max_examples=max(steps // A_LIFE, 1),
        stateful_step_count=A_LIFE,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class Process(Protocol):
    """Who answers the queries."""

    @property
    def ready(self) -> bool:
        """Whether queries may change now."""

    def push(self, table: pa.Table) -> pa.Table:
        """Records come; the same in the order in which they count."""

    def add(self, query: Query) -> None: ...
    def remove(self, name: str) -> None: ...
    def start_again(self) -> None: ...

    def close(self) -> pa.Table:
        """The stream has ended: all rows of this life."""


class Life(RuleBasedStateMachine):
    """What all of them have in common."""

    unit = 1
    """Microseconds between two moments."""

    def __init__(self) -> None:
        super().__init__()
        self.pushed: list[pa.Table] = []
        self.all: dict[str, Query] = {}
        self.away: set[str] = set()
        """Queries that have left."""
        self.newcomers: set[str] = set()
        """Those that were not there all the time."""
        self.at = 0

    def process_of(self, workload: sb.Workload) -> Process:
        raise NotImplementedError

    def begin(self, workload: sb.Workload) -> None:
        self.stream = workload.streams[0]
        self.all = {query.name: query for query in workload.queries}
        self.process = self.process_of(workload)

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        """What the oracle says of all that was pushed."""
        raise NotImplementedError

    def query(self, draw: Draw, number: int) -> Query:
        raise NotImplementedError

    def record(self, draw: Draw, number: int) -> tuple[Any, ...]:
        """Without its time."""
        raise NotImplementedError

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        raise NotImplementedError

    @rule(data=st.data(), steps=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, -1, -4, -9, 25]), max_size=6))
    def records_come(self, data: st.DataObject, steps: list[int]) -> None:
        moments = list(accumulate(steps, initial=self.at))[1:]
        self.at = moments[-1] if moments else self.at
        self.push(data.draw, moments, self.record)

    @rule(data=st.data(), behind=st.lists(st.integers(1, 30), min_size=1, max_size=4))
    def late_records_come(self, data: st.DataObject, behind: list[int]) -> None:
        self.push(data.draw, [self.at - each for each in behind], self.record)

    def push(self, draw: Draw, moments: list[int], record: Callable[[Draw, int], tuple[Any, ...]]) -> None:
        before = sum(map(len, self.pushed))
        rows = [(self.unit * at, *record(draw, number)) for number, at in enumerate(moments, before)]
        self.pushed.append(self.process.push(self.table_of(rows)))

    @rule(data=st.data())
    @precondition(lambda self: self.process.ready and len(self.all) < 8)
    def a_query_joins(self, data: st.DataObject) -> None:
        query = self.query(data.draw, len(self.all))
        self.all[query.name] = query
        self.newcomers.add(query.name)
        self.process.add(query)

    @rule(data=st.data())
    @precondition(lambda self: self.process.ready and len(self.all) - len(self.away) > 1)
    def a_query_leaves(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.all.keys() - self.away)))
        self.process.remove(name)
        self.away.add(name)

    @rule(data=st.data())
    @precondition(lambda self: self.process.ready and self.welcome)
    def a_query_comes_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.welcome))
        self.process.add(self.all[name])
        self.away.remove(name)
        self.newcomers.add(name)

    @property
    def welcome(self) -> list[str]:
        """Who may come back."""
        return sorted(name for name in self.away if has_positions(self.all[name]))

    @rule()
    @precondition(lambda self: self.process.ready)
    def it_starts_again(self) -> None:
        self.process.start_again()

    def teardown(self) -> None:
        if not self.pushed:
            return
        rows = self.process.close()
        warming = rows.column("warming").to_pylist() if "warming" in rows.column_names else [None] * len(rows)
        pairs = zip(support.actual_rows(rows), warming, strict=True)
        found = _by_window([row for row, young in pairs if not young])
        everyone = sb.Workload(list(self.all.values()), stream=self.stream)
        wanted = _by_window(self.expected(everyone))
        for window, told in found.items():
            assert told == wanted.get(window), window
        stayed = self.all.keys() - self.newcomers - self.away
        assert {window for window in wanted if window[0] in stayed} - found.keys() == set()


def _by_window(rows: list[support.Expected]) -> dict[Window, list[support.Expected]]:
    def window(row: support.Expected) -> tuple[str, str, int, str]:
        return row.query, str(row.start), row.end, row.group

    ordered = sorted(rows, key=lambda row: (*window(row), row.rank))
    return {name: list(each) for name, each in groupby(ordered, window)}


def has_positions(query: Query) -> bool:
    """Where nobody has counted the records of a group its positions are others than the oracle's."""
    return query.window.kind == "range" or not query.per


class LifeOfRecords(Life):
    """Windows of all kinds, PER, ties, second keys."""

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        return support.expected_rows(workload, self.pushed)

    @initialize(data=st.data())
    def first(self, data: st.DataObject) -> None:
        self.begin(data.draw(support.workloads(most=4, unit=self.unit)))

    def query(self, draw: Draw, number: int) -> Query:
        return draw(support.queries(number, unit=self.unit).filter(has_positions))  # type: ignore[no-any-return]

    def record(self, draw: Draw, number: int) -> tuple[Any, ...]:
        color = draw(st.sampled_from(["red", "blue", None]))
        return number, draw(support.awkward_scores), draw(st.integers(-1, 2)), color

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        return support.table_of(rows)


class LifeOfDeletes(Life):
    """Many scores and thresholds; records are taken back and updated."""

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [{"window": "6 rows", "slide": 2}, *boards.frames(self.unit)]

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        return boards.expected_rows(workload, self.pushed)

    @initialize(data=st.data())
    def first(self, data: st.DataObject) -> None:
        self.begin(data.draw(boards.workloads("op", most=4, windows=self.frames, unit=self.unit)))

    def query(self, draw: Draw, number: int) -> Query:
        return draw(boards.queries(number, self.frames))  # type: ignore[no-any-return]

    def record(self, draw: Draw, number: int) -> tuple[Any, ...]:
        return self.change(draw, ["I", "insert", None, "D", "delete", "u"])

    @rule(data=st.data(), behind=st.lists(st.integers(-3, 12), min_size=1, max_size=4))
    def records_are_taken_back(self, data: st.DataObject, behind: list[int]) -> None:
        moments = [self.at - each for each in behind]
        self.push(data.draw, moments, lambda draw, _: self.change(draw, ["D", "delete"]))

    def change(self, draw: Draw, words: list[str | None]) -> tuple[Any, ...]:
        a = draw(st.sampled_from([None, float("nan"), 0.0, 1.0, 2.0, 1.5, -1.0, float("inf")]))
        return draw(st.integers(0, 6)), a, draw(st.integers(-2, 3)), draw(st.sampled_from(words))

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        return boards.table_of(rows)
