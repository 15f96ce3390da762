"""One family at work: holds records back until their time has come, runs its executor, keeps the rows.

Monitor and Spark's maintain stage run the same code; they differ in where encoded rows come from and where answers go.
All that decides the future is a bag of encoded rows and a clock: rows from the clock on are held back, older ones are
candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.model import NEVER, Ints
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.runtime.change_log import ChangeLog
from skyband.runtime.clock import FOREVER, Clock, EventTime, clock_at
from skyband.runtime.columns import spread
from skyband.runtime.data_models.registry import data_model
from skyband.runtime.encoded import AT, CHANGE, END, GROUP, QUERY, RANK, START, WARMING, ints
from skyband.runtime.encoder import Encoded, Encoder
from skyband.runtime.executors.base import NO_IDS, Reports
from skyband.runtime.lookups import joined_schema
from skyband.runtime.row_store import RowStore
from skyband.runtime.warm_up import Beginning, WarmUp
from skyband.runtime.work import work

SLACK = 256
"""Rows that are not worth putting together."""


class FamilyOperator:
    """Takes encoded rows in any order and gives answers: encoded rows with query, window, rank and change in front."""

    def __init__(self, planned: PlannedFamily) -> None:
        """While its kernels are being compiled it begins with an executor without, if there is one."""
        family = planned.family
        self.planned = planned
        self.model = data_model(planned)
        logged = np.array([query.changes for query in family.queries])
        grace = np.where(logged[planned.meta.query], planned.meta.grace, 0) if logged.any() else None
        self._grace, first = grace, self.model.standby(grace)
        self.stands_in = first is not None
        """Its executor does, for the one that was meant."""
        self.executor = first or self.model.executor(grace)
        self.changes = ChangeLog(np.flatnonzero(logged), self._listed)
        self.warm_up = WarmUp(len(family.queries))
        self.store = RowStore()
        self.held, self._held_at = NO_IDS, NO_IDS
        self.clock = clock_at(family.kind)
        self.records = 0
        self._began = False
        self._ended: int | None = None
        self.began: Mapping[str, int] = {}
        """Where groups began that may have been there before, if not at the first record."""
        self.folded = False
        """Rows of the store stand for others that were there when this was last set to False."""
        self.unfolded, self.room = 0, SLACK
        """Rows that were fed since some were put together, and how many of them are too many."""
        self._encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """Which family of its stream it is, as long as its queries stay."""
        return f"{self.planned.family.fingerprint} {self.planned.family.queries[0].name}"

    def bind(self, schema: pa.Schema) -> None:
        """Compile its expressions for a stream's columns. Queries may join that want to see the whole window."""
        self._columns = joined_schema(schema, self.planned.family.join)
        self._encoder = self.model.encoder(self._columns, whole_window=True)

    @property
    def encoded_schema(self) -> pa.Schema | None:
        """The columns of its rows, but those of sums that are left out while they are zero; None before `bind`."""
        if self._encoder is None:
            return None
        group = pa.array([], pa.string()) if self.planned.family.per else None
        return self._encoder.encode(self._columns.empty_table(), Times(NO_IDS), group, int(NEVER)).rows.schema

    def encode(self, table: pa.Table, times: Times, group: pa.Array | None, watermark: int) -> Encoded:
        """What it keeps of a stream's table; see `Encoder.encode`."""
        assert self._encoder is not None
        return self._encoder.encode(table, times, group, watermark)

    def take(
        self, table: pa.Table, times: Times, group: pa.Array | None, watermark: int, clock: Clock
    ) -> Iterator[tuple[Encoded, pa.Table | None]]:
        """What it keeps of a stream's table, and every report that the clock has reached, piece by piece."""
        at = times.at
        cuts = self.model.cuts(at) if self.planned.family.kind == "range" else [0, len(at)]
        for low, high in pairwise(cuts):
            mine = None if group is None else group.slice(low, high - low)
            encoded = self.encode(table.slice(low, high - low), times.of(slice(low, high)), mine, watermark)
            reached = clock if high == len(at) else EventTime(min(int(at[high]), clock.of("")))
            yield encoded, self.feed(encoded.rows, reached)

    def feed(self, rows: pa.Table | None, clock: Clock) -> pa.Table | None:
        """Rows that arrived, then every report that the clock has reached. None if there was none."""
        if self._began:
            return self._feed(rows, clock)
        with self.model.first_use("feed"):
            self._began = True
            return self._feed(rows, clock)

    def _feed(self, rows: pa.Table | None, clock: Clock) -> pa.Table | None:
        if self.stands_in and self.model.is_compiled:
            self._move_over()
        alone = None if len(self.held) else rows
        if rows is not None and len(rows):
            self.records += len(rows)
            ids, at = self.store.add(rows), ints(rows, AT)
            late = self.clock.late(at)
            if late.any():
                alone = None
                self.unfolded += int(late.sum())
                self.executor.admit(ids[late], self.store, self.clock)
                ids, at = ids[~late], at[~late]
            self.held = np.concatenate((self.held, ids)) if len(self.held) else ids
            self._held_at = np.concatenate((self._held_at, at)) if len(self._held_at) else at
        self.clock = self.clock.later(clock)
        answers = self._answers(self.executor.advance(*self._released(alone), self.clock))
        self.warm_up.forget(self.planned.family.queries, clock)
        if self.model.folds and self.unfolded > self.room:
            self._fold()
        return answers

    def end(self, newest: int) -> None:
        """The stream has ended with a record of that time: who would go on for ever knows where to stop."""
        self._ended = newest
        self.executor.end(newest)

    def close(self) -> pa.Table | None:
        """Every report there will ever be. Where windows have no start the `end` has to be known."""
        return self.feed(None, EventTime(FOREVER))

    def rows(self) -> pa.Table | None:
        """Every row that may still be shown: with the clock, all that has to be saved."""
        self.store.sweep(self._live(self.executor.candidates()))
        return self.store.rows

    def essential(self) -> Ints:
        """Ids of these rows, rising, without those that only a query that joins later could ask for."""
        return self._live(self.executor.essential(self.store))

    @property
    def size(self) -> int:
        """How many rows may still be shown, about: nobody looks at each of them for it."""
        return self.executor.counters.get("candidates", 0) + len(self.held) + len(self.changes)

    def begin(self, rows: pa.Table, clock: Clock) -> None:
        """Of a new operator: these are all records, and what is due by the clock is reported elsewhere. Stored in the
        order in which they are fed, their ids are the numbers that an engine for all of them gives them."""
        rows = self.model.prune(rows) if self.model.folds else rows
        order = None if self.planned.family.per else clock.order(rows)
        rows = rows if order is None else rows.take(pa.array(order))
        self.resume(rows, self.store.add(rows), clock)

    def resume(self, rows: pa.Table, ids: Ints, clock: Clock, learned: bytes = b"") -> None:
        """Go on from saved rows. Rows that are no longer needed do no harm."""
        self.store.rows, self.store.ids, self.clock = rows, ids, clock
        fed = self._hold_back(rows, ids)
        self.unfolded = len(fed)
        if learned:
            self.executor.recall(learned, clock)
        elif len(fed):
            with self.model.first_use("resume"):
                self.executor.resume(fed, self.store, clock)

    def _hold_back(self, rows: pa.Table, ids: Ints) -> Ints:
        """Of all rows those that the clock has not reached; the ids of the others."""
        at = ints(rows, AT)
        held = ~self.clock.due(at)
        self.held, self._held_at = ids[held], at[held]
        return ids[~held]

    def forget(self, groups: Collection[str]) -> None:
        """These groups are gone with all that is known of them: ROWS."""
        self.executor.forget(groups)
        self.changes.forget(groups)
        self.warm_up.forget_groups(groups)

    def adopt(self, planned: PlannedFamily) -> None:
        """The same family with other queries, which the executor serves already, or at other places of the workload."""
        self.planned = planned
        self.model.adopt(planned)
        self.changes.queries = np.flatnonzero([query.changes for query in planned.family.queries])

    def complete_from(self, query: int, begin: Beginning, known: Iterable[int]) -> Beginning:
        """From where on nothing is missing for a query that joined with all that comes from `begin` on: from where on
        that is so for one of the `known`, if what is kept for that is all that this one needs."""
        queries = self.planned.family.queries
        covering = [each for each in known if each != query and self.model.covers(queries[each], queries[query])]
        return min([begin, *(self.warm_up[each] for each in covering)], key=lambda found: found[0])

    def next_report(self) -> int | None:
        """The first moment after the clock at which there may be a report, as far as is known now; None where reports
        wait for records."""
        after = self.clock.timer
        known = None if after is None else self.executor.next_report(after)
        if not len(self.held):
            return known
        oldest = self._held_at.min(keepdims=True)
        first = min(int(meta.window_ends(oldest)[0].min()) for meta in self.executor.metas)
        return first if known is None else min(known, first)

    @property
    def counters(self) -> Counters:
        return self.executor.counters | {"records": self.records, "held_back": len(self.held)}

    def _move_over(self) -> None:
        """From the executor that stood in to the one that was meant: it goes on with what is held."""
        self.stands_in, known = False, self.executor.counters
        # With what was listed last: that a list has become empty has to be said.
        held = np.union1d(self.executor.candidates(), self.changes.pinned())
        # A clock of ROWS names only the groups of the last records.
        clock = clock_at(self.planned.family.kind, self.clock.of(""), self.executor.reached())
        self.executor = self.model.executor(self._grace)
        if self._ended is not None:
            self.executor.end(self._ended)
        if len(held):
            self.executor.resume(held, self.store, clock)
        self.executor.recount(work(known), known["candidates_peak"])

    def _fold(self) -> None:
        """Of what was fed, rows that no report to come tells apart become one. Rows are never changed: these are new
        ones, which the executor goes on with as after a new start, and the old ones are gone. Not before there are
        twice as many as there have to be, so a row is put together with others a few times in its life."""
        rows = self.store.take(self.executor.candidates())
        fewer = self.model.fold(rows)
        self.unfolded, self.room = 0, max(SLACK, len(fewer))
        if len(fewer) == len(rows):
            return
        # A clock of ROWS names only the groups of the last records.
        clock = clock_at(self.planned.family.kind, self.clock.of(""), self.executor.reached())
        ids, pinned, known = self.store.add(fewer), self.changes.pinned(), self.executor.counters
        if len(pinned):
            self.changes.rename(pinned, ids[self.model.heirs(self.store.take(pinned), fewer)])
        self.executor = self.model.executor(self._grace)
        if self._ended is not None:
            self.executor.end(self._ended)
        self.executor.resume(ids, self.store, clock)
        self.executor.recount(work(known), known["candidates_peak"])
        self.store.sweep(self._live(ids))
        self.folded = True

    def _live(self, kept: Ints) -> Ints:
        if len(self.held):
            kept = np.sort(np.concatenate((kept, self.held)))
        pinned = self.changes.pinned()
        return np.union1d(kept, pinned) if len(pinned) else kept

    def _released(self, alone: pa.Table | None) -> tuple[pa.Table | None, Ints]:
        """The rows whose time has come, in feed order, and their ids. `alone`: all that are held back, if they have
        just come."""
        due = self.clock.due(self._held_at)
        if not due.any():
            return None, NO_IDS
        if due.all():
            ready, self.held, self._held_at = self.held, NO_IDS, NO_IDS
        else:
            ready, self.held, self._held_at, alone = self.held[due], self.held[~due], self._held_at[~due], None
        self.unfolded += len(ready)
        rows = self.store.take(ready) if alone is None else alone
        order = self.clock.order(rows)
        return (rows, ready) if order is None else (rows.take(pa.array(order)), ready[order])

    def _listed(self, ids: Ints) -> Ints:
        return self.model.listed(self.store, ids)

    def _answers(self, reports: Reports) -> pa.Table | None:
        if len(reports) > 1 and (self.planned.family.per or len(self.planned.family.queries) > 1):
            reports = reports.in_order()
        words = self.model.words(reports, self.store) if len(self.changes.queries) else None
        report, rank, id, change = self.changes.rows(reports, words).columns()
        answers = None
        if len(report):
            assert self.store.rows is not None
            rows = self.store.take(id, without=self.model.hides(self.store.rows.column_names))
            front = {
                QUERY: pa.array(reports.query[report]),
                START: pa.array(reports.start[report]),
                END: pa.array(reports.end[report]),
                GROUP: spread(reports.names, reports.group[report]),
                RANK: pa.array(rank, mask=rank == 0 if len(self.changes.queries) else None),
                CHANGE: change,
                WARMING: self.warm_up.mark(reports, report, self.began),
            }
            columns = {name: rows.column(name) for name in rows.column_names}
            answers = pa.table(front | columns | self.model.shown(reports, report, rank, rows, self.store))
        if self.store.may_be_crowded:
            kept = self.executor.candidates()
            if self.store.is_crowded(len(kept) + len(self.held) + len(self.changes)):
                self.store.sweep(self._live(kept))
        return answers
