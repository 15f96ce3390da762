"""How exact `pk_topk` is: against rational arithmetic, against fixed-point numbers of 256 bits, and the recurrences."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from skyband.engines.kernels.uncertain.worlds_plain import recurrence, recurrence_with_rules
from skyband.engines.oracle import uncertain as oracle
from skyband.model import Floats, Ints, Using
from tests.engines.uncertain.support import Window, one_report

EVERYTHING = Using("PT_K", 1e-13)
"""Below the rounding that PT_K allows for: no record is left out, and the scan never stops."""
BITS = 256


def with_pairs(p: Floats, share: float, seed: int) -> Window:
    """Neighbours by arrival in one rule where they fit, as the paper makes them; scores in random order."""
    rng = np.random.default_rng([seed, 7])
    rule, number, place = np.full(len(p), -1), 0, 0
    while place + 1 < len(p):
        if p[place] + p[place + 1] <= 1 and rng.random() < share:
            rule[place : place + 2] = number
            number, place = number + 1, place + 1
        place += 1
    return Window(rng.permutation(len(p)).astype(float), p, rule)


def everything(window: Window, k: int) -> dict[int, float]:
    ((places, values),) = one_report(window, [(k, EVERYTHING)])
    return dict(zip(places, values, strict=True))


def fixed_point(mass: list[float], k: int) -> Fraction:
    """P(at most k - 1 of these events happen), with 256 bits behind the point."""
    one = 1 << BITS
    row = np.zeros(k, object)
    row[0] = one
    for each in mass:
        happens = int(Fraction(each) * one)
        row[1:] = (row[1:] * (one - happens) + row[:-1] * happens) >> BITS
        row[0] = row[0] * (one - happens) >> BITS
    return Fraction(int(row.sum()), one)


def above(window: Window, place: int) -> list[float]:
    """The events above a record: other rules' records above it, merged."""
    higher = np.flatnonzero(window.score > window.score[place])
    free: list[float] = window.p[higher[window.rule[higher] < 0]].tolist()
    rules: dict[int, float] = {}
    for each in higher.tolist():
        if window.rule[each] >= 0 and window.rule[each] != window.rule[place]:
            rules[window.rule[each]] = rules.get(window.rule[each], 0.0) + window.p[each]
    return free + [min(total, 1.0) for total in rules.values()]


PROBABILITIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uniform": lambda rng, n: 1 - rng.random(n),
    "near one": lambda rng, n: 1 - rng.random(n) * 1e-6,
    "near one half": lambda rng, n: 0.5 - rng.random(n) * 1e-9,
    "mostly sure": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, 0.9),
    "small": lambda rng, n: np.full(n, 1 / n),
}


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_rational_arithmetic_says_the_same(kind: str) -> None:
    p = PROBABILITIES[kind](np.random.default_rng(3), 90)
    window = with_pairs(p, 0.8, 3)
    ranked = window.ranked(Fraction)
    exact = oracle.recurrence_with_rules(ranked, 20)
    found = everything(window, 20)
    assert max(abs(found[record.row] - float(value)) for record, value in zip(ranked, exact, strict=True)) < 1e-13


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_ten_thousand_records_and_k_one_thousand(kind: str) -> None:
    """Places around the one where a thousand are expected above: there every entry of a row matters."""
    n, k = 10_000, 1_000
    p = PROBABILITIES[kind](np.random.default_rng(4), n)
    window = with_pairs(p, 0.9, 4)
    found = everything(window, k)
    best_first = np.argsort(-window.score)
    edge = min(int(np.searchsorted(np.cumsum(p[best_first]), k)), n - 1)
    for rank in {edge, min(edge + 13, n - 1)}:
        place = int(best_first[rank])
        exact = Fraction(float(p[place])) * fixed_point(above(window, place), k)
        assert abs(Fraction(found[place]) - exact) < Fraction(1, 10**11)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_recurrences_say_the_same_of_two_thousand_records(share: float) -> None:
    p = 1 - np.random.default_rng(5).random(2_000)
    window = with_pairs(p, share, 5)
    order = np.argsort(-window.score)
    rule: Ints = window.rule[order]
    for k in (1, 7, 100, 800):
        plain = recurrence_with_rules(p[order], rule, k, 0, 2_000) if share else recurrence(p[order], k)
        found = everything(window, k)
        np.testing.assert_allclose([found[place] for place in order.tolist()], plain, rtol=0, atol=1e-11)
        ((places, values),) = one_report(window, [(k, Using())])
        np.testing.assert_allclose(values, np.sort(plain)[::-1][:k], rtol=0, atol=1e-11)
        assert np.sort(plain[np.argsort(order)[places]])[0] == pytest.approx(np.sort(plain)[-k], abs=1e-11)
