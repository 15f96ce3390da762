"""One family at work: holds records back until their time has come, feeds the engines, keeps the rows.

Monitor and Spark's maintain stage run the same code; they differ in where packed rows come from and where answers go.
All that decides the future is a bag of packed rows and a clock: rows from the clock on are held back, older ones are
candidates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.uncertain.pk_normal import PkNormal
from skyband.engines.uncertain.pk_topk import PkTopk
from skyband.model import NEVER, Floats, Ints
from skyband.planner import GROUPED, PlannedFamily
from skyband.runtime.apart import Apart
from skyband.runtime.board import Board
from skyband.runtime.changes import Changes
from skyband.runtime.grouped import Grouped
from skyband.runtime.groups import Groups
from skyband.runtime.keeper import Keeper, Reports
from skyband.runtime.packed import AT, ERROR, FEED, GROUP, HASH, KEY, OBJECT, RULE, SCORE, SOURCE, P, feed_order, ints
from skyband.runtime.payload import Payload
from skyband.runtime.worlds import Worlds

QUERY, START, END, RANK, CHANGE, WARMING = "#query", "#start", "#end", "#rank", "#change", "#warming"
PROBABILITY, EXPECTED = "#probability", "#expected_rank"
NOT_SHOWN = HASH, KEY, GROUP, P, RULE, SOURCE, ERROR, FEED
"""Columns of packed rows that no answer needs; the group is written anew."""
_NO_IDS: Ints = np.empty(0, np.int64)
FOREVER = 2**61
"""A watermark, or position, behind every window."""


class FamilyRun:
    """Takes packed rows in any order and gives answers: packed rows with query, window, rank and change in front.

    `since` (by query): from when on its windows are complete; set where a query joins a family that ran without it. In
    some groups that may be later (`since_in_group`).
    """

    def __init__(self, planned: PlannedFamily) -> None:
        self.planned = planned
        logged = np.array([query.changes for query in planned.family.queries])
        linger = np.where(logged[planned.meta.query], planned.meta.period, 0) if logged.any() else None
        self.changes = Changes(np.flatnonzero(logged), self._objects if planned.family.across is not None else None)
        self.keeper: Keeper = _keeper(planned, linger)
        self.payload = Payload()
        self.held, self._held_at = _NO_IDS, _NO_IDS
        self.until = int(NEVER)
        self.records = 0
        self.since = np.full(len(planned.family.queries), NEVER)
        self.since_in_group: list[dict[str, int]] = [{} for _ in planned.family.queries]

    def feed(self, rows: pa.Table | None, until: int) -> pa.Table | None:
        """RANGE: rows that arrived, then every report up to `until`, the watermark. None if there was none."""
        if rows is not None and len(rows):
            self.records += len(rows)
            ids, at = self.payload.add(rows), ints(rows, AT)
            late = at < self.until
            self.held = np.concatenate((self.held, ids[~late]))
            self._held_at = np.concatenate((self._held_at, at[~late]))
            if late.any():
                self.keeper.admit(ids[late], self.payload.take, self.until, None)
        due = self._released(until)
        self.until = max(self.until, until)
        return self._answers(self.keeper.advance(due, self.payload.take, self.until, None))

    def feed_positions(self, rows: pa.Table | None, seen: Mapping[str, int]) -> pa.Table | None:
        """ROWS: rows numbered by position, and how many records each of these groups has seen by now."""
        ids = _NO_IDS
        if rows is not None and len(rows):
            self.records += len(rows)
            ids = self.payload.add(rows)
        answers = self._answers(self.keeper.advance(ids, self.payload.take, 0, seen))
        self._forget_beginnings(seen)
        return answers

    def close(self, until: int) -> pa.Table | None:
        """Every report there will ever be."""
        return self._answers(self.keeper.close(until)) if self.planned.family.kind == "rows" else self.feed(None, until)

    def rows(self, essential: bool = False) -> pa.Table | None:
        """Every row that may still be shown: with the clock, all that has to be saved. With `essential` not what only a
        query that joins a board later could ask for: the run cannot go on after that, only a copy of it."""
        kept = None
        if essential and isinstance(self.keeper, Board):
            kept = self.keeper.essential(self.payload.take)
        self.payload.sweep(self._live(kept))
        return self.payload.rows

    def memory(self) -> bytes:
        """What else has to be saved; mostly nothing."""
        return self.keeper.memory() if isinstance(self.keeper, Apart) else b""

    def resume(
        self, rows: pa.Table, ids: Ints, until: int, seen: Mapping[str, int] | None, memory: bytes = b""
    ) -> None:
        """Go on from saved rows; `seen` for ROWS. Rows that are no longer needed do no harm."""
        self.payload.rows, self.payload.ids, self.until = rows, ids, until
        at = ints(rows, AT)
        held = at >= until if seen is None else np.zeros(len(rows), bool)
        self.held, self._held_at = ids[held], at[held]
        if memory and isinstance(self.keeper, Apart):
            self.keeper.recall(memory)
        elif not held.all():
            self.keeper.admit(ids[~held], self.payload.take, until, seen)

    def next_report(self) -> int | None:
        """The first moment after the clock at which there may be a report, as far as is known now."""
        known = self.keeper.next_report(self.until)
        if not len(self.held):
            return known
        oldest = self._held_at.min(keepdims=True)
        metas = self.keeper.metas if isinstance(self.keeper, Worlds) else [self.planned.meta]
        first = min(int(meta.window_ends(oldest)[0].min()) for meta in metas)
        return first if known is None else min(known, first)

    @property
    def counters(self) -> Counters:
        return self.keeper.counters | {"records": self.records, "held_back": len(self.held)}

    def _live(self, kept: Ints | None = None) -> Ints:
        live = self.keeper.candidates() if kept is None else kept
        if len(self.held):
            live = np.sort(np.concatenate((live, self.held)))
        pinned = self.changes.pinned()
        return np.union1d(live, pinned) if len(pinned) else live

    def _released(self, until: int) -> Ints:
        """Ids of the rows whose time has come, in feed order."""
        due = self._held_at < until
        if not due.any():
            return _NO_IDS
        ready, self.held, self._held_at = self.held[due], self.held[~due], self._held_at[~due]
        return ready[feed_order(self.payload.take(ready))]

    def _objects(self, ids: Ints) -> Ints:
        """Which objects these records are of."""
        return ints(self.payload.take(ids), OBJECT) if len(ids) else ids

    def _warming(self, reports: Reports, report: Ints) -> pa.Array:
        """True where the window began before its query did, so that records may be missing; else null."""
        young = reports.start < self.since[reports.query]
        for query, since in enumerate(self.since_in_group):
            if since:
                mine = np.flatnonzero(reports.query == query)
                names = [reports.names[group] for group in reports.group[mine].tolist()]
                young[mine] |= reports.start[mine] < np.array([since.get(name, NEVER) for name in names], np.int64)
        return pa.array(young[report], pa.bool_(), mask=~young[report])

    def _forget_beginnings(self, seen: Mapping[str, int]) -> None:
        """Of groups in which no window to come began before its query did."""
        for query, since in zip(self.planned.family.queries, self.since_in_group, strict=True):
            if since:
                done = [name for name, end in seen.items() if end - query.window.width >= since.get(name, FOREVER)]
                for name in done:
                    del since[name]

    def _figures(self, reports: Reports, figure: Floats, report: Ints, rank: Ints) -> dict[str, pa.Array]:
        """What possible worlds say of each row: its probability or its expected rank. A `leave` has neither."""
        value = reports.beside(figure, report, rank)
        using = [query.using for query in self.planned.family.queries]
        expects = np.array([each is not None and each.expects for each in using])[reports.query[report]]
        found = {PROBABILITY: pa.array(value, mask=(rank == 0) | expects)}
        return found | ({EXPECTED: pa.array(value, mask=(rank == 0) | ~expects)} if expects.any() else {})

    def _answers(self, reports: Reports) -> pa.Table | None:
        report, rank, id, change = self.changes.rows(reports).columns()
        answers = None
        if len(report):
            # Where buckets of objects are merged, ties are decided once more: by time and name.
            hidden = NOT_SHOWN if reports.score is not None else (*NOT_SHOWN, AT)
            table = self.payload.take(id, without=hidden)
            front = {
                QUERY: pa.array(reports.query[report]),
                START: pa.array(reports.start[report]),
                END: pa.array(reports.end[report]),
                GROUP: pa.array(reports.names, pa.string()).take(pa.array(reports.group[report])),
                RANK: pa.array(rank, mask=rank == 0),
                CHANGE: change,
                WARMING: self._warming(reports, report),
            }
            if isinstance(self.keeper, Board):
                front[SCORE] = pa.array(self.keeper.scores(reports.query[report], self.payload.take(id)))
            if reports.figure is not None:
                front |= self._figures(reports, reports.figure, report, rank)
            shown = {name: table.column(name) for name in table.column_names}
            if reports.score is not None:
                shown[SCORE] = pa.array(reports.beside(reports.score, report, rank), mask=rank == 0)
            answers = pa.table(front | shown)
        kept = self.keeper.candidates()
        if self.payload.is_crowded(len(kept) + len(self.held) + len(self.changes)):
            self.payload.sweep(self._live(kept))
        return answers


def _keeper(planned: PlannedFamily, linger: Ints | None) -> Keeper:
    if planned.family.across is not None:
        return Apart(planned, linger)
    if planned.family.uncertain:
        # An integration costs more than a Python call: its groups need no table.
        normal = planned.family.error is not None
        return Worlds(planned.meta, linger, PkNormal if normal else PkTopk, bool(planned.family.per) and not normal)
    if planned.family.attributes:
        return Board(planned, linger)
    if planned.choice.engine == GROUPED:
        return Grouped(planned.meta, linger)
    return Groups(planned.meta, planned.build, linger)
