"""The normal distribution from a table: ten times as fast as the library's erfc, and wrong by less than 1e-14.

Between two places the curve is the cubic that has its values and slopes there: wrong by h⁴/384 times the largest fourth
derivative, 7e-15 at most for steps of 1/1024.
"""

from __future__ import annotations

from functools import cache
from math import erfc, exp, pi, sqrt

import numpy as np

from skyband.engines.kernels.jit import inlined
from skyband.model.types import Floats

END, STEPS = 8.0, 1024
"""The table goes from -END to END in so many steps a unit."""


@cache
def curve() -> Floats:
    """Row 0: P(a standard normal number exceeds z); row 1: its density at z."""
    z = [i / STEPS - END for i in range(2 * int(END) * STEPS + 2)]
    return np.array([[0.5 * erfc(x / sqrt(2)) for x in z], [exp(-0.5 * x * x) / sqrt(2 * pi) for x in z]])


@inlined
def exceeds(table: Floats, z: float) -> float:
    """P(a standard normal number exceeds z)."""
    if not -END < z < END:
        return 0.0 if z > 0.0 else 1.0
    t = (z + END) * STEPS
    i = int(t)
    slope, next_slope = -table[1, i] / STEPS, -table[1, i + 1] / STEPS
    return max(_between(t - i, table[0, i], table[0, i + 1], slope, next_slope), 0.0)


@inlined
def density(table: Floats, z: float) -> float:
    """Of a standard normal number at z."""
    if not -END < z < END:
        return 0.0
    t = (z + END) * STEPS
    i = int(t)
    left, right = table[1, i], table[1, i + 1]
    x = i / STEPS - END
    return max(_between(t - i, left, right, -x * left / STEPS, -(x + 1 / STEPS) * right / STEPS), 0.0)


@inlined
def _between(u: float, a: float, b: float, slope: float, next_slope: float) -> float:
    """The cubic with values a and b at 0 and 1, and these slopes there, at u."""
    return a + u * (slope + u * (3.0 * (b - a) - 2.0 * slope - next_slope + u * (2.0 * (a - b) + slope + next_slope)))
