"""Top-k probabilities of a window: PK_TOPK and PT_K for any number of k from one scan.

P(at most j better records exist), without the record's own rule, is in one row for all j (worlds, tally): so one scan
answers every k. It stops exactly: a later record is in the top k only if at most k - 1 of the records seen so far
exist, so its top-k probability is at most B = P(at most k - 1 of those seen exist), and, where there are no rules, at
most its own p times B. When that is not above the k-th best probability found (or is below the asked threshold), no
later record can be reported; of equals the earlier ranks first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import inlined, kernel
from skyband.engines.kernels.uncertain.heap import best_first, offer
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.tally import Tally, entry, put_in
from skyband.engines.kernels.uncertain.worlds import BLOCK, Scan, descend, open_block
from skyband.model.types import Flags, Floats, Ints

ROUNDING = 1e-12
"""A probability within this of PT_K's threshold counts as reaching it."""


class Asks(NamedTuple):
    """What is asked of one window: ask i wants `k[i]`; a `level[i]` above 0 makes it PT_K."""

    k: Ints
    level: Floats


class Found(NamedTuple):
    """Per ask, in a row of its own: probabilities and places, of which `size` are filled."""

    value: Floats
    place: Ints
    size: Ints
    open: Flags


@kernel
def new_found(asks: Asks, n: int) -> Found:
    width = 0
    for a in range(len(asks.k)):
        width = max(width, n if asks.level[a] > 0 else min(asks.k[a], n))
    shape = (len(asks.k), width)
    return Found(np.empty(shape), np.empty(shape, np.int64), np.zeros(shape[0], np.int64), np.ones(shape[0], np.bool_))


@kernel
def scan_rules(asks: Asks, scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints) -> Found:
    """Answers to all asks over one window."""
    found, k_of = new_found(asks, len(ranked.slot)), asks.k
    value, places, size, is_open = found.value, found.place, found.size, found.open
    room = np.minimum(k_of, value.shape[1])
    place, left, n = 0, len(k_of), 0
    while left and n == scan.bounds[1]:
        n = open_block(scan, store, start, ranked, latest)
        while place < n and left:
            row = descend(scan, ranked, place, n)
            p, mass = ranked.p[place], min(ranked.mass[place], 1.0)
            for a in range(len(k_of)):
                if is_open[a]:
                    few, fewer = entry(scan.tally, row, k_of[a] - 1), entry(scan.tally, row, k_of[a] - 2)
                    bound = (1.0 - mass) * few + mass * fewer
                    if not _passed(asks.level[a], p * few, bound, value[a, 0], size[a], room[a]):
                        left -= _offered(k_of[a], asks.level[a], p * few, bound, place, a, value, places, size, is_open)
            place += 1
    return found


@kernel
def scan_plain(
    asks: Asks, tally: Tally, store: Store, start: int, ranked: Ranked, latest: Ints, likely: float, work: Ints
) -> Found:
    """The same where no record has a rule, in one row; `likely`: no record of the window has a larger p."""
    found = new_found(asks, len(ranked.slot))
    v, low, high = tally.value[0], 0, 0
    k_of, level_of = asks.k, asks.level
    value, places, size, is_open = found.value, found.place, found.size, found.open
    room = np.minimum(k_of, value.shape[1])
    place, left, n, end = 0, len(k_of), 0, 0
    while left and n == end:
        end = max(2 * end, BLOCK)
        n = fetch(store, start, ranked, latest, end)
        while place < n and left:
            p = ranked.p[place]
            for a in range(len(k_of)):
                if is_open[a]:
                    j = k_of[a] - 1
                    few = 0.0 if j < low else 1.0 if j >= high else v[j]
                    fewer = 0.0 if j <= low else 1.0 if j > high else v[j - 1]
                    bound = likely * ((1.0 - p) * few + p * fewer)
                    if not _passed(level_of[a], p * few, bound, value[a, 0], size[a], room[a]):
                        left -= _offered(k_of[a], level_of[a], p * few, bound, place, a, value, places, size, is_open)
            work[0] += high - low
            low, high = put_in(v, low, high, p, 1.0, tally.floor, tally.near)
            place += 1
    return found


@inlined
def _passed(level: float, probability: float, bound: float, worst: float, size: int, room: int) -> bool:
    """A full list that this record does not enter, and that a later one may: true of nearly all, so it is quick."""
    return level == 0.0 and size == room and probability <= worst < bound


@kernel
def _offered(
    k: int, level: float, probability: float, bound: float, place: int, a: int,
    value: Floats, places: Ints, size: Ints, is_open: Flags,
) -> int:  # fmt: skip
    """Let one ask have a record; 1 if it needs no later one. No later record is likelier than `bound`."""
    n = size[a]
    if level > 0:
        if probability >= level - ROUNDING:
            value[a, n] = probability
            places[a, n] = place
            size[a] = n + 1
        done = bound < level - ROUNDING
    else:
        room = min(k, value.shape[1])
        if n < room or probability > value[a, 0]:
            size[a] = n = offer(value[a], places[a], n, room, probability, place)
        done = n == room and bound <= value[a, 0]
    if done:
        is_open[a] = False
    return int(done)


@kernel
def ordered(found: Found, ask: int) -> tuple[Ints, Floats]:
    """Places and probabilities of one ask, the likeliest first."""
    size = found.size[ask]
    value, place = found.value[ask, :size], found.place[ask, :size]
    order = best_first(value, place)
    return place[order], value[order]


@kernel
def all_probabilities(
    scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints, k: int, plain: bool
) -> Floats:
    """The top-k probability of every record, best first, down to where it is below 1e-20."""
    out = np.zeros(len(ranked.slot))
    if plain:
        _all_plain(scan, store, start, ranked, latest, k, out)
        return out
    place = 0
    while True:
        n = open_block(scan, store, start, ranked, latest)
        while place < n:
            row = descend(scan, ranked, place, n)
            few = entry(scan.tally, row, k - 1)
            out[place] = ranked.p[place] * few
            mass = min(ranked.mass[place], 1.0)
            place += 1
            if (1.0 - mass) * few + mass * entry(scan.tally, row, k - 2) <= 1e-20:
                return out
        if n < scan.bounds[1]:
            return out


@kernel
def _all_plain(scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints, k: int, out: Floats) -> None:
    """The same where no record has a rule, in one row."""
    v, low, high = scan.tally.value[0], 0, 0
    place, n, end = 0, 0, 0
    while n == end:
        end = max(2 * end, BLOCK)
        n = fetch(store, start, ranked, latest, end)
        while place < n:
            few = 0.0 if k - 1 < low else 1.0 if k - 1 >= high else v[k - 1]
            if few <= 1e-20:
                return
            out[place] = ranked.p[place] * few
            scan.work[0] += high - low
            low, high = put_in(v, low, high, ranked.p[place], 1.0, scan.tally.floor, scan.tally.near)
            place += 1
