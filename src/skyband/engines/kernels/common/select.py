"""The k-th best of some numbers, and their order; arrays copied into one another.

NumPy's functions for these are right in Python. In a kernel Numba compiles all that they can do (other orders, no
number at all, the text of an error about shapes): nearly three of the seconds before a first answer.
"""

from __future__ import annotations

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys


@kernel
def best_first(values: Keys, n: int, k: int) -> float:
    """Bring the best k of the first n to the front, in any order, the k-th best last of them; says which that is."""
    low, high, place = 0, n - 1, k - 1
    while low < high:
        pivot = _between(values[low], values[(low + high) // 2], values[high])
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    found: float = values[place]
    return found


@kernel
def _between(a: float, b: float, c: float) -> float:
    if a > b:
        a, b = b, a
    if c <= a:
        return a
    return min(b, c)


@kernel
def highest(values: Keys) -> float:
    """The best of some; there is one at least."""
    top: float = values[0]
    for i in range(1, len(values)):
        top = max(top, values[i])
    return top


@kernel
def sort_rising(values: Keys | Ints, n: int) -> None:
    """The first n, the least first: a heap of them, whose greatest goes behind the others again and again."""
    for i in range(n // 2 - 1, -1, -1):
        _sink(values, i, n)
    for end in range(n - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        _sink(values, 0, end)


@kernel
def _sink(values: Keys | Ints, i: int, n: int) -> None:
    value = values[i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[i] = values[child]
        i = child
    values[i] = value


@kernel
def copy_into(target: Keys | Ints, source: Keys | Ints, n: int) -> None:
    """The first n. The loop becomes one memory move, which an assignment of slices does not."""
    for i in range(n):
        target[i] = source[i]
