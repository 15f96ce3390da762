"""What SAP holds between two calls: the records of the window, the partitions over them, the candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.lists import Ranked, Rest
from skyband.engines.kernels.sap.savl import MARKS, Savl, wider, wider_keys
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


def new_state(fed: int, score: Keys) -> State:
    """Nothing yet, with room for scores of the type of these; the next record has number `fed`. No kernel: that would
    be one more to compile before the first answer."""

    def ints(n: int) -> Ints:
        return np.empty(n, np.int64)

    def keys(n: int) -> Keys:
        return np.zeros(n, score.dtype)

    def ranked() -> Ranked:
        return Ranked(keys(1), ints(1))

    def savl() -> Savl:
        return Savl(keys(1), ints(1), ints(1), ints(1), ints(1), np.zeros(MARKS, np.int64), keys(1))

    size = np.zeros(SIZES, np.int64)
    size[[BASE, FILLED, FIRST, NEXT, OPEN, UNIT]] = fed
    size[[COMING, EVENT]] = -1
    size[SETTING] = 1
    parts = Parts(ints(4), ints(4), keys(4), ints(4), ints(4), ints(4))
    units = Units(ints(4), ints(4), keys(4), ints(4), ints(4), keys(4), ints(4))
    rest = Rest(keys(1), ints(1), ints(1))
    best, past, front, lists, early = (ranked() for _ in range(5))
    return State(ints(0), keys(0), best, past, rest, front, savl(), savl(), parts, units, lists, early, size, keys(1))


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
