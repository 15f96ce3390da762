"""U_KRANKS and EXPECTED_RANK over one window.

U_KRANKS: P(record i holds rank j) is p times P(exactly j - 1 better ones of other rules exist), from the same descent
as top-k probabilities (worlds), with rows of P(count = j), relatively exact, so that also an unlikely holder is known
to be one. A later record holds rank j at most with P(at most j - 1 of those seen exist): the scan stops when that is
not above the best holder found, for every j.

EXPECTED_RANK has a closed form. With H the total p above record i, h that of its own rule above it, S the total of the
window and R that of its rule: p·(H - h) when it exists, and else the expected size of the world without it,
(1 - p)·(S - R) + (R - p).
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.heap import EQUAL, best_first, offer
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.rule_codes import FREE
from skyband.engines.kernels.uncertain.tally import entry, put_in_row
from skyband.engines.kernels.uncertain.worlds import BLOCK, Scan, descend, open_block
from skyband.model.types import Floats, Ints

EVERY = 8
"""The stop is looked for after so many records."""


@kernel
def likeliest_holders(
    scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints, k: int, plain: bool
) -> tuple[Ints, Floats]:
    """Of each rank the record likeliest to hold it (its place) and how likely that is; ranks that none can hold are
    left out at the end. `scan` counts P(count = j). `plain`: no record has a rule, so one row is enough."""
    size = scan.tally.value.shape[1]
    k = min(k, size)
    holder, best = np.zeros(k, np.int64), np.zeros(k)
    place, n, row = 0, scan.bounds[1], 0
    while n == scan.bounds[1]:
        if plain:
            scan.bounds[1] = max(2 * scan.bounds[1], BLOCK)
            n = fetch(store, start, ranked, latest, scan.bounds[1])
        else:
            n = open_block(scan, store, start, ranked, latest)
        while place < n:
            if not plain:
                row = descend(scan, ranked, place, n)
            p, mass = ranked.p[place], min(ranked.mass[place], 1.0)
            for j in range(scan.tally.low[row], min(k, scan.tally.high[row])):
                holds = p * scan.tally.value[row, j]
                if holds > best[j] + EQUAL or best[j] == 0.0 < holds:
                    best[j] = holds
                    holder[j] = place
            place += 1
            if place % EVERY == 0 and _settled(scan, row, mass, best):
                return holder, best
            if plain:
                scan.work[0] += put_in_row(scan.tally, 0, p)
    held = k
    while held > 0 and best[held - 1] == 0.0:
        held -= 1
    return holder[:held], best[:held]


@kernel
def _settled(scan: Scan, row: int, mass: float, best: Floats) -> bool:
    """No record behind this one can be likelier than the best holder of any rank."""
    few = 0.0
    for j in range(len(best)):
        few += (1.0 - mass) * entry(scan.tally, row, j) + mass * entry(scan.tally, row, j - 1)
        if few > best[j]:
            return False
    return True


@kernel
def added(total: float, lost: float, more: float) -> tuple[float, float]:
    """A sum, and what rounding has taken from it so far: in a long window that would be more than figures differ by."""
    grown = total + more
    return grown, lost + (total - grown + more if total >= more else more - grown + total)


@kernel
def smallest_expected_ranks(
    store: Store, start: int, first: int, last: int, ranked: Ranked, latest: Ints, k: int
) -> tuple[Ints, Floats]:
    """Places of the k records with the smallest expected ranks, and those; slots first to last are the window's."""
    total = np.zeros(len(store.total))
    everything = lost = 0.0
    for slot in range(first, last):
        if not store.left_out[slot]:
            everything, lost = added(everything, lost, store.p[slot])
            if store.code[slot] != FREE:
                total[store.code[slot]] += store.p[slot]
    everything += lost
    n = fetch(store, start, ranked, latest, last - first)
    room = min(k, n)
    value, place = np.empty(room), np.empty(room, np.int64)
    higher, lost, size = 0.0, 0.0, 0
    for i in range(n):
        p, code = ranked.p[i], store.code[ranked.slot[i]]
        rule = p if code == FREE else total[code]
        own = ranked.mass[i] - p
        rank = p * (higher + lost - own) + (1.0 - p) * (everything - rule) + (rule - p)
        size = offer(value, place, size, room, -rank, i)
        higher, lost = added(higher, lost, p)
    order = best_first(value[:size], place[:size])
    return place[order], -value[order]
