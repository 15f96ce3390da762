"""MTopBand: the predicted answer of every view, kept apart.

**Idea.** Every distinct window start that some report still needs is a view, and the best k of the records it holds so
far are its predicted answer. A newcomer is offered to every view and enters those whose k-th best it is not below. The
objects themselves lie in one pool with a count of the views that refer to them; at zero an object is gone.

**Guarantee.** Exact. After every `advance` it keeps the minimal set of Theorem 5.1: the union of the predicted answers.

**Cost.** A record costs one comparison unless it is among the best K of its pane and above the lowest k-th best of all
views; then one comparison per view, and a shift inside each list it enters. Space: the sum of all views' k, which is
why MTopList exists.

**Source.** mtops-cikm11, §5 (and §4 for views).

**Errata.** Admission is >=, not "larger than O_min": the newer of equal scores wins. Views do not expire first in,
first out (Example 4.2), so each has its own moments. A view may serve windows of several lengths and k: its list is cut
once the largest report is out. Panes are reduced to their best K first, which the paper does not do; answers and
candidates are the same.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = MTopBand(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> answers.score.tolist()
[5.0, 9.0, 9.0, 9.0, 7.0]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.complete.checks import check_band
from skyband.engines.kernels.lists import topband
from skyband.engines.kernels.lists.topband import Lists, Pool, TopBand, Views, Windows, advance_band
from skyband.model import Answers, DueReports, Ints, MetaQuery, Records


@register(
    "mtopband",
    Capabilities(
        "the predicted best k of every view, and one pool of the objects in them", "mtops-cikm11 §5", integer_keys=True
    ),
)
class MTopBand(CandidateEngine):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self.clear()

    def clear(self) -> None:
        self._state = _empty(self.key)

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        windows = self.meta.openings(records.at, self.last)
        answers = self._feed(records, self.fed, windows, due_reports)
        self._clock(records, due_reports)
        return answers

    def _feed(
        self, records: Records, first_id: int, windows: tuple[Ints, Ints, Ints], due_reports: DueReports
    ) -> Answers:
        start, end, k = windows
        self._reserve(len(start))
        self._state, out = advance_band(
            records.at,
            records.score,
            first_id,
            start,
            end,
            k,
            due_reports.start,
            due_reports.end,
            due_reports.k,
            due_reports.until,
            self.meta.most,
            self._state,
        )
        return Answers(out.begin, out.size, out.id, out.score)

    def kept(self) -> Candidates:
        pool = self._state.pool
        slots = np.flatnonzero(pool.references)
        return Candidates.sorted(pool.id[slots], pool.at[slots], pool.score[slots])

    def build(self, kept: Candidates) -> None:
        """Feed the candidates once more, then give them their ids back."""
        self.clear()
        none = _ints(0)
        records = Records(np.array(kept.at), np.array(kept.score))
        self._feed(records, 0, self.open_windows(kept), DueReports(none, none, none, none, self.until))
        pool = self._state.pool
        slots = np.flatnonzero(pool.references)
        pool.id[slots] = kept.id[pool.id[slots]]

    def check(self) -> None:
        super().check()
        check_band(self._state)

    @property
    def counters(self) -> Counters:
        size = self._state.size
        return {
            "records": self.taken,
            "comparisons": int(size[topband.COMPARISONS]),
            "insertions": int(size[topband.INSERTIONS]),
            "list_insertions": int(size[topband.REFERENCES]),
            "views": int(size[topband.VIEWS]),
            "candidates": int(size[topband.OBJECTS]),
            "candidates_peak": int(size[topband.PEAK]),
        }

    def recount(self, counters: Counters) -> None:
        size = self._state.size
        size[topband.COMPARISONS] = counters.get("comparisons", 0)
        size[topband.INSERTIONS] = counters.get("insertions", 0)
        size[topband.REFERENCES] = counters.get("list_insertions", 0)
        size[topband.PEAK] = counters.get("candidates_peak", 0)

    def _reserve(self, openings: int) -> None:
        """Room for the views that one call can open; lists and pool grow by themselves."""
        state, size = self._state, self._state.size
        views = Views(*(_room(column, size[topband.VIEWS] + openings) for column in state.views))
        windows = Windows(*(_room(column, size[topband.WINDOWS] + openings) for column in state.windows))
        self._state = TopBand(state.pool, state.lists, views, windows, size)


def _room(column: Ints, needed: int) -> Ints:
    if len(column) >= needed:
        return column
    wider = _ints(max(needed, 2 * len(column)))
    wider[: len(column)] = column
    return wider


def _ints(n: int) -> Ints:
    return np.empty(n, np.int64)


def _empty(key: np.dtype[Any]) -> TopBand:
    return TopBand(
        Pool(np.empty(0, key), *(_ints(0) for _ in range(4))),
        Lists(np.empty(0, key), _ints(0)),
        Views(*(_ints(0) for _ in Views._fields)),
        Windows(_ints(0), _ints(0)),
        np.zeros(topband.SIZES, np.int64),
    )
