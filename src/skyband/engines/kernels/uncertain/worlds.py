"""For every record of a window, best first: how many better records exist, without those of its own rule.

Records of one rule above a place act as one event with their total probability, and a record's own rule must not count
at its own place. Dividing the rule out of a product is unstable. Instead the places are halved again and again: a
rule's event is the same between two neighbouring records of the rule, so it covers a stretch of places, and is put in
once for each of the largest halves inside that stretch. Whoever descends to a place has put in just the events that
cover it, by convex combinations only (see tally). A record takes part in O(log n) rows of a place's path.

The halves are those of the blocks [0, B), [B, 2B), [2B, 4B) …, each read only when the scan gets there: it stops as
soon as no later record can matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.uncertain.ranks import Ranked, Store, fetch
from skyband.engines.kernels.uncertain.tally import Tally, at_most, clear, copy_row, exactly, put_in_row
from skyband.model.types import Ints

BLOCK = 64


class Scan(NamedTuple):
    """`tally` row 0 is the block's, row d that of the half on level d; `row[d]` is the row that level d reads, for a
    half without events of its own reads its parent's. `bounds`: the block's begin and end, and its levels."""

    tally: Tally
    row: Ints
    bounds: Ints
    work: Ints


@kernel
def new_scan(n: int, most: int, ranks: bool) -> Scan:
    """For windows of up to n records and counts below `most`; `ranks` for P(count = j) in place of ≤."""
    rows, block = 2, BLOCK
    while block < 2 * n:
        block *= 2
        rows += 1
    rows += 7
    size = max(min(most, n), 1)
    tally = exactly(rows, size) if ranks else at_most(rows, size)
    return Scan(tally, np.zeros(rows, np.int64), np.zeros(3, np.int64), np.zeros(1, np.int64))


@kernel
def open_block(scan: Scan, store: Store, start: int, ranked: Ranked, latest: Ints) -> int:
    """Fetch the next block; how many records there are now. Row 0 gets the events that cover all of it."""
    begin = scan.bounds[1]
    end = BLOCK if begin == 0 else 2 * begin
    n = fetch(store, start, ranked, latest, end)
    scan.bounds[0] = begin
    scan.bounds[1] = end
    levels = 0
    while (1 << levels) < end - begin:
        levels += 1
    scan.bounds[2] = levels
    clear(scan.tally, 0)
    for s in range(begin):
        if ranked.after[s] >= end:
            scan.work[0] += put_in_row(scan.tally, 0, ranked.mass[s])
    return n


@kernel
def descend(scan: Scan, ranked: Ranked, place: int, n: int) -> int:
    """The row with the events above `place` of all other rules. Places of a block must be visited in order."""
    begin, levels = scan.bounds[0], scan.bounds[2]
    level = 1
    if place > begin:
        width = 1
        level = levels
        while ((place - begin) & width) == 0:
            width *= 2
            level -= 1
        _enter_right(scan, ranked, place, width, level, n)
        level += 1
    for down in range(level, levels + 1):
        _enter_left(scan, ranked, place, 1 << (levels - down), down, n)
    return int(scan.row[levels])


@kernel
def _enter_right(scan: Scan, ranked: Ranked, place: int, width: int, level: int, n: int) -> None:
    """The half [place, place + width): events that begin in the half before it and last to the end of this one."""
    fresh = True
    for s in range(place - width, place):
        if ranked.after[s] >= place + width:
            fresh = _put(scan, level, ranked.mass[s], fresh)
    if fresh:
        scan.row[level] = scan.row[level - 1]


@kernel
def _enter_left(scan: Scan, ranked: Ranked, place: int, width: int, level: int, n: int) -> None:
    """The half [place, place + width): events that began before it and end in the half behind it."""
    fresh = True
    for e in range(place + width, min(place + 2 * width, n)):
        s = ranked.before[e]
        if 0 <= s < place:
            fresh = _put(scan, level, ranked.mass[s], fresh)
    if fresh:
        scan.row[level] = scan.row[level - 1]


@kernel
def _put(scan: Scan, level: int, mass: float, fresh: bool) -> bool:
    """Put an event into the level's own row, which the first event makes out of the parent's."""
    if fresh:
        copy_row(scan.tally, scan.row[level - 1], level)
        scan.row[level] = level
    scan.work[0] += put_in_row(scan.tally, level, mass)
    return False
