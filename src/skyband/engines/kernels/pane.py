"""The best k records of a pane: records that enter and leave every window together."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.arrays import Floats, Ints

BLOCK = 64
RUN = 16


@kernel
def keep_best(score: Floats, index: Ints, n: int, k: int) -> tuple[int, float]:
    """Keep the best k of the first n entries, in their order (oldest first); the k-th best score is the new floor."""
    floor = np.partition(score[:n], n - k)[n - k]
    above = 0
    ties = 0
    for i in range(n):
        if score[i] > floor:
            above += 1
        elif score[i] == floor:
            ties += 1
    skip = ties - (k - above)
    kept = 0
    for i in range(n):
        if score[i] == floor and skip > 0:
            skip -= 1
        elif score[i] >= floor:
            score[kept] = score[i]
            index[kept] = index[i]
            kept += 1
    return kept, floor


@kernel
def sort_ranked(score: Floats, index: Ints, n: int) -> None:
    """Sort the first n entries, given oldest first, best first: by score, the newer of equal scores first."""
    for low in range(0, n, RUN):
        for i in range(low + 1, min(low + RUN, n)):
            s, x = score[i], index[i]
            j = i
            while j > low and score[j - 1] <= s:
                score[j] = score[j - 1]
                index[j] = index[j - 1]
                j -= 1
            score[j] = s
            index[j] = x
    if n <= RUN:
        return
    spare_score = np.empty(n)
    spare_index = np.empty(n, np.int64)
    width = RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            _merge_runs(score, index, low, low + width, min(low + 2 * width, n), spare_score, spare_index)
        width *= 2


@kernel
def _merge_runs(score: Floats, index: Ints, low: int, middle: int, high: int, left: Floats, left_index: Ints) -> None:
    size = middle - low
    for i in range(size):
        left[i] = score[low + i]
        left_index[i] = index[low + i]
    i, j, o = 0, middle, low
    while i < size and j < high:
        if score[j] >= left[i]:
            score[o] = score[j]
            index[o] = index[j]
            j += 1
        else:
            score[o] = left[i]
            index[o] = left_index[i]
            i += 1
        o += 1
    for r in range(i, size):
        score[o] = left[r]
        index[o] = left_index[r]
        o += 1


@kernel
def best_of_pane(score: Floats, low: int, high: int, k: int, floor: float, out: Floats, index: Ints) -> int:
    """Best k of score[low:high] among those not below `floor`, into `out` and `index` (positions), best first.

    `out` must hold min(2k, high - low) entries. Blocks are compared with the floor before single records are looked at.
    """
    room = min(2 * k, high - low)
    n = 0
    i = low
    while i < high:
        stop = min(i + BLOCK, high)
        hits = 0
        for j in range(i, stop):
            hits += score[j] >= floor
        if hits:
            for j in range(i, stop):
                if score[j] >= floor:
                    out[n] = score[j]
                    index[n] = j
                    n += 1
                    if n == room and n > k:
                        n, floor = keep_best(out, index, n, k)
        i = stop
    if n > k:
        n, floor = keep_best(out, index, n, k)
    sort_ranked(out, index, n)
    return n
