"""Scanning a stretch of scores from its newest record back: what fewer than k newer ones outrank, ranked.

A block is compared with the floor, several records in one instruction, before single ones are looked at. The floor is
a score that k newer records reach, so nothing older with that score or less can be in the best k of a suffix. Floors are
strict: at the floor is out. No floor is written NaN, for nothing is less than or equal to NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.pane import spare
from skyband.model.arrays import Floats, Ints

BLOCK = 64
LANE = 8
SHORT = 12
LOWEST = -1e308
(HELD, RISING, FALLING) = range(3)
(TOP, FLOOR) = range(2)


class Gauge(NamedTuple):
    """Where the k-th best of the hits so far stands. `best` holds the last hits and the best k of those before; how
    many, how many of the last each beat all before it, and whether all of them fell; `level` is the best and the floor.
    """

    best: Floats
    tally: Ints
    level: Floats


class Hits(NamedTuple):
    """Scores and places, newest first; after `rank_hits` best first."""

    score: Floats
    place: Ints


@kernel
def no_floor() -> float:
    return np.nan


@kernel
def just_below(score: float) -> float:
    """The floor that lets `score` itself pass."""
    if score < LOWEST:
        return np.nan
    return float(np.nextafter(score, -np.inf))


@kernel
def new_gauge(k: int, records: int, floor: float) -> Gauge:
    """For a scan of so many records, that begins with a floor known already."""
    size = min(k + 2 * spare(k), records + 1)
    return Gauge(np.empty(size), np.zeros(3, np.int64), np.array([-np.inf, floor]))


@kernel
def any_above(part: Floats, floor: float) -> bool:
    over = 0
    high = len(part)
    while high >= BLOCK and over == 0:
        block = part[high - BLOCK : high]
        for j in range(BLOCK):
            over += not (block[j] <= floor)
        high -= BLOCK
    if over == 0:
        rest = part[:high]
        for j in range(len(rest)):
            over += not (rest[j] <= floor)
    return over > 0


@kernel
def scan_back(part: Floats, base: int, k: int, gauge: Gauge, hits: Hits, found: int) -> int:
    """Append the hits among part[:] (place = base + index) to the `found` of newer parts; `hits` has room for all."""
    best, tally, level = gauge.best, gauge.tally, gauge.level
    hit_score, hit_place = hits.score, hits.place
    held, rising, falling = tally[HELD], tally[RISING], tally[FALLING]
    top, floor = level[TOP], level[FLOOR]
    high = len(part)
    while high > 0:
        if high >= BLOCK:
            block = part[high - BLOCK : high]
            over = 0
            for j in range(BLOCK):
                over += not (block[j] <= floor)
            if over == 0:
                high -= BLOCK
                continue
        stop = max(high - BLOCK, 0)
        while high > stop:
            if high >= LANE:
                lane = part[high - LANE : high]
                over = 0
                for j in range(LANE):
                    over += not (lane[j] <= floor)
                if over == 0:
                    high -= LANE
                    continue
            low = max(high - LANE, 0)
            while high > low:
                high -= 1
                score = part[high]
                if score <= floor:
                    continue
                hit_score[found] = score
                hit_place[found] = base + high
                found += 1
                if falling == held and (held == 0 or score <= best[held - 1]):
                    falling += 1
                best[held] = score
                held += 1
                if score >= top:
                    top = score
                    rising += 1
                else:
                    rising = 0
                if rising >= k:
                    floor = best[held - k]
                elif falling == held and held >= k:
                    floor = best[k - 1]
                if held == len(best) and held > k:
                    floor = _keep_best(best, held, k, rising)
                    held = k
                    falling = -1
                    rising = k if rising >= k else 0
    tally[HELD], tally[RISING], tally[FALLING] = held, rising, falling
    level[TOP], level[FLOOR] = top, floor
    return found


@kernel
def _keep_best(best: Floats, held: int, k: int, rising: int) -> float:
    """The best k of the first `held` to the front; those that rose stand in order at the end already."""
    if rising < k:
        best[:held] = np.partition(best[:held], held - k)
    floor = best[held - k]
    for i in range(k):
        best[i] = best[held - k + i]
    return float(floor)


@kernel
def rank_hits(hits: Hits, n: int) -> None:
    """Sort the first n, given newest first, best first: by score, the newer of equal scores first.

    Stretches that stand in order are taken as they are, those in reverse order are turned round, so falling and
    rising scores cost one look each.
    """
    score, place = hits.score, hits.place
    cuts = np.empty(n // SHORT + 2, np.int64)
    runs = 0
    low = 0
    while low < n:
        cuts[runs] = low
        runs += 1
        low = _next_run(score, place, low, n)
    cuts[runs] = n
    if runs < 2:
        return
    spare_score = np.empty(n)
    spare_place = np.empty(n, np.int64)
    while runs > 1:
        merged = 0
        for r in range(0, runs - 1, 2):
            low, middle, high = cuts[r], cuts[r + 1], cuts[r + 2]
            if score[middle] > score[middle - 1]:
                _merge(score, place, low, middle, high, spare_score, spare_place)
            cuts[merged] = low
            merged += 1
        if runs % 2:
            cuts[merged] = cuts[runs - 1]
            merged += 1
        cuts[merged] = n
        runs = merged


@kernel
def _next_run(score: Floats, place: Ints, low: int, n: int) -> int:
    """Where the ranked run that begins at `low` ends; short ones are made longer by insertion."""
    high = low + 1
    while high < n and score[high] <= score[high - 1]:
        high += 1
    if high == low + 1:
        while high < n and score[high] > score[high - 1]:
            high += 1
        i, j = low, high - 1
        while i < j:
            score[i], score[j] = score[j], score[i]
            place[i], place[j] = place[j], place[i]
            i += 1
            j -= 1
    while high < n and high < low + SHORT:
        s, x = score[high], place[high]
        j = high
        while j > low and score[j - 1] < s:
            score[j] = score[j - 1]
            place[j] = place[j - 1]
            j -= 1
        score[j] = s
        place[j] = x
        high += 1
    return high


@kernel
def _merge(score: Floats, place: Ints, low: int, middle: int, high: int, left: Floats, left_place: Ints) -> None:
    """Merge two ranked runs side by side; of equal scores those of the first come first."""
    size = middle - low
    for i in range(size):
        left[i] = score[low + i]
        left_place[i] = place[low + i]
    i, j, o = 0, middle, low
    while i < size and j < high:
        a, b = left[i], score[j]
        x, y = left_place[i], place[j]
        second = b > a
        score[o] = b if second else a
        place[o] = y if second else x
        j += second
        i += not second
        o += 1
    for r in range(i, size):
        score[o] = left[r]
        place[o] = left_place[r]
        o += 1
