"""Complete data: records with a score, engines that keep the records that may still be reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from skyband.engines.base import Counters, DataModelName, registration
from skyband.model import Ints, Keys, Kind, MetaQuery, Records
from tests.drawn import several
from tests.engines.conformance.desk import (
    LABEL,
    Case,
    Column,
    Listed,
    beats,
    clocks,
    columns,
    delays,
    in_some_window,
    kinds,
    served,
    times,
)

EVERYTHING = 2**31 - 1
MINIMAL = ("above", "mintopk", "mtopband", "mtoplist")
"""Their cards promise that they keep what would be reported should nothing more arrive, and no record more."""
SCORES = [
    *(float(n) for n in (0, 1, 2, -1, -2) for _ in range(17)),
    *np.random.default_rng(1).uniform(-10, 10, 86).tolist(),
    *(score for score in (np.inf, -np.inf, 0.0, -0.0) for _ in range(21)),  # NaN has no rank: the runtime keeps it out
]
FAR = 2**53
"""From here on doubles do not tell all integers apart."""
LEAST, GREATEST = -(2**63), 2**63 - 1
INTEGERS = st.one_of(
    st.integers(-2, 2),
    st.integers(FAR - 1, FAR + 3),
    st.integers(-FAR - 3, 1 - FAR),
    st.integers(2**62 - 2, 2**62 + 2),
    st.integers(LEAST, LEAST + 2),
    st.integers(GREATEST - 2, GREATEST),
)
BEYOND = st.sampled_from([-np.inf, -1e19, -(2.0**63), -0.5, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, np.inf])
"""Thresholds between integers, and beyond them all."""
FOUR = [(500, 100, 0, 5), (300, 70, 3, 20), (40, 40, 0, 1), (499, 31, 30, 2)]


@dataclass(frozen=True, eq=False)
class CompleteCase(Case):
    score: Keys
    second: Keys | None = None
    category: Ints | None = None

    def batch(self, numbers: Ints) -> Records:
        second = None if self.second is None else self.second[numbers]
        category = None if self.category is None else self.category[numbers]
        return Records(self.at[numbers], self.score[numbers], LABEL - numbers, second, category)

    def best(self, query: int, numbers: Ints) -> Ints:
        """By sorting: the highest score first, then the newest."""
        if self.meta.threshold is not None:
            level = self.meta.threshold[query].item()
            # Python compares an integer with a double exactly.
            numbers = numbers[[score > level for score in self.written(numbers).tolist()]]
        score = self.score[numbers]
        keys = (numbers, score) if self.second is None else (numbers, self.second_rank[numbers], score)
        best, k = numbers[np.lexsort(keys)[::-1]], int(self.meta.k[query])
        if self.meta.ties and k < len(best):
            return best[: int((self.score[best] >= self.score[best[k - 1]]).sum())]
        return self.capped(query, best)[:k]

    @cached_property
    def second_rank(self) -> Ints:
        """Of each record, by its second key; NaN is worse than all others."""
        assert self.second is not None
        rank: Ints = np.where(np.isnan(self.second), -1, np.unique(self.second, return_inverse=True)[1])
        return rank

    def capped(self, query: int, best: Ints) -> Ints:
        """Without those that have as many of their category above them as a list may have."""
        if self.meta.at_most is None or self.category is None:
            return best
        kinds = self.category[best].tolist()
        above = np.array([kinds[:place].count(kind) for place, kind in enumerate(kinds)], np.int64)
        kept: Ints = best[above < self.meta.at_most[query]]
        return kept

    def written(self, numbers: Ints) -> Keys:
        """Scores as the user wrote them: for ASC doubles are fed negated, and integers with all bits turned."""
        score = self.score[numbers]
        if not self.meta.ascending:
            return score
        return np.invert(score) if score.dtype == np.int64 else -score


@st.composite
def workloads(draw: st.DrawFn, engines: Sequence[str], late: bool, tied: bool) -> CompleteCase:
    kind, able = draw(st.sampled_from(kinds(engines, late))), registration(engines[0]).capabilities
    k = st.just(EVERYTHING) if able.thresholds else st.integers(1, 3) | st.sampled_from([8, 30, EVERYTHING])
    width, period, phase, most = columns(draw(beats(draw(st.sampled_from([3, 3, 12])), k)))
    whole = not tied and all(registration(name).capabilities.integer_keys for name in engines) and draw(st.booleans())
    level = draw(levels(len(most), whole)) if able.thresholds else None
    turned = able.thresholds and draw(st.booleans())
    ties = all(registration(name).capabilities.ties for name in engines) and draw(st.booleans())
    counts = not ties and all(registration(name).capabilities.at_most for name in engines) and draw(st.booleans())
    capped = np.array([draw(st.integers(1, 3)) for _ in most], np.int64) if counts else None
    meta = MetaQuery(kind, width, period, phase, most, np.arange(len(most)), level, turned, ties=ties, at_most=capped)
    at = draw(times(kind))
    score = np.full(len(at), 0.5) if tied else np.array(draw(scores(len(at), whole)), np.int64 if whole else float)
    second = None
    if all(registration(name).capabilities.second_key for name in engines) and draw(st.booleans()):
        integers = draw(st.booleans())
        second = np.array(draw(scores(len(at), integers)), np.int64 if integers else float)
        if not integers:
            second[np.array(draw(several([False, False, False, True], len(at))), bool)] = np.nan
    category = np.array(draw(several(range(-2, 4), len(at))), np.int64) if counts else None
    return CompleteCase(meta, at, draw(clocks(at)), draw(delays(len(at), late)), score, second, category)


def scores(n: int, whole: bool) -> st.SearchStrategy[list[float]] | st.SearchStrategy[list[int]]:
    return st.lists(INTEGERS, min_size=n, max_size=n) if whole else several(SCORES, n)


@st.composite
def levels(draw: st.DrawFn, n: int, whole: bool) -> Keys:
    """Thresholds, all of one type, whichever it is where scores are integers."""
    if not whole:
        return np.array([draw(st.integers(-3, 3)) for _ in range(n)], float)
    each, kind = draw(st.sampled_from([(INTEGERS, np.int64), (BEYOND, np.float64)]))
    return np.array(draw(st.lists(each, min_size=n, max_size=n)), kind)


class Complete:
    name: DataModelName = "complete"
    precision = 1.0

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[CompleteCase]:
        return served(engines, workloads(engines, late, tied))

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> CompleteCase:
        able = registration(engine).capabilities
        width, period, phase, k = columns(FOUR if able.several_queries else FOUR[:1])
        level = np.array([0.9, 0.5, 0.99, 0.2]) if able.thresholds else None
        k = np.full(len(k), EVERYTHING) if able.thresholds else k
        kind: Kind = "rows" if able.row_windows else "range"
        meta = MetaQuery(kind, width, period, phase, k, np.arange(len(k)), level)
        score = shape(np.random.default_rng(n), n)
        return CompleteCase(meta, np.arange(n), tuple(untils), np.zeros(n, np.int64), score)

    def truth(self, case: CompleteCase, query: int, numbers: Ints) -> Listed:
        best = case.best(query, numbers)
        return list(zip(best.tolist(), case.score[best].tolist(), strict=True))

    def agree(self, case: CompleteCase, query: int, found: Listed, truth: Listed) -> None:
        assert found == truth

    def hits(self, case: CompleteCase, query: int, found: Listed, truth: Listed) -> tuple[int, int]:
        return len(set(found) & set(truth)), len(truth)

    def needed(self, engine: str, case: CompleteCase, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """Theorem 5.1: who would be in the answer of some window still to come, should nothing more arrive."""
        at = case.at[arrived]
        horizon = int(at.max()) + case.meta.longest if len(at) else until
        least: set[int] = set()
        for query, start, end in case.windows(until, horizon):
            least |= set(case.best(query, arrived[(at >= start) & (at < end)]).tolist())
        return least, least if engine in MINIMAL else in_some_window(case, until, arrived)

    def copies(self, case: CompleteCase) -> int:
        return 1

    def work(self, engine: str, case: CompleteCase, counters: Counters) -> tuple[int, int]:
        """A record is compared with the floor, and then at most with every view and every candidate."""
        views = len(case.meta.views(len(case.at))[0])
        return len(case.at), len(case.at) * (1 + views + counters["candidates_peak"])
