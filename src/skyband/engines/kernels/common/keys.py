"""Records by key, for deletes: a hash table from a key to its newest record, and from each record to the one before.

A key is two words: a number as it is, anything else as two independent hashes of 64 bits, which as good as never agree
for two different keys of a window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Flags, Ints

NOBODY = -1
FREE = -2


class Table(NamedTuple):
    """Open addressing; the length is a power of two. `newest` is FREE where there is no key, and NOBODY where the key
    has no record any more."""

    one: Ints
    two: Ints
    newest: Ints


@kernel
def new_table(size: int) -> Table:
    return Table(np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, FREE, np.int64))


@kernel
def place_of(table: Table, one: int, two: int) -> int:
    """The key's place, or the free one where it belongs."""
    mask = len(table.one) - 1
    mixed = (np.uint64(one) ^ np.uint64(two) * np.uint64(0x9E3779B185EBCA87)) * np.uint64(0xC2B2AE3D27D4EB4F)
    place = np.int64(mixed >> np.uint64(20)) & mask
    while table.newest[place] != FREE and (table.one[place] != one or table.two[place] != two):
        place = (place + 1) & mask
    return int(place)


@kernel
def refitted(table: Table, first: int, more: int) -> Table:
    """The keys that have records from number `first` on, with room for so many more."""
    alive = 0
    for place in range(len(table.one)):
        alive += table.newest[place] >= first
    size = 64
    while size < 2 * (alive + more):
        size *= 2
    new = new_table(size)
    for place in range(len(table.one)):
        if table.newest[place] >= first:
            to = place_of(new, table.one[place], table.two[place])
            new.one[to] = table.one[place]
            new.two[to] = table.two[place]
            new.newest[to] = table.newest[place]
    return new


@kernel
def follow(
    table: Table, before: Ints, base: int, first: int, number: int, one: Ints, two: Ints, gone: Flags, dead: Flags
) -> tuple[int, Ints, Ints]:
    """Rows in feed order: a record gets the next number from `number` on and becomes its key's newest, a delete kills
    its key's records from `first` on. `before` and `dead` are by number, from `base` on. Returns how many keys are new,
    who was killed, and for each row how many it killed."""
    fresh = 0
    dying = 0
    died = np.empty(max(number + len(gone) - first, 0), np.int64)
    killed = np.zeros(len(gone), np.int64)
    for i in range(len(gone)):
        place = place_of(table, one[i], two[i])
        if gone[i]:
            older = table.newest[place]
            while older >= first:
                dead[older - base] = True
                died[dying] = older
                dying += 1
                killed[i] += 1
                older = before[older - base]
            if table.newest[place] != FREE:
                table.newest[place] = NOBODY
            continue
        if table.newest[place] == FREE:
            table.one[place] = one[i]
            table.two[place] = two[i]
            fresh += 1
        before[number - base] = table.newest[place]
        table.newest[place] = number
        number += 1
    return fresh, died[:dying].copy(), killed
