"""Which records of a time-sorted chunk can be reported at all, by what the chunk itself proves (DESIGN, Pruning).

A window that is at least as long as the chunk cuts off a prefix, a suffix, or takes the whole. So a record matters only
if fewer than k better ones precede it or fewer than k follow it. Of equal scores the newer is better; two of equal time
and score are not told apart here, so neither counts against the other.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.common.pane import BLOCK, reaching, spare
from skyband.engines.kernels.common.sliding import FEW
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Flags, Ints, Keys


@kernel
def two_sided(score: Keys, low: int, high: int, k: int, keep: Flags) -> None:
    """Mark in `keep` what may be needed of score[low:high]; the rest stays as it was."""
    part = score[low:high]
    marks = keep[low:high]
    n = len(part)
    best = np.empty(k + 2 * spare(k), score.dtype)
    whole = n - n % BLOCK
    held = 0
    floor = least(score)
    i = 0
    while i < whole:
        if reaching(part[i : i + BLOCK], floor):
            for j in range(i, i + BLOCK):
                if part[j] >= floor:
                    marks[j] = True
                    held, floor = _noted(best, held, part[j], k, floor)
        i += BLOCK
    for j in range(whole, n):
        if part[j] >= floor:
            marks[j] = True
            held, floor = _noted(best, held, part[j], k, floor)

    held = 0
    floor = least(score)
    for j in range(n - 1, whole - 1, -1):
        if part[j] >= floor:
            marks[j] = True
            held, floor = _noted(best, held, part[j], k, floor)
    i = whole - BLOCK
    while i >= 0:
        if reaching(part[i : i + BLOCK], floor):
            for j in range(i + BLOCK - 1, i - 1, -1):
                if part[j] >= floor:
                    marks[j] = True
                    held, floor = _noted(best, held, part[j], k, floor)
        i -= BLOCK


@kernel
def _noted(best: Keys, held: int, score: float, k: int, floor: float) -> tuple[int, float]:
    """Add a score to the best seen so far. The floor rises now and then: it may be too low, never too high."""
    best[held] = score
    held += 1
    if held == len(best):
        ranked = np.sort(best)
        best[:k] = ranked[held - k :]
        return k, ranked[held - k]
    return held, floor


@kernel
def prune_chunk(at: Ints, score: Keys, shortest: int, k: int) -> Flags:
    """What may be needed of a chunk in time order, cut into stretches no longer than the shortest window."""
    keep = np.zeros(len(at), np.bool_)
    low = 0
    while low < len(at):
        high = low + np.searchsorted(at[low:], at[low] + shortest)
        if high - low <= k:
            keep[low:high] = True
        else:
            two_sided(score, low, high, k, keep)
        low = high
    return keep


@kernel
def prune_runs(run: Ints, at: Ints, score: Keys, shortest: int, k: int) -> Flags:
    """The same of each run of equal numbers, which are rising; each is in time order."""
    keep, best = np.zeros(len(at), np.bool_), np.empty(k, score.dtype)
    low = 0
    while low < len(run):
        high = low + 1
        while high < len(run) and run[high] == run[low] and at[high] < at[low] + shortest:
            high += 1
        if high - low <= k:
            keep[low:high] = True
        elif k <= FEW:
            _one_sided(score, low, high, 1, best, keep)
            _one_sided(score, high - 1, low - 1, -1, best, keep)
        else:
            two_sided(score, low, high, k, keep)
        low = high
    return keep


@kernel
def _one_sided(score: Keys, first: int, end: int, step: int, best: Keys, keep: Flags) -> None:
    """Mark what fewer than so many better ones precede, going from `first` to `end`. A run is short, so the floor, the
    last of the best, is always up to date."""
    k, held = len(best), 0
    for i in range(first, end, step):
        if held == k and score[i] < best[k - 1]:
            continue
        keep[i] = True
        held = min(held + 1, k)
        j = held - 1
        while j > 0 and best[j - 1] < score[i]:
            best[j] = best[j - 1]
            j -= 1
        best[j] = score[i]


@kernel
def best_of_each(score: Keys, pane: Ints, k: int) -> Flags:
    """Of every pane (a run of equal numbers) the best k, and whatever equals the k-th."""
    keep = np.ones(len(score), np.bool_)
    low = 0
    while low < len(score):
        high = low + np.searchsorted(pane[low:], pane[low] + 1)
        if high - low > k:
            floor = np.partition(score[low:high], high - low - k)[high - low - k]
            for i in range(low, high):
                keep[i] = score[i] >= floor
        low = high
    return keep


@kernel
def in_order(at: Ints) -> bool:
    """No time is older than the one before."""
    falls = 0
    for i in range(1, len(at)):
        falls += at[i] < at[i - 1]
    return falls == 0
