"""What executors count: the work of their engines, those that are gone among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from skyband.engines.base import Counters

NOT_WORK = ("records", "candidates", "candidates_peak", "views", "groups", "influence", "objects", "sampled_objects")
SHARE = "_ppm"
"""How names of counters end that are parts of a million: they say how things are, and cannot be added up."""


class WorkCounters:
    """The work of engines that are gone, and the most candidates there ever were."""

    def __init__(self) -> None:
        self._gone: Counter[str] = Counter()
        self._peak = 0
        self._shares: Counters = {}

    def total(self, engines: Iterable[Counters]) -> Counters:
        """With the counters of those that are still there; of shares the mean, or what was last."""
        total, shares = Counter(self._gone), dict[str, list[int]]()
        for counters in engines:
            for name, value in counters.items():
                if name.endswith(SHARE):
                    shares.setdefault(name, []).append(value)
                else:
                    total[name] += value
        means = {name: sum(values) // len(values) for name, values in shares.items()}
        return dict(total) | {"candidates_peak": self._peak} | (means or self._shares)

    def kept(self, candidates: int) -> None:
        self._peak = max(self._peak, candidates)

    def retire(self, counters: Counters) -> None:
        """An engine goes; what it did stays counted."""
        self._gone.update(work(counters))
        self._shares = {name: share for name, share in counters.items() if name.endswith(SHARE)} or self._shares

    def recount(self, engines: Iterable[Counters], counters: Counters, peak: int) -> None:
        """Count on from what a snapshot said: building the engines anew is not work that the stream asked for."""
        self._gone = Counter()
        self._gone.subtract(work(self.total(engines)))
        self._gone.update(counters)
        self._peak = peak


def work(counters: Counters) -> Counters:
    """What stays counted of an engine that is gone."""
    return {name: value for name, value in counters.items() if name not in NOT_WORK and not name.endswith(SHARE)}
