"""`above` in NumPy, for as long as its kernels are being compiled: the same records, kept and reported the same way."""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.model import Answers, DueReports, Flags, Ints, Keys, MetaQuery, Records

COUNTED = ("comparisons", "insertions", "expired", "candidates_peak")


class PlainAbove(CandidateEngine):
    def __init__(self, meta: MetaQuery) -> None:
        super().__init__(meta)
        assert meta.threshold is not None
        self._threshold = meta.threshold
        self._work = dict.fromkeys(COUNTED, 0)
        self.clear()

    def clear(self) -> None:
        self._held = Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.key))

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        fresh = Candidates(self.fed + np.arange(len(records)), records.at, records.score)
        fresh = fresh.part(self._as_written(records.score) > self._threshold.min())
        self._work["comparisons"] += len(records)
        self._work["insertions"] += len(fresh)
        self._held = self._held.followed_by(fresh)
        self._work["candidates_peak"] = max(self._work["candidates_peak"], len(self._held))
        answers = self._reports(due_reports)
        self._clock(records, due_reports)
        self.build(self._held)
        return answers

    def kept(self) -> Candidates:
        return self._held

    def build(self, kept: Candidates) -> None:
        """What some report to come will contain: of each threshold, what is not older than its next window."""
        meta = self.meta
        since = self.until + 1 + (meta.phase - self.until - 1) % meta.period - meta.width
        order = np.argsort(since)
        lowest = np.minimum.accumulate(self._threshold[order])
        place = np.searchsorted(since[order], kept.at, side="right") - 1
        needed: Flags = (place >= 0) & (self._as_written(kept.score) > lowest[place])
        self._work["expired"] += int((~needed).sum())
        self._held = kept.part(needed)

    @property
    def counters(self) -> Counters:
        return {"records": self.taken, **self._work, "candidates": len(self._held)}

    def recount(self, counters: Counters) -> None:
        self._work = {name: counters.get(name, 0) for name in COUNTED}

    def _as_written(self, score: Keys) -> Keys:
        """Thresholds are about scores as they were before they were turned round for ASC."""
        if not self.meta.ascending:
            return score
        return np.invert(score) if score.dtype == np.int64 else -score

    def _reports(self, due_reports: DueReports) -> Answers:
        held, written = self._held, self._as_written(self._held.score)
        threshold = self._threshold[np.searchsorted(self.meta.query, due_reports.query)]
        low, high = np.searchsorted(held.at, due_reports.start), np.searchsorted(held.at, due_reports.end)
        parts: list[Ints] = [np.empty(0, np.int64)]
        for first, last, above in zip(low.tolist(), high.tolist(), threshold.tolist(), strict=True):
            place = first + np.flatnonzero(written[first:last] > above)
            # Of equal scores the newer first.
            parts.append(place[np.lexsort((place, held.score[place]))[::-1]])
        size = np.array([len(part) for part in parts[1:]], np.int64)
        entry = np.concatenate(parts)
        return Answers(np.cumsum(size) - size, size, held.id[entry], held.score[entry])
