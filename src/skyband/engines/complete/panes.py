"""Panes: the best k records of every stretch that windows share whole, in NumPy.

**Idea.** Where some window begins or ends there is an edge, and no window cuts the pane between two edges. So of a pane
only the best k records can ever be reported. A report looks at the panes of its window. After it, what k newer
records outrank is dropped.

**Guarantee.** Exact, for 64-bit integers and for a second key as well: equal scores are ranked by it, and only then is
the newer record the better one. `TOP k WITH TIES` keeps and lists all that have the score of the k-th. With `AT MOST n
PER` a record counts against another only while it would be listed itself (see `engines/capped.py`).

**Cost.** A record is compared with the k-th best of its pane. A report partitions what is held of its window; where a
call brings many reports, that is up to k times the panes, so long pushes with a slide far smaller than the window are
slow. No kernel is compiled: the first answer is there at once, and `shared` can go on with what is held.

**Source.** Panes are those of Li et al., "No pane, no gain", SIGMOD Record 34(1), 2005.

**Errata.** None known. The paper's panes have one length for all windows; here they lie between the edges of all
queries of a family, which keeps fewer where slides have no common divisor.

>>> import numpy as np
>>> from skyband.model import MetaQuery, Records
>>> one = lambda x: np.array([x])
>>> engine = Panes(MetaQuery("rows", one(4), one(2), one(0), one(1), one(0)))  # the best of the last four, every two
>>> records = Records(np.arange(6), np.array([5.0, 9.0, 9.0, 3.0, 4.0, 7.0]), second=np.array([1, 2, 1, 1, 1, 1]))
>>> engine.advance(records, engine.meta.due_reports(records.at, -1, 0, 6)).id.tolist()
[1, 1, 2]
>>> engine.candidates().tolist()
[5]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.capped import Cap, caps, listed, outliving, running_count
from skyband.engines.second_key import dense_ranks, sort_keys
from skyband.model import Answers, DueReports, Flags, Ints, Keys, MetaQuery, Records

BLOCK = 256
"""Records that are compared with each other at once."""
FURTHER = 4
"""Where a list is not full after so many records, so many times as many are looked at."""
EDGES = 4
"""So many edges for each record are written out; where there might be more, panes are told by arithmetic."""


@register(
    "panes",
    Capabilities(
        "the best k of every stretch that windows share whole, in NumPy: nothing is compiled",
        "Li et al., SIGMOD Record 2005",
        integer_keys=True,
        second_key=True,
        ties=True,
        at_most=True,
    ),
)
def panes(meta: MetaQuery) -> Panes:
    if meta.at_most is not None:
        return CappedPanes(meta)
    return TiedPanes(meta) if meta.ties else Panes(meta)


class Panes(CandidateEngine):
    """Lists k records."""

    second_key = True

    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self._work = dict.fromkeys(("comparisons", "insertions", "candidates_peak"), 0)
        self.clear()

    def clear(self) -> None:
        self._held = Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.key))

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        number = self.fed + np.arange(len(records))
        fresh = Candidates(number, records.at, records.score, records.second, records.category)
        seen = self._best(self._held.followed_by(fresh))
        self._count(insertions=int((seen.id >= self.fed).sum()), peak=len(seen))
        answers = self._reports(seen, due_reports)
        self._clock(records, due_reports)
        self._held = self._still_needed(seen)
        return answers

    def kept(self) -> Candidates:
        return self._held

    def build(self, kept: Candidates) -> None:
        self._held = self._still_needed(self._best(kept))
        self._count(peak=len(self._held))

    def recount(self, counters: Counters) -> None:
        self._work = {name: max(counters.get(name, 0), self._work[name]) for name in self._work}

    def check(self) -> None:
        super().check()
        sizes = np.bincount(_panes(self.meta, self._held.at)) if len(self._held) else np.empty(0)
        assert (sizes <= self.meta.most).all(), "panes: one with more than k records"

    @property
    def counters(self) -> Counters:
        return {"records": self.taken, **self._work, "candidates": len(self._held)}

    # ----------------------------------------------------------------------------------------------------------- work

    def _best(self, records: Candidates) -> Candidates:
        """The best k of every pane."""
        most = self.meta.most
        if len(records) <= most:
            return records
        pane = _panes(self.meta, records.at)
        begin = np.flatnonzero(np.append(True, pane[1:] != pane[:-1]))
        end = np.append(begin[1:], len(pane))
        keep = np.ones(len(records), bool)
        for low, high in zip(begin.tolist(), end.tolist(), strict=True):
            if high - low > most:
                keep[low:high] = False
                keep[low + self._top(records.part(slice(low, high)), most)] = True
        return records if keep.all() else records.part(keep)

    def _reports(self, seen: Candidates, due_reports: DueReports) -> Answers:
        return self._lists(seen, due_reports, self._top)

    def _lists(self, seen: Candidates, due_reports: DueReports, top: Callable[[Candidates, int], Ints]) -> Answers:
        """What `top` finds in each window."""
        low, high = np.searchsorted(seen.at, due_reports.start), np.searchsorted(seen.at, due_reports.end)
        begin, size = np.zeros(len(due_reports), np.int64), np.zeros(len(due_reports), np.int64)
        parts, used, done = [np.empty(0, np.int64)], 0, (-1, -1, 0)
        for i, (first, last, k) in enumerate(zip(low.tolist(), high.tolist(), due_reports.k.tolist(), strict=True)):
            if done[:2] != (first, last) or done[2] < k:
                used += len(parts[-1])
                parts.append(first + top(seen.part(slice(first, last)), k))
                done = first, last, k
            # Of the same records the smaller answer is the beginning of the larger.
            begin[i], size[i] = used, self._listed(seen.score[parts[-1]], k)
        entry = np.concatenate(parts)
        return Answers(begin, size, seen.id[entry], seen.score[entry])

    def _top(self, records: Candidates, k: int) -> Ints:
        """The places of what is listed, best first."""
        self._count(comparisons=len(records))
        place = np.arange(len(records))
        if len(records) > k:
            # Whoever ties with the k-th may be among the best.
            place = np.flatnonzero(records.score >= np.partition(records.score, -k)[-k])
        chosen = records.part(place)
        place = place[np.lexsort((chosen.id, *sort_keys(chosen.score, chosen.second)))[::-1]]
        return place[: self._listed(records.score[place], k)]

    def _listed(self, score: Keys, k: int) -> int:
        """How many of these, best first, a report for k lists."""
        return min(k, len(score))

    def _still_needed(self, records: Candidates) -> Candidates:
        """What fewer than k newer ones outrank."""
        inside, most = self._inside(records), self.meta.most
        return inside.part(_skyband(*self._ranks(inside), most)) if len(inside) > most else inside

    def _inside(self, records: Candidates) -> Candidates:
        """From the start of the next report on, which no later one reaches behind."""
        meta, now = self.meta, self.until
        end = now + 1 + (meta.phase - now - 1) % meta.period
        return records.since(int((end - meta.width).min()))

    def _ranks(self, records: Candidates) -> tuple[Ints, Ints]:
        """Whole numbers that rank records as their keys do, and by record the number from which on newer ones count
        against it: of equals the newer is the better."""
        rank = dense_ranks(records.score, records.second)
        return rank, rank

    def _count(self, comparisons: int = 0, insertions: int = 0, peak: int = 0) -> None:
        self._work["comparisons"] += comparisons
        self._work["insertions"] += insertions
        self._work["candidates_peak"] = max(self._work["candidates_peak"], peak)


class TiedPanes(Panes):
    """Lists whatever has the score of the k-th as well. Only a higher score counts against a record, and a pane keeps
    all that tie: nothing bounds those."""

    def check(self) -> None:
        CandidateEngine.check(self)

    def _listed(self, score: Keys, k: int) -> int:
        return len(score) if len(score) <= k else int((score >= score[k - 1]).sum())

    def _ranks(self, records: Candidates) -> tuple[Ints, Ints]:
        rank = np.unique(records.score, return_inverse=True)[1]
        return rank, rank + 1


class CappedPanes(Panes):
    """Lists at most n of a category, n by query. What is needed is needed by the lists of one n or of another."""

    categories = True

    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        self._caps = caps(meta)

    def check(self) -> None:
        CandidateEngine.check(self)
        pane = _panes(self.meta, self._held.at) if len(self._held) else np.empty(0, np.int64)
        assert (np.bincount(pane) <= sum(cap.k for cap in self._caps)).all(), "panes: one with more than its lists"

    def _best(self, records: Candidates) -> Candidates:
        if not len(records):
            return records
        pane, (category, rank) = _panes(self.meta, records.at), _told_apart(records)
        keep = np.any([listed(pane, category, rank, cap) for cap in self._caps], axis=0)
        self._count(comparisons=len(records))
        return records if keep.all() else records.part(keep)

    def _reports(self, seen: Candidates, due_reports: DueReports) -> Answers:
        assert self.meta.at_most is not None
        n = self.meta.at_most[due_reports.query]
        own = [np.flatnonzero(n == cap.n) for cap in self._caps]
        parts = [
            self._lists(seen, due_reports[mine], partial(self._capped, cap))
            for mine, cap in zip(own, self._caps, strict=True)
        ]
        return Answers.woven(own, parts)

    def _capped(self, cap: Cap, records: Candidates, k: int) -> Ints:
        """As `_top`. The list over the best so many is the beginning of the list over all."""
        size, found = k, np.empty(0, np.int64)
        while len(found) < min(k, len(records)):
            assert records.category is not None
            place = self._top(records, size)
            found = place[running_count(records.category[place]) < cap.n][:k]
            if len(place) == len(records):
                break
            size *= FURTHER
        return found

    def _still_needed(self, records: Candidates) -> Candidates:
        inside = self._inside(records)
        if not len(inside):
            return inside
        category, rank = _told_apart(inside)
        return inside.part(np.any([outliving(category, rank, cap) for cap in self._caps], axis=0))


def _told_apart(records: Candidates) -> tuple[Ints, Ints]:
    """Categories, and ranks of which no two are equal: of equals the newer is the better."""
    assert records.category is not None
    rank = np.empty(len(records), np.int64)
    rank[np.lexsort((records.id, *sort_keys(records.score, records.second)))] = np.arange(len(records))
    return records.category, rank


def _panes(meta: MetaQuery, at: Ints) -> Ints:
    """The pane of each of rising times, as a number that grows with them."""
    edges = meta.edges(int(at[0]), int(at[-1]), EDGES * len(at))
    if edges is not None:
        return np.searchsorted(edges, at, side="right")
    cut: Flags = np.zeros(len(at) - 1, bool)
    for beat in range(len(meta)):
        for shift in (meta.phase[beat], meta.phase[beat] - meta.width[beat]):
            cut |= np.diff((at - shift) // meta.period[beat]) > 0
    return np.append(0, np.cumsum(cut))


def _skyband(rank: Ints, level: Ints, k: int) -> Flags:
    """Of records from old to new: which ones have fewer than k newer ones whose rank is at least their level. From the
    newest on, a block at a time: whose level is not above the k-th best of newer blocks is out at once."""
    keep, best, high = np.zeros(len(rank), bool), np.empty(0, np.int64), len(rank)
    while high:
        low = max(high - BLOCK, 0)
        least = level[low:high]
        place = np.flatnonzero(least > best[-k]) if len(best) >= k else np.arange(high - low)
        mine, least = rank[low:high][place], least[place]
        newer = len(best) - np.searchsorted(best, least) + np.triu(mine[None, :] >= least[:, None], 1).sum(axis=1)
        keep[low + place[newer < k]] = True
        best, high = np.sort(np.concatenate((best, mine)))[-k:], low
    return keep
