"""One family at work: holds records back until their time has come, feeds the engines, keeps the rows.

Monitor and Spark's maintain stage run the same code; they differ in where packed rows come from and where answers go.
All that decides the future is a bag of packed rows and a clock: rows from the clock on are held back, older ones are
candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.model import NEVER, Floats, Ints
from skyband.planner import PlannedFamily
from skyband.runtime.changes import Changes
from skyband.runtime.groups import Groups, Reports
from skyband.runtime.packed import AT, GROUP, SCORE, feed_order, floats, ints
from skyband.runtime.payload import Payload

QUERY, START, END, RANK, CHANGE = "#query", "#start", "#end", "#rank", "#change"
_NO_IDS: Ints = np.empty(0, np.int64)
_NOTHING: tuple[Ints, Floats, Ints] = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


class FamilyRun:
    """Takes packed rows in any order and gives answers: packed rows with query, window, rank and change in front."""

    def __init__(self, planned: PlannedFamily) -> None:
        self.planned = planned
        logged = np.array([query.changes for query in planned.family.queries])
        linger = np.where(logged, planned.meta.period, 0) if logged.any() else None
        self.changes = Changes(np.flatnonzero(logged))
        self.groups = Groups(planned.meta, planned.build, linger)
        self.payload = Payload()
        self.held = _NO_IDS
        self.until = int(NEVER)
        self.records = 0

    def feed(self, rows: pa.Table | None, until: int) -> pa.Table | None:
        """RANGE: rows that arrived, then every report up to `until`, the watermark. None if there was none."""
        if rows is not None and len(rows):
            self.records += len(rows)
            ids, late = self.payload.add(rows), ints(rows, AT) < self.until
            self.held = np.concatenate((self.held, ids[~late]))
            if late.any():
                self._admit(ids[late], dict.fromkeys(self.groups.members, self.until), self.until)
        due = self._released(until)
        self.until = max(self.until, until)
        return self._advance(due, dict.fromkeys(self.groups.waiting(until), until), until)

    def feed_positions(self, rows: pa.Table | None, seen: Mapping[str, int]) -> pa.Table | None:
        """ROWS: rows numbered by position, and how many records each group has seen by now."""
        ids = _NO_IDS
        if rows is not None and len(rows):
            self.records += len(rows)
            ids = self.payload.add(rows)
        return self._advance(ids, seen, 0)

    def rows(self) -> pa.Table | None:
        """Every row that may still be shown: with the clock, all that has to be saved."""
        self.payload.sweep(self._live())
        return self.payload.rows

    def resume(self, rows: pa.Table, ids: Ints, until: int, seen: Mapping[str, int] | None) -> None:
        """Go on from saved rows; `seen` for ROWS. Rows that are no longer needed do no harm."""
        self.payload.rows, self.payload.ids, self.until = rows, ids, until
        held = ints(rows, AT) >= until if seen is None else np.zeros(len(rows), bool)
        self.held = ids[held]
        if not held.all():
            self._admit(ids[~held], seen or {}, until)

    def next_report(self) -> int | None:
        """The first moment after the clock at which there may be a report, as far as is known now."""
        meta, linger = self.planned.meta, self.groups.linger
        known = [meta.next_moment(member.last, self.until, linger) for member in self.groups.members.values()]
        if len(self.held):
            oldest = ints(self.payload.take(self.held), AT).min(keepdims=True)
            known.append(int(meta.window_ends(oldest)[0].min()))
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        return self.groups.counters | {"records": self.records, "held_back": len(self.held)}

    def _live(self) -> Ints:
        return np.unique(np.concatenate((self.groups.candidates(), self.changes.pinned(), self.held)))

    def _released(self, until: int) -> Ints:
        """Ids of the rows whose time has come, in feed order."""
        if not len(self.held):
            return _NO_IDS
        rows = self.payload.take(self.held)
        due = ints(rows, AT) < until
        ready, self.held = self.held[due], self.held[~due]
        return ready[feed_order(rows.filter(pa.array(due)))]

    def _advance(self, ids: Ints, until_of: Mapping[str, int], until: int) -> pa.Table | None:
        """Feed each group its rows and let it report up to its `until`."""
        touched = dict(until_of)
        parts = [
            self.groups.advance(name, at, score, mine, touched.pop(name, until))
            for name, at, score, mine in self._by_group(ids)
        ]
        for name, end in touched.items():
            if name in self.groups.members:
                parts.append(self.groups.advance(name, *_NOTHING, end))
        answers = self._answers(Reports.joined(parts))
        self.groups.forget_idle()
        self.payload.keep(self._live())
        return answers

    def _admit(self, ids: Ints, until_of: Mapping[str, int], until: int) -> None:
        """The slow path: rows older than what was fed already, into the windows still open."""
        for name, at, score, mine in self._by_group(ids):
            member = self.groups.member(name)
            if member.until < until_of.get(name, until):
                self.groups.advance(name, *_NOTHING, until_of.get(name, until))
            everyone = self.payload.take(np.concatenate((member.shared, mine)))
            member.admit(at, score, mine, feed_order(everyone))

    def _by_group(self, ids: Ints) -> list[tuple[str, Ints, Floats, Ints]]:
        """(group, at, score, ids) of each group, rows in their order."""
        if not len(ids):
            return []
        rows = self.payload.take(ids)
        at, score = ints(rows, AT), floats(rows, SCORE)
        if GROUP not in rows.column_names:
            return [("", at, score, ids)]
        coded = pa.chunked_array([rows.column(GROUP).combine_chunks()]).combine_chunks().dictionary_encode()
        code, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
        order = np.argsort(code, kind="stable")
        cuts = np.flatnonzero(np.diff(code[order], prepend=-1, append=len(names))).tolist()
        parts = [order[low:high] for low, high in pairwise(cuts)]
        return [(names[code[part[0]]], at[part], score[part], ids[part]) for part in parts]

    def _answers(self, reports: Reports) -> pa.Table | None:
        report, rank, id, change = self.changes.rows(reports).columns()
        if not len(report):
            return None
        table = self.payload.take(id)
        front = {
            QUERY: pa.array(reports.query[report]),
            START: pa.array(reports.start[report]),
            END: pa.array(reports.end[report]),
            GROUP: pa.array(reports.group, pa.string()).take(pa.array(report)),
            RANK: pa.array(rank, mask=rank == 0),
            CHANGE: change,
        }
        for name in table.column_names:
            front.setdefault(name, table.column(name))
        return pa.table(front)
