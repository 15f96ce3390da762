"""When the queries of an uncertain family change, so does its plan: each query keeps its old moments to a cycle's end.

A plan's moments count from the epoch and are never further apart than a query's FREQUENCY. So the first new moment
after any instant is at most that far away from it: a query that goes over to the new plan right after a report by the
old one never waits too long. Without this, the last old moment and the first new one might be twice as far apart.

RANGE windows have one clock. ROWS windows are counted in each PER group by itself, so each goes over by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyband.model import NEVER, DueReports, Ints, MetaQuery
from skyband.planner import PlannedFamily

Beats = dict[str, list[list[int]]]
"""By query, as text: (period, phase) of each of its beats."""
Pending = dict[str, Any]
"""By query, as text: its last moment by an old plan, and that plan's beats; of the queries still on an old one."""


@dataclass(frozen=True)
class PlanTransition:
    """Query i of the family reports at the moments of `before` up to and including `last[i]`."""

    before: MetaQuery
    last: Ints

    def over(self, clock: int) -> bool:
        """Every query has gone over."""
        return clock >= int(self.last.max())

    def held(self, grace: Ints | None) -> Ints:
        """How much longer each old beat reports in changes mode, where `grace` says so of its query."""
        if grace is None:
            return np.zeros(len(self.before), np.int64)
        return np.where(grace[self.before.query] > 0, self.before.period, 0)

    def due_reports(self, new: DueReports, at: Ints, previous: int, after: int, grace: Ints | None) -> DueReports:
        """`new`, the moments of the new plan, with the old ones in their place where those still hold."""
        old = self.before.due_reports(at, previous, after, new.until, self.held(grace))
        mine, theirs = old.end <= self.last[old.query], new.end > self.last[new.query]
        start = np.concatenate((old.start[mine], new.start[theirs]))
        end = np.concatenate((old.end[mine], new.end[theirs]))
        k, query = (
            np.concatenate((one[mine], other[theirs])) for one, other in ((old.k, new.k), (old.query, new.query))
        )
        order = np.lexsort((-k, start, end))
        return DueReports(start[order], end[order], k[order], query[order], new.until)


def beats_of(planned: PlannedFamily) -> Beats:
    """The plan, as it is saved."""
    found: Beats = {str(query): [] for query in planned.family.queries}
    texts = list(found)
    for query, period, phase in zip(*(each.tolist() for each in _columns(planned.meta)), strict=True):
        found[texts[query]].append([period, phase])
    return found


def still_pending(
    earlier: Mapping[str, Pending], beats: Beats, planned: PlannedFamily, clocks: Mapping[str, int]
) -> dict[str, Pending]:
    """Who still waits for the end of an old cycle, by group ('' for all of them where they share a clock).

    `earlier` was pending at the last change, and `beats` are those of the plan that this one takes over from.
    """
    now = beats_of(planned)
    found = {group: _waiting(earlier.get(group, {}), beats, now, clock) for group, clock in clocks.items()}
    return {group: waiting for group, waiting in found.items() if waiting}


def _waiting(earlier: Pending, before: Beats, now: Beats, clock: int) -> Pending:
    waiting: Pending = {}
    for text, beats in now.items():
        old = before.get(text)
        if text in earlier and earlier[text][0] > clock:
            waiting[text] = earlier[text]
        elif old is not None and old != beats and clock > NEVER:
            waiting[text] = [_cycle_end(old, clock), old]
    return waiting


def transition(pending: Pending, planned: PlannedFamily) -> PlanTransition | None:
    """What the saved form says, for this family."""
    places = [(place, str(query)) for place, query in enumerate(planned.family.queries) if str(query) in pending]
    if not places:
        return None
    last = np.full(len(planned.family.queries), NEVER)
    rows = []
    for place, text in places:
        last[place], beats = pending[text]
        rows += [(place, period, phase) for period, phase in beats]
    query, period, phase = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    meta = planned.meta
    first = np.searchsorted(meta.query, query)
    before = MetaQuery(
        meta.kind, meta.width[first], period, phase, meta.k[first], query, ascending=meta.ascending, using=meta.using
    )
    return PlanTransition(before, last)


def _columns(meta: MetaQuery) -> tuple[Ints, Ints, Ints]:
    return meta.query, meta.period, meta.phase


def _cycle_end(beats: list[list[int]], clock: int) -> int:
    """The first moment after the clock of the beat that ends a cycle."""
    period, phase = min(beats, key=lambda beat: beat[1])
    return clock + 1 + (phase - clock - 1) % period
