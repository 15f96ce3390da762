"""KSkyband: what k newer and better records make hopeless is dropped, and nothing else.

**Idea.** Records leave a window in the order they came, so one that k newer records outrank will never be reported
again. Every candidate, in a list sorted by score, counts the newer records above it; an arrival adds one to all
entries it outranks, and whoever reaches k goes. The first k of the list that are inside the window are the answer.

**Guarantee.** Exact. It keeps the k-skyband in (score, arrival) of the window: a superset of the minimal set of
Theorem 5.1, because it does not know that records between two window starts leave together.

**Cost.** Every arrival is inserted (nothing newer outranks it yet) and touches all entries below it: O(candidates) in
the worst case. Records between two reports come in as one batch: one backward scan finds their own skyband, one merge
counts it against the list. Of n records in random order about k (1 + ln(n / k)) are kept, of falling scores all n.

**Source.** tma-sma-sigmod06 §5 for one score, without its grid and threshold; the baseline "k-skyband" of sap-tkde17.

**Errata.** A skyband taken over a stretch with a report inside is not exact: the report between a record and its
dominators still needs it. Batches are cut at reports. On equal scores the newer one dominates (admission is >=).

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = KSkyband(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> answers.score.tolist()
[5.0, 9.0, 9.0, 9.0, 7.0]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.complete.checks import check_skyband
from skyband.engines.kernels.lists import kskyband
from skyband.engines.kernels.lists.kskyband import Skyband, advance_skyband
from skyband.model import Answers, DueReports, Ints, MetaQuery, Records


@register(
    "kskyband",
    Capabilities(
        "the records of a window that fewer than k newer ones outrank, with a count each",
        "tma-sma-sigmod06 §5; sap-tkde17",
        several_queries=False,
        integer_keys=True,
    ),
)
class KSkyband(CandidateEngine):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self.clear()

    def clear(self) -> None:
        self._band = Skyband(np.empty(0, self.key), *(np.empty(0, np.int64) for _ in range(3)))
        self._size = np.zeros(kskyband.SIZES, np.int64)

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        self._band, out = advance_skyband(
            records.at,
            records.score,
            self.fed,
            due_reports.start,
            due_reports.end,
            due_reports.k,
            self._needed_from(np.append(due_reports.end, due_reports.until)),
            self.meta.most,
            self._band,
            self._size,
        )
        self._clock(records, due_reports)
        return Answers(out.begin, out.size, out.id, out.score)

    def _needed_from(self, now: Ints) -> Ints:
        """The start of the next report after each moment: no later report reaches further back."""
        meta = self.meta
        end = now + 1 + (meta.phase[:, None] - now - 1) % meta.period[:, None]
        starts: Ints = (end - meta.width[:, None]).min(axis=0)
        return starts

    def kept(self) -> Candidates:
        band, n = self._band, self._size[kskyband.KEPT]
        return Candidates.sorted(band.id[:n], band.at[:n], band.score[:n])

    def build(self, kept: Candidates) -> None:
        """Feed the candidates once more, then give them their ids back. Dominators of candidates are candidates, so
        the counts come out as they were."""
        self.clear()
        none = np.empty(0, np.int64)
        self._band, _ = advance_skyband(
            np.array(kept.at),
            np.array(kept.score),
            0,
            none,
            none,
            none,
            self._needed_from(np.array([self.until])),
            self.meta.most,
            self._band,
            self._size,
        )
        n = self._size[kskyband.KEPT]
        self._band.id[:n] = kept.id[self._band.id[:n]]

    def check(self) -> None:
        super().check()
        check_skyband(self._band, self._size, self.meta.most)

    @property
    def counters(self) -> Counters:
        size = self._size
        return {
            "records": self.taken,
            "comparisons": int(size[kskyband.COMPARISONS]),
            "insertions": int(size[kskyband.INSERTIONS]),
            "dominated": int(size[kskyband.DROPPED]),
            "expired": int(size[kskyband.EXPIRED]),
            "candidates": int(size[kskyband.KEPT]),
            "candidates_peak": int(size[kskyband.PEAK]),
        }

    def recount(self, counters: Counters) -> None:
        size = self._size
        size[kskyband.COMPARISONS] = counters.get("comparisons", 0)
        size[kskyband.INSERTIONS] = counters.get("insertions", 0)
        size[kskyband.DROPPED] = counters.get("dominated", 0)
        size[kskyband.EXPIRED] = counters.get("expired", 0)
        size[kskyband.PEAK] = counters.get("candidates_peak", 0)
