"""Uncertain data: records that may not exist, rules of which at most one does, scores that have an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from skyband.engines.base import Counters, DataModelName, registration
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.oracle import uncertain as oracle
from skyband.engines.uncertain.pk_normal import highest
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import Floats, Ints, MetaQuery, Using
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
    windows_looked_at,
)

CLOSE = 1e-9
CARDS = ("pk_normal", "pk_topk")
"""Their cards promise what `work` says of passes."""
SEMANTICS = [Using(), Using(), Using("PT_K", 0.2), Using("U_TOPK"), Using("U_KRANKS"), Using("EXPECTED_RANK")]
WIDEST = 8
"""Records in a window, at most: possible worlds are counted out."""
GAPS = (0, 0, 0, 1, 1, 2, WIDEST, 3 * WIDEST)
INFINITE = st.sampled_from([np.inf, -np.inf, 0.0, -0.0])


@dataclass(frozen=True, eq=False)
class WorldCase(Case):
    """`rule` is -1 for none. In feed order, of equal times the smaller key last; so keys fall while times are equal."""

    score: Floats
    error: Floats
    p: Floats
    rule: Ints

    def batch(self, numbers: Ints) -> Tuples:
        mean, error, at = self.score[numbers], self.error[numbers], self.at[numbers]
        rule = np.where(self.rule[numbers] < 0, NO_RULE, self.rule[numbers])
        turn = np.lexsort((-numbers, at))
        top = highest(mean, error) if error.any() else mean
        return Tuples(LABEL - numbers, at, top, self.p[numbers], rule, turn, rule, mean, error)

    def using(self, query: int) -> Using:
        return Using() if self.meta.using is None else self.meta.using[query]

    def ranked(self, numbers: Ints) -> list[oracle.Tuple]:
        """Those that fit into their rules, best first; the newer of equals first."""
        in_time = numbers[np.lexsort((-numbers, self.at[numbers]))].tolist()
        made = {n: oracle.Tuple(float(self.p[n]), None if self.rule[n] < 0 else int(self.rule[n]), n) for n in in_time}
        fits = oracle.fitting([made[number] for number in in_time])
        counted = [number for number, fit in zip(in_time, fits, strict=True) if fit]
        return [made[number] for number in sorted(counted, key=lambda n: (-self.score[n], -n))]


@st.composite
def workloads(draw: st.DrawFn, engines: Sequence[str], late: bool, tied: bool) -> WorldCase:
    kind, erring = (
        draw(st.sampled_from(kinds(engines, late))),
        [registration(name).capabilities.errors for name in engines],
    )
    width, period, phase, k = columns(draw(beats(3, st.integers(1, 4), WIDEST)))
    # Scores with an error are for PK_TOPK and PT_K.
    using = tuple(draw(st.sampled_from(SEMANTICS[:3] if any(erring) else SEMANTICS)) for _ in k)
    meta = MetaQuery(kind, width, period, phase, k, np.arange(len(k)), using=using)
    at = draw(times(kind, 25, GAPS))
    if kind == "range":
        at = at[_not_too_many(at)]
    n, rng = len(at), np.random.default_rng(draw(st.integers(0, 10**6)))
    score = rng.integers(0, 5, n).astype(float)
    p = rng.choice([1.0, 0.5, 0.25, 0.3, 0.7, 0.01, 1e-5, 1 - 1e-9], n) / draw(st.sampled_from([1, 1, 2, 4]))
    # Often one rule with more than fits: then it matters in which order its records are let in.
    rule = np.where(rng.random(n) < 0.4, -1, rng.integers(0, draw(st.sampled_from([1, 3])), n))
    error = np.zeros(n)
    if tied:
        score, p = score * 0, p * 0 + 0.5
    elif all(erring) and draw(st.booleans()):
        error = rng.choice([0.25, 0.5, 1.0], n)
    else:
        score[rng.random(n) < 0.2] = draw(INFINITE)
    return WorldCase(meta, at, draw(clocks(at)), draw(delays(n, late)), score, error, p, rule)


def _not_too_many(at: Ints) -> Ints:
    """So many that windows of WIDEST hold about WIDEST of them."""
    return np.flatnonzero(np.arange(len(at)) - np.searchsorted(at, at) < 2)


class Uncertain:
    name: DataModelName = "uncertain"
    precision = 1.0

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[WorldCase]:
        return served(engines, workloads(engines, late, tied))

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> WorldCase:
        draw = np.random.default_rng(n)
        width, period, phase, k = columns([(500, 100, 0, 5), (60, 60, 0, 3)])
        meta = MetaQuery("rows", width, period, phase, k, np.arange(2))
        score, error = shape(draw, n), np.zeros(n)
        rest = 1 - draw.random(n), np.full(n, -1)
        return WorldCase(meta, np.arange(n), tuple(untils), np.zeros(n, np.int64), score, error, *rest)

    def truth(self, case: WorldCase, query: int, numbers: Ints) -> list[oracle.Tuple]:
        return case.ranked(numbers)

    def agree(self, case: WorldCase, query: int, found: Listed, truth: list[oracle.Tuple]) -> None:
        k, using = int(case.meta.k[query]), case.using(query)
        rank = {record.row: number for number, record in enumerate(truth)}
        places, values = [rank[number] for number, _ in found], [value for _, value in found]
        assert len(set(places)) == len(places) or using.name == "U_KRANKS"
        if using.name in ("PK_TOPK", "PT_K"):
            _agree_on_chances(chances(case, truth, k), k, using, places, values)
        elif using.name == "U_TOPK":
            _agree_on_a_list(oracle.answer_lists(truth, k), places, values)
        elif using.name == "U_KRANKS":
            _agree_on_ranks(oracle.rank_probabilities(truth, k), places, values)
        else:
            exact = expected_ranks(truth)
            assert values == pytest.approx(np.sort(exact)[:k].tolist(), abs=CLOSE)
            assert exact[places].tolist() == pytest.approx(values, abs=CLOSE)

    def hits(self, case: WorldCase, query: int, found: Listed, truth: list[oracle.Tuple]) -> tuple[int, int]:
        self.agree(case, query, found, truth)
        return len(found), len(found)

    def needed(self, engine: str, case: WorldCase, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """Everything as long as the longest window: what is better may not exist."""
        window = set(arrived[case.at[arrived] > until - case.meta.longest].tolist())
        return in_some_window(case, until, arrived), window

    def copies(self, case: WorldCase) -> int:
        return 1

    def work(self, engine: str, case: WorldCase, counters: Counters) -> tuple[int, int]:
        """k·sqrt(k) entries of a row for every pass; where scores have errors, at eleven nodes for every score in the
        stretch around the k-th best, for every record that reaches so high."""
        if engine not in CARDS:
            return len(case.at), windows_looked_at(case)
        k = float(case.meta.most)
        stretch = k + 16 * sqrt(k)
        entries = 4 * 11 * stretch**2 if registration(engine).capabilities.errors else 4 * (k * sqrt(k) + 16)
        return counters["passes"], int(counters["passes"] * entries)


def expected_ranks(ranked: list[oracle.Tuple]) -> Floats:
    """Without counting out worlds: who exists has above it what is better, of other rules; who does not is behind all
    that exists then, for which its rule's others do more often."""
    p = np.array([record.p for record in ranked], float)
    mates = np.array([[a.rule is not None and a.rule == b.rule for b in ranked] for a in ranked], bool)
    mates = mates.reshape(len(p), len(p)) | np.eye(len(p), dtype=bool)
    better = np.tri(len(p), k=-1, dtype=bool)
    above = p * ((better & ~mates) * p).sum(axis=1)
    behind = (1 - p) * (~mates * p).sum(axis=1) + (mates * p).sum(axis=1) - p
    found: Floats = above + behind
    return found


def chances(case: WorldCase, ranked: list[oracle.Tuple], k: int) -> Floats:
    """The top-k probability of each record."""
    if not case.error.any():
        without_rules = all(record.rule is None for record in ranked)
        return np.array(oracle.recurrence(ranked, k) if without_rules else oracle.recurrence_with_rules(ranked, k))
    return np.array([_integrated(case, ranked, k, rank) for rank in range(len(ranked))])


def _integrated(case: WorldCase, ranked: list[oracle.Tuple], k: int, rank: int) -> float:
    """The trapezoidal rule, which converges faster than any power for such functions."""
    own = ranked[rank]
    mean, error = float(case.score[own.row]), float(case.error[own.row])
    step = 0.25 / 4
    x = mean + step * np.arange(-int(9 * error / step), int(9 * error / step) + 1)
    density = np.exp(-(((x - mean) / error) ** 2) / 2) / error / sqrt(2 * np.pi)
    mass: dict[object, Floats] = {}
    for number, other in enumerate(ranked):
        if number != rank and (other.rule is None or other.rule != own.rule):
            z = (x - case.score[other.row]) / case.error[other.row]
            tail = np.array([0.5 * erfc(each / sqrt(2)) for each in z])
            name = ("free", number) if other.rule is None else ("rule", other.rule)
            mass[name] = mass.get(name, np.zeros(len(x))) + other.p * tail
    above = np.zeros((k, len(x)))
    above[0] = 1.0
    for q in mass.values():
        above[1:] = above[1:] * (1 - q) + above[:-1] * q
        above[0] *= 1 - q
    return float(own.p * (density * above.sum(axis=0)).sum() * step)


def _agree_on_chances(exact: Floats, k: int, using: Using, places: list[int], values: list[float]) -> None:
    assert exact[places].tolist() == pytest.approx(values, abs=CLOSE)
    if using.level is None:
        assert values == pytest.approx(np.sort(exact)[::-1][:k].tolist(), abs=CLOSE)
    else:
        assert set(np.flatnonzero(exact >= using.level + CLOSE).tolist()) <= set(places)
        assert set(places) <= set(np.flatnonzero(exact >= using.level - CLOSE).tolist())


def _agree_on_a_list(lists: dict[oracle.World, Any], places: list[int], values: list[float]) -> None:
    best = max(lists.values())
    assert places == sorted(places)
    assert lists.get(tuple(places), 0.0) == pytest.approx(best, abs=CLOSE)
    assert values == pytest.approx([best] * len(places), abs=CLOSE)


def _agree_on_ranks(holds: list[list[Any]], places: list[int], values: list[float]) -> None:
    assert len(places) >= sum(max(row) > 1e-12 for row in holds)
    for row, place, value in zip(holds, places, values, strict=False):
        assert value == pytest.approx(max(row), abs=CLOSE)
        assert row[place] == pytest.approx(max(row), abs=CLOSE)
