"""The records of SAP's window: taken over from a batch, and forgotten with their partitions."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.held import Held
from skyband.engines.kernels.sap.savl import Savl
from skyband.engines.kernels.sap.state import (
    ACTIVE,
    BASE,
    BEST,
    CHUNK,
    COMING,
    EARLY,
    EVENT,
    FILLED,
    FIRST,
    FRONT,
    LISTED,
    NEXT,
    OPEN,
    PARTS,
    PAST,
    REST,
    STACKED,
    UNIT,
    UNITS,
)
from skyband.model.types import Ints, Keys


@kernel
def refill(state: Held, at: Ints, score: Keys, taken: int) -> None:
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
    state.at, state.score = raw_at, raw_score


@kernel
def empty(savl: Savl) -> None:
    savl.mark[:] = 0


@kernel
def forget_all(state: Held) -> None:
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
def drop_parts(state: Held, gone: int) -> None:
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
