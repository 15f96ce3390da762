"""The small groups of an uncertain PER family, all in one table: no group costs a Python call.

A group is sorted anew whenever it has a report due. That is cheap while it is small; one that has grown beyond `LARGE`
records is handed to an engine of its own, which keeps them sorted while its window slides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.uncertain.world_groups import Triggers, TuplesByGroup, live_rows, report_small_groups
from skyband.engines.kernels.uncertain.world_reports import ENTRIES, LEFT_OUT, MERGED, PASSES, SCANNED
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import NEVER, Ints, MetaQuery
from skyband.runtime.clock import Clock
from skyband.runtime.encoded import AT, RULE, SCORE, SOURCE, P, floats, ints, key_order
from skyband.runtime.executors.base import NO_IDS, Reports
from skyband.runtime.executors.group_table import GroupRows, GroupTable
from skyband.runtime.row_store import RowStore

LARGE = 4_096
"""A group with more records than this gets an engine; one with fewer than a quarter of that comes back."""


class Moved(NamedTuple):
    """A group on its way between the table and an engine."""

    name: str
    tuples: Tuples
    until: int


class SmallGroupTable:
    """Used by an executor, which has the moments at which reports are due."""

    engine = "pk_topk"
    """Whose lists and counters these are: groups that another engine was chosen for do not belong here."""

    def __init__(self, meta: MetaQuery, grace: Ints | None) -> None:
        self.meta = meta
        self._grace = 0 if grace is None else int(grace.max())
        none = np.empty(0)
        self._table = GroupTable(
            group=NO_IDS, at=NO_IDS, score=none, p=none, rule=NO_IDS, source=NO_IDS, turn=NO_IDS, id=NO_IDS
        )
        self._turns = 0
        self._taken = 0
        self._counts = np.zeros(5, np.int64)

    def advance(self, rows: pa.Table | None, ids: Ints, beats: Triggers, query: Ints, clock: Clock) -> Reports:
        """As an executor's; `query` is that of each beat."""
        if rows is not None and len(rows):
            self._add(rows, ids)
        table = self._table
        until, have = table.clocks(clock), table.rows
        crowded = TuplesByGroup(
            table.begin(), have["at"], have["score"], have["p"], have["rule"], have["source"], have["turn"]
        )
        found = report_small_groups(crowded, table.until, until, beats, self.meta.longest, self._counts)
        id, names, query = have["id"][found.row], table.names, query[found.beat]
        table.until = until
        self._forget()
        begin = np.cumsum(found.size) - found.size
        return Reports(query, found.start, found.end, found.group, begin, found.size, id, names, found.value)

    def admit(self, rows: pa.Table, ids: Ints, store: RowStore, clock: Clock) -> None:
        """Rows that are older than some that are here."""
        self._add(rows, ids)
        table = self._table
        everything = store.take(table.rows["id"])
        turn = np.empty(len(everything), np.int64)
        turn[key_order(everything)] = np.arange(len(everything))
        table.rows["turn"], self._turns = turn, len(everything)
        table.put_in_order(everything)
        table.until = table.clocks(clock)
        self._forget()

    def forget(self, groups: Iterable[str]) -> None:
        self._table.forget(groups)

    def candidates(self) -> Ints:
        kept: Ints = self._table.rows["id"]
        return kept

    @property
    def last(self) -> int:
        """The time of the newest record."""
        at = self._table.rows["at"]
        return int(at.max()) if len(at) else int(NEVER)

    @property
    def counters(self) -> Counters:
        return {
            "records": self._taken,
            "comparisons": int(self._counts[ENTRIES]),
            "insertions": int(self._counts[MERGED]),
            "candidates": len(self._table.rows["id"]),
            "passes": int(self._counts[PASSES]),
            "scanned": int(self._counts[SCANNED]),
            "left_out": int(self._counts[LEFT_OUT]),
        }

    def check(self) -> None:
        """Assert what must hold of the table, for tests."""
        self._table.check()
        turn = self._table.rows["turn"]
        assert len(np.unique(turn)) == len(turn), "groups: two rows have one turn"
        assert (turn < self._turns).all(), "groups: a turn that was not given out"

    def large(self) -> list[str]:
        """Groups that should have an engine of their own."""
        names = self._table.names
        return [names[code] for code in np.flatnonzero(np.diff(self._table.begin()) > LARGE).tolist()]

    def is_small(self, records: int) -> bool:
        """A group that has so many records left should come back."""
        return 0 < records <= LARGE // 4

    def take_out(self, names: Iterable[str]) -> list[Moved]:
        """Groups with their records and clocks, which then are no longer here."""
        table = self._table
        codes = table.known(names)
        begin, have, found = table.begin(), table.rows, []
        for code in codes.tolist():
            part = slice(int(begin[code]), int(begin[code + 1]))
            mine = have.take(part)
            turn = np.argsort(mine["turn"], kind="stable")
            id, at, score, p, rule, source = (mine[name] for name in ("id", "at", "score", "p", "rule", "source"))
            tuples = Tuples(id, at, score, p, rule, turn, source)
            if len(tuples):
                found.append(Moved(table.names[code], tuples, int(table.until[code])))
        table.rows = have.take(~np.isin(have["group"], codes))
        return found

    def take_in(self, groups: Sequence[Moved]) -> None:
        """Groups that come (back) with their records; none of them is here."""
        codes, parts = self._table.numbered(each.name for each in groups), list[GroupRows]()
        for code, (_, tuples, until) in zip(codes.tolist(), groups, strict=True):
            self._table.until[code] = until
            turn = np.empty(len(tuples), np.int64)
            turn[tuples.turn] = self._turns + np.arange(len(tuples))
            self._turns += len(tuples)
            parts.append(_rows(np.full(len(tuples), code), tuples, turn))
        self._table.add(reduce(GroupRows.append, parts))

    def _add(self, rows: pa.Table, ids: Ints) -> None:
        turn = np.empty(len(ids), np.int64)
        turn[key_order(rows)] = self._turns + np.arange(len(ids))
        self._turns += len(ids)
        self._taken += len(ids)
        p, rule, source = floats(rows, P), ints(rows, RULE), ints(rows, SOURCE)
        tuples = Tuples(ids, ints(rows, AT), floats(rows, SCORE), p, rule, turn, source)
        self._table.add(_rows(self._table.numbers(rows), tuples, turn))

    def _forget(self) -> None:
        """Rows that no report covers any more."""
        table = self._table
        table.keep(live_rows(table.begin(), table.rows["at"], table.until, self.meta.longest, self._grace))


def _rows(group: Ints, tuples: Tuples, turn: Ints) -> GroupRows:
    """`turn` rises with (time, key)."""
    columns = {name: getattr(tuples, name) for name in ("at", "score", "p", "rule", "source", "id")}
    return GroupRows(group=group, turn=turn, **columns)
