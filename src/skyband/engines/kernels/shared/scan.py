"""Scanning a stretch of scores from its newest record back: what fewer than k newer ones outrank, ranked.

A block is compared with the floor, several records in one instruction, before single ones are looked at. The floor is
a score that k newer records reach, so nothing older with that score or less can be in the best k of a suffix. Floors
are strict: at the floor is out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import floor_at, least, passes
from skyband.engines.kernels.common.pane import spare
from skyband.engines.kernels.common.select import best_first, sort_rising
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.rank import Hits
from skyband.model.types import Ints, Keys

BLOCK = 64
LANE = 8
(HELD, ORDERED, NOTED, LOOKED) = range(4)
(TOP, FLOOR) = range(2)


class Gauge(NamedTuple):
    """Where the k-th best of the hits so far stands. `best` holds the best k of those noted; `tally` how many these
    are, whether they rise, how many hits were noted, how many scores compared; `level` the best and the floor."""

    best: Keys
    tally: Ints
    level: Keys


@kernel
def new_gauge(k: int, records: int, floor: float, score: Keys) -> Gauge:
    """For a scan of so many records with scores of the type of these, that begins with a floor known already."""
    size = min(k, records) + min(k + LANE, records) + LANE
    return Gauge(np.empty(size, score.dtype), np.zeros(4, np.int64), np.array([least(score), floor]))


@kernel
def any_above(part: Keys, floor: float) -> bool:
    over = 0
    high = len(part)
    while high >= BLOCK and over == 0:
        block = part[high - BLOCK : high]
        for j in range(BLOCK):
            over += passes(block[j], floor)
        high -= BLOCK
    if over == 0:
        rest = part[:high]
        for j in range(len(rest)):
            over += passes(rest[j], floor)
    return over > 0


@kernel
def block_top(score: Keys, i: int) -> float:
    """The best of score[i : i + BLOCK]. Eight at a time, for one chain of comparisons would wait for itself."""
    a, b, c, d = score[i], score[i + 1], score[i + 2], score[i + 3]
    e, f, g, h = score[i + 4], score[i + 5], score[i + 6], score[i + 7]
    for j in range(i + 8, i + BLOCK, 8):
        a = score[j] if score[j] > a else a
        b = score[j + 1] if score[j + 1] > b else b
        c = score[j + 2] if score[j + 2] > c else c
        d = score[j + 3] if score[j + 3] > d else d
        e = score[j + 4] if score[j + 4] > e else e
        f = score[j + 5] if score[j + 5] > f else f
        g = score[j + 6] if score[j + 6] > g else g
        h = score[j + 7] if score[j + 7] > h else h
    top: float = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    return top


@kernel
def note_peaks(
    score: Keys, shift: int, peak: Keys, peaked: int, brought: int, opened: int, floor: float
) -> tuple[bool, int]:
    """Note the best of every block from place `peaked` to `opened`; whether a record from `brought` on is above the
    floor, and how far blocks are noted now. Place p is at score[p + shift]."""
    over = False
    # Up to here blocks are noted already, or hold brought records as well.
    middle = min(max((brought + BLOCK - 1) // BLOCK * BLOCK, peaked), opened)
    while peaked + BLOCK <= opened:
        top = block_top(score, peaked + shift)
        peak[peaked // BLOCK] = top
        if peaked >= middle:
            over |= passes(top, floor)
        peaked += BLOCK
    if not over:
        over = any_above(score[brought + shift : middle + shift], floor)
    if not over:
        over = any_above(score[max(middle, peaked) + shift : opened + shift], floor)
    return over, peaked


@kernel
def falls(part: Keys) -> bool:
    """Strictly: of equal scores the newer is better. One look at a block is enough for most streams."""
    n = len(part)
    i = 1
    while i < n:
        stop = min(i + BLOCK, n)
        left, right = part[i - 1 : stop - 1], part[i:stop]
        over = 0
        for j in range(len(right)):
            over += not (left[j] > right[j])
        if over:
            return False
        i = stop
    return True


@kernel
def scan_back(part: Keys, base: int, k: int, gauge: Gauge, hits: Hits, found: int) -> int:
    """Append the hits among part[:] (place = base + index) to the `found` of newer parts; `hits` has room for all."""
    floor = gauge.level[FLOOR]
    high = len(part)
    gauge.tally[LOOKED] += high
    while high > 0:
        if high >= BLOCK:
            block = part[high - BLOCK : high]
            over = 0
            for j in range(BLOCK):
                over += passes(block[j], floor)
            if over == 0:
                high -= BLOCK
                continue
        stop = max(high - BLOCK, 0)
        found, floor = _take_block(part, stop, high, base, k, gauge, hits.score, hits.place, found, floor)
        high = stop
    return found


@kernel
def scan_blocks(part: Keys, base: int, peak: Keys, k: int, gauge: Gauge, hits: Hits, found: int) -> int:
    """As `scan_back` for whole blocks, the best of each being known: only those above the floor are looked at."""
    floor = gauge.level[FLOOR]
    looked = len(peak)
    for b in range(len(peak) - 1, -1, -1):
        if not passes(peak[b], floor):
            continue
        looked += BLOCK
        low = b * BLOCK
        found, floor = _take_block(part, low, low + BLOCK, base, k, gauge, hits.score, hits.place, found, floor)
    gauge.tally[LOOKED] += looked
    return found


@kernel
def _take_block(
    part: Keys,
    low: int,
    high: int,
    base: int,
    k: int,
    gauge: Gauge,
    hit_score: Keys,
    hit_place: Ints,
    found: int,
    floor: float,
) -> tuple[int, float]:
    """Append the hits of part[low:high], newest first; how many there are now, and the floor."""
    due = _next_note(gauge.tally, k)
    while high > low:
        begin = max(high - LANE, low)
        if high - begin == LANE:
            lane = part[begin:high]
            over = 0
            for j in range(LANE):
                over += passes(lane[j], floor)
            if over == 0:
                high = begin
                continue
        while high > begin:
            high -= 1
            score = part[high]
            # Written whether it is a hit or not: a branch would be guessed wrong.
            hit_score[found] = score
            hit_place[found] = base + high
            found += passes(score, floor)
        if found >= due:
            floor = _note(gauge, hit_score[gauge.tally[NOTED] : found], k)
            due = _next_note(gauge.tally, k)
    return found, floor


@kernel
def _next_note(tally: Ints, k: int) -> int:
    """At how many hits the floor is to be raised: as soon as there are k, and after half as many again."""
    return int(tally[NOTED] + (spare(k) if tally[HELD] else k))


@kernel
def _note(gauge: Gauge, fresh: Keys, k: int) -> float:
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
            sort_rising(best, held)
        for i in range(k):
            best[i] = best[total - k + i]
        kth = best[0]
    else:
        kth = best_first(best, total, k)
    tally[HELD], tally[ORDERED] = k, rises
    tally[NOTED] += n
    floor = floor_at(kth)
    level[TOP], level[FLOOR] = top, floor
    return floor
