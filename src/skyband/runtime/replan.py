"""When the queries of an uncertain family change, so does its plan: each query keeps its old moments to a cycle's end.

A plan's moments count from the epoch and are never further apart than a query's FREQUENCY. So the first new moment
after any instant is at most that far away from it: a query that goes over to the new plan right after a report by the
old one never waits too long. Without this, the last old moment and the first new one might be twice as far apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyband.model import NEVER, Ints, MetaQuery, Moments
from skyband.planner import PlannedFamily

Beats = dict[str, list[list[int]]]
"""By query, as text: (period, phase) of each of its beats."""


@dataclass(frozen=True)
class Replan:
    """Query i of the family reports at the moments of `before` up to and including `last[i]`."""

    before: MetaQuery
    last: Ints

    def moments(self, new: Moments, at: Ints, previous: int, after: int, linger: Ints | None) -> Moments:
        """`new`, the moments of the new plan, with the old ones in their place where those still hold."""
        held = None if linger is None else np.where(linger[self.before.query] > 0, self.before.period, 0)
        old = self.before.moments(at, previous, after, new.until, held)
        mine, theirs = old.end <= self.last[old.query], new.end > self.last[new.query]
        start = np.concatenate((old.start[mine], new.start[theirs]))
        end = np.concatenate((old.end[mine], new.end[theirs]))
        k, query = (
            np.concatenate((one[mine], other[theirs])) for one, other in ((old.k, new.k), (old.query, new.query))
        )
        order = np.lexsort((-k, start, end))
        return Moments(start[order], end[order], k[order], query[order], new.until)


def beats_of(planned: PlannedFamily) -> Beats:
    """The plan, as it is saved."""
    found: Beats = {str(query): [] for query in planned.family.queries}
    texts = list(found)
    for query, period, phase in zip(*(each.tolist() for each in _columns(planned.meta)), strict=True):
        found[texts[query]].append([period, phase])
    return found


def pending(saved: Mapping[str, Any], planned: PlannedFamily, clock: int) -> dict[str, Any]:
    """By query, as text: its last moment by an old plan, and that plan's beats; of the queries still on an old one."""
    now, waiting = beats_of(planned), dict[str, Any]()
    for text, beats in now.items():
        earlier = saved.get("pending", {}).get(text)
        if earlier is not None and earlier[0] > clock:
            waiting[text] = earlier
        elif text in saved.get("beats", {}) and saved["beats"][text] != beats and clock > NEVER:
            old = saved["beats"][text]
            waiting[text] = [_cycle_end(old, clock), old]
    return waiting


def replan(waiting: Mapping[str, Any], planned: PlannedFamily) -> Replan | None:
    """What the saved form says, for this family."""
    places = [(place, str(query)) for place, query in enumerate(planned.family.queries) if str(query) in waiting]
    if not places:
        return None
    last = np.full(len(planned.family.queries), NEVER)
    rows = []
    for place, text in places:
        last[place], beats = waiting[text]
        rows += [(place, period, phase) for period, phase in beats]
    query, period, phase = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    meta = planned.meta
    first = np.searchsorted(meta.query, query)
    before = MetaQuery(
        meta.kind, meta.width[first], period, phase, meta.k[first], query, ascending=meta.ascending, using=meta.using
    )
    return Replan(before, last)


def _columns(meta: MetaQuery) -> tuple[Ints, Ints, Ints]:
    return meta.query, meta.period, meta.phase


def _cycle_end(beats: list[list[int]], clock: int) -> int:
    """The first moment after the clock of the beat that ends a cycle."""
    period, phase = min(beats, key=lambda beat: beat[1])
    return clock + 1 + (phase - clock - 1) % period
