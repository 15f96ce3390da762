"""AT MOST n PER: lists of k records of which no category has more than n, in NumPy.

By rank, a record is skipped if n of its category are above it. Sets that a list may be (at most k records, at most n of
a category) are the independent sets of a matroid, and the list is its best basis, found greedily. So a list over
several parts is the list over the lists of the parts, and of a record that is not in the list over itself and all that
outlive it no report will tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyband.engines.second_key import dense_ranks
from skyband.model import Flags, Ints, Keys, MetaQuery

SAMPLED = 16
"""One of so many records is in a sample."""
BLOCK, LOOK = 256, 4_096
"""Records that are compared with each other at once, and with the last of a list."""


@dataclass(frozen=True)
class Cap:
    """Lists of `k` records, at most `n` of a category."""

    n: int
    k: int


def caps(meta: MetaQuery) -> list[Cap]:
    """Of a family, for each n the largest k. One does not stand in for another: a list with a larger n may be full of
    records that one with a smaller n skips."""
    assert meta.at_most is not None
    n = meta.at_most[meta.query]
    return [Cap(each, int(meta.k[n == each].max())) for each in np.unique(n).tolist()]


def running_count(*keys: Ints) -> Ints:
    """How many rows before each have the same keys."""
    order = np.lexsort(keys)
    begins = np.ones(len(order), bool)
    if len(order):
        begins[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    begin = np.flatnonzero(begins)
    count = np.empty(len(order), np.int64)
    count[order] = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    return count


def first_of_equals(count: Ints, *keys: Ints) -> Ints:
    """Rows whose keys are equal lie side by side: to each the count of the first of them."""
    begins = np.ones(len(count), bool)
    begins[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    firsts: Ints = count[begins][np.cumsum(begins) - 1]
    return firsts


def listed(stretch: Ints, category: Ints, rank: Ints, cap: Cap) -> Flags:
    """Of every stretch what may be in its list; higher ranks are better. Records of equal rank are not told apart, so
    none of them counts against another."""
    order = np.lexsort((category, -rank, stretch))
    part, kind, value = stretch[order], category[order], rank[order]
    above = running_count(kind, part)
    counted = above < cap.n
    full: Ints = np.cumsum(counted) - counted
    full = full - first_of_equals(full, part)
    keep = first_of_equals(above, part, value, kind) < cap.n
    keep &= first_of_equals(full, part, value) < cap.k
    found = np.empty(len(order), bool)
    found[order] = keep
    return found


def above_sample(stretch: Ints, category: Ints, score: Keys, caps: Sequence[Cap]) -> Flags:
    """Which records a sample of them does not rule out: of a stretch in which its list is full, those below the last
    of it. The sample decides how much is ruled out, never what is right."""
    some = np.arange(0, len(score), SAMPLED)
    part, code = np.unique(stretch[some], return_inverse=True)
    rank = np.empty(len(some), np.int64)
    rank[np.argsort(score[some], kind="stable")] = np.arange(len(some))
    place = np.minimum(np.searchsorted(part, stretch), len(part) - 1)
    keep: Flags = part[place] != stretch
    for cap in caps:
        best = np.flatnonzero(listed(code, category[some], rank, cap))
        full = np.bincount(code[best], minlength=len(part)) >= cap.k
        last = np.full(len(part), len(some))
        np.minimum.at(last, code[best], rank[best])
        # By rank in the sample: its scores, rising.
        floor = score[some][np.argsort(rank)][last]
        keep |= ~full[place] | (score >= floor[place])
    return keep


def outliving(category: Ints, rank: Ints, cap: Cap) -> Flags:
    """Of records from old to new: which ones are in the list over themselves and all newer ones; one of equal rank does
    not count. From the newest on, some at a time: what is below the last of a full list is out at once."""
    told = np.empty(len(rank), np.int64)
    told[np.argsort(rank, kind="stable")] = np.arange(len(rank))
    keep, high = np.zeros(len(rank), bool), len(rank)
    # Of equal ranks it does not matter which are in this list: all of them are above what it rules out.
    best = np.empty(0, np.int64)
    while high:
        low = max(high - LOOK, 0)
        place = np.arange(low, high)
        if len(best) >= cap.k:
            place = place[rank[low:high] >= rank[best].min()]
        if len(place) > BLOCK:
            place = place[-BLOCK:]
            low = int(place[0])
        place = place[_hopeful(category, rank, best, place, cap)]
        keep[place] = True
        best = np.concatenate((best, place))
        best = best[listed(np.zeros(len(best), np.int64), category[best], told[best], cap)]
        high = low
    return keep


def on_either_side(at: Ints, category: Ints, score: Keys, shortest: int, cap: Cap) -> Flags:
    """Of rising times which records may be listed, wherever windows begin and end: a window that is at least as long as
    a stretch cuts off what is older in it, or what is newer, or neither. So what both leave no place is in no list."""
    keep, low = np.ones(len(at), bool), 0
    while low < len(at):
        high = int(np.searchsorted(at, at[low] + shortest))
        if high - low > cap.n:
            kind, rank = category[low:high], dense_ranks(score[low:high], at[low:high])
            keep[low:high] = outliving(kind, rank, cap)
            keep[low:high] |= outliving(kind[::-1], rank[::-1], cap)[::-1]
        low = high
    return keep


def _hopeful(category: Ints, rank: Ints, best: Ints, place: Ints, cap: Cap) -> Flags:
    """Which of a block are in the list over themselves, the newer ones of the block, and the best of all newer."""
    if not len(place):
        return np.zeros(0, bool)
    shared = np.isin(category[best], category[place])
    apart = np.sort(rank[best[~shared]])
    others = np.concatenate((best[shared], place))
    others = others[np.argsort(category[others], kind="stable")]
    kinds, begin = np.unique(category[others], return_index=True)
    better = (rank[others] > rank[place][:, None]) & (others > place[:, None])
    count = np.add.reduceat(better, begin, axis=1, dtype=np.int64)
    own = count[np.arange(len(place)), np.searchsorted(kinds, category[place])]
    full = len(apart) - np.searchsorted(apart, rank[place], side="right") + np.minimum(count, cap.n).sum(axis=1)
    found: Flags = (own < cap.n) & (full < cap.k)
    return found
