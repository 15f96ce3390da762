"""Ranked lists of SAP (sap-tkde17 §3): best k of a partition, candidates with their counters, the rank-sum test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import floor_at, least, no_floor
from skyband.engines.kernels.common.pane import BLOCK, best_of_pane
from skyband.engines.kernels.common.run import Output, first_at_or_after
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.savl import wider, wider_keys
from skyband.model.types import Ints, Keys

STEP = 8
FEW = 8
"""So many newcomers are inserted one by one; more are ranked first."""
(COMPARISONS, INSERTIONS) = range(2)
"""Where work is counted in the sizes of the state."""


class Ranked(NamedTuple):
    """Records, best first: the score, and the number in feed order."""

    score: Keys
    seq: Ints


class Rest(NamedTuple):
    """The candidates of closed partitions behind the front, best first. `dominators` counts those of partitions closed
    later that outrank each."""

    score: Keys
    seq: Ints
    dominators: Ints


@kernel
def new_ranked(size: int, score: Keys) -> Ranked:
    """For scores of the type of these."""
    return Ranked(np.empty(size, score.dtype), np.empty(size, np.int64))


@kernel
def new_rest(size: int, score: Keys) -> Rest:
    return Rest(np.empty(size, score.dtype), np.empty(size, np.int64), np.empty(size, np.int64))


@kernel
def ranked_room(ranked: Ranked, size: int) -> Ranked:
    if size <= len(ranked.score):
        return ranked
    return Ranked(wider_keys(ranked.score, size), wider(ranked.seq, size))


@kernel
def copied(ranked: Ranked, n: int, target: Ranked) -> Ranked:
    """The first n entries, in `target` if there is room."""
    target = ranked_room(target, n)
    for i in range(n):
        target.score[i] = ranked.score[i]
        target.seq[i] = ranked.seq[i]
    return target


@kernel
def not_under(score: Keys, low: int, high: int, floor: float) -> int:
    """How many of score[low:high] are not below the floor; several are compared in one instruction."""
    part = score[low:high]
    hits = 0
    i = 0
    while i + BLOCK <= len(part):
        for j in range(BLOCK):
            hits += part[i + j] >= floor
        i += BLOCK
    while i + STEP <= len(part):
        for j in range(STEP):
            hits += part[i + j] >= floor
        i += STEP
    for j in range(i, len(part)):
        hits += part[j] >= floor
    return hits


@kernel
def offer(
    best: Ranked,
    size: Ints,
    length: int,
    k: int,
    score: Keys,
    base: int,
    low: int,
    high: int,
    guess: Keys,
    scratch: Ranked,
) -> float:
    """Offer the records [low, high) to the best k of their partition, whose number is size[length]; there is room.
    Returns the best score that entered, the least there is if none did."""
    n = size[length]
    ranked, numbers = best.score, best.seq
    floor = ranked[n - 1] if n == k else least(ranked)
    hits = not_under(score, low - base, high - base, floor)
    size[COMPARISONS] += high - low
    if hits == 0:
        return least(ranked)
    if hits <= FEW and n == k:
        return _insert_few(ranked, numbers, size, n, score, base, low, high)
    newest, places = scratch.score, scratch.seq
    m = best_of_pane(score, low - base, high - base, k, floor, guess, newest, places)
    i = n - 1
    j = m - 1
    for _ in range(n + m - k):
        # Newcomers are newer, so they win ties.
        if j < 0 or (i >= 0 and ranked[i] <= newest[j]):
            i -= 1
        else:
            j -= 1
    size[INSERTIONS] += j + 1
    size[COMPARISONS] += n + m
    size[length] = i + j + 2
    top: float = newest[0] if j >= 0 else least(ranked)
    o = i + j + 1
    while j >= 0:
        if i >= 0 and ranked[i] <= newest[j]:
            ranked[o] = ranked[i]
            numbers[o] = numbers[i]
            i -= 1
        else:
            ranked[o] = newest[j]
            numbers[o] = places[j] + base
            j -= 1
        o -= 1
    return top


@kernel
def _insert_few(ranked: Keys, numbers: Ints, size: Ints, n: int, score: Keys, base: int, low: int, high: int) -> float:
    """Insert one by one into a full list, the last entry going each time."""
    top = least(score)
    for i in range(low - base, high - base):
        if score[i] >= ranked[n - 1]:
            place = n - 1
            while place > 0 and ranked[place - 1] <= score[i]:
                ranked[place] = ranked[place - 1]
                numbers[place] = numbers[place - 1]
                place -= 1
            ranked[place] = score[i]
            numbers[place] = base + i
            top = max(top, score[i])
            size[INSERTIONS] += 1
            size[COMPARISONS] += n - place
    return top


@kernel
def first_from(at: Ints, i: int, n: int, cut: int) -> int:
    """The first index in [i, n) with at[index] >= cut, or n. Where times are positions the first guess is right."""
    if i >= n or at[i] >= cut:
        return i
    place = i + min(cut - at[i], n - i)
    if at[place - 1] < cut and (place == n or at[place] >= cut):
        return int(place)
    return first_at_or_after(at[:n], i, cut)


@kernel
def refine(rest: Rest, n: int, best: Ranked, m: int, k: int) -> tuple[Rest, int]:
    """Merge the best k of a partition into C, adding to every candidate's counter the newcomers above it; who reaches k
    is dropped. Counted from the top: the first newcomer's successors get 1, the second's 2 …"""
    merged = new_rest(n + m, rest.score)
    kept = 0
    i = 0
    j = 0
    while i < n or j < m:
        if i < n and (j == m or rest.score[i] > best.score[j]):
            dominators = rest.dominators[i] + j
            if dominators < k:
                merged.score[kept] = rest.score[i]
                merged.seq[kept] = rest.seq[i]
                merged.dominators[kept] = dominators
                kept += 1
            i += 1
        else:
            merged.score[kept] = best.score[j]
            merged.seq[kept] = best.seq[j]
            merged.dominators[kept] = 0
            kept += 1
            j += 1
    return merged, kept


@kernel
def split(rest: Rest, n: int, first: int, stop: int, front: Ranked) -> tuple[int, Ranked, int]:
    """Move the candidates numbered [first, stop) to `front`, forget those before. Returns what stays and the front."""
    m = 0
    for i in range(n):
        m += first <= rest.seq[i] < stop
    front = ranked_room(front, m)
    m = 0
    kept = 0
    for i in range(n):
        if rest.seq[i] >= stop:
            rest.score[kept] = rest.score[i]
            rest.seq[kept] = rest.seq[i]
            rest.dominators[kept] = rest.dominators[i]
            kept += 1
        elif rest.seq[i] >= first:
            front.score[m] = rest.score[i]
            front.seq[m] = rest.seq[i]
            m += 1
    return kept, front, m


@kernel
def not_below(rest: Rest, n: int, stop: int, best: Ranked, m: int, bar: float) -> int:
    """How many candidates numbered `stop` or later are at the bar or above: ρ, newer ones winning ties."""
    above = 0
    for i in range(n):
        if rest.score[i] < bar:
            break
        above += rest.seq[i] >= stop
    for i in range(m):
        if best.score[i] < bar:
            break
        above += 1
    return above


@kernel
def kth_newer(rest: Rest, n: int, stop: int, best: Ranked, m: int, k: int) -> float:
    """F_θ: the floor at the k-th best score of the candidates numbered `stop` or later; none if there are fewer."""
    i = 0
    j = 0
    left = k
    while i < n or j < m:
        if i < n and (j == m or rest.score[i] >= best.score[j]):
            left -= rest.seq[i] >= stop
            if left == 0:
                return floor_at(rest.score[i])
            i += 1
        else:
            left -= 1
            if left == 0:
                return floor_at(best.score[j])
            j += 1
    return no_floor(best.score)


@kernel
def insert_ranked(score: Keys, seq: Ints, n: int, value: float, number: int) -> None:
    """Insert from the end, where promoted records nearly always belong; there is room."""
    i = n
    while i > 0 and (score[i - 1] < value or (score[i - 1] == value and seq[i - 1] < number)):
        score[i] = score[i - 1]
        seq[i] = seq[i - 1]
        i -= 1
    score[i] = value
    seq[i] = number


@kernel
def living(score: Keys, seq: Ints, n: int, first: int) -> int:
    """Drop what is gone (numbered below `first`)."""
    kept = 0
    for i in range(n):
        if seq[i] >= first:
            score[kept] = score[i]
            seq[kept] = seq[i]
            kept += 1
    return kept


@kernel
def oldest(seq: Ints, n: int) -> int:
    first = 2**62
    for i in range(n):
        first = min(first, seq[i])
    return first


@kernel
def rank_sum_excess(
    best: Ranked, n1: int, rest: Rest, n: int, front: Ranked, m: int, wanted: int, upper: float
) -> float:
    """𝓕 of Equation 2: positive if the best of the open partition tend to outrank the best `wanted` candidates before.

    The rank sum has mean n₁(n₁+n₂+1)/2 and variance n₁n₂(n₁+n₂+1)/12 with the sample sizes; ties count half. `upper`,
    if not NaN, is the exact bound for samples of full size.
    """
    n2 = min(n + m, wanted)
    if n1 == 0 or n2 == 0:
        return -1.0
    earlier = np.empty(n2, rest.score.dtype)
    i = 0
    j = 0
    for o in range(n2):
        if i < n and (j == m or rest.score[i] >= front.score[j]):
            earlier[o] = rest.score[i]
            i += 1
        else:
            earlier[o] = front.score[j]
            j += 1
    wins = 0.0
    above = 0
    not_under = 0
    for o in range(n1):
        while not_under < n2 and earlier[not_under] >= best.score[o]:
            not_under += 1
        while above < n2 and earlier[above] > best.score[o]:
            above += 1
        wins += n2 - not_under + 0.5 * (not_under - above)
    rank_sum = wins + n1 * (n1 + 1) / 2
    if n2 == wanted and not np.isnan(upper):
        return float(rank_sum - upper)
    spread = np.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
    return float((rank_sum - n1 * (n1 + n2 + 1) / 2) / spread - 1.959963984540054)


@kernel
def report_three(
    best: Ranked, n: int, rest: Rest, m: int, front: Ranked, f: int, k: int, out: Output, used: int
) -> tuple[int, int]:
    """Write the best k of the open partition, C and the front; newer partitions win ties. Returns what is used now and
    the oldest record written."""
    newest, newest_seq = best.score, best.seq
    middle, middle_seq = rest.score, rest.seq
    old, old_seq = front.score, front.seq
    score, number = out.score, out.id
    a = 0
    b = 0
    c = 0
    first = 2**62
    stop = used + min(k, n + m + f)
    while used < stop:
        # 0: none left of these two, 1: the open partition's, 2: the candidate of C
        which = 0
        if a < n:
            which = 1
            if b < m and middle[b] > newest[a]:
                which = 2
        elif b < m:
            which = 2
        if which == 1 and (c == f or newest[a] >= old[c]):
            score[used] = newest[a]
            seq = newest_seq[a]
            a += 1
        elif which == 2 and (c == f or middle[b] >= old[c]):
            score[used] = middle[b]
            seq = middle_seq[b]
            b += 1
        else:
            score[used] = old[c]
            seq = old_seq[c]
            c += 1
        number[used] = seq
        first = min(first, seq)
        used += 1
    return used, first
