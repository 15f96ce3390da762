"""The meta query: one query that stands for all queries of a family (mtops-cikm11 §4).

It is a list of beats, one per query. A beat reports at every moment congruent to `phase` modulo `period`, covering the
`width` before it, and wants `k` records. Views (distinct window
starts) and report moments are enumerated lazily, only where a window holds a record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skyband.model.apart import Approximate, Assembly
from skyband.model.arrays import NEVER, DueReports, Flags, Ints, Keys
from skyband.model.many import Scores
from skyband.model.partials import Asked
from skyband.model.using import Using
from skyband.model.window import Kind

STRIDE = 64
MOST_CELLS = 2_000_000
"""Of a table with a row for each beat, at once."""


@dataclass(frozen=True, eq=False)
class MetaQuery:
    """Beats, ordered by `query` (the index of the query inside its family)."""

    kind: Kind
    width: Ints
    period: Ints
    phase: Ints
    k: Ints
    query: Ints
    threshold: Keys | None = None
    """For ABOVE: report scores above this instead of the best k."""
    ascending: bool = False
    """Scores were negated for ranking; thresholds are about the score as the user wrote it."""
    using: tuple[Using, ...] | None = None
    """Over an uncertain stream: what each query (not beat) asks of the possible worlds."""
    apart: Assembly | None = None
    """For objects whose attributes arrive apart: how their scores are made."""
    approximate: Approximate | None = None
    """Where the answer may miss objects of that kind."""
    scores: Scores | None = None
    """Where every query has a score of its own."""
    asked: Asked | None = None
    """Of groups: what each query (not beat) asks besides."""
    ties: bool = False
    """Whatever has the score of the k-th is reported as well."""
    at_most: Ints | None = None
    """By query (not beat): how many records of one category a list may have."""

    def __len__(self) -> int:
        return len(self.width)

    @property
    def unbounded(self) -> bool:
        """Its windows have no start: what is fed stays in all of them."""
        return False

    def ending(self, newest: int) -> MetaQuery:
        """Of a stream that has ended with a record of that time: until when there are reports."""
        return self

    @property
    def reach(self) -> Ints:
        """By beat: how long after the newest record of a stream there are reports, once it has ended."""
        return self.width

    @property
    def quiet(self) -> Flags:
        """By beat: whether of all reports between two records one is enough."""
        return np.zeros(len(self), bool)

    @cached_property
    def longest(self) -> int:
        return int(self.width.max())

    @cached_property
    def shortest(self) -> int:
        return int(self.width.min())

    @cached_property
    def most(self) -> int:
        """The largest k: of any stretch of records that enter and leave together only so many can matter."""
        return int(self.k.max())

    @cached_property
    def grace(self) -> Ints:
        """By beat: how much longer than its window a record keeps reports coming, where changes are sent: the query's
        next report has to say that a list has become empty. Where windows grow it is one of the shortest."""
        shortest = np.full(int(self.query.max()) + 1, self.longest)
        np.minimum.at(shortest, self.query, self.width)
        return np.where(self.width == shortest[self.query], self.period, 0)

    def beat(self, index: int) -> MetaQuery:
        """One beat as a meta query of its own, for engines that know a single query."""
        one = slice(index, index + 1)
        return replace(
            self,
            width=self.width[one],
            period=self.period[one],
            phase=self.phase[one],
            k=self.k[one],
            query=self.query[one],
            threshold=None if self.threshold is None else self.threshold[one],
        )

    def due_reports(self, at: Ints, previous: int, after: int, until: int, grace: Ints | None = None) -> DueReports:
        """Reports in (after, until] whose window holds a record, given the record times `at` fed since `previous`.

        `grace` (per beat) also reports that much longer after the last record: changes mode must say that a list
        has become empty.
        """
        first, last = self._stretches(at, previous)
        reach = (self.width if grace is None else self.width + grace)[:, None]
        quiet_since = np.concatenate(([NEVER], last[:-1])) if len(last) else last
        parts = [
            congruent(
                np.maximum(np.maximum(first[part], quiet_since[part] + reach), after),
                np.minimum(last[part] + reach, until),
                self.period,
                self.phase,
            )
            for part in _blocks(len(first), len(self))
        ]
        end, beat = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        # Reports over one window side by side, the largest k first: the others are its beginnings.
        order = np.lexsort((-self.k[beat], -self.width[beat], end))
        end, beat = end[order], beat[order]
        return DueReports(end - self.width[beat], end, self.k[beat], self.query[beat], until)

    def next_moment(self, last: int, after: int, grace: Ints | None = None) -> int | None:
        """The first report after `after` whose window holds (or, lingering, held) the record at `last`, if any."""
        reach = last + (self.width if grace is None else self.width + grace)
        end = after + 1 + (self.phase - (after + 1)) % self.period
        due = end[end <= reach]
        return int(due.min()) if len(due) else None

    def window_ends(self, at: Ints) -> tuple[Ints, Ints]:
        """The first and the last end of the windows that contain each of `at`, one row per beat."""
        width, period, phase = self.width[:, None], self.period[:, None], self.phase[:, None]
        first = at + 1 + (phase - (at + 1)) % period
        last = at + width - (at + width - phase) % period
        return first, last

    def needed(self, at: Ints, until: int) -> Flags:
        """Which of the records of these times, all before `until`, some window that ends after `until` holds."""
        return np.asarray((self.window_ends(at)[1] > until).any(axis=0))

    def windows_between(self, first: int, last: int, most: int) -> tuple[Ints, Ints, Ints] | None:
        """(start, end, k) of every window that holds a time of [first, last]; None if those may be more than `most`."""
        if int(((last + self.width - first) // self.period + 1).sum()) > most:
            return None
        low = np.full((len(self), 1), first)
        end, beat = congruent(low, last + self.width[:, None], self.period, self.phase)
        return end - self.width[beat], end, self.k[beat]

    def openings(self, at: Ints, previous: int) -> tuple[Ints, Ints, Ints]:
        """(start, end, k) of every window whose first record is in `at`, by start; `previous` was fed before."""
        first, last = self._stretches(at, previous)
        before = np.concatenate(([NEVER], last[:-1])) if len(last) else last
        parts = []
        for part in _blocks(len(first), len(self)):
            low = np.maximum(before[part], first[part] - self.width[:, None])
            if previous > NEVER and part.start == 0:
                low[:, 0] = previous
            high = np.broadcast_to(last[part], low.shape)
            parts.append(congruent(low, high, self.period, self.phase - self.width))
        start, beat = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        order = np.argsort(start, kind="stable")
        start, beat = start[order], beat[order]
        return start, start + self.width[beat], self.k[beat]

    def views(self, now: int) -> tuple[Ints, Ints, int]:
        """Distinct starts with a report still to come at `now` or later, the k of each, and how many separate
        execution would keep: the figures of the paper's Examples 4.1 and 4.2."""
        low = (now - self.width - 1)[:, None]
        high = np.full_like(low, now)
        start, beat = congruent(low, high, self.period, self.phase - self.width)
        distinct, inverse = np.unique(start, return_inverse=True)
        most = np.zeros(len(distinct), np.int64)
        np.maximum.at(most, inverse, self.k[beat])
        return distinct, most, np.unique(np.stack((self.query[beat], start)), axis=1).shape[1]

    def edges(self, first: int, last: int, most: int | None = None) -> Ints | None:
        """Where windows begin and end in (first, last]; None if those may be more than `most`."""
        return window_edges(self.width, self.period, self.phase, first, last, most)

    def _stretches(self, at: Ints, previous: int) -> tuple[Ints, Ints]:
        """First and last times of the stretches between gaps wider than the shortest window, `previous` included."""
        cuts = wide_gaps(at, self.shortest)
        first, last = at[cuts + 1], at[cuts]
        if len(at):
            last = np.append(last, at[-1])
        if previous == NEVER:
            return np.concatenate((at[:1], first)), last
        if len(at) and at[0] - previous <= self.shortest:
            return np.concatenate(([previous], first)), last
        return np.concatenate(([previous], at[:1], first)), np.concatenate(([previous], last))


def window_edges(width: Ints, period: Ints, phase: Ints, first: int, last: int, most: int | None = None) -> Ints | None:
    """Of these beats: where their windows begin and end in (first, last]; None if those may be more than `most`."""
    if most is not None and 2 * int(((last - first) // period + 1).sum()) > most:
        return None
    edges = [
        np.arange(first + 1 + (shift - first - 1) % step, last + 1, step)
        for step, end, wide in zip(period.tolist(), phase.tolist(), width.tolist(), strict=True)
        for shift in (end, end - wide)
    ]
    return np.unique(np.concatenate(edges))


def wide_gaps(at: Ints, limit: int) -> Ints:
    """Indices i with at[i + 1] - at[i] > limit. Looks at every 64th time first: a batch without gaps costs little."""
    n = len(at)
    if n < 2 or at[-1] - at[0] <= limit:
        return np.empty(0, np.int64)
    coarse = np.append(np.arange(0, n - 1, STRIDE), n - 1)
    suspects = np.flatnonzero(np.diff(at[coarse]) > limit)
    found = (coarse[suspects][:, None] + np.arange(STRIDE)).ravel()
    found = found[found < n - 1]
    return found[at[found + 1] - at[found] > limit]


def _blocks(stretches: int, beats: int) -> list[slice]:
    """Stretches that are looked at together: a sparse stream has as many as records, and a window that cumulates has a
    beat for every step."""
    most = max(MOST_CELLS // beats, 1)
    return [slice(low, low + most) for low in range(0, max(stretches, 1), most)]


def congruent(low: Ints, high: Ints, period: Ints, phase: Ints) -> tuple[Ints, Ints]:
    """Every x in (low, high] with x ≡ phase (mod period), and the row (beat) it belongs to; beats by row."""
    step = period[:, None]
    begin = low + 1 + (phase[:, None] - (low + 1)) % step
    count = np.maximum((high - begin) // step + 1, 0)
    flat = count.ravel()
    cell = np.repeat(np.arange(flat.size), flat)
    nth = np.arange(len(cell)) - np.repeat(np.cumsum(flat) - flat, flat)
    beat = cell // max(count.shape[1], 1)
    return begin.ravel()[cell] + nth * period[beat], beat
