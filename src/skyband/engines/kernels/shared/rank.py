"""Sorting hits, best first. Stretches that stand in order already are taken as they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

SHORT = 12


class Hits(NamedTuple):
    """Scores and places, newest first; after `rank_hits` best first."""

    score: Keys
    place: Ints


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
    spare_score = np.empty(n, score.dtype)
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
def _next_run(score: Keys, place: Ints, low: int, n: int) -> int:
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
def _merge(score: Keys, place: Ints, low: int, middle: int, high: int, left: Keys, left_place: Ints) -> None:
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
