"""The best k records of a pane: records that enter and leave every window together."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import least, nearest
from skyband.engines.kernels.common.select import best_first
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

BLOCK = 64
RUN = 16


@kernel
def keep_best(score: Keys, index: Ints, n: int, k: int) -> tuple[int, float]:
    """Keep the best k of the first n entries, in their order (oldest first); the k-th best score is the new floor."""
    floor = best_first(score[:n].copy(), n, k)
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
def sort_ranked(score: Keys, index: Ints, n: int) -> None:
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
    spare_score = np.empty(n, score.dtype)
    spare_index = np.empty(n, np.int64)
    width = RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            _merge_runs(score, index, low, low + width, min(low + 2 * width, n), spare_score, spare_index)
        width *= 2


@kernel
def _merge_runs(score: Keys, index: Ints, low: int, middle: int, high: int, left: Keys, left_index: Ints) -> None:
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
def spare(k: int) -> int:
    """How many more than k are gathered before a choice is made."""
    return k // 2 + 8


@kernel
def pane_room(k: int, size: int) -> int:
    """Entries that `best_of_pane` needs for a pane of that size."""
    return max(min(k + 2 * spare(k), size), 1)


@kernel
def no_guess(score: Keys) -> Keys:
    """A guess is a score that somewhat more than k records of the next pane may reach, and the size of the pane it is
    from. It only saves work: a pane where fewer than k records reach it is looked at again without it."""
    return np.full(2, least(score))


@kernel
def best_of_pane(score: Keys, low: int, high: int, k: int, floor: float, guess: Keys, out: Keys, index: Ints) -> int:
    """Best k of score[low:high] among those not below `floor`, into `out` and `index` (positions), best first.

    `out` and `index` must hold `pane_room(k, high - low)` entries. `guess` is used, and renewed for the next pane.
    """
    pane = score[low:high]
    estimated = guess[0] > floor and 4 * len(pane) >= 3 * guess[1]
    n = _gather(pane, low, k, guess[0] if estimated else floor, out, index)
    if estimated and n < k:
        n = _gather(pane, low, k, floor, out, index)
    sort_ranked(out, index, n)
    if len(pane) >= 4 * k:
        guess[0] = _next_guess(out[:n], k)
        guess[1] = len(pane)
    return min(n, k)


@kernel
def _next_guess(best: Keys, k: int) -> float:
    """The score of rank k + spare; if fewer were gathered, the line through the k-th and the last goes on to it."""
    n = len(best)
    wanted = k + spare(k)
    if n >= wanted:
        found: float = best[wanted - 1]
        return found
    if n <= k:
        return least(best)
    high, low = float(best[k - 1]), float(best[n - 1])
    if not (np.isfinite(high) and np.isfinite(low)):
        return least(best)
    return nearest(best, low - (high - low) / (n - k) * (wanted - n))


@kernel
def reaching(block: Keys, floor: float) -> int:
    """How many of a block are not below the floor. Counted from the block's own beginning, where no place can be
    negative, several are compared in one instruction."""
    hits = 0
    for j in range(BLOCK):
        hits += block[j] >= floor
    return hits


@kernel
def _gather(pane: Keys, base: int, k: int, floor: float, out: Keys, index: Ints) -> int:
    """The best k, and some more, of what is not below `floor`; oldest first. Whole blocks are compared with the floor
    before single records are looked at."""
    n = 0
    i = 0
    while i + BLOCK <= len(pane):
        if reaching(pane[i : i + BLOCK], floor):
            n, floor = _take(pane, i, i + BLOCK, base, k, floor, out, index, n)
        i += BLOCK
    n, floor = _take(pane, i, len(pane), base, k, floor, out, index, n)
    return n


@kernel
def _take(
    pane: Keys, low: int, high: int, base: int, k: int, floor: float, out: Keys, index: Ints, n: int
) -> tuple[int, float]:
    """Append what is not below the floor; when there is no room for more, only the best stay and the floor rises."""
    few = k + spare(k)
    full = few + spare(k)
    for j in range(low, high):
        if pane[j] >= floor:
            out[n] = pane[j]
            index[n] = base + j
            n += 1
            if n == full:
                n, floor = keep_best(out, index, n, few)
    return n, floor
