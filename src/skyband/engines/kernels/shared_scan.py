"""Scanning a stretch of scores from its newest record back: what fewer than k newer ones outrank, ranked.

A block is compared with the floor, several records in one instruction, before single ones are looked at. The floor is
a score that k newer records reach, so nothing older with that score or less can be in the best k of a suffix. Floors
are strict: at the floor is out. No floor is written NaN, for nothing is less than or equal to NaN.
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
(HELD, ORDERED, NOTED) = range(3)
(TOP, FLOOR) = range(2)


class Gauge(NamedTuple):
    """Where the k-th best of the hits so far stands. `best` holds the best k of those noted; `tally` how many these
    are, whether they rise, and how many hits were noted; `level` the best and the floor."""

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
    size = min(k, records) + min(k + LANE, records) + LANE
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
    hit_score, hit_place = hits.score, hits.place
    floor = gauge.level[FLOOR]
    due = _next_note(gauge.tally, k)
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
                # Written whether it is a hit or not: a branch would be guessed wrong.
                hit_score[found] = score
                hit_place[found] = base + high
                found += not (score <= floor)
            if found >= due:
                floor = _note(gauge, hit_score[gauge.tally[NOTED] : found], k)
                due = _next_note(gauge.tally, k)
    return found


@kernel
def _next_note(tally: Ints, k: int) -> int:
    """At how many hits the floor is to be raised: as soon as there are k, and after half as many again."""
    return int(tally[NOTED] + (spare(k) if tally[HELD] else k))


@kernel
def _note(gauge: Gauge, fresh: Floats, k: int) -> float:
    """Raise the floor to the k-th best. While hits rise, as they do in a stream that falls, they need no sorting."""
    best, tally, level = gauge.best, gauge.tally, gauge.level
    held, n = tally[HELD], len(fresh)
    rises = fresh[0] >= level[TOP]
    top = level[TOP]
    for i in range(n):
        best[held + i] = fresh[i]
        top = max(top, fresh[i])
    for i in range(1, n):
        rises &= fresh[i] >= fresh[i - 1]
    total = held + n
    if rises:
        if held and not tally[ORDERED]:
            best[:held] = np.sort(best[:held])
    else:
        best[:total] = np.partition(best[:total], total - k)
    for i in range(k):
        best[i] = best[total - k + i]
    tally[HELD], tally[ORDERED] = k, rises
    tally[NOTED] += n
    level[TOP], level[FLOOR] = top, best[0]
    return float(best[0])


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
