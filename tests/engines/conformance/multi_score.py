"""Many scores over one window: points with several values, and queries that each weigh them in their own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from skyband.engines.base import Counters, DataModelName, registration
from skyband.model import Flags, Floats, Ints, Kind, MetaQuery
from skyband.model.many import ABSOLUTE, ADD, COLUMN, MULTIPLY, Points, Scores, ScoreSpec
from tests.drawn import several
from tests.engines.conformance.desk import (
    LABEL,
    WIDEST,
    Case,
    Column,
    Listed,
    accepts,
    clocks,
    delays,
    in_some_window,
    kinds,
    served,
    times,
    windows_looked_at,
)

EVERYTHING = 2**31 - 1
CARDS = ("sma", "tma", "tsl")
"""Their cards promise what `work` says of arrivals."""
NULL = -np.nan
"""A NaN with its sign set."""
VALUES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-10, 10, width=16),
    st.sampled_from([np.inf, -np.inf, np.nan, NULL, 1e300, 0.0, -0.0]),
)
NONE: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class PointCase(Case):
    """One window for all queries. On a stream with deletes a row that is `gone` takes older records of its key away."""

    x: Floats
    gone: Flags
    key: Ints

    @property
    def asked(self) -> tuple[ScoreSpec, ...]:
        return self.scores.specs

    @property
    def scores(self) -> Scores:
        assert self.meta.scores is not None
        return self.meta.scores

    def batch(self, numbers: Ints) -> Points:
        if not self.scores.deletes:
            return Points(self.at[numbers], self.x[numbers], LABEL - numbers)
        key = self.key[numbers], self.key[numbers] * 7
        return Points(self.at[numbers], self.x[numbers], LABEL - numbers, self.gone[numbers], key)

    def times(self, numbers: Ints) -> Ints:
        return self.at[numbers[~self.gone[numbers]]]

    def alive(self, numbers: Ints) -> Ints:
        """The records among these that none of the deletes among them took away."""
        deleted = [n for n in numbers.tolist() if self._deleted(n, numbers[numbers > n])]
        return np.setdiff1d(numbers[~self.gone[numbers]], deleted)

    def _deleted(self, number: int, later: Ints) -> bool:
        return bool((self.gone[later] & (self.key[later] == self.key[number])).any())

    def merits(self, query: int, numbers: Ints) -> Floats:
        """By NumPy, in the order that the query says."""
        asked, x = self.asked[query], self.x[numbers]
        with np.errstate(all="ignore"):
            if len(asked.weight):
                total = asked.weight[0] * x[:, asked.column[0]]
                for weight, column in zip(asked.weight[1:], asked.column[1:], strict=True):
                    total = total + weight * x[:, column]
                found: Floats = total
                return found
            return np.abs(x[:, 0] * x[:, 1]) + x[:, 0]


PROGRAM = ([COLUMN, COLUMN + 1, MULTIPLY, ABSOLUTE, COLUMN, ADD], [0.0] * 6)
"""|x·y| + x: a score that is no weighted sum."""


@st.composite
def questions(draw: st.DrawFn, d: int, programs: bool) -> ScoreSpec:
    limits = st.one_of(st.none(), st.none(), st.integers(-2, 2).map(float))
    low = np.array([-np.inf if (v := draw(limits)) is None else v for _ in range(d)])
    high = np.array([np.inf if (v := draw(limits)) is None else v for _ in range(d)])
    above = draw(st.integers(0, 3)) == 0
    threshold = draw(st.integers(-4, 4).map(float)) if above else None
    k = EVERYTHING if above else draw(st.integers(1, 4) | st.sampled_from([20, EVERYTHING]))
    turned = above and draw(st.booleans())
    if programs and d > 1 and draw(st.integers(0, 3)) == 0:
        op, value = PROGRAM
        return ScoreSpec(k, low, high, np.empty(0), NONE, np.array(op), np.array(value), threshold, turned)
    column = np.array(draw(st.permutations(range(d)))[: draw(st.integers(1, d))], np.int64)
    weight = np.array([draw(st.sampled_from([0.0, 1.0, -1.0, 0.3, -2.5])) for _ in column])
    return ScoreSpec(k, low, high, weight, column, NONE, np.empty(0), threshold, turned)


@st.composite
def workloads(draw: st.DrawFn, engines: Sequence[str], late: bool, tied: bool) -> PointCase:
    kind = draw(st.sampled_from(kinds(engines, late)))
    d, width = draw(st.integers(1, 3)), draw(st.integers(1, WIDEST))
    period = draw(st.integers(1, width))
    programs = all(map(takes_programs, engines))
    asked = tuple(draw(questions(d, programs)) for _ in range(draw(st.integers(1, 4))))
    deletes = all(registration(name).capabilities.deletes for name in engines) and draw(st.booleans())
    at = draw(times(kind))
    n = len(at)
    gone = np.array(draw(several([False, False, False, True], n)), bool) & deletes
    if kind == "rows":
        # A delete has no position: it stands where the next record will.
        at = np.cumsum(~gone) - ~gone
    order = np.lexsort((~gone, at))
    key = np.array(draw(several(range(5), n)), np.int64) if deletes else np.arange(n)
    x = np.array([[0.5 if tied else draw(VALUES) for _ in range(d)] for _ in range(n)], float).reshape(n, d)
    meta = one_window(kind, width, period, draw(st.integers(0, period - 1)), Scores(d, asked, deletes))
    return PointCase(meta, at[order], draw(clocks(at)), draw(delays(n, late)), x, gone[order], key)


def one_window(kind: Kind, width: int, period: int, phase: int, scores: Scores) -> MetaQuery:
    """The same for all queries."""
    every = np.zeros(len(scores.specs), np.int64)
    k = np.array([asked.k for asked in scores.specs])
    return MetaQuery(kind, every + width, every + period, every + phase, k, np.arange(len(k)), scores=scores)


def takes_programs(name: str) -> bool:
    """Whether it ranks by scores that are no weighted sums."""
    op, value = PROGRAM
    wide = np.full(2, np.inf)
    program = ScoreSpec(1, -wide, wide, np.empty(0), NONE, np.array(op), np.array(value))
    return accepts(name, one_window("rows", 1, 1, 0, Scores(2, (program,))))


class MultiScore:
    name: DataModelName = "multi_score"
    precision = 1.0

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[PointCase]:
        return served(engines, workloads(engines, late, tied))

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> PointCase:
        draw = np.random.default_rng(n)
        x = np.stack([shape(draw, n), draw.random(n)], axis=1)
        weights = [(1.0, 0.0), (0.5, 0.5), (-0.2, 1.0), (0.9, 0.3)]
        asked = [ScoreSpec.linear(k, np.array(weight)) for k, weight in zip((5, 20, 1, 2), weights, strict=True)]
        asked.append(ScoreSpec.linear(EVERYTHING, np.array([1.0, 1.0]), threshold=1.7))
        meta = one_window("rows", 500, 100, 0, Scores(2, tuple(asked)))
        rest = np.zeros(n, np.int64), x, np.zeros(n, bool), np.arange(n)
        return PointCase(meta, np.arange(n), tuple(untils), *rest)

    def truth(self, case: PointCase, query: int, numbers: Ints) -> Listed:
        numbers = case.alive(numbers) if case.scores.deletes else numbers
        asked, x = case.asked[query], case.x[numbers]
        open_ended = (asked.low == -np.inf) & (asked.high == np.inf)
        unknown = np.isnan(x) & ~np.signbit(x) & (asked.high == np.inf)
        inside = (open_ended | ((x >= asked.low) & (x <= asked.high)) | unknown).all(axis=1)
        score = case.merits(query, numbers)
        inside &= ~np.isnan(score)
        if asked.threshold is not None:
            inside &= score > asked.threshold
        numbers, score = numbers[inside], score[inside] * (-1.0 if asked.turned else 1.0)
        order = np.lexsort((-numbers, -score))[: asked.k]
        return list(zip(numbers[order].tolist(), score[order].tolist(), strict=True))

    def agree(self, case: PointCase, query: int, found: Listed, truth: Listed) -> None:
        assert found == truth

    def hits(self, case: PointCase, query: int, found: Listed, truth: Listed) -> tuple[int, int]:
        return len(set(found) & set(truth)), len(truth)

    def needed(self, engine: str, case: PointCase, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """The whole window: any point of it may be the best by some score that is yet to be asked. And the deletes of
        the last window, for a late record may be one that they take away."""
        alive = case.alive(arrived)
        window = in_some_window(case, until, alive)
        deletes = arrived[case.gone[arrived] & (case.at[arrived] > until - case.meta.longest)]
        return window, window | set(deletes.tolist())

    def copies(self, case: PointCase) -> int:
        return 1

    def work(self, engine: str, case: PointCase, counters: Counters) -> tuple[int, int]:
        """An arrival is held against the list of every query at most; searches are counted apart."""
        most = len(case.at) * len(case.asked) if engine in CARDS else windows_looked_at(case)
        return len(case.at) // 2, most
