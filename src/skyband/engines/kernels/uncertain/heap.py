"""The k best of a sequence by a figure that was computed, and therefore rounded: a heap with the worst on top.

Figures that differ by no more than `slack` are equal, and of equals the earlier is the better. That is well defined
where figures stand in clusters, each the roundings of one exact value, with wide gaps between them. Where they do not,
what is better by more than the slack still comes first.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Floats, Ints

EQUAL = 1e-12
"""Figures this close are equal."""
LAST_BITS = 8 * 2.0**-52
"""So are those that differ in their last bits only, where these are worth more than that."""


@kernel
def slack(figure: float) -> float:
    return max(EQUAL, LAST_BITS * abs(figure))


@kernel
def offer(value: Floats, place: Ints, size: int, room: int, new: float, at: int) -> int:
    """Let `new`, found behind all earlier ones, into the heap if it is among the best `room`; the heap's size then."""
    if size < room:
        i = size
        while i > 0 and _worse(new, at, value[(i - 1) // 2], place[(i - 1) // 2]):
            value[i], place[i] = value[(i - 1) // 2], place[(i - 1) // 2]
            i = (i - 1) // 2
        value[i], place[i] = new, at
        return size + 1
    if new > value[0] + slack(value[0]):
        _sink(value, place, size, _latest_of_the_worst(value, place, size), new, at)
    return size


@kernel
def _latest_of_the_worst(value: Floats, place: Ints, size: int) -> int:
    """Where the latest of those stands that equal the top. They are a tree from there down, walked child by child."""
    most = value[0] + slack(value[0])
    i = latest = 0
    while True:
        if i < size and value[i] <= most:
            if place[i] > place[latest]:
                latest = i
            i = 2 * i + 1
            continue
        while i > 0 and i % 2 == 0:
            i = (i - 1) // 2
        if i == 0:
            return latest
        i += 1


@kernel
def _sink(value: Floats, place: Ints, size: int, i: int, new: float, at: int) -> None:
    """Put `new` in place of entry `i`, which is worse."""
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _worse(value[child + 1], place[child + 1], value[child], place[child]):
            child += 1
        if not _worse(value[child], place[child], new, at):
            break
        value[i], place[i] = value[child], place[child]
        i = child
    value[i], place[i] = new, at


@kernel
def _worse(a: float, i: int, b: float, j: int) -> bool:
    return bool(a < b or (a == b and i > j))


@kernel
def best_first(value: Floats, place: Ints) -> Ints:
    """The order that sorts by value, highest first, and by place those that equal the first of them."""
    by_place = np.argsort(place, kind="mergesort")
    order = by_place[np.argsort(-value[by_place], kind="mergesort")]
    first = 0
    while first < len(order):
        least = value[order[first]] - slack(value[order[first]])
        end = first + 1
        while end < len(order) and value[order[end]] >= least:
            end += 1
        if end > first + 1:
            equal = order[first:end].copy()
            order[first:end] = equal[np.argsort(place[equal], kind="mergesort")]
        first = end
    return order
