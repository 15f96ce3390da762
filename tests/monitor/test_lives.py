"""A Monitor through any life: records, late ones and deletes come, queries join, leave and come back, and it starts
again from a snapshot, in any order. Every row that is not `warming` is the oracle's."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import skyband as sb
from skyband.model import Query
from tests import support
from tests.monitor import test_boards as boards

STEPS = int(os.environ.get("SKYBAND_STEPS", "1500"))
"""Of each machine, about; `make lives STEPS=100000` takes more."""
A_LIFE = 30
Window = tuple[str, Any, int, str]


class Life(RuleBasedStateMachine):
    """Steps that a stream, its queries and its process can take."""

    def __init__(self) -> None:
        super().__init__()
        self.pushed: list[pa.Table] = []
        self.parts: list[pa.Table] = []
        self.all: dict[str, Query] = {}
        self.away: set[str] = set()
        """Queries that have left."""
        self.newcomers: set[str] = set()
        """Those that were not there all the time."""
        self.at = 0

    def begin(self, workload: sb.Workload) -> None:
        self.stream = workload.streams[0]
        self.all = {query.name: query for query in workload.queries}
        self.monitor = sb.Monitor(workload)

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        """What the oracle says of all that was pushed."""
        raise NotImplementedError

    def query(self, draw: Callable[[Any], Any], number: int) -> Query:
        raise NotImplementedError

    def record(self, draw: Callable[[Any], Any], number: int) -> tuple[Any, ...]:
        """Without its time."""
        raise NotImplementedError

    @rule(data=st.data(), steps=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, -1, -4, -9, 25]), max_size=6))
    def records_come(self, data: st.DataObject, steps: list[int]) -> None:
        rows, before = [], sum(map(len, self.pushed))
        for number, step in enumerate(steps):
            self.at += step
            rows.append((self.at, *self.record(data.draw, before + number)))
        table = self.table_of(rows)
        self.parts.append(self.monitor.push(table))
        self.pushed.append(table)

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        raise NotImplementedError

    @rule(data=st.data())
    @precondition(lambda self: len(self.all) < 8)
    def a_query_joins(self, data: st.DataObject) -> None:
        query = self.query(data.draw, len(self.all))
        self.all[query.name] = query
        self.newcomers.add(query.name)
        self.monitor.add(query)

    @rule(data=st.data())
    @precondition(lambda self: len(self.all) - len(self.away) > 1)
    def a_query_leaves(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.all.keys() - self.away)))
        self.monitor.remove(name)
        self.away.add(name)

    @rule(data=st.data())
    @precondition(lambda self: self.welcome)
    def a_query_comes_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.welcome))
        self.monitor.add(self.all[name])
        self.away.remove(name)
        self.newcomers.add(name)

    @property
    def welcome(self) -> list[str]:
        """Who may come back."""
        return sorted(name for name in self.away if _has_positions(self.all[name]))

    @rule()
    def it_starts_again(self) -> None:
        self.monitor = sb.Monitor.restore(self.monitor.workload, self.monitor.snapshot())

    def teardown(self) -> None:
        if not self.all:
            return
        self.parts.append(self.monitor.close())
        rows = pa.concat_tables(self.parts, promote_options="permissive")
        warming = rows.column("warming").to_pylist() if "warming" in rows.column_names else [None] * len(rows)
        pairs = zip(support.actual_rows(rows), warming, strict=True)
        found = _by_window([row for row, young in pairs if not young])
        everyone = sb.Workload(list(self.all.values()), stream=self.stream)
        wanted = _by_window(self.expected(everyone))
        for window, told in found.items():
            assert told == wanted.get(window), window
        stayed = self.all.keys() - self.newcomers - self.away
        assert {window for window in wanted if window[0] in stayed} <= found.keys()


def _by_window(rows: list[support.Expected]) -> dict[Window, list[support.Expected]]:
    def window(row: support.Expected) -> tuple[str, str, int, str]:
        return row.query, str(row.start), row.end, row.group

    ordered = sorted(rows, key=lambda row: (*window(row), row.rank))
    return {name: list(each) for name, each in groupby(ordered, window)}


def _has_positions(query: Query) -> bool:
    """Where nobody has counted the records of a group its positions are others than the oracle's."""
    return query.window.kind == "range" or not query.per


class LifeOfRecords(Life):
    """Windows of all kinds, PER, ties, second keys."""

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        return support.expected_rows(workload, self.pushed)

    @initialize(workload=support.workloads(most=4))
    def first(self, workload: sb.Workload) -> None:
        self.begin(workload)

    def query(self, draw: Callable[[Any], Any], number: int) -> Query:
        return draw(support.queries(number).filter(_has_positions))  # type: ignore[no-any-return]

    def record(self, draw: Callable[[Any], Any], number: int) -> tuple[Any, ...]:
        color = draw(st.sampled_from(["red", "blue", None]))
        return number, draw(support.awkward_scores), draw(st.integers(-1, 2)), color

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        return support.table_of(rows)


class LifeOfDeletes(Life):
    """Many scores and thresholds; records are taken back and updated."""

    def expected(self, workload: sb.Workload) -> list[support.Expected]:
        return boards.expected_rows(workload, self.pushed)

    @initialize(workload=boards.workloads("op", most=4))
    def first(self, workload: sb.Workload) -> None:
        self.begin(workload)

    def query(self, draw: Callable[[Any], Any], number: int) -> Query:
        return draw(boards.queries(number, boards.FRAMES))  # type: ignore[no-any-return]

    def record(self, draw: Callable[[Any], Any], number: int) -> tuple[Any, ...]:
        a = draw(st.sampled_from([None, float("nan"), 0.0, 1.0, 2.0, 1.5, -1.0, float("inf")]))
        what = draw(st.sampled_from(["I", "insert", None, "D", "delete", "u"]))
        return draw(st.integers(0, 6)), a, draw(st.integers(-2, 3)), what

    def table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        return boards.table_of(rows)


thorough = settings(
    max_examples=max(STEPS // A_LIFE, 1),
    stateful_step_count=A_LIFE,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestLifeOfRecords = LifeOfRecords.TestCase
TestLifeOfRecords.settings = thorough
TestLifeOfDeletes = LifeOfDeletes.TestCase
TestLifeOfDeletes.settings = thorough
