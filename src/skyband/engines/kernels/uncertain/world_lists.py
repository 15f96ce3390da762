"""U_TOPK over one window: the likeliest answer list.

Down to place i every rule (a free record is one of its own) either has one of its records, at best its likeliest, or
none of them. A list that ends with record i takes the k - 1 other rules for which "has" over "has not" is largest: for
each place one sum of logarithms, from rules kept sorted by that ratio. A rule that surely has a record must be taken.

W, the likeliest way to have at most k - 1 of the records seen, falls with every record, and no list that goes on
further is likelier: the scan stops when W is not above the best list found. If it never does, W over the whole window
is the likeliest world of fewer than k records, which answers with all it has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.worlds import BLOCK
from skyband.model.types import Floats, Ints

MARGIN = 1e-12
"""Logarithms this close are equal: the list found first stays."""
SURE = 1e-15
"""A rule with less than this left has a record in every world."""


class Rules(NamedTuple):
    """Rules seen so far, one entry each: the ratio in logarithms (infinite where it must be taken), its likeliest
    record, and what it adds to the sum when it is not taken (when it is, for those that must). `order` sorts the
    entries by ratio, highest first; `entry` gives the entry of a place; `sizes` are their number and the number of
    those that must be taken; `base` is the sum of what they add."""

    ratio: Floats
    best: Ints
    adds: Floats
    order: Ints
    entry: Ints
    sizes: Ints
    base: Floats


@kernel
def _put(rules: Rules, ranked: Ranked, place: int) -> None:
    """Take the record at `place` into its rule."""
    size, before = rules.sizes[0], ranked.before[place]
    if before < 0:
        which = size
        rules.sizes[0] = size + 1
        rules.best[which] = place
    else:
        which = rules.entry[before]
        at = 0
        while rules.order[at] != which:
            at += 1
        for i in range(at, size - 1):
            rules.order[i] = rules.order[i + 1]
        size -= 1
        rules.base[0] -= rules.adds[which]
        rules.sizes[1] -= rules.ratio[which] == np.inf
        if ranked.p[place] > ranked.p[rules.best[which]]:
            rules.best[which] = place
    rules.entry[place] = which
    has, without = np.log(ranked.p[rules.best[which]]), 1.0 - ranked.mass[place]
    sure = without <= SURE
    rules.ratio[which] = np.inf if sure else has - np.log(without)
    rules.adds[which] = has if sure else np.log(without)
    rules.base[0] += rules.adds[which]
    rules.sizes[1] += sure
    at = size
    while at > 0 and rules.ratio[rules.order[at - 1]] < rules.ratio[which]:
        rules.order[at] = rules.order[at - 1]
        at -= 1
    rules.order[at] = which


@kernel
def _likeliest(rules: Rules, take: int, skip: int, just: bool) -> float:
    """The logarithm of the best choice of `take` rules (fewer, unless `just`, if that is likelier) without `skip`."""
    size, sure = rules.sizes
    total = rules.base[0]
    if skip >= 0:
        total -= rules.adds[skip]
        sure -= rules.ratio[skip] == np.inf
        size -= 1
    if sure > take or (just and size < take):
        return -np.inf
    left = take
    for i in range(rules.sizes[0]):
        which = rules.order[i]
        if which == skip:
            continue
        if left == 0 or (not just and rules.ratio[which] <= 0.0):
            break
        if rules.ratio[which] != np.inf:
            total += rules.ratio[which]
        left -= 1
    return float(total)


@kernel
def likeliest_list(store: Store, start: int, ranked: Ranked, latest: Ints, k: int) -> tuple[Ints, float]:
    """Places of the likeliest list, best first, and its probability."""
    rules = _no_rules(len(ranked.slot))
    best, last = -np.inf, -1
    place, n, end = 0, 0, 0
    while n == end:
        end = max(2 * end, BLOCK)
        n = fetch(store, start, ranked, latest, end)
        while place < n:
            before = ranked.before[place]
            own = -1 if before < 0 else rules.entry[before]
            value = np.log(ranked.p[place]) + _likeliest(rules, k - 1, own, True)
            if value > best + MARGIN:
                best, last = value, place
            _put(rules, ranked, place)
            place += 1
            if _likeliest(rules, k - 1, -1, False) <= best + MARGIN:
                return _members(ranked, k, last), np.exp(best)
    short = _likeliest(rules, k - 1, -1, False)
    if short > best + MARGIN:
        return _chosen(rules, k - 1, -1, False), np.exp(short)
    return _members(ranked, k, last), np.exp(best)


@kernel
def _no_rules(n: int) -> Rules:
    ints = np.empty((3, n), np.int64)
    return Rules(np.empty(n), ints[0], np.empty(n), ints[1], ints[2], np.zeros(2, np.int64), np.zeros(1))


@kernel
def _members(ranked: Ranked, k: int, last: int) -> Ints:
    """The list that ends with the record at `last`."""
    rules = _no_rules(last + 1)
    for place in range(last):
        _put(rules, ranked, place)
    before = ranked.before[last]
    return np.append(_chosen(rules, k - 1, -1 if before < 0 else rules.entry[before], True), last)


@kernel
def _chosen(rules: Rules, take: int, skip: int, just: bool) -> Ints:
    """The records of the choice that `_likeliest` weighs, best first."""
    out, size = np.empty(take, np.int64), 0
    for i in range(rules.sizes[0]):
        which = rules.order[i]
        if which != skip:
            if size == take or (not just and rules.ratio[which] <= 0.0):
                break
            out[size] = rules.best[which]
            size += 1
    return np.sort(out[:size])
