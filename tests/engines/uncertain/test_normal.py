"""Scores with an error: `pk_normal` against integration with thirty digits, sums that must be k, and simulation."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, getcontext, localcontext
from math import erfc, exp, pi, sqrt
from typing import NamedTuple

import numpy as np
import pytest

from skyband.engines.kernels.uncertain.normal_curve import curve, density, exceeds
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.oracle import uncertain as oracle
from skyband.engines.uncertain.pk_normal import PkNormal, highest
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import DueReports, Floats, MetaQuery, Using

TOLERANCE = 1e-9


class Scored(NamedTuple):
    """A record; `rule` is -1 for none."""

    mean: float
    error: float
    p: float = 1.0
    rule: int = -1


def found(records: Sequence[Scored], asks: Sequence[tuple[int, Using]]) -> list[dict[int, float]]:
    """By ask (largest k first): places and probabilities, as the engine orders them."""
    mean, error, p = (np.array(column, float) for column in list(zip(*records, strict=True))[:3])
    rule = np.array([NO_RULE if each.rule < 0 else each.rule for each in records])
    place, many = np.arange(len(records)), np.arange(len(asks))
    k, width = np.array([k for k, _ in asks]), np.full(len(asks), 10_000)
    meta = MetaQuery("rows", width, width, many * 0, k, many, using=tuple(using for _, using in asks))
    tuples = Tuples(place, place, highest(mean, error), p, rule, place, place, mean, error)
    answers = PkNormal(meta).advance(tuples, DueReports(many * 0, width, k, many, 10_000))
    parts = [slice(begin, begin + size) for begin, size in zip(answers.begin, answers.size, strict=True)]
    return [dict(zip(answers.id[part].tolist(), answers.score[part].tolist(), strict=True)) for part in parts]


def everyone(records: Sequence[Scored], k: int) -> Floats:
    (values,) = found(records, [(k, Using("PT_K", 1e-10))])
    return np.array([values[place] for place in range(len(records))])


# ------------------------------------------------------------------------------------------------- thirty digits


def _exp(x: Decimal) -> Decimal:
    return x.exp()


def _upper_tail(z: Decimal) -> Decimal:
    """P(a standard normal number exceeds z), by the series of its density's integral."""
    if abs(z) > 14:
        return Decimal(0) if z > 0 else Decimal(1)
    with localcontext() as context:
        context.prec = getcontext().prec + 50  # The terms of the series grow before they fall.
        term = total = z
        n = 1
        while abs(term) > Decimal(10) ** -45:
            term *= -z * z / 2 / n
            total += term / (2 * n + 1)
            n += 1
        return Decimal("0.5") - total / (2 * _PI).sqrt()


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def integrated(records: Sequence[Scored], k: int, place: int, steps: int = 6) -> float:
    """The trapezoidal rule, which converges faster than any power for such functions; `steps` per smallest error."""
    getcontext().prec = 30
    own = records[place]
    finest = Decimal(min(each.error for each in records))
    step = finest / steps
    count = int(Decimal(13) * Decimal(own.error) / step)
    total = Decimal(0)
    for node in range(-count, count + 1):
        x = Decimal(own.mean) + step * node
        density = _exp(-(((x - Decimal(own.mean)) / Decimal(own.error)) ** 2) / 2) / Decimal(own.error)
        total += density * _few(records, k, place, x)
    return float(Decimal(own.p) * total * step / (2 * _PI).sqrt())


def _few(records: Sequence[Scored], k: int, place: int, x: Decimal) -> Decimal:
    """P(at most k - 1 of the others are above x), record by record, a rule's together."""
    mass: dict[tuple[str, int], Decimal] = {}
    for number, each in enumerate(records):
        if number == place or (each.rule >= 0 and each.rule == records[place].rule):
            continue
        unit = ("rule", each.rule) if each.rule >= 0 else ("free", number)
        tail = _upper_tail((x - Decimal(each.mean)) / Decimal(each.error))
        mass[unit] = mass.get(unit, Decimal(0)) + Decimal(each.p) * tail
    row = [Decimal(1)] + [Decimal(0)] * (k - 1)
    for q in mass.values():
        for j in range(k - 1, 0, -1):
            row[j] = row[j] * (1 - q) + row[j - 1] * q
        row[0] *= 1 - q
    return sum(row, Decimal(0))


def test_the_table_of_the_normal_distribution() -> None:
    for z in np.random.default_rng(1).uniform(-9, 9, 2_000).tolist():
        assert exceeds(curve(), z) == pytest.approx(0.5 * erfc(z / sqrt(2)), abs=1e-14)
        assert density(curve(), z) == pytest.approx(exp(-0.5 * z * z) / sqrt(2 * pi), abs=2e-14)


CASES: dict[str, list[Scored]] = {
    "alike": [Scored(5.0, 0.5) for _ in range(4)],
    "apart": [Scored(1.0, 1.0), Scored(2.0, 0.5), Scored(1.5, 1.2), Scored(0.3, 0.8)],
    "one far more exact": [Scored(1.0, 1.0), Scored(1.2, 0.06), Scored(0.8, 0.7)],
    "doubtful": [Scored(1.0, 1.0, 0.3), Scored(2.0, 0.5, 0.9), Scored(1.5, 1.2, 0.5), Scored(0.3, 0.8, 1.0)],
    "rules": [Scored(1.0, 1.0, 0.5, 7), Scored(2.0, 0.5, 0.5, 7), Scored(1.5, 1.2, 0.8), Scored(0.3, 0.8, 1.0)],
}


@pytest.mark.parametrize("case", CASES)
def test_integration_with_thirty_digits_says_the_same(case: str) -> None:
    records = CASES[case]
    for k in (1, 2):
        values = everyone(records, k)
        exact = [integrated(records, k, place) for place in range(len(records))]
        np.testing.assert_allclose(values, exact, rtol=0, atol=TOLERANCE)


def test_the_reference_itself_has_converged() -> None:
    records = CASES["apart"]
    assert integrated(records, 2, 1) == pytest.approx(integrated(records, 2, 1, steps=9), abs=1e-15)
    assert sum(integrated(records, 2, place) for place in range(4)) == pytest.approx(2.0, abs=1e-14)


# --------------------------------------------------------------------------------------------- what must hold of many


def drawn(n: int, seed: int, sure: float = 0.0) -> list[Scored]:
    draw = np.random.default_rng(seed)
    mean, error = draw.normal(5, 1, n).round(1), draw.uniform(0.02, 0.6, n) * (draw.random(n) >= sure)
    return [Scored(*pair) for pair in zip(mean.tolist(), error.tolist(), strict=True)]


@pytest.mark.parametrize(("n", "sure"), [(60, 0.0), (300, 0.0), (60, 0.5), (60, 1.0), (3, 0.4)])
def test_exactly_k_records_are_in_the_top_k(n: int, sure: float) -> None:
    """Whatever is wrong with some of the probabilities shows in their sum."""
    records = drawn(n, n, sure)
    asks = [(k, Using("PT_K", 1e-10)) for k in (25, 10, 1)]
    for (k, _), values in zip(asks, found(records, asks), strict=True):
        assert sum(values.values()) == pytest.approx(min(k, n), abs=1e-8)


def test_scores_without_errors_are_ranked_as_they_stand() -> None:
    """Ties: the newer first; and membership probabilities and rules as everywhere."""
    draw = np.random.default_rng(5)
    rule = [0, 0, -1, 1, 1, -1, -1, 2, 2, -1]
    records = [Scored(float(draw.integers(0, 4)), 0.0, float(draw.uniform(0.1, 0.5)), each) for each in rule]
    order = sorted(range(10), key=lambda place: (-records[place].mean, -place))
    ranked = [oracle.Tuple(records[i].p, None if rule[i] < 0 else rule[i], i) for i in order]
    for k in (1, 3, 6):
        exact = dict(zip(order, oracle.top_k_probabilities(ranked, k), strict=True))
        ((place, value), *_) = found(records, [(k, Using())])[0].items()
        assert value == pytest.approx(max(exact.values()), abs=1e-12)
        assert exact[place] == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(everyone(records, k), [exact[i] for i in range(10)], rtol=0, atol=1e-12)


@pytest.mark.nojit
def test_far_away_scores_and_too_few_records() -> None:
    records = [Scored(1e6, 1e-3), Scored(-1e6, 1e3), Scored(float("inf"), 0.0), Scored(float("-inf"), 0.0)]
    (values,) = found(records, [(3, Using())])
    assert list(values) == [2, 0, 1]
    assert list(values.values()) == pytest.approx([1.0, 1.0, 1.0])
    (values,) = found(records, [(9, Using())])
    assert sorted(values) == [0, 1, 2, 3]
    assert list(values.values()) == pytest.approx([1.0] * 4, abs=TOLERANCE)


def test_two_hundred_thousand_worlds_come_near() -> None:
    records = drawn(8, 3)
    values = everyone(records, 3)
    draw = np.random.default_rng(1)
    mean, error = (np.array([getattr(each, name) for each in records]) for name in ("mean", "error"))
    scores = mean + error * draw.standard_normal((200_000, 8))
    often = np.bincount(np.argsort(-scores, axis=1)[:, :3].ravel(), minlength=8) / 200_000
    np.testing.assert_allclose(values, often, rtol=0, atol=0.006)


def test_a_slide_and_a_snapshot_change_nothing() -> None:
    records = drawn(90, 8, 0.2)
    mean, error = (np.array([getattr(each, name) for each in records]) for name in ("mean", "error"))
    one = np.array([0])
    meta = MetaQuery("rows", one + 40, one + 10, one, one + 5, one, using=(Using(),))
    engine, parts = PkNormal(meta), []
    for low in range(0, 90, 15):
        at = np.arange(low, low + 15)
        tuples = Tuples(
            at, at, highest(mean, error)[at], np.ones(15), np.full(15, NO_RULE), at - low, at, mean[at], error[at]
        )
        due = meta.due_reports(at, low - 1 if low else -(2**62), low, low + 15)
        answers = engine.advance(tuples, due)
        entries = answers.entries()
        parts += list(zip(np.repeat(due.end, answers.size), answers.id[entries], answers.score[entries], strict=True))
        copy = PkNormal(meta)
        copy.rebuild(engine.held(), engine.until)
        engine = copy
    for end in range(10, 91, 10):
        (values,) = found(records[max(end - 40, 0) : end], [(5, Using())])
        mine = {int(id) - max(end - 40, 0): value for at, id, value in parts if at == end}
        assert list(mine) == list(values)
        assert list(mine.values()) == pytest.approx(list(values.values()), abs=1e-12)
