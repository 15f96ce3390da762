"""The records of an uncertain window in rank order, kept so while the window slides, and fetched one by one.

Records lie in feed order in a `Store` (their place is their slot). Their rank order is two sorted runs: `main`, and
`fresh` with what arrived lately, merged into it when it has grown to an eighth. So a slide costs its own records and a
share of one merge, and reading the best few hundred of a window costs little more than their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.rule_codes import FREE
from skyband.model.types import Flags, Floats, Ints

STORED, TAKEN, MAIN, FRESH, CROWDED = range(5)
"""Places in `Store.sizes`: slots filled; slots in runs; lengths of the runs; whether a rule may exceed 1."""
LEAST = 64
SLACK = 1e-9
LAST = 2**62


class Store(NamedTuple):
    """By slot: time, score, probability, rule (a small number, or FREE) and source (any number);
    `turn` lists slots by (time, key)."""

    at: Ints
    score: Floats
    p: Floats
    code: Ints
    source: Ints
    turn: Ints
    left_out: Flags
    main: Ints
    fresh: Ints
    total: Floats
    """By rule: the probabilities of all its stored records; more than any window holds of it."""
    sizes: Ints


class Ranked(NamedTuple):
    """Records of one window, best first. `before` and `after` are the neighbours of the same rule (-1 and LAST
    where there is none), `mass` the rule's probability down to this record, itself included."""

    slot: Ints
    p: Floats
    before: Ints
    after: Ints
    mass: Floats
    cursor: Ints
    """Where the two runs were left, and how many records have been fetched."""


@kernel
def new_ranked(size: int) -> Ranked:
    slot, before, after = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    return Ranked(slot, np.empty(size), before, after, np.empty(size), np.zeros(3, np.int64))


@kernel
def _beats(score: Floats, a: int, b: int) -> bool:
    """Higher score, and of equal ones the newer."""
    return bool(score[a] > score[b] or (score[a] == score[b] and a > b))


@kernel
def merged(score: Floats, at: Ints, a: Ints, b: Ints, oldest: int) -> Ints:
    """Two runs as one, without the records older than `oldest`."""
    out = np.empty(len(a) + len(b), np.int64)
    i = j = used = 0
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and _beats(score, a[i], b[j])):
            slot = a[i]
            i += 1
        else:
            slot = b[j]
            j += 1
        if at[slot] >= oldest:
            out[used] = slot
            used += 1
    return out[:used]


@kernel
def take_in(store: Store, end: int, oldest: int) -> int:
    """Put the stored records before `end` into the runs; how many they are."""
    sizes = store.sizes
    low = sizes[TAKEN]
    high = low + np.searchsorted(store.at[low : sizes[STORED]], end)
    if high == low:
        return 0
    order = np.argsort(store.score[low:high], kind="mergesort")[::-1] + low
    fresh = merged(store.score, store.at, store.fresh[: sizes[FRESH]], order, oldest)
    sizes[TAKEN] = high
    if len(fresh) > max(LEAST, sizes[MAIN] // 8):
        main = merged(store.score, store.at, store.main[: sizes[MAIN]], fresh, oldest)
        store.main[: len(main)] = main
        sizes[MAIN] = len(main)
        sizes[FRESH] = 0
    else:
        store.fresh[: len(fresh)] = fresh
        sizes[FRESH] = len(fresh)
    return int(high - low)


@kernel
def leave_out(store: Store, first: int, last: int) -> int:
    """Mark the records of the window (slots first to last) that would push their rule above 1; how many."""
    if not store.sizes[CROWDED]:
        return 0
    total = np.zeros(len(store.total))
    found = 0
    for place in range(first, last):
        slot = store.turn[place]
        code = store.code[slot]
        store.left_out[slot] = False
        if code != FREE:
            grown = total[code] + store.p[slot]
            if grown > 1.0 + SLACK:
                store.left_out[slot] = True
                found += 1
            else:
                total[code] = grown
    return found


@kernel
def fetch(store: Store, start: int, ranked: Ranked, latest: Ints, upto: int) -> int:
    """Fetch until there are `upto` records; how many there are. `latest` has each rule's lowest one so far, or -1."""
    a, b, n = ranked.cursor
    main, fresh, n_main, n_fresh = store.main, store.fresh, store.sizes[MAIN], store.sizes[FRESH]
    at, score, left_out, code_of, p_of = store.at, store.score, store.left_out, store.code, store.p
    while n < upto:
        while a < n_main and (at[main[a]] < start or left_out[main[a]]):
            a += 1
        while b < n_fresh and (at[fresh[b]] < start or left_out[fresh[b]]):
            b += 1
        if a < n_main:
            slot = main[a]
            if b < n_fresh and _beats(score, fresh[b], slot):
                slot = fresh[b]
                b += 1
            else:
                a += 1
        elif b < n_fresh:
            slot = fresh[b]
            b += 1
        else:
            break
        p, code = p_of[slot], code_of[slot]
        ranked.slot[n] = slot
        ranked.p[n] = p
        ranked.before[n] = -1
        ranked.after[n] = LAST
        ranked.mass[n] = p
        if code != FREE:
            previous = latest[code]
            latest[code] = n
            if previous >= 0:
                ranked.before[n] = previous
                ranked.after[previous] = n
                ranked.mass[n] = ranked.mass[previous] + p
        n += 1
    ranked.cursor[0] = a
    ranked.cursor[1] = b
    ranked.cursor[2] = n
    return int(n)


@kernel
def rewind(store: Store, ranked: Ranked, latest: Ints) -> None:
    """Forget what was fetched, so that another window can be read."""
    for n in range(ranked.cursor[2]):
        code = store.code[ranked.slot[n]]
        if code != FREE:
            latest[code] = -1
    ranked.cursor[:] = 0
