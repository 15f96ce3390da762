"""MTopList: one list for a thousand queries.

**Idea.** Every distinct window start that some report still needs is a view; a record is worth keeping while it is
among the best k of some view. All views share one list sorted by score, and each view has a pointer to its k-th best
record there. Newcomers move the pointers up; a record below the pointers of all views that hold it is dropped.

**Guarantee.** Exact. After every `advance` it keeps the minimal set of Theorem 5.1: a record is in the list if and only
if it would be reported should nothing more arrive.

**Cost.** A record costs one comparison unless it is among the best K of its pane. Settling s survivors costs O(list +
views + pointer moves); reports are merges of at most the list. Space: candidates plus one pointer per view.

**Source.** mtops-cikm11, §6 (and §4 for views).

**Errata.** Start and end marks cannot tell which views want a record when k differs between views, and views do not
expire first in, first out (Example 4.2). Instead of marks: a record at place p is wanted if the lowest pointer among
the views that opened before it arrived is at p or below. Admission is >=: the newer of equal scores wins. A view's k
shrinks once its largest report is out. Pointers are moved for many survivors at once: a scan of 14,000 pointers per
record would cost as much as a thousand separate lists.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = MTopList(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> answers.score.tolist()
[5.0, 9.0, 9.0, 9.0, 7.0]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.complete.checks import check_list
from skyband.engines.kernels.common.run import Run
from skyband.engines.kernels.lists import toplist
from skyband.engines.kernels.lists.toplist import TopList, Views, Windows, advance_list, open_view, settle
from skyband.model import Answers, DueReports, Ints, MetaQuery, Records

SETTLE_AT = 1024
"""Survivors that gather before they are settled, at least; with many views more, for settling looks at each of them."""


@register(
    "mtoplist",
    Capabilities(
        "one list sorted by score for all queries of a family, a pointer per view", "mtops-cikm11 §6", integer_keys=True
    ),
)
class MTopList(CandidateEngine):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self.clear()

    def clear(self) -> None:
        size = np.zeros(toplist.SIZES, np.int64)
        self._state = TopList(_run(0, self.key), _run(SETTLE_AT, self.key), _views(0), _windows(0), size)

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        start, end, k = self.meta.openings(records.at, self.last)
        settle_at = max(SETTLE_AT, int(self._state.size[toplist.VIEWS]) // 4)
        self._reserve(settle_at + min(self.meta.most, len(records)), len(start))
        self._state, out = advance_list(
            records.at,
            records.score,
            self.fed,
            start,
            end,
            k,
            due_reports.start,
            due_reports.end,
            due_reports.k,
            due_reports.until,
            self.meta.most,
            settle_at,
            self._state,
        )
        self._clock(records, due_reports)
        return Answers(out.begin, out.size, out.id, out.score)

    def kept(self) -> Candidates:
        listed, n = self._state.listed, self._state.size[toplist.LISTED]
        return Candidates.sorted(listed.id[:n], listed.at[:n], listed.score[:n])

    def build(self, kept: Candidates) -> None:
        start, end, k = self.open_windows(kept)
        size = np.zeros(toplist.SIZES, np.int64)
        self._state = TopList(
            _run(0, self.key), _run(len(kept), self.key), _views(len(start)), _windows(len(start)), size
        )
        first = np.searchsorted(kept.at, start)
        cuts = np.append(np.flatnonzero(np.diff(first, prepend=-1)), len(first))
        for low, high in pairwise(cuts):
            open_view(self._state, int(kept.at[first[low]]), end[low:high], k[low:high])
        order = np.lexsort((kept.id, kept.score))[::-1]
        recent = self._state.recent
        recent.score[:], recent.at[:], recent.id[:] = kept.score[order], kept.at[order], kept.id[order]
        recent.born[:] = np.searchsorted(self._state.views.start[: size[toplist.VIEWS]], recent.at, side="right") - 1
        size[toplist.RECENT] = len(kept)
        self._state = settle(self._state, self.until)

    def check(self) -> None:
        super().check()
        check_list(self._state)

    @property
    def counters(self) -> Counters:
        size = self._state.size
        return {
            "records": self.taken,
            "comparisons": int(size[toplist.COMPARISONS]),
            "insertions": int(size[toplist.INSERTIONS]),
            "pointer_moves": int(size[toplist.MOVES]),
            "settlements": int(size[toplist.SETTLEMENTS]),
            "views": int(size[toplist.VIEWS]),
            "candidates": int(size[toplist.LISTED]),
            "candidates_peak": int(size[toplist.PEAK]),
        }

    def recount(self, counters: Counters) -> None:
        size = self._state.size
        size[toplist.COMPARISONS] = counters.get("comparisons", 0)
        size[toplist.INSERTIONS] = counters.get("insertions", 0)
        size[toplist.MOVES] = counters.get("pointer_moves", 0)
        size[toplist.SETTLEMENTS] = counters.get("settlements", 0)
        size[toplist.PEAK] = counters.get("candidates_peak", 0)

    def _reserve(self, survivors: int, openings: int) -> None:
        """Room for what one call can add, so that the kernel need not grow these arrays."""
        state, size = self._state, self._state.size
        recent = size[toplist.RECENT] + survivors
        self._state = TopList(
            state.listed,
            Run(*(_room(column, recent) for column in state.recent)),
            Views(*(_room(column, size[toplist.VIEWS] + openings) for column in state.views)),
            Windows(*(_room(column, size[toplist.WINDOWS] + openings) for column in state.windows)),
            size,
        )


def _room(column: np.ndarray, needed: int) -> np.ndarray:
    if len(column) >= needed:
        return column
    wider = np.empty(max(needed, 2 * len(column)), column.dtype)
    wider[: len(column)] = column
    return wider


def _ints(n: int) -> Ints:
    return np.empty(n, np.int64)


def _run(n: int, key: np.dtype[Any]) -> Run:
    return Run(np.empty(n, key), _ints(n), _ints(n), _ints(n))


def _views(n: int) -> Views:
    return Views(*(_ints(n) for _ in Views._fields))


def _windows(n: int) -> Windows:
    return Windows(_ints(n), _ints(n))
