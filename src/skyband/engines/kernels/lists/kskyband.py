"""The k-skyband in (score, arrival): records with fewer than k newer ones that outrank them, and how many they have.

All loops keep one order: best first, the newer of equal scores first. So the newcomers that outrank an entry are those
merged in above it, and a merge from the bottom up knows their number at every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.common.pane import BLOCK, sort_ranked
from skyband.engines.kernels.common.run import Output, finished, first_at_or_after, grown, new_output
from skyband.engines.kernels.common.select import best_first
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

FOREVER = 2**62
(KEPT, COMPARISONS, INSERTIONS, DROPPED, EXPIRED, PEAK) = range(6)
SIZES = 6


class Skyband(NamedTuple):
    """Candidates, best first; `dominators` counts the newer records that outrank each."""

    score: Keys
    at: Ints
    id: Ints
    dominators: Ints


@kernel
def new_skyband(size: int, score: Keys) -> Skyband:
    return Skyband(
        np.empty(size, score.dtype), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    )


@kernel
def move(band: Skyband, i: int, target: Skyband, o: int) -> None:
    target.score[o] = band.score[i]
    target.at[o] = band.at[i]
    target.id[o] = band.id[i]
    target.dominators[o] = band.dominators[i]


@kernel
def _undominated(score: Keys, low: int, high: int, k: int, index: Ints) -> int:
    """Positions, newest first, of a superset of the k-skyband of score[low:high].

    The floor is the k-th best score of the records passed so far, all of them newer; it is renewed once k more have
    been found. Blocks are compared with it before single records are looked at.
    """
    room = min(2 * k, high - low)
    best = np.empty(room, score.dtype)
    n = 0
    found = 0
    full = False
    floor = least(score)
    stop = high
    while stop > low:
        begin = max(stop - BLOCK, low)
        hits = 0
        for j in range(begin, stop):
            hits += score[j] > floor
        if hits or not full:
            for j in range(stop - 1, begin - 1, -1):
                if full and score[j] <= floor:
                    continue
                index[found] = j
                found += 1
                best[n] = score[j]
                n += 1
                if n == room and n > k:
                    floor = best_first(best, n, k)
                    n = k
                    full = True
        stop = begin
    return found


@kernel
def skyband_of(score: Keys, low: int, high: int, k: int, out: Keys, index: Ints, dominators: Ints) -> int:
    """The k-skyband of score[low:high], best first, into `out` (scores), `index` (positions) and `dominators`."""
    when = np.empty(high - low, np.int64)
    found = _undominated(score, low, high, k, when)
    for i in range(found):
        out[i] = score[when[found - 1 - i]]
        index[i] = i
    sort_ranked(out, index, found)
    # Best to worst, a Fenwick tree over age counts the newer among those that outrank.
    tree = np.zeros(found + 1, np.int64)
    kept = 0
    for i in range(found):
        age = found - 1 - index[i]
        newer = 0
        node = age
        while node > 0:
            newer += tree[node]
            node -= node & -node
        node = age + 1
        while node <= found:
            tree[node] += 1
            node += node & -node
        if newer < k:
            out[kept] = out[i]
            dominators[kept] = newer
            index[kept] = when[age]
            kept += 1
    return kept


@kernel
def admit(band: Skyband, size: Ints, score: Keys, at: Ints, id: Ints, dominators: Ints, m: int, k: int) -> Skyband:
    """Merge in m ranked newcomers, count them against every entry they outrank, drop what k newer ones outrank."""
    n = size[KEPT]
    if n + m > len(band.score):
        wider = new_skyband(2 * (n + m), band.score)
        for i in range(n):
            move(band, i, wider, i)
        band = wider
    i = n - 1
    j = m - 1
    o = n + m - 1
    dropped = n + m
    while j >= 0:
        # Newcomers are newer than every entry, so they win ties and are outranked by none of lower score.
        if i >= 0 and band.score[i] <= score[j]:
            move(band, i, band, o)
            band.dominators[o] += j + 1
            if band.dominators[o] >= k:
                dropped = o
            i -= 1
        else:
            band.score[o] = score[j]
            band.at[o] = at[j]
            band.id[o] = id[j]
            band.dominators[o] = dominators[j]
            j -= 1
        o -= 1
    size[COMPARISONS] += n + m - 1 - o
    size[INSERTIONS] += m
    kept = dropped
    for e in range(dropped, n + m):
        if band.dominators[e] < k:
            move(band, e, band, kept)
            kept += 1
    size[DROPPED] += n + m - kept
    size[KEPT] = kept
    size[PEAK] = max(size[PEAK], kept)
    return band


@kernel
def expire(band: Skyband, size: Ints, start: int) -> None:
    """Forget what is older than `start`. Dominators are newer than what they dominate, so no count changes."""
    kept = 0
    for i in range(size[KEPT]):
        if band.at[i] >= start:
            if kept < i:
                move(band, i, band, kept)
            kept += 1
    size[EXPIRED] += size[KEPT] - kept
    size[KEPT] = kept


@kernel
def _report(band: Skyband, n: int, start: int, k: int, out: Output, used: int) -> int:
    stop = used + k
    for i in range(n):
        if used == stop:
            break
        if band.at[i] >= start:
            out.id[used] = band.id[i]
            out.score[used] = band.score[i]
            used += 1
    return used


@kernel
def advance_skyband(
    at: Ints,
    score: Keys,
    base: int,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    needed_from: Ints,
    k: int,
    band: Skyband,
    size: Ints,
) -> tuple[Skyband, Output]:
    """Feed records and answer reports in time order. After report i nothing older than needed_from[i] is wanted, after
    all of them nothing older than needed_from[-1]."""
    pane_score = np.empty(len(at), score.dtype)
    pane_index = np.empty(len(at), np.int64)
    pane_dominators = np.empty(len(at), np.int64)
    pane_at = np.empty(len(at), np.int64)
    out = new_output(len(due_end), score)
    used = 0
    i = 0
    due = 0
    while True:
        cut = due_end[due] if due < len(due_end) else FOREVER
        j = len(at) if cut == FOREVER else first_at_or_after(at, i, cut)
        if j > i:
            found = skyband_of(score, i, j, k, pane_score, pane_index, pane_dominators)
            for p in range(found):
                pane_at[p] = at[pane_index[p]]
                pane_index[p] += base
            size[COMPARISONS] += j - i
            band = admit(band, size, pane_score, pane_at, pane_index, pane_dominators, found, k)
            i = j
        if cut == FOREVER:
            break
        while due < len(due_end) and due_end[due] == cut:
            wanted = min(due_k[due], size[KEPT])
            out = grown(out, used, wanted)
            out.begin[due] = used
            used = _report(band, size[KEPT], due_start[due], wanted, out, used)
            out.size[due] = used - out.begin[due]
            due += 1
        expire(band, size, needed_from[due - 1])
    expire(band, size, needed_from[-1])
    return band, finished(out, used)
