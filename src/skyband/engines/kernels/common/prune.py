"""Which records of a time-sorted chunk can be reported at all, by what the chunk itself proves (DESIGN, Pruning).

A window that is at least as long as the chunk cuts off a prefix, a suffix, or takes the whole. So a record matters only
if fewer than k better ones precede it or fewer than k follow it. One without a start cuts off a suffix or takes the
whole: those that precede it decide alone. Of equal scores the newer is better; two of equal time
and score are not told apart here, so neither counts against the other.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.common.pane import BLOCK, spare
from skyband.engines.kernels.common.run import first_at_or_after
from skyband.engines.kernels.common.select import best_first
from skyband.engines.kernels.common.sliding import FEW
from skyband.engines.kernels.jit import kernel, without_nan
from skyband.model.types import Flags, Ints, Keys


@without_nan
def _best_of_blocks(part: Keys, best: Keys) -> None:
    """The greatest of each block, the last of which may be shorter: records are looked at once, whoever asks then."""
    whole = len(part) // BLOCK
    for number in range(len(best)):
        block = part[number * BLOCK : (number + 1) * BLOCK]
        greatest = block[0]
        if number < whole:
            for j in range(BLOCK):
                greatest = block[j] if block[j] > greatest else greatest
        else:
            for score in block:
                greatest = score if score > greatest else greatest
        best[number] = greatest


@kernel
def _tops(part: Keys) -> Keys:
    best = np.empty((len(part) + BLOCK - 1) // BLOCK, part.dtype)
    _best_of_blocks(part, best)
    return best


@kernel
def _from_the_first(part: Keys, top: Keys, k: int, place: Ints) -> int:
    """Where fewer than k better ones precede, rising, into `place`; how many. `top`: the greatest of each block, which
    is compared with the floor before single records are looked at."""
    best = np.empty(k + 2 * spare(k), part.dtype)
    floor, held, found = least(part), 0, 0
    for number in range(len(top)):
        if top[number] >= floor:
            for j in range(number * BLOCK, min((number + 1) * BLOCK, len(part))):
                if part[j] >= floor:
                    place[found] = j
                    found += 1
                    held, floor = _noted(best, held, part[j], k, floor)
    return found


@kernel
def _from_the_last(part: Keys, top: Keys, k: int, place: Ints) -> int:
    """Where fewer than k better ones follow, falling."""
    best = np.empty(k + 2 * spare(k), part.dtype)
    floor, held, found = least(part), 0, 0
    for number in range(len(top) - 1, -1, -1):
        if top[number] >= floor:
            for j in range(min((number + 1) * BLOCK, len(part)) - 1, number * BLOCK - 1, -1):
                if part[j] >= floor:
                    place[found] = j
                    found += 1
                    held, floor = _noted(best, held, part[j], k, floor)
    return found


@kernel
def _noted(best: Keys, held: int, score: float, k: int, floor: float) -> tuple[int, float]:
    """Add a score to the best seen so far. The floor rises now and then: it may be too low, never too high."""
    best[held] = score
    held += 1
    if held == len(best):
        return k, best_first(best, held, k)
    return held, floor


@kernel
def prune_chunk(at: Ints, score: Keys, shortest: int, k: int) -> Ints:
    """The places, rising, of what may be needed of a chunk in time order, cut into stretches no longer than the
    shortest window."""
    needed, early, late = np.empty(len(at), np.int64), np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    low = n = 0
    while low < len(at):
        high = first_at_or_after(at, low, at[low] + shortest)
        if high - low <= k:
            for i in range(low, high):
                needed[n] = i
                n += 1
        else:
            part = score[low:high]
            top = _tops(part)
            first, last = _from_the_first(part, top, k, early), _from_the_last(part, top, k, late)
            n = _either(early[:first], late[:last], low, needed, n)
        low = high
    return needed[:n].copy()


@kernel
def prune_before(score: Keys, k: int) -> Ints:
    """The same where windows have no start: what fewer than k better ones precede."""
    place = np.empty(len(score), np.int64)
    return place[: _from_the_first(score, _tops(score), k, place)].copy()


@kernel
def _either(rising: Ints, falling: Ints, base: int, out: Ints, n: int) -> int:
    """Append what is in one of both, or in both once, rising, counted from `base`."""
    i, j = 0, len(falling) - 1
    while i < len(rising) or j >= 0:
        if j < 0 or (i < len(rising) and rising[i] < falling[j]):
            out[n] = base + rising[i]
            i += 1
        else:
            out[n] = base + falling[j]
            i += i < len(rising) and rising[i] == falling[j]
            j -= 1
        n += 1
    return n


@kernel
def prune_runs(run: Ints, at: Ints, score: Keys, shortest: int, k: int, both: bool) -> Flags:
    """The same of each run of equal numbers, which are rising; each is in time order. Where windows have no start,
    without a look at `both` sides."""
    keep, best, place = np.zeros(len(at), np.bool_), np.empty(k, score.dtype), np.empty(len(at), np.int64)
    low = 0
    while low < len(run):
        high = low + 1
        while high < len(run) and run[high] == run[low] and at[high] < at[low] + shortest:
            high += 1
        if high - low <= k:
            keep[low:high] = True
        elif k <= FEW:
            _one_sided(score, low, high, 1, best, keep)
            if both:
                _one_sided(score, high - 1, low - 1, -1, best, keep)
        else:
            part = score[low:high]
            top = _tops(part)
            for i in range(_from_the_first(part, top, k, place)):
                keep[low + place[i]] = True
            if both:
                for i in range(_from_the_last(part, top, k, place)):
                    keep[low + place[i]] = True
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
        high = first_at_or_after(pane, low, pane[low] + 1)
        if high - low > k:
            floor = best_first(score[low:high].copy(), high - low, k)
            for i in range(low, high):
                keep[i] = score[i] >= floor
        low = high
    return keep
