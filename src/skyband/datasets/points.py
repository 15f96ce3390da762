"""Points in [0, 1]^d, an (n, d) array: the three classic kinds of Börzsönyi, Kossmann and Stocker (ICDE 2001).

A longer stream begins with the shorter one of the same seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skyband.datasets._draw import at_least, generator
from skyband.model import Floats

Spread = Callable[[np.random.Generator, Floats], Floats]

BLOCK = 4096


def independent(n: int, d: int, seed: int = 0) -> Floats:
    """IND: every coordinate uniform, none tells of another."""
    _check(n, d)
    return generator(seed).random((n, d))


def anticorrelated(n: int, d: int, seed: int = 0) -> Floats:
    """ANT: points near the plane Σx = d/2, spread out on it: good in one coordinate means bad in another."""
    return _around_diagonal(n, d, seed, lambda draw, room: draw.uniform(-room, room), heart=0.25)


def correlated(n: int, d: int, seed: int = 0) -> Floats:
    """COR: points near the diagonal: good in one coordinate means good in all."""
    return _around_diagonal(n, d, seed, lambda draw, room: draw.normal(0.0, room / 12), heart=1.0)


def _around_diagonal(n: int, d: int, seed: int, spread: Spread, heart: float) -> Floats:
    """Begin at a point of the diagonal, move mass between neighbouring coordinates, keep what stays inside the cube.

    `heart` is how far from the middle a point of the diagonal may lie, as a share of the half diagonal.
    """
    _check(n, d)
    draw = generator(seed)
    blocks: list[Floats] = [np.empty((0, d))]
    missing = n
    while missing > 0:
        middle = 0.5 + heart * (draw.random((BLOCK, 4)).mean(axis=1) - 0.5)
        points = np.repeat(middle[:, None], d, axis=1)
        room = np.minimum(middle, 1.0 - middle)
        for i in range(d if d > 1 else 0):
            moved = spread(draw, room)
            points[:, i] += moved
            points[:, (i + 1) % d] -= moved
        inside = points[((points >= 0.0) & (points <= 1.0)).all(axis=1)]
        blocks.append(inside[:missing])
        missing -= len(blocks[-1])
    return np.concatenate(blocks)


def _check(n: int, d: int) -> None:
    at_least("n", n, 0)
    at_least("d", d, 1)
