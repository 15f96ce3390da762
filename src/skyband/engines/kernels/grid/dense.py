"""One point against all weighted sums at once: which of them might want it.

Where many queries would have to look at an arrival anyway, following their influence lists costs more than scoring
everybody: sixteen scores at a time, in single precision. That is a filter and no more. Floors are lowered by more than
single precision can be wrong, and whoever is hit works the score out as ever, in doubles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.grid.state import Lists, Queries
from skyband.engines.kernels.jit import bare, inlined
from skyband.model.types import Flags, Floats, Ints

Singles = NDArray[np.float32]
LANES = 64
"""Lanes come in multiples of this: whole vectors, and no rest."""
ERROR = 24 * 2.0**-24
"""A sum of eight products in single precision is off by less than this, relative to the sum of their magnitudes: each
factor is rounded, each product and each partial sum, eleven roundings at most, and as many again to spare."""
TINY = 1e-30
"""Weights and sums outside [TINY, 1 / TINY] have no place in single precision."""


class Dense(NamedTuple):
    """By lane: a query's weights, one array for each column (four or eight in use), its floor, and whether it is hit.
    `words` are the hits again, eight at a time. Lanes without a query have an infinite floor."""

    w0: Singles
    w1: Singles
    w2: Singles
    w3: Singles
    w4: Singles
    w5: Singles
    w6: Singles
    w7: Singles
    floor: Singles
    hit: Flags
    words: Ints
    query: Ints


def fits_dense(queries: Queries) -> Flags:
    """Weighted sums whose weights single precision can hold."""
    size = np.abs(queries.weight)
    ordinary = ((size == 0) | ((size >= TINY) & (size <= 1 / TINY))).all(axis=1)
    fit: Flags = queries.alive & (queries.terms > 0) & ordinary
    return fit


def new_dense(queries: Queries, chosen: Ints) -> Dense:
    """Lanes for these queries; none at all for none."""
    lanes = -(-len(chosen) // LANES) * LANES
    weight = np.zeros((8, lanes))
    for j in range(queries.weight.shape[1]):
        mine = np.flatnonzero(queries.terms[chosen] > j)
        np.add.at(weight, (queries.column[chosen[mine], j], mine), queries.weight[chosen[mine], j])
    wide = bool((weight[4:] != 0).any())
    w: list[Singles] = [np.array(weight[j, : lanes if j < 4 or wide else 0], np.float32) for j in range(8)]
    hit, query = np.zeros(lanes, np.bool_), np.full(lanes, -1)
    query[: len(chosen)] = chosen
    floor = np.full(lanes, np.inf, np.float32)
    return Dense(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], floor, hit, hit.view(np.int64), query)


@inlined
def magnitude(dense: Dense, lane: int, reach: Floats) -> float:
    """No partial sum of the lane's query is larger for points with |x| <= reach."""
    total = abs(dense.w0[lane]) * reach[0] + abs(dense.w1[lane]) * reach[1]
    total += abs(dense.w2[lane]) * reach[2] + abs(dense.w3[lane]) * reach[3]
    if len(dense.w4):
        total += abs(dense.w4[lane]) * reach[4] + abs(dense.w5[lane]) * reach[5]
        total += abs(dense.w6[lane]) * reach[6] + abs(dense.w7[lane]) * reach[7]
    return float(total)


@bare
def lower(dense: Dense, queries: Queries, lists: Lists, reach: Floats) -> None:
    """Floors as the lists have them now, lowered so that no point with |x| <= reach (eight numbers) is missed."""
    for lane in range(len(dense.floor)):
        q = dense.query[lane]
        if q < 0 or lists.stale[q]:
            dense.floor[lane] = np.inf
            continue
        floor = lists.floor[q]
        if queries.threshold[q] == queries.threshold[q]:
            floor = queries.threshold[q]
        most = magnitude(dense, lane, reach)
        if not most <= 1 / TINY:
            dense.floor[lane] = -np.inf
        else:
            # The last term is for values so small that single precision has none like them.
            dense.floor[lane] = floor - ERROR * (most + abs(floor)) - TINY if floor > -np.inf else -np.inf


@inlined
def mark(dense: Dense, x: Floats, i: int) -> bool:
    """Set `hit` for point x[i], whose values are ordinary numbers; whether anybody is hit."""
    d = x.shape[1]
    w0, w1, w2, w3 = dense.w0, dense.w1, dense.w2, dense.w3
    floor, hit = dense.floor, dense.hit
    zero = np.float32(0)
    a = np.float32(x[i, 0])
    b = np.float32(x[i, 1]) if d > 1 else zero
    c = np.float32(x[i, 2]) if d > 2 else zero
    e = np.float32(x[i, 3]) if d > 3 else zero
    if len(dense.w4) == 0:
        for q in range(w0.size):
            hit[q] = w0[q] * a + w1[q] * b + w2[q] * c + w3[q] * e >= floor[q]
    else:
        w4, w5, w6, w7 = dense.w4, dense.w5, dense.w6, dense.w7
        f = np.float32(x[i, 4])
        g = np.float32(x[i, 5]) if d > 5 else zero
        h = np.float32(x[i, 6]) if d > 6 else zero
        k = np.float32(x[i, 7]) if d > 7 else zero
        for q in range(w0.size):
            near = w0[q] * a + w1[q] * b + w2[q] * c + w3[q] * e
            hit[q] = near + (w4[q] * f + w5[q] * g + w6[q] * h + w7[q] * k) >= floor[q]
    anybody = 0
    words = dense.words
    for w in range(words.size):
        anybody |= words[w]
    return bool(anybody != 0)
