"""Above: every record of the window whose score exceeds a threshold.

**Idea.** A record above a query's threshold is reported by every window that holds it, whatever else arrives: no record
dominates another. So all records above the lowest threshold are kept in the order they came. A report takes its stretch
of them, leaves out what is not above its own threshold, and sorts the rest.

**Guarantee.** Exact. After every `advance` it keeps the minimal set: the records that some report to come will contain.

**Cost.** One comparison per record; a report costs its stretch of kept records and the sorting of its answer. Dropping
passes over all kept records once as many again have been looked at, so a record pays O(1) for it. Space: in proportion
to the records above the lowest threshold inside the longest window (and one call's records).

**Source.** tma-sma-sigmod06 §7 (threshold queries), without its grid: one score, so one order is enough.

**Errata.** With ORDER BY … ASC the runtime feeds negated scores, but thresholds are about the score as written: ABOVE x
means -score > x, and ranks by the negated score. Only the ranking turns round. An integer has all bits turned instead
(~score), and is compared with the threshold as the integer it is.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> meta = MetaQuery("rows", one(3), one(1), one(0), one(2**31 - 1), one(0), threshold=one(4.5))
>>> engine = Above(meta)  # what is above 4.5 among the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> [answers.score[answers[i]].tolist() for i in range(len(answers))]
[[5.0], [9.0, 5.0], [9.0, 7.0, 5.0], [9.0, 7.0], [7.0]]
>>> engine.candidates().tolist()
[]
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.kernels.lists import above
from skyband.engines.kernels.lists.above import Store, append_above, drop_unneeded, report_above
from skyband.model import Answers, DueReports, MetaQuery, Records


@register(
    "above",
    Capabilities(
        "the records above the lowest threshold, in the order they came",
        "tma-sma-sigmod06 §7",
        thresholds=True,
        priority=1,
        integer_keys=True,
    ),
)
class Above(CandidateEngine):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        if meta.threshold is None:
            raise AssertionError("the engine above was given a family of TOP queries")
        self._threshold = meta.threshold
        self._lowest = meta.threshold.min().item()
        self._sign = -1.0 if meta.ascending else 1.0
        self._size = np.zeros(above.SIZES, np.int64)
        self._drop_at = 0
        self.clear()

    def clear(self) -> None:
        self._store = Store(np.empty(0, self.key), np.empty(0, np.int64), np.empty(0, np.int64))
        self._size[above.KEPT] = 0

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        size, sign = self._size, self._sign
        self._store = append_above(records.at, records.score, self.fed, sign, self._lowest, self._store, size)
        # Beats are ordered by query, and all beats of a query have its threshold.
        threshold = self._threshold[np.searchsorted(self.meta.query, due_reports.query)]
        out = report_above(self._store, size, due_reports.start, due_reports.end, threshold, sign)
        self._clock(records, due_reports)
        if size[above.KEPT] >= self._drop_at:
            self._drop()
        return Answers(out.begin, out.size, out.id, out.score)

    def _drop(self) -> None:
        """Drop what no report to come will contain. Needed again only when as much as is left now has come in."""
        meta = self.meta
        next_end = self.until + 1 + (meta.phase - self.until - 1) % meta.period
        needed_from = next_end - meta.width
        order = np.argsort(needed_from)
        lowest = np.minimum.accumulate(self._threshold[order])
        drop_unneeded(self._store, self._size, needed_from[order], lowest, self._sign)
        self._drop_at = 2 * int(self._size[above.KEPT])

    def kept(self) -> Candidates:
        self._drop()
        store, n = self._store, self._size[above.KEPT]
        return Candidates(store.id[:n].copy(), store.at[:n].copy(), store.score[:n].copy())

    def build(self, kept: Candidates) -> None:
        self._store = Store(np.array(kept.score), np.array(kept.at), np.array(kept.id))
        self._size[:] = 0
        self._size[above.KEPT] = len(kept)
        self._drop()

    @property
    def counters(self) -> Counters:
        self._drop()
        size = self._size
        return {
            "records": self.taken,
            "comparisons": int(size[above.COMPARISONS]),
            "insertions": int(size[above.INSERTIONS]),
            "expired": int(size[above.EXPIRED]),
            "candidates": int(size[above.KEPT]),
            "candidates_peak": int(size[above.PEAK]),
        }

    def recount(self, counters: Counters) -> None:
        size = self._size
        size[above.COMPARISONS] = counters.get("comparisons", 0)
        size[above.INSERTIONS] = counters.get("insertions", 0)
        size[above.EXPIRED] = counters.get("expired", 0)
        size[above.PEAK] = counters.get("candidates_peak", 0)
