"""Changes mode: instead of every list in full, what entered, left or moved since the query's previous report; of groups
also what stayed in its place with other aggregates."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.runtime.executors.base import Reports

ENTER, LEAVE, MOVE, UPDATE = "enter", "leave", "move", "update"
NOTHING: Ints = np.empty(0, np.int64)


class Rows:
    """Answer rows under construction: which report, which rank (0: none), which change, which record."""

    def __init__(self) -> None:
        self._report: list[Ints] = []
        self._rank: list[Ints] = []
        self._id: list[Ints] = []
        self._change: list[pa.Array] = []

    def add(self, report: Ints, rank: Ints, id: Ints, change: pa.Array) -> None:
        self._report.append(report)
        self._rank.append(rank)
        self._id.append(id)
        self._change.append(change)

    def columns(self) -> tuple[Ints, Ints, Ints, pa.ChunkedArray]:
        if len(self._report) == 1:
            return self._report[0], self._rank[0], self._id[0], pa.chunked_array(self._change)
        none = np.empty(0, np.int64)
        return (
            np.concatenate([none, *self._report]),
            np.concatenate([none, *self._rank]),
            np.concatenate([none, *self._id]),
            pa.chunked_array(self._change, pa.string()),
        )


def _list_whole(rows: Rows, reports: Reports, which: Ints) -> None:
    """All that these reports list, in their order."""
    size = reports.size[which]
    report = np.repeat(which, size)
    rank = np.arange(1, len(report) + 1) - np.repeat(np.cumsum(size) - size, size)
    id = reports.id[(reports.begin - 1)[report] + rank]
    rows.add(report, rank, id, pa.nulls(len(report), pa.string()))


class ChangeLog:
    """Previous answers of the queries in changes mode, by (query, group).

    `same` tells what is listed by records' ids: the records themselves, or the objects that they are of.
    """

    def __init__(self, queries: Ints, same: Callable[[Ints], Ints]) -> None:
        self.queries = queries
        self._same = same
        self.previous: dict[tuple[int, str], Ints] = {}
        self.told: dict[tuple[int, str], Ints] = {}
        """Of groups: a word for the aggregates that were told of each, in the order of `previous`."""

    def rows(self, reports: Reports, words: Ints | None = None) -> Rows:
        """`words`, beside the ids: equal where what is told of a group has not changed."""
        rows = Rows()
        if not len(self.queries):
            _list_whole(rows, reports, np.arange(len(reports)))
            return rows
        logged = np.isin(reports.query, self.queries)
        _list_whole(rows, reports, np.flatnonzero(~logged))
        for i in np.flatnonzero(logged).tolist():
            part = slice(reports.begin[i], reports.begin[i] + reports.size[i])
            told = NOTHING if words is None else words[part]
            self._log(rows, i, (int(reports.query[i]), reports.names[reports.group[i]]), reports.id[part], told)
        return rows

    def _log(self, rows: Rows, report: int, place: tuple[int, str], now: Ints, told: Ints) -> None:
        before, words = self.previous.get(place, NOTHING), self.told.get(place, NOTHING)
        if np.array_equal(before, now) and np.array_equal(words, told):
            return  # With fine slides nearly every report is the one before.
        old, new = self._same(before), self._same(now)
        left = before[~np.isin(old, new)]
        old_rank = dict(zip(old.tolist(), range(1, len(old) + 1), strict=True))
        old_word = dict(zip(old.tolist(), words.tolist(), strict=False))
        word = dict(zip(new.tolist(), told.tolist(), strict=False))
        moved = [
            rank
            for rank, what in enumerate(new.tolist(), 1)
            if old_rank.get(what) != rank or old_word.get(what) != word.get(what)
        ]
        rank = np.array([0] * len(left) + moved, np.int64)
        id = np.concatenate((left, now[rank[len(left) :] - 1]))
        change = [LEAVE] * len(left)
        for each in moved:
            was = old_rank.get(int(new[each - 1]))
            change.append(ENTER if was is None else MOVE if was != each else UPDATE)
        rows.add(np.full(len(id), report), rank, id, pa.array(change, pa.string()))
        if len(told):
            self.told[place] = told
        else:
            self.told.pop(place, None)
        if len(now):
            self.previous[place] = now.copy()  # Not all lists that were found with it.
        else:
            self.previous.pop(place, None)

    def leave(self, query: int) -> None:
        """A query goes; those behind it move up."""
        self.previous, self.told = (
            {(each - (each > query), group): ids for (each, group), ids in known.items() if each != query}
            for known in (self.previous, self.told)
        )

    def forget(self, groups: Collection[str]) -> None:
        """What was told of these groups."""
        self.previous, self.told = (
            {place: ids for place, ids in known.items() if place[1] not in groups}
            for known in (self.previous, self.told)
        )

    def rename(self, old: Ints, new: Ints) -> None:
        """What was listed by these ids, which rise, has others now."""
        self.previous = {place: new[np.searchsorted(old, ids)] for place, ids in self.previous.items()}

    def __len__(self) -> int:
        """Rows that are listed now; a record in two lists counts twice."""
        return sum(map(len, self.previous.values()))

    def pinned(self) -> Ints:
        """Records that a later report may have to name as gone."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.previous.values()]))
