"""The small groups of an uncertain PER family, all in one table: no group costs a Python call.

A group is sorted anew whenever it has a report due. That is cheap while it is small; one that has grown beyond `LARGE`
records is handed to an engine of its own, which keeps them sorted while its window slides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.uncertain.world_groups import Crowded, Rhythm, live_rows, report_crowd
from skyband.engines.kernels.uncertain.world_reports import ENTRIES, LEFT_OUT, MERGED, PASSES, SCANNED
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import NEVER, Flags, Floats, Ints, MetaQuery
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.ledger import group_codes
from skyband.runtime.packed import AT, RULE, SCORE, SOURCE, P, feed_order, floats, ints, key_order

LARGE = 4_096
"""A group with more records than this gets an engine; one with fewer than a quarter of that comes back."""


class Rows(NamedTuple):
    """By group and feed order; `turn` rises with (time, key)."""

    group: Ints
    at: Ints
    score: Floats
    p: Floats
    rule: Ints
    source: Ints
    turn: Ints
    id: Ints

    @staticmethod
    def none() -> Rows:
        ints, floats = np.empty(0, np.int64), np.empty(0)
        return Rows(ints, ints, floats, floats, ints, ints, ints, ints)

    def take(self, places: Ints | Flags) -> Rows:
        return Rows._make(column[places] for column in self)


class Moved(NamedTuple):
    """A group on its way between the table and an engine."""

    name: str
    tuples: Tuples
    until: int


class Crowd:
    """Groups are numbers; one without rows is forgotten in time."""

    def __init__(self, meta: MetaQuery, linger: Ints | None) -> None:
        self.meta = meta
        self._linger = 0 if linger is None else int(linger.max())
        self._names: list[str] = []
        self._code: dict[str, int] = {}
        self._until = np.empty(0, np.int64)
        self._rows = Rows.none()
        self._turns = 0
        self._taken = 0
        self._board = np.zeros(5, np.int64)

    def advance(
        self, rows: pa.Table | None, ids: Ints, beats: Rhythm, query: Ints, until: int, seen: Mapping[str, int] | None
    ) -> Reports:
        """As a keeper's; `query` is that of each beat."""
        if rows is not None and len(rows):
            self._append(rows, ids)
        clock = self._clock(until, seen)
        have = self._rows
        crowded = Crowded(self._begin(), have.at, have.score, have.p, have.rule, have.source, have.turn)
        found = report_crowd(crowded, self._until, clock, beats, self.meta.longest, self._board)
        id = have.id[found.row]
        names = self._names
        self._until = clock
        self._forget()
        return Reports(query[found.beat], found.start, found.end, found.group, found.size, id, names, found.value)

    def admit(self, rows: pa.Table, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        """Rows that are older than some that are here."""
        self._append(rows, ids)
        everyone = take(self._rows.id)
        turn = np.empty(len(everyone), np.int64)
        turn[key_order(everyone)] = np.arange(len(everyone))
        self._rows, self._turns = self._rows._replace(turn=turn), len(everyone)
        order = feed_order(everyone)
        self._rows = self._rows.take(order[np.argsort(self._rows.group[order], kind="stable")])
        self._until = self._clock(until, seen)
        self._forget()

    def candidates(self) -> Ints:
        return self._rows.id

    @property
    def last(self) -> int:
        """The time of the newest record."""
        return int(self._rows.at.max()) if len(self._rows.at) else int(NEVER)

    @property
    def counters(self) -> Counters:
        return {
            "records": self._taken,
            "comparisons": int(self._board[ENTRIES]),
            "insertions": int(self._board[MERGED]),
            "candidates": len(self._rows.id),
            "passes": int(self._board[PASSES]),
            "scanned": int(self._board[SCANNED]),
            "left_out": int(self._board[LEFT_OUT]),
        }

    def large(self) -> list[str]:
        """Groups that should have an engine of their own."""
        return [self._names[code] for code in np.flatnonzero(np.diff(self._begin()) > LARGE).tolist()]

    def take_out(self, names: Iterable[str]) -> list[Moved]:
        """Groups with their records and clocks, which then are no longer here."""
        codes = np.array([self._code[name] for name in names if name in self._code], np.int64)
        begin, have, found = self._begin(), self._rows, []
        for code in codes.tolist():
            part = slice(int(begin[code]), int(begin[code + 1]))
            turn = np.argsort(have.turn[part], kind="stable")
            tuples = Tuples(
                have.id[part], have.at[part], have.score[part], have.p[part], have.rule[part], turn, have.source[part]
            )
            if len(tuples):
                found.append(Moved(self._names[code], tuples, int(self._until[code])))
        self._rows = have.take(~np.isin(have.group, codes))
        return found

    def take_in(self, groups: Sequence[Moved]) -> None:
        """Groups that come (back) with their records; none of them is here."""
        parts = [self._rows]
        for name, tuples, until in groups:
            group = np.full(len(tuples), self._number(name))
            self._until = np.append(self._until, np.full(len(self._names) - len(self._until), NEVER))
            self._until[group[0]] = until
            turn = np.empty(len(tuples), np.int64)
            turn[tuples.turn] = self._turns + np.arange(len(tuples))
            self._turns += len(tuples)
            parts.append(Rows(group, tuples.at, tuples.score, tuples.p, tuples.rule, tuples.source, turn, tuples.id))
        rows = Rows._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
        self._rows = rows.take(np.argsort(rows.group, kind="stable"))

    def _append(self, rows: pa.Table, ids: Ints) -> None:
        """Rows behind those of their groups: they are newer than all of them, or will be put in order."""
        place, names = group_codes(rows)
        codes = np.array([self._number(name) for name in names], np.int64)
        self._until = np.concatenate((self._until, np.full(len(self._names) - len(self._until), NEVER)))
        turn = np.empty(len(ids), np.int64)
        turn[key_order(rows)] = self._turns + np.arange(len(ids))
        self._turns += len(ids)
        self._taken += len(ids)
        new = Rows(
            codes[place], ints(rows, AT), floats(rows, SCORE), floats(rows, P), ints(rows, RULE), ints(rows, SOURCE),
            turn, ids,
        )  # fmt: skip
        both = Rows._make(np.concatenate(pair) for pair in zip(self._rows, new, strict=True))
        self._rows = both.take(np.argsort(both.group, kind="stable"))

    def _number(self, name: str) -> int:
        code = self._code.setdefault(name, len(self._names))
        if code == len(self._names):
            self._names.append(name)
        return code

    def _begin(self) -> Ints:
        return np.searchsorted(self._rows.group, np.arange(len(self._names) + 1))

    def _clock(self, until: int, seen: Mapping[str, int] | None) -> Ints:
        if seen is None:
            return np.full(len(self._names), until)
        clock = self._until.copy()
        for name, end in seen.items():
            if name in self._code:
                clock[self._code[name]] = end
        return clock

    def _forget(self) -> None:
        """Rows that no report covers any more; and the numbers of groups, when most of them are gone."""
        keep = live_rows(self._begin(), self._rows.at, self._until, self.meta.longest, self._linger)
        if not keep.all():
            self._rows = self._rows.take(keep)
        live = np.unique(self._rows.group)
        if len(self._names) > 2 * len(live) + 1_000:
            self._names = [self._names[code] for code in live.tolist()]
            self._code = {name: code for code, name in enumerate(self._names)}
            self._until = self._until[live]
            self._rows = self._rows._replace(group=np.searchsorted(live, self._rows.group))
