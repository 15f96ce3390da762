"""The best few of windows that slide over small groups: each record is looked at about once, not once a window.

The best k of a window are those of the next one too, with what came meanwhile, until one of them leaves.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.types import Flags, Ints, Keys

FEW = 32
"""Up to so many are kept sorted."""
WIDE = 256
"""Where so many records are in a window, none of them is told to be hopeless: it is looked at again too often."""


@inlined
def moment_after(moment: int, period: int, phase: int) -> int:
    """The first moment of a beat later than `moment`."""
    return moment + 1 + (phase - (moment + 1)) % period


@inlined
def ranked(best: Keys, row: Ints, held: int, k: int, score: float, place: int) -> int:
    """Put a record, the newest, among the best k, which are sorted; the newer of equal scores is the better. How many
    there are then."""
    if held < k:
        held += 1
    elif score < best[k - 1]:
        return held
    i = held - 1
    while i > 0 and best[i - 1] <= score:
        best[i] = best[i - 1]
        row[i] = row[i - 1]
        i -= 1
    best[i] = score
    row[i] = place
    return held


@inlined
def oldest_of(row: Ints, held: int) -> int:
    """The least of the first ones."""
    found: int = row[0]
    for i in range(1, held):
        found = min(found, row[i])
    return found


@kernel
def by_group(group: Ints, groups: int) -> tuple[Ints, Ints]:
    """Where each of so many groups begins, and the order by group in which rows of one keep theirs. Numbers are counted
    and not compared: a sort takes ten times as long."""
    begin = np.zeros(groups + 1, np.int64)
    for i in range(len(group)):
        begin[group[i] + 1] += 1
    for g in range(groups):
        begin[g + 1] += begin[g]
    free = begin.copy()
    order = np.empty(len(group), np.int64)
    for i in range(len(group)):
        order[free[group[i]]] = i
        free[group[i]] += 1
    return begin, order


@kernel
def listed(begin: Ints, at: Ints, score: Keys, width: Ints, period: Ints, phase: Ints, k: Ints) -> Flags:
    """Which records are among the best k of some window over their group, as far as these records tell, or may be.

    Group g has the rows begin[g] : begin[g + 1], oldest first; no k is greater than `FEW`. Only windows are looked at
    in which a record is new, or from which one has gone.
    """
    keep = np.zeros(len(at), np.bool_)
    best = np.empty(FEW, score.dtype)
    row = np.empty(FEW, np.int64)
    for g in range(len(begin) - 1):
        low, high = begin[g], begin[g + 1]
        if low == high:
            continue
        for b in range(len(width)):
            _mark_listed(low, high, at, score, width[b], period[b], phase[b], k[b], best, row, keep)
        _mark_ties(low, high, at, score, keep)
    return keep


@inlined
def _mark_listed(
    low: int,
    high: int,
    at: Ints,
    score: Keys,
    width: int,
    period: int,
    phase: int,
    k: int,
    best: Keys,
    row: Ints,
    keep: Flags,
) -> None:
    if high - low <= k:
        keep[low:high] = True
        return
    held, seen, oldest = 0, low, low
    i, j, kept = low, low, low
    end = moment_after(at[low], period, phase)
    while True:
        while i < high and at[i] < end - width:
            i += 1
        while j < high and at[j] < end:
            j += 1
        if i == high:
            return
        if i == j:
            end = moment_after(at[j], period, phase)
            continue
        if j - i > WIDE:
            for n in range(max(i, kept), j):
                keep[n] = True
            kept = j
            seen = low - 1
        else:
            if oldest < i or seen < i:
                held, seen = 0, i
            for n in range(seen, j):
                held = ranked(best, row, held, k, score[n], n)
            seen = j
            oldest = oldest_of(row, held)
            for n in range(held):
                keep[row[n]] = True
        leaves = moment_after(at[i] + width, period, phase)
        end = leaves if j == high else min(leaves, moment_after(at[j], period, phase))


@inlined
def _mark_ties(low: int, high: int, at: Ints, score: Keys, keep: Flags) -> None:
    """Which of equals in time and score is the better is not known here: if one is needed, all may be."""
    first = low
    while first < high:
        last = first + 1
        while last < high and at[last] == at[first]:
            last += 1
        if last - first > 1:
            for i in range(first, last):
                if keep[i]:
                    for j in range(first, last):
                        if score[j] == score[i]:
                            keep[j] = True
        first = last
