"""What a stretch of a stream may send on when every query has a score of its own (DESIGN, Pruning).

Two rules, both exact. A window at least as long as the stretch cuts off a prefix, a suffix, or takes the whole: a point
matters to a query only if fewer than k better ones precede it or fewer than k follow it. And of a pane, whose points
are in the same windows, only the k best matter. Either way the union over the queries is kept.

A point costs one score per query, all weighted sums side by side in single precision; what that lets through is scored
as ever. Other scores are worked out one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyband.engines.kernels.grid.dense import fits_dense, new_dense
from skyband.engines.kernels.grid.state import Lists
from skyband.engines.kernels.grid.wanted import mark_wanted
from skyband.engines.many.lists import new_lists
from skyband.engines.many.questions import Questions
from skyband.model import Floats, Ints
from skyband.model.many import LARGEST, ScoreSpec


class MultiScorePruner:
    """Queries in groups, at most 62; a point is wanted by a group if some query of it may need the point.

    >>> from skyband.model.many import ScoreSpec
    >>> by_one, by_other = (ScoreSpec.linear(1, np.array(weight)) for weight in ([1.0, 0.0], [0.0, 1.0]))
    >>> pruner = MultiScorePruner(2, [by_one, by_other], [0, 1])
    >>> pruner.between(np.arange(4), np.array([[5, 1], [4, 1], [1, 6], [2, 2.0]]), 10, None).tolist()
    [3, 3, 2, 3]
    """

    def __init__(self, columns: int, asked: Sequence[ScoreSpec], group: Sequence[int]) -> None:
        questions = Questions(columns)
        questions.add(asked)
        self._queries = questions.columns
        self._bit = np.left_shift(1, np.array(group, np.int64))
        fit = fits_dense(self._queries)
        self._dense = new_dense(self._queries, np.flatnonzero(fit))
        self._others = np.flatnonzero(~fit)

    @property
    def deepest(self) -> int:
        """No query that has a k asks for more."""
        return int(self._queries.k[np.isnan(self._queries.threshold)].max(initial=1))

    def between(self, at: Ints, x: Floats, width: int, cuts: Ints | None) -> Ints:
        """By point, in time order: bit g says that group g may need it. Windows are of that width; `cuts`, if they are
        known, are the times at which some begin or end."""
        wanted = np.zeros(len(at), np.int64)
        x = np.ascontiguousarray(x)
        low = 0
        while low < len(at):
            high = low + int(np.searchsorted(at[low:], at[low] + width))
            self._sift(x, low, high, False, wanted)
            self._sift(x, low, high, True, wanted)
            low = high
        if cuts is None:
            return wanted
        kept = np.flatnonzero(wanted)
        best = np.zeros(len(kept), np.int64)
        few, edge = np.ascontiguousarray(x[kept]), np.searchsorted(at[kept], cuts)
        for low, high in zip([0, *edge.tolist()], [*edge.tolist(), len(kept)], strict=True):
            self._sift(few, low, high, False, best)
        wanted[kept] &= best
        return wanted

    def newest(self, x: Floats) -> Ints:
        """The same for a window of which points leave oldest first, and into which only newer ones come: what may still
        be reported, by group. Points as they came, oldest first."""
        wanted = np.zeros(len(x), np.int64)
        self._sift(np.ascontiguousarray(x), 0, len(x), True, wanted)
        return wanted

    def _sift(self, x: Floats, low: int, high: int, backwards: bool, wanted: Ints) -> None:
        if low >= high:
            return
        size, reach = np.abs(x[low:high]), np.zeros(8)
        reach[: x.shape[1]] = np.where(size <= LARGEST, size, 0.0).max(axis=0)
        parts = self._queries, self._lists(high - low), self._dense, self._others
        mark_wanted(*parts, x, reach, low, high, backwards, self._bit, wanted)

    def _lists(self, points: int) -> Lists:
        room = np.where(np.isnan(self._queries.threshold), np.minimum(self._queries.k, points), 0)
        return new_lists(len(room), np.concatenate(([0], np.cumsum(room))))
