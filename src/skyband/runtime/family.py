"""One family at work: holds records back until their time has come, feeds the engines, keeps the payload.

Monitor and Spark's maintain stage run the same code; they differ in where packed rows come from and where answers go.
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


class FamilyRun:
    """Takes packed rows in any order and gives answers: packed rows with query, window, rank and change in front."""

    def __init__(self, planned: PlannedFamily) -> None:
        self.planned = planned
        queries = planned.family.queries
        logged = np.array([query.changes for query in queries])
        linger = np.where(logged, planned.meta.period, 0) if logged.any() else None
        self.changes = Changes(np.flatnonzero(logged))
        self.groups = Groups(planned.meta, planned.build, linger)
        self.payload = Payload()
        self.held: pa.Table | None = None
        self.until = int(NEVER)
        self.late = np.zeros(len(queries), np.int64)
        self.dropped = np.zeros(len(queries), np.int64)

    def feed(self, rows: pa.Table | None, until: int) -> pa.Table | None:
        """RANGE: rows that arrived, then every report up to `until`, the watermark. None if there was none."""
        if rows is not None and len(rows):
            at = ints(rows, AT)
            late = at < self.until
            if late.any():
                self._count_late(at[late])
                self._admit(rows.filter(pa.array(late)))
                rows = rows.filter(pa.array(~late))
            self.held = rows if self.held is None else pa.concat_tables([self.held, rows])
        ready = self._released(until)
        self.until = max(self.until, until)
        waiting = self.groups.waiting(until)
        return self._advance(ready, dict.fromkeys(waiting, until), until)

    def feed_positions(self, rows: pa.Table, seen: Mapping[str, int]) -> pa.Table | None:
        """ROWS: rows numbered by position, and how many records each group has seen by now."""
        return self._advance(rows, seen, 0)

    def live(self) -> Ints:
        """Ids whose rows may still be shown."""
        return np.union1d(self.groups.candidates(), self.changes.pinned())

    @property
    def counters(self) -> Counters:
        return self.groups.counters | {"held_back": 0 if self.held is None else len(self.held)}

    def _released(self, until: int) -> pa.Table | None:
        if self.held is None or not len(self.held):
            return None
        due = ints(self.held, AT) < until
        ready = self.held.filter(pa.array(due))
        self.held = self.held.filter(pa.array(~due)).combine_chunks()
        return ready.take(pa.array(feed_order(ready))) if len(ready) else None

    def _advance(self, rows: pa.Table | None, until_of: Mapping[str, int], until: int) -> pa.Table | None:
        """Feed each group its rows and let it report up to its `until`."""
        fresh = self.payload.number(0 if rows is None else len(rows))
        parts = []
        touched = dict(until_of)
        for name, at, score, ids in _by_group(rows, fresh):
            parts.append(self.groups.advance(name, at, score, ids, touched.pop(name, until)))
        for name, end in touched.items():
            if name in self.groups.members:
                parts.append(self.groups.advance(name, *_NOTHING, end))
        answers = self._answers(Reports.joined(parts), fresh, rows)
        self.groups.forget_idle([name for name in self.groups.members if self.groups.members[name].idle()])
        self._keep(fresh, rows)
        return answers

    def _count_late(self, at: Ints) -> None:
        first, last = self.planned.meta.window_ends(at)
        self.late += (first <= self.until).sum(axis=1)
        self.dropped += (last <= self.until).sum(axis=1)

    def _admit(self, rows: pa.Table) -> None:
        """The slow path: rows older than what was fed already, into the windows still open."""
        fresh = self.payload.number(len(rows))
        for name, at, score, ids in _by_group(rows, fresh):
            member = self.groups.member(name)
            if member.until < self.until:
                self.groups.advance(name, *_NOTHING, self.until)
            mine = rows.filter(pa.array(np.isin(fresh, ids)))
            kept = self.payload.take(member.shared, _NO_IDS, None) if len(member.shared) else mine.slice(0, 0)
            member.admit(at, score, ids, feed_order(pa.concat_tables([kept, mine])))
        self._keep(fresh, rows)

    def _keep(self, fresh: Ints, rows: pa.Table | None) -> None:
        self.payload.keep(self.live(), fresh, rows)

    def _answers(self, reports: Reports, fresh: Ints, rows: pa.Table | None) -> pa.Table | None:
        report, rank, id, change = self.changes.rows(reports).columns()
        if not len(report):
            return None
        group = pa.array(reports.group, pa.string()).take(pa.array(report))
        table = self.payload.take(id, fresh, rows)
        front = {
            QUERY: pa.array(reports.query[report]),
            START: pa.array(reports.start[report]),
            END: pa.array(reports.end[report]),
            GROUP: group,
            RANK: pa.array(rank, mask=rank == 0),
            CHANGE: change,
        }
        for name in table.column_names:
            front.setdefault(name, table.column(name))
        return pa.table(front)


_NO_IDS: Ints = np.empty(0, np.int64)
_NOTHING: tuple[Ints, Floats, Ints] = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


def _by_group(rows: pa.Table | None, ids: Ints) -> list[tuple[str, Ints, Floats, Ints]]:
    """(group, at, score, ids) of each group, rows in their order."""
    if rows is None or not len(rows):
        return []
    at, score = ints(rows, AT), floats(rows, SCORE)
    if GROUP not in rows.column_names:
        return [("", at, score, ids)]
    coded = rows.column(GROUP).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    code = np.asarray(coded.indices)
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order], prepend=-1, append=len(coded.dictionary)))
    names = coded.dictionary.to_pylist()
    found = []
    for low, high in pairwise(cuts.tolist()):
        part = order[low:high]
        found.append((names[code[part[0]]], at[part], score[part], ids[part]))
    return found
