"""An index of points behind the face of an engine: labels, report moments, deletes.

An index (`tma`, `sma`, `tsl`) holds a window of points and answers queries over it as it is. Here reports and arrivals
are interleaved, and records are known by their labels. All records of the window stay, for any of them may be the best
by the score of a query to come. On a stream with deletes the deletes of the last window stay too: a late record may be
one that they take away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.many.keys import Keys
from skyband.engines.many.sliding_column import SlidingColumn
from skyband.model import NEVER, Answers, DueReports, Ints, MetaQuery
from skyband.model.many import Points, ScoreSpec

NONE: Ints = np.empty(0, np.int64)
NO_WORK = ("records", "candidates", "candidates_peak", "influence")


class PointIndex(Protocol):
    """Holds a window of points for queries that each have their own score."""

    def add(self, asked: Sequence[ScoreSpec]) -> Ints:
        """New queries; their places, by which answers are asked for."""

    def remove(self, place: int) -> None: ...

    def advance(self, points: Points, deleted: Ints, since: int) -> None:
        """Points that arrived, in feed order, and the numbers of points that were deleted, these among them; what is
        older than `since` leaves. Points are numbered as they come."""

    def answers(self, places: Ints) -> Answers:
        """The answers of these queries over the window as it is, by number."""

    def __len__(self) -> int:
        """Points in the window, deleted ones included."""

    @property
    def first(self) -> int:
        """The number of the oldest point in the window."""

    def window(self) -> Points:
        """The points in the window, oldest first; of deleted ones the values mean nothing."""

    @property
    def counters(self) -> Counters: ...

    def check(self) -> None:
        """Assert what must hold of its structure."""


class PointEngine:
    """`build` makes an index from the number of columns and, for ROWS, the length of the window."""

    def __init__(self, meta: MetaQuery, build: Callable[[int, int | None], PointIndex]) -> None:
        assert meta.scores is not None
        self.meta, self._build = meta, build
        self._scores = meta.scores
        self._asked = list(meta.scores.specs)
        self.until = int(NEVER)
        self._work: Counter[str] = Counter({"unknown_deletes": 0})
        self._taken = self._peak = 0
        self._start()

    @staticmethod
    def of(engine: object) -> PointEngine:
        """An engine of this data model as what it is."""
        assert isinstance(engine, PointEngine)
        return engine

    def _start(self) -> None:
        """An empty index that is asked everything; nothing is known of records and keys."""
        self.index = self._build(self._scores.columns, self.meta.longest if self.meta.kind == "rows" else None)
        self._places = self.index.add(self._asked)
        self._label = SlidingColumn(np.int64)
        self._keys = Keys() if self._scores.deletes else None
        self._words = SlidingColumn(np.int64), SlidingColumn(np.int64)
        """Where there are deletes: the keys of the records."""
        self._deletes = _no_deletes(self._scores.columns)
        """Those that were carried out, while a late record may be older."""

    # ------------------------------------------------------------------------------------------------------ feeding

    def advance(self, points: Points, due_reports: DueReports) -> Answers:
        """`due_reports` are in the order of their ends."""
        self._taken += len(points) if points.gone is None else int((~points.gone).sum())
        cuts = np.flatnonzero(np.diff(due_reports.end, prepend=NEVER, append=2**62)).tolist()
        fed, parts = 0, []
        for low, high in pairwise(cuts):
            end = int(due_reports.end[low])
            stop = max(int(np.searchsorted(points.at, end)), fed)
            self._feed(points[fed:stop], end - self.meta.longest)
            parts.append(self.index.answers(self._places[due_reports.query[low:high]]))
            parts[-1] = self._labelled(parts[-1])
            fed = stop
        self.until = max(self.until, due_reports.until)
        self._feed(points[fed:], self._next_start())
        if len(self._deletes):
            self._deletes = self._deletes[np.flatnonzero(self._deletes.at > self.until - self.meta.longest)]
        return _in_a_row(parts)

    def rebuild(self, points: Points, until: int, fresh: Ints = NONE) -> None:
        before = self.index.counters
        self._work.update(_work(before))
        self._peak = max(self._peak, before["candidates_peak"])
        self._taken += _records_among(points, fresh)
        self.until = max(self.until, until)
        self._start()
        self._feed(points, self._next_start(), fresh)

    def held(self) -> Points:
        points, label = self.index.window(), self.in_window()
        if self._keys is None:
            return Points(points.at, points.x, label)
        alive, first = self._keys.alive(self.index.first), self.index.first
        words = [each.now[first - each.base :][alive] for each in self._words]
        gone = np.zeros(int(alive.sum()), bool)
        both = _joined(
            self._deletes, Points(points.at[alive], points.x[alive], label[alive], gone, (words[0], words[1]))
        )
        assert both.gone is not None
        # Deletes of a moment go before its records.
        return both[np.lexsort((~both.gone, both.at))]

    def _next_start(self) -> int:
        """Where the window of the next report begins."""
        after = self.until + 1
        return after + int((self.meta.phase[0] - after) % self.meta.period[0]) - self.meta.longest

    def _feed(self, points: Points, since: int, fresh: Ints | None = None) -> None:
        """Into the index; of deletes carried out before, only `fresh` ones may count as unknown."""
        label = self._label.end + np.arange(len(points)) if points.id is None else points.id
        deleted = NONE
        if self._keys is not None and points.gone is not None and points.key is not None:
            gone = points.gone
            deleted, killed = self._keys.follow(points.key, gone, self.index.first)
            new = np.ones(len(killed), bool) if fresh is None else np.isin(label[gone], fresh)
            self._work["unknown_deletes"] += int((new & (killed == 0)).sum())
            self._deletes = _joined(self._deletes, points[np.flatnonzero(gone)])
            for column, words in zip(self._words, points.key, strict=True):
                column.append(words[~gone])
            points, label = Points(points.at[~gone], points.x[~gone]), label[~gone]
        self._label.append(label)
        self.index.advance(points, deleted, since)
        for column in (self._label, *(self._words if self._keys is not None else ())):
            column.forget(self.index.first)
        if self._keys is not None:
            self._keys.forget(self.index.first)

    # ---------------------------------------------------------------------------------------------------- answering

    def _labelled(self, answers: Answers) -> Answers:
        return Answers(answers.begin, answers.size, self._label.now[answers.id - self._label.base], answers.score)

    def in_window(self) -> Ints:
        """Labels of what the index holds, oldest first, deleted ones included."""
        return self._label.now[self.index.first - self._label.base :].copy()

    def candidates(self) -> Ints:
        label, kept = self.in_window(), self._deletes.id
        if self._keys is not None:
            label = label[self._keys.alive(self.index.first)]
        if (kept is None or not len(kept)) and (len(label) < 2 or bool((label[1:] > label[:-1]).all())):
            return label
        return np.sort(label if kept is None else np.concatenate((label, kept)))

    def __len__(self) -> int:
        return len(self.index) + len(self._deletes)

    def check(self) -> None:
        """Assert what must hold of the index, the keys and the labels."""
        self.index.check()
        assert self._label.end == self.index.first + len(self.index), "points: not every point has a label"
        if self._keys is not None:
            self._keys.check()
            assert len(self._keys.alive(self.index.first)) == len(self.index), "points: keys know other records"

    # ------------------------------------------------------------------------------------------------------ queries

    def join(self, asked: ScoreSpec) -> None:
        """One query more, the last: it sees the whole window at once."""
        self._asked.append(asked)
        self._places = np.concatenate((self._places, self.index.add([asked])))

    def leave(self, which: int) -> None:
        """One query less."""
        del self._asked[which]
        self.index.remove(int(self._places[which]))
        self._places = np.delete(self._places, which)

    # ----------------------------------------------------------------------------------------------------- counters

    @property
    def counters(self) -> Counters:
        now = self.index.counters
        total = Counter(self._work)
        total.update(_work(now))
        self._peak = max(self._peak, now["candidates_peak"])
        kept = len(self.index) if self._keys is None else int(self._keys.alive(self.index.first).sum())
        return dict(total) | {"records": self._taken, "candidates": kept, "candidates_peak": self._peak}


def _no_deletes(columns: int) -> Points:
    return Points(NONE, np.empty((0, columns)), NONE, np.empty(0, bool), (NONE, NONE))


def _joined(one: Points, other: Points) -> Points:
    """Of a stream with deletes, and labelled."""
    assert one.id is not None
    assert one.gone is not None
    assert one.key is not None
    assert other.id is not None
    assert other.gone is not None
    assert other.key is not None
    return Points(
        np.concatenate((one.at, other.at)),
        np.concatenate((one.x, other.x)),
        np.concatenate((one.id, other.id)),
        np.concatenate((one.gone, other.gone)),
        (np.concatenate((one.key[0], other.key[0])), np.concatenate((one.key[1], other.key[1]))),
    )


def _records_among(points: Points, fresh: Ints) -> int:
    """How many of the fresh labels are of records, and not of deletes."""
    if points.gone is None or points.id is None:
        return len(fresh)
    return int(np.isin(points.id[~points.gone], fresh).sum())


def _work(counters: Counters) -> Counters:
    return {name: value for name, value in counters.items() if name not in NO_WORK}


def _in_a_row(parts: Sequence[Answers]) -> Answers:
    """Answers to one stretch of moments after the other."""
    before = np.cumsum([0, *(len(part.id) for part in parts)])
    return Answers(
        np.concatenate([NONE, *(part.begin + skipped for part, skipped in zip(parts, before, strict=False))]),
        np.concatenate([NONE, *(part.size for part in parts)]),
        np.concatenate([NONE, *(part.id for part in parts)]),
        np.concatenate([np.empty(0), *(part.score for part in parts)]),
    )
