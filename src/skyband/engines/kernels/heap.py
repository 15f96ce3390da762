"""The k best of a sequence, in which of two equals the earlier is the better: a heap with the worst on top."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.arrays import Floats, Ints


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
    if new > value[0]:
        _sink(value, place, size, new, at)
    return size


@kernel
def _sink(value: Floats, place: Ints, size: int, new: float, at: int) -> None:
    i = 0
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
    """The order that sorts by value, highest first, and equals by place."""
    by_place = np.argsort(place, kind="mergesort")
    return by_place[np.argsort(-value[by_place], kind="mergesort")]
