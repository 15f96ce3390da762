"""What SAP holds between two calls: the records of the window, the partitions over them, the candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import greatest, least
from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.lists import Ranked, Rest, new_ranked, new_rest
from skyband.engines.kernels.sap.savl import Savl, new_savl, wider, wider_keys
from skyband.model.types import Ints, Keys

FOREVER = 2**62
CHUNK = 1 << 16
"""Records taken over at once from a batch."""
(EQUAL, DYNAMIC, ENHANCED) = range(3)

# Work, first in the sizes of the state.
COUNTED = (
    "comparisons",
    "insertions",
    "partitions",
    "formations",
    "rescans",
    "rescanned",
    "rescanned_most",
    "units_skipped",
    "pushes",
    "promotions",
    "members_peak",
    "members_sum",
    "slides",
)
WORK = len(COUNTED)
(PARTITIONS, FORMATIONS, RESCANS, RESCANNED, RESCANNED_MOST, SKIPPED, PUSHES, PROMOTIONS) = range(2, 10)
(MEMBERS_PEAK, MEMBERS_SUM, SLIDES) = range(10, WORK)
# Where things are. Records have numbers in feed order; the window holds [FIRST, NEXT), the open partition [OPEN, NEXT).
(BASE, FILLED, FIRST, NEXT, OPEN, OPEN_AT, UNIT, UNIT_AT, UNIT_END) = range(WORK, WORK + 9)
# How long the lists are; STACKED are the records on stacks and in early sets.
(BEST, PAST, REST, FRONT, PARTS, UNITS, LISTED, EARLY, STACKED) = range(WORK + 9, WORK + 18)
# The front partition, and the S-AVL in advance of the next. Nothing but the front's own list changes before the window
# begins after EVENT.
(ACTIVE, RHO, OLDEST, NEXT_UNIT, COMING, COMING_AT, SETTING, EVENT) = range(WORK + 18, WORK + 26)
SIZES = WORK + 26


class Plan(NamedTuple):
    """The query and the variant: numbers only. Times are positions in a ROWS window."""

    k: int
    period: int
    origin: int
    """Some window start; all of them are `period` apart."""
    unit: int
    """Length of a unit in time: l_min, a multiple of the slide."""
    longest: int
    """l_max."""
    mode: int
    delay: bool
    stacks: bool
    amortised: bool
    earlier: int
    """ηk: candidates that the best k of the open partition are tested against."""
    upper: float
    """Exact bound of the rank-sum test for k up to 10, else NaN."""
    zeta: int
    crowd: int
    """max(2ζ*, ζ_max): a unit with more records above τ shows an uptrend."""


class Parts(NamedTuple):
    """Closed partitions, oldest first: records [lo, hi), the k-th best of them, and (non-delay) where M begins."""

    lo: Ints
    hi: Ints
    floor: Keys
    floor_seq: Ints
    whole: Ints
    """1 if the best k are all its records."""
    early: Ints


class Units(NamedTuple):
    """Units of closed partitions and of the open one, oldest first; `place` in the lists of k-units, else -1."""

    lo: Ints
    hi: Ints
    best: Keys
    place: Ints
    listed: Ints
    floor: Keys
    floor_seq: Ints


class State(NamedTuple):
    at: Ints
    score: Keys
    best: Ranked
    """Best k of the open partition, its unfinished unit included."""
    past: Ranked
    """Best k of its finished units."""
    rest: Rest
    front: Ranked
    """What is left of the best k of the front partition, and what was promoted to them."""
    savl: Savl
    coming: Savl
    parts: Parts
    units: Units
    lists: Ranked
    """U^τ of the k-units, each oldest first."""
    early: Ranked
    size: Ints
    tau: Keys


@kernel
def new_parts(n: int, score: Keys) -> Parts:
    return Parts(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, score.dtype),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )


@kernel
def new_units(n: int, score: Keys) -> Units:
    return Units(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, score.dtype),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, score.dtype),
        np.empty(n, np.int64),
    )


@kernel
def new_state(fed: int, score: Keys) -> State:
    """Nothing yet, with room for scores of the type of these; the next record has number `fed`."""
    size = np.zeros(SIZES, np.int64)
    for place in (BASE, FILLED, FIRST, NEXT, OPEN, UNIT):
        size[place] = fed
    size[COMING] = -1
    size[EVENT] = -1
    size[SETTING] = 1
    return State(
        np.empty(0, np.int64),
        np.empty(0, score.dtype),
        new_ranked(1, score),
        new_ranked(1, score),
        new_rest(1, score),
        new_ranked(1, score),
        new_savl(0, greatest(score)),
        new_savl(0, greatest(score)),
        new_parts(4, score),
        new_units(4, score),
        new_ranked(1, score),
        new_ranked(1, score),
        size,
        np.full(1, least(score)),
    )


@kernel
def parts_room(parts: Parts, n: int) -> Parts:
    if n <= len(parts.lo):
        return parts
    return Parts(
        wider(parts.lo, n),
        wider(parts.hi, n),
        wider_keys(parts.floor, n),
        wider(parts.floor_seq, n),
        wider(parts.whole, n),
        wider(parts.early, n),
    )


@kernel
def units_room(units: Units, n: int) -> Units:
    if n <= len(units.lo):
        return units
    return Units(
        wider(units.lo, n),
        wider(units.hi, n),
        wider_keys(units.best, n),
        wider(units.place, n),
        wider(units.listed, n),
        wider_keys(units.floor, n),
        wider(units.floor_seq, n),
    )


@kernel
def refill(state: State, at: Ints, score: Keys, taken: int) -> State:
    """Take over up to CHUNK records of the batch; those that no window to come holds make room."""
    size = state.size
    first = size[FIRST] - size[BASE]
    used = size[FILLED] - size[BASE]
    kept = used - first
    more = min(len(at) - taken, CHUNK)
    raw_at, raw_score = state.at, state.score
    if used + more > len(raw_at):
        if 2 * kept + more > len(raw_at):
            raw_at = np.empty(2 * (kept + more), np.int64)
            raw_score = np.empty(2 * (kept + more), score.dtype)
        copy_into(raw_at, state.at[first:], kept)
        copy_into(raw_score, state.score[first:], kept)
        size[BASE] = size[FIRST]
        used = kept
    copy_into(raw_at[used:], at[taken:], more)
    copy_into(raw_score[used:], score[taken:], more)
    size[FILLED] += more
    return State(
        raw_at,
        raw_score,
        state.best,
        state.past,
        state.rest,
        state.front,
        state.savl,
        state.coming,
        state.parts,
        state.units,
        state.lists,
        state.early,
        size,
        state.tau,
    )


@kernel
def empty(savl: Savl) -> None:
    savl.mark[:] = 0


@kernel
def forget_all(state: State) -> None:
    """No record is left in any window to come."""
    size = state.size
    for place in (BEST, PAST, REST, FRONT, PARTS, UNITS, LISTED, EARLY, STACKED, ACTIVE):
        size[place] = 0
    size[OPEN] = size[NEXT]
    size[UNIT] = size[NEXT]
    size[COMING] = -1
    size[EVENT] = size[FIRST]
    empty(state.savl)
    empty(state.coming)


@kernel
def drop_parts(state: State, gone: int) -> None:
    """Forget the oldest partitions, their units and lists."""
    size, parts, units, lists, early = state.size, state.parts, state.units, state.lists, state.early
    bound = parts.hi[gone - 1]
    m = size[PARTS] - gone
    cut = parts.early[gone] if m else size[EARLY]
    for i in range(size[EARLY] - cut):
        early.score[i] = early.score[cut + i]
        early.seq[i] = early.seq[cut + i]
    size[EARLY] -= cut
    for i in range(m):
        parts.lo[i] = parts.lo[gone + i]
        parts.hi[i] = parts.hi[gone + i]
        parts.floor[i] = parts.floor[gone + i]
        parts.floor_seq[i] = parts.floor_seq[gone + i]
        parts.whole[i] = parts.whole[gone + i]
        parts.early[i] = parts.early[gone + i] - cut
    size[PARTS] = m
    old = 0
    while old < size[UNITS] and units.hi[old] <= bound:
        old += 1
    cut = size[LISTED]
    for u in range(size[UNITS] - 1, old - 1, -1):
        if units.place[u] >= 0:
            cut = units.place[u]
    for i in range(size[LISTED] - cut):
        lists.score[i] = lists.score[cut + i]
        lists.seq[i] = lists.seq[cut + i]
    size[LISTED] -= cut
    for u in range(old, size[UNITS]):
        units.lo[u - old] = units.lo[u]
        units.hi[u - old] = units.hi[u]
        units.best[u - old] = units.best[u]
        units.place[u - old] = units.place[u] - cut if units.place[u] >= 0 else -1
        units.listed[u - old] = units.listed[u]
        units.floor[u - old] = units.floor[u]
        units.floor_seq[u - old] = units.floor_seq[u]
    size[UNITS] -= old
    size[ACTIVE] = 0
    size[FRONT] = 0
    empty(state.savl)
    if size[COMING] < bound:
        size[COMING] = -1
        empty(state.coming)
