"""The meta query of windows without a start: every report is of all that came before its end.

A list is told of at every moment from its first record on, so nothing of what is known of windows that are left behind
holds here. Width is `EVER`: what is said of it alone (which record is in, late, or needed no more) is right as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skyband.model.arrays import NEVER, DueReports, Flags, Ints
from skyband.model.meta import MetaQuery, congruent


@dataclass(frozen=True, eq=False)
class UnboundedMeta(MetaQuery):
    logged: Flags | None = None
    """By beat: whether only changes are sent. Between two records there are none, so of the reports between them, of
    which there may be many, one is made. None: of no beat."""
    newest: int | None = None
    """Of a stream that has ended: the time of its newest record. Behind the first report after it no list changes."""

    @property
    def unbounded(self) -> bool:
        return True

    def ending(self, newest: int) -> MetaQuery:
        return replace(self, newest=newest)

    @property
    def reach(self) -> Ints:
        return self.period

    @property
    def quiet(self) -> Flags:
        return super().quiet if self.logged is None else self.logged

    @cached_property
    def grace(self) -> Ints:
        """No window becomes empty again."""
        return np.zeros(len(self), np.int64)

    @property
    def final(self) -> Ints | None:
        """By beat: where reports end, as far as that is known."""
        return None if self.newest is None else self.newest + self.period

    def due_reports(self, at: Ints, previous: int, after: int, until: int, grace: Ints | None = None) -> DueReports:
        first = [previous] if previous != NEVER else at[:1].tolist()
        low = max([after, *first]) if first else until
        high = np.full(len(self), until) if self.final is None else np.minimum(self.final, until)
        everyone = np.where(self.quiet, high, low)[:, None]
        end, beat = congruent(everyone, high[:, None], self.period, self.phase)
        if self.quiet.any():
            some, which = self._first_behind(at, low, high)
            end, beat = np.append(end, some), np.append(beat, which)
        order = np.lexsort((-self.k[beat], end))
        end, beat = end[order], beat[order]
        return DueReports(end - self.width[beat], end, self.k[beat], self.query[beat], until)

    def _first_behind(self, at: Ints, low: int, high: Ints) -> tuple[Ints, Ints]:
        """The first moments behind records, and behind `low`, up to `high`, of the beats that are quiet."""
        beat = np.flatnonzero(self.quiet)
        marks = np.unique(np.maximum(at, low)) if len(at) else at
        marks = np.append(low, marks) + 1
        end = marks + (self.phase[beat, None] - marks) % self.period[beat, None]
        new = np.diff(end, axis=1, prepend=end[:, :1] - 1) > 0
        place, which = np.nonzero(new & (end <= high[beat, None]))
        return end[place, which], beat[place]

    def next_moment(self, last: int, after: int, grace: Ints | None = None) -> int | None:
        end = after + 1 + (self.phase - (after + 1)) % self.period
        due = end if self.final is None else end[end <= self.final]
        return int(due.min()) if len(due) else None

    def edges(self, first: int, last: int, most: int | None = None) -> Ints | None:
        if most is not None and int(((last - first) // self.period + 1).sum()) > most:
            return None
        low, high = np.full((len(self), 1), first), np.full((len(self), 1), last)
        return np.unique(congruent(low, high, self.period, self.phase)[0])
