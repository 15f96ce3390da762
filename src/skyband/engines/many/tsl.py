"""TSL: the window sorted by every column, and a view of more results than asked for; the baseline.

**Idea.** Every column has a sorted list of the whole window. A query keeps a view of up to k_max > k results: arrivals
are scored by every query and enter the views they belong to, expired points leave. When fewer than k are left the
threshold algorithm goes down the sorted lists until nobody unseen can be among the k_max best.

**Guarantee.** Exact, for sums of weighted columns. Takes deletes.

**Cost.** Every arrival costs a score per query and a place in d sorted lists (merged once a cycle, all of a window's
entries passing by). Space: 40 bytes a point and column, k_max entries a query.

**Source.** tma-sma-sigmod06 §3.2, with the k_max of §8; the views are those of Yi et al. (ICDE 2003).

**Errata.** A view admits only what ranks above its floor, the last place it is known to be complete to; a view that is
short of k_max because points left may not take in a lower one, for others may lie between.

>>> import numpy as np
>>> from skyband.model.many import ScoreSpec, Points
>>> engine = Tsl(2)
>>> place = engine.add([ScoreSpec.linear(2, np.array([0.3, 0.7])), ScoreSpec.linear(1, np.array([1.0, -1.0]))])
>>> engine.advance(Points(np.arange(4), np.array([[1, 9], [8, 2], [5, 5], [9, 3.0]])), np.empty(0, np.int64), 0)
>>> answers = engine.answers(place)
>>> [answers.id[answers[i]].tolist() for i in range(2)]
[[0, 2], [3]]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyband.engines.base import Capabilities, register
from skyband.engines.kernels.grid import sorted_lists
from skyband.engines.kernels.grid.result_lists import ranked_best
from skyband.engines.kernels.grid.sorted_lists import Sorted, Window
from skyband.engines.kernels.grid.state import FIRST, NEXT, Scratch
from skyband.engines.many.checks import check_lists, check_sorted
from skyband.engines.many.lists import new_lists
from skyband.engines.many.numbered import Numbered
from skyband.engines.many.points import PointEngine
from skyband.engines.many.questions import Questions
from skyband.errors import SkybandError
from skyband.model import Answers, Ints, MetaQuery
from skyband.model.many import Points, ScoreSpec

TUNED = ([1, 5, 10, 20, 50, 100], [4, 10, 20, 30, 70, 120])
"""The paper's best k_max for each k; in between by straight lines, beyond by the last ratio."""


class Tsl(Numbered):
    def __init__(self, columns: int, row_window: int | None = None) -> None:
        super().__init__()
        self.d = columns
        self.questions = Questions(columns)
        self._window = _window(1024, columns)
        self._sorted = Sorted(np.empty((columns, 0)), np.empty((columns, 0), np.int64))
        self._listed = 0
        self._lists = new_lists(0, np.zeros(1, np.int64))
        self._most = np.empty(0, np.int64)
        self._turn = 0

    def add(self, asked: Sequence[ScoreSpec]) -> Ints:
        if any(not len(each.weight) for each in asked):
            raise SkybandError(
                "engine tsl was given a score that is not a sum of weighted columns",
                expected="scores such as 0.3 * a + 0.7 * b",
                hint="tma and sma take every score they can bound",
            )
        places = self.questions.add(asked)
        old, k = self._lists, self.questions.columns.k
        most = np.where(k > 100, k + k // 5, np.interp(k, *TUNED).astype(np.int64)).clip(max=len(self._window.at))
        lists = new_lists(len(k), np.concatenate(([0], np.cumsum(most))))
        lists.stale[: len(old.own)] = True
        self._lists, self._most = lists, most
        return places

    def remove(self, place: int) -> None:
        self.questions.remove(place)
        self._lists.size[place] = 0

    def advance(self, points: Points, deleted: Ints, since: int) -> None:
        numbers = self._numbers
        sorted_lists.expire(self._window, numbers, since)
        skipped = int(np.searchsorted(points.at, since))
        numbers[FIRST] += skipped
        numbers[NEXT] += skipped
        at, x, base = points.at[skipped:], np.ascontiguousarray(points.x[skipped:]), int(numbers[NEXT])
        self._make_room(len(at))
        sorted_lists.store(self._window, numbers, at, x)
        merged = Sorted(np.empty((self.d, len(self))), np.empty((self.d, len(self)), np.int64))
        order = np.argsort(x, axis=0, kind="stable")
        self._listed = sorted_lists.merge(self._sorted, self._listed, x, order, base, int(numbers[FIRST]), merged)
        self._sorted = merged
        sorted_lists.score_all(self._window, self.questions.columns, self._lists, self._most, numbers, base)
        self._peak = max(self._peak, len(self))
        if len(deleted):
            sorted_lists.withdraw(self._window, self.questions.columns, self._lists, numbers, deleted)

    def answers(self, places: Ints) -> Answers:
        queries, lists, scratch = self.questions.columns, self._lists, self._scratch()
        self._turn = sorted_lists.refill(
            self._window, self._sorted, self._listed, queries, lists, self._most, scratch, self._numbers, self._turn
        )
        parts = []
        for q in places.tolist():
            if np.isnan(queries.threshold[q]):
                best = slice(int(lists.begin[q]), int(lists.begin[q] + min(lists.size[q], queries.k[q])))
                parts.append((lists.number[best].copy(), lists.score[best].copy()))
            else:
                n = sorted_lists.all_above(self._window, queries, scratch, self._numbers, q)
                ranked_best(scratch, n)
                parts.append((scratch.number[:n].copy(), scratch.score[:n].copy()))
        size = np.array([len(number) for number, _ in parts], np.int64)
        number = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
        return Answers(
            np.cumsum(size) - size, size, number, np.concatenate([np.empty(0), *(part for _, part in parts)])
        )

    def window(self) -> Points:
        """The points in the window, oldest first; of deleted ones the values mean nothing."""
        slot = np.arange(self.first, int(self._numbers[NEXT])) % len(self._window.at)
        return Points(self._window.at[slot], self._window.x[slot])

    def check(self) -> None:
        """Assert what must hold of the sorted columns and the views."""
        check_sorted(self._window, self._sorted, self._listed, self._numbers)
        check_lists(self._lists, self.questions.columns._replace(k=self._most), self._numbers, skyband=False)

    def _scratch(self) -> Scratch:
        queries = self.questions.columns
        above = not np.isnan(queries.threshold[queries.alive]).all()
        best = len(self._window.at) if above else int(self._most.max(initial=1))
        empty = np.empty(0, np.int32)
        return Scratch(np.empty(0), empty, np.empty(best), np.empty(best, np.int64), empty, empty)

    def _make_room(self, more: int) -> None:
        old, wanted = self._window, len(self) + more
        if wanted <= len(old.at):
            return
        number = np.arange(self.first, int(self._numbers[NEXT]))
        new = _window(max(wanted, 2 * len(old.at)), self.d)
        for into, source in zip(new, old, strict=True):
            into[number % len(new.at)] = source[number % len(old.at)]
        self._window = new
        if len(self._most) and int(self._most.max()) == len(old.at):
            self.add([])  # views were cut to the size of the window


def _window(room: int, d: int) -> Window:
    return Window(np.empty((room, d)), np.empty(room, np.int64), np.zeros(room, np.bool_), np.full(room, -1, np.int64))


@register(
    "tsl",
    Capabilities(
        "sorted lists and views of more than k results; the baseline",
        "tma-sma-sigmod06 §3.2",
        data="multi_score",
        thresholds=True,
        deletes=True,
    ),
)
def build(meta: MetaQuery) -> PointEngine:
    return PointEngine(meta, Tsl)
