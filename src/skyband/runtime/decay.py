"""Scores that halve with time: what ranks them whatever the moment, and what they are worth at one.

At a moment e a score v of time t counts v · 2^(-(e - t)/h). Its logarithm, log2(v) + t/h - e/h, says that e moves all
scores alike: so records are ranked by log2(v) + t/h, once and for all. Both functions are made of sums, products and
quotients alone, which every machine rounds alike; a library's logarithm may differ in the last bit from one processor
to the next, and then two tasks would rank equals differently.
"""

from __future__ import annotations

from math import factorial, log, sqrt

import numpy as np

from skyband.model import Floats, Ints

EPOCH = 1_735_689_600_000_000
"""Times count from 2025 on in a rank: the nearer to zero, the finer a double is."""
LONG_AGO = 4_000.0
"""Half lives after which no double is more than 0."""
LN_2 = log(2)
LOGARITHM = [1 / (2 * term + 1) for term in range(12)]
POWER = [1 / factorial(term) for term in range(16)]


def rank(score: Floats, at: Ints, half_life: int) -> Floats:
    """Of scores from 0 on: log2(score) + time / half life; minus infinity of 0."""
    part, exponent = np.frexp(score)
    low = part < sqrt(0.5)
    part, exponent = np.where(low, 2 * part, part), exponent - low
    with np.errstate(invalid="ignore"):
        z = (part - 1) / (part + 1)
    found = (at - EPOCH) / half_life + (exponent + 2 / LN_2 * z * _series(LOGARITHM, z * z))
    return np.where(score == 0, -np.inf, np.where(score == np.inf, np.inf, found))


def worth(score: Floats, at: Ints, moment: Ints, half_life: int) -> Floats:
    """Of scores from 0 on: what they count at these moments, which are not before their times."""
    age = np.maximum((at - moment) / half_life, -LONG_AGO)
    halvings = np.rint(age)
    power = _series(POWER, (age - halvings) * LN_2)
    # Half of it first: the largest doubles have no room for a factor above 1.
    found: Floats = np.ldexp(score * (0.5 * power), halvings.astype(np.int64) + 1)
    return found


def _series(terms: list[float], x: Floats) -> Floats:
    total = np.full(len(x), terms[-1])
    for term in terms[-2::-1]:
        total = total * x + term
    return total
