"""How many of some independent events happen: truncated distributions, one event put in at a time.

A row holds either P(count ≤ j) (`fill` 1) or P(count = j) (`fill` 0) for j below the row's length: putting in an event
of probability m is the same convex combination for both, (1 - m)·v[j] + m·v[j - 1]. Nothing is ever divided out, so
errors are never amplified: n events cost at most a few n roundings of numbers in [0, 1].

Only a band of a row is stored. Below `low` everything is 0, from `high` on everything is `fill`. An entry leaves the
band below when it is under `floor`, above when it is within `near` of `fill`; each entry that leaves adds at most that
much to the error of any later one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.types import Floats, Ints


class Tally(NamedTuple):
    """Rows of one length; row r is `value[r]` inside the band [low[r], high[r])."""

    value: Floats
    low: Ints
    high: Ints
    fill: float
    floor: float
    near: float


@kernel
def at_most(rows: int, size: int) -> Tally:
    """Rows of P(count ≤ j), absolutely exact to about 1e-16 a step; all start with no event at all."""
    zeros = np.zeros(rows, np.int64)
    return Tally(np.empty((rows, size)), zeros, zeros.copy(), 1.0, 1e-20, 4e-16)


@kernel
def exactly(rows: int, size: int) -> Tally:
    """Rows of P(count = j), relatively exact: also of tiny ones the larger can be told."""
    value = np.empty((rows, size))
    value[:, 0] = 1.0
    return Tally(value, np.zeros(rows, np.int64), np.ones(rows, np.int64), 0.0, 1e-290, 1e-290)


@kernel
def clear(tally: Tally, row: int) -> None:
    """No event."""
    tally.low[row] = 0
    tally.high[row] = 0
    if tally.fill == 0.0:
        tally.value[row, 0] = 1.0
        tally.high[row] = 1


@kernel
def copy_row(tally: Tally, source: int, target: int) -> None:
    low, high = tally.low[source], tally.high[source]
    tally.value[target, low:high] = tally.value[source, low:high]
    tally.low[target] = low
    tally.high[target] = high


@inlined
def entry(tally: Tally, row: int, j: int) -> float:
    """v[j]; 0 for a negative j, `fill` beyond the row: there are fewer events than that."""
    if j < tally.low[row]:
        return 0.0
    if j >= tally.high[row]:
        return tally.fill
    return float(tally.value[row, j])


@kernel
def put_in(v: Floats, low: int, high: int, mass: float, fill: float, floor: float, near: float) -> tuple[int, int]:
    """One more event in a row; its new band. On plain arrays: this is the innermost loop of everything uncertain."""
    happens = min(mass, 1.0)
    absent = 1.0 - happens
    if high < len(v):
        v[high] = fill
        high += 1
    for j in range(high - 1, low, -1):
        v[j] = absent * v[j] + happens * v[j - 1]
    if low < high:
        v[low] *= absent
    while low < high and v[low] < floor:
        low += 1
    while high > low and abs(v[high - 1] - fill) <= near:
        high -= 1
    return low, high


@kernel
def put_in_row(tally: Tally, row: int, mass: float) -> int:
    """One more event; the number of entries that it cost."""
    before, after = tally.low[row], tally.high[row]
    low, high = put_in(tally.value[row], before, after, mass, tally.fill, tally.floor, tally.near)
    tally.low[row] = low
    tally.high[row] = high
    return int(after - before)
