"""The executor of uncertain families: small PER groups in one table, large ones (or the only one) with an engine each;
and queries that follow an earlier plan until its cycle ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.uncertain.world_groups import Triggers
from skyband.model import NEVER, DueReports, Ints, MetaQuery
from skyband.model.using import SEMANTICS, Using
from skyband.planner import PlannedFamily
from skyband.planner.transition import Pending, PlanTransition, beats_of, still_pending, transition
from skyband.runtime.clock import FOREVER, Clock
from skyband.runtime.encoded import group_codes
from skyband.runtime.executors.base import NO_IDS, Reports
from skyband.runtime.executors.per_group import Batches, Member, PerGroup
from skyband.runtime.executors.small_groups import Moved, SmallGroupTable
from skyband.runtime.row_store import RowStore


class UncertainGroups(PerGroup):
    """With `table`, small groups are in it."""

    def __init__(self, meta: MetaQuery, batches: Batches, grace: Ints | None, table: bool) -> None:
        super().__init__(meta, batches, grace)
        self._table = SmallGroupTable(meta, grace) if table else None
        self._apart = meta.kind == "rows"
        """Groups count records each for itself, so each goes over to a new plan by itself."""
        self._pending: dict[str, Pending] = {}
        self._transitions: dict[str, PlanTransition] = {}

    # --------------------------------------------------------------------------------------------------- new plans

    def saved_plan(self, planned: PlannedFamily) -> dict[str, Any]:
        return {"pending": self._pending, "beats": beats_of(planned)}

    def follow(self, saved: Mapping[str, Any], planned: PlannedFamily, clock: Clock) -> None:
        self._pending = still_pending(saved["pending"], saved["beats"], planned, clock.told())
        found = {group: transition(each, planned) for group, each in self._pending.items()}
        self._transitions = {group: change for group, change in found.items() if change is not None}
        if self._apart:
            self._take_over(self._transitions)

    @property
    def metas(self) -> list[MetaQuery]:
        return [self.meta, *(change.before for change in self._transitions.values())]

    @property
    def transitions(self) -> Mapping[str, PlanTransition]:
        return dict(self._transitions)

    def _transition(self, group: str) -> PlanTransition | None:
        return self._transitions.get(group if self._apart else "")

    def _gone_over(self, clock: Clock) -> None:
        """Forget the old plans that every query has left."""
        for group in list(clock.among(self._transitions)):
            if self._transitions[group].over(clock.of(group)):
                del self._transitions[group], self._pending[group]

    # ----------------------------------------------------------------------------------------------------- running

    def advance(self, rows: pa.Table | None, ids: Ints, clock: Clock) -> Reports:
        alone, few = self._split(rows)
        some = rows if rows is None or not len(few) else rows.take(pa.array(alone))
        parts = [super().advance(some, ids[alone], clock)]
        if self._table is not None:
            small = None if rows is None else rows.take(pa.array(few))
            parts.append(self._table.advance(small, ids[few], *self._rhythm(), clock))
            self._take_over(self._table.large())
        self._gone_over(clock)
        self._send_back()
        return Reports.joined(parts)

    def _rebuild(self, ids: Ints, store: RowStore, clock: Clock, fresh: Ints) -> None:
        rows = store.take(ids)
        alone, few = self._split(rows)
        if len(alone):
            super()._rebuild(ids[alone], store, clock, fresh)
        if self._table is not None and len(few):
            self._table.admit(rows.take(pa.array(few)), ids[few], store, clock)
            self._take_over(self._table.large())

    def candidates(self) -> Ints:
        own = super().candidates()
        return own if self._table is None else np.sort(np.concatenate((own, self._table.candidates())))

    def forget(self, groups: Collection[str]) -> None:
        super().forget(groups)
        if self._table is not None:
            self._table.forget(groups)
        for name in self._transitions.keys() & set(groups):
            del self._transitions[name], self._pending[name]

    def next_report(self, after: int) -> int | None:
        lasts = [member.last for member in self.members.values()]
        lasts += [] if self._table is None else [self._table.last]
        lasts = [last for last in lasts if last != NEVER]
        known = [self.meta.next_moment(last, after, self.grace) for last in lasts]
        known += [change.before.next_moment(last, after) for change in self._transitions.values() for last in lasts]
        return min((moment for moment in known if moment is not None), default=None)

    def _counted(self) -> list[Counters]:
        return super()._counted() + ([] if self._table is None else [self._table.counters])

    def _due_reports(self, member: Member, at: Ints, until: int) -> DueReports:
        due, change = super()._due_reports(member, at, until), self._transition(member.name)
        if change is None:
            return due
        return change.due_reports(due, at, member.last, member.until, self._grace_by_query())

    def _due(self, member: Member, until: int) -> bool:
        return bool(self._transitions) or super()._due(member, until)

    # ------------------------------------------------------------------------------------------------------- table

    def _split(self, rows: pa.Table | None) -> tuple[Ints, Ints]:
        """Places of the rows for engines of their own, and of those for the table."""
        if rows is None:
            return NO_IDS, NO_IDS
        if self._table is None:
            return np.arange(len(rows)), NO_IDS
        if not self.members and not (self._transitions and self._apart):
            return NO_IDS, np.arange(len(rows))
        code, names = group_codes(rows)
        own = np.array([self._has_own(name) for name in names], bool)[code]
        return np.flatnonzero(own), np.flatnonzero(~own)

    def _has_own(self, name: str) -> bool:
        """A group that counts by itself and is still on an old plan has an engine too: no other shares its moments."""
        return name in self.members or (self._apart and name in self._transitions)

    def _take_over(self, names: Collection[str]) -> None:
        """From the table to an engine each."""
        for name, tuples, until in self._table.take_out(names) if self._table is not None and names else ():
            member = self._member(name)
            member.engine.rebuild(tuples, until)
            member.until, member.last = until, int(tuples.at[-1])

    def _send_back(self) -> None:
        """Groups that have become small come back to the table."""
        if self._table is None:
            return
        self.work.kept(sum(len(member.engine) for member in self.members.values()) + len(self._table.candidates()))
        small = [
            name
            for name, member in self.members.items()
            if self._table.is_small(len(member.engine)) and name not in self._transitions
        ]
        moved = []
        for name in small:
            member = self.members.pop(name)
            self.work.retire(member.engine.counters)
            moved.append(Moved(name, member.engine.held(), member.until))
        if moved:
            self._table.take_in(moved)

    def _rhythm(self) -> tuple[Triggers, Ints]:
        """The beats of the table, those of an old plan among them, and the query of each."""
        meta, using = self.meta, self.meta.using or (Using(),) * (int(self.meta.query.max()) + 1)
        grace = np.zeros(len(meta), np.int64) if self.grace is None else self.grace
        columns = [meta.width, meta.period, meta.phase, meta.k, grace, meta.query]
        since, upto = np.full(len(meta), NEVER), np.full(len(meta), FOREVER)
        change = None if self._apart else self._transitions.get("")
        if change is not None:
            old, held = change.before, change.held(self._grace_by_query())
            more = [old.width, old.period, old.phase, old.k, held, old.query]
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
            since = np.concatenate((change.last[meta.query], np.full(len(old), NEVER)))
            upto = np.concatenate((upto, change.last[old.query]))
        query = columns.pop()
        kind = np.array([SEMANTICS.index(each.name) for each in using], np.int64)[query]
        level = np.array([each.level or 0.0 for each in using])[query]
        width, period, phase, k, grace = columns
        return Triggers(width, period, phase, k, grace, since, upto, kind, level), query

    def _grace_by_query(self) -> Ints | None:
        if self.grace is None:
            return None
        return self.grace[np.searchsorted(self.meta.query, np.arange(self.meta.query[-1] + 1))]
