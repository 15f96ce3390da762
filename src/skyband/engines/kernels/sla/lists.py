"""Sorted lists, one per stream, in blocks: an entry finds its block in a directory and its place inside by halving."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.jit import bare, inlined
from skyband.model.types import Floats, Ints

Links = NDArray[np.int32]
FREE, MOVED = range(2)
"""Places in `Sorted.numbers`: blocks that were given back, and entries that were moved."""


class Sorted(NamedTuple):
    """Entries (value, cell) in rising order. `directory` has the blocks of each stream in order, `blocks` how many;
    `spare` lists those that are free."""

    value: Floats
    cell: Links
    size: Links
    directory: Links
    blocks: Links
    spare: Links
    numbers: Ints


@inlined
def before(value: float, cell: int, other: float, other_cell: int) -> bool:
    return bool(value < other or (value == other and cell < other_cell))


@inlined
def block_of(lists: Sorted, stream: int, value: float, cell: int) -> int:
    """The directory's place of the last block that does not begin behind the entry."""
    low, high = 0, lists.blocks[stream]
    while high - low > 1:
        middle = (low + high) // 2
        block = lists.directory[stream, middle]
        if before(value, cell, lists.value[block, 0], lists.cell[block, 0]):
            high = middle
        else:
            low = middle
    return low


@inlined
def place_in(lists: Sorted, block: int, value: float, cell: int) -> int:
    """Where the entry is in a block, or would be."""
    low, high = 0, lists.size[block]
    while low < high:
        middle = (low + high) // 2
        if before(lists.value[block, middle], lists.cell[block, middle], value, cell):
            low = middle + 1
        else:
            high = middle
    return low


@bare
def new_block(lists: Sorted, stream: int, place: int) -> int:
    """An empty block, put into the directory at this place."""
    lists.numbers[FREE] -= 1
    block = lists.spare[lists.numbers[FREE]]
    lists.size[block] = 0
    for j in range(lists.blocks[stream], place, -1):
        lists.directory[stream, j] = lists.directory[stream, j - 1]
    lists.directory[stream, place] = block
    lists.blocks[stream] += 1
    return int(block)


@inlined
def insert(lists: Sorted, stream: int, value: float, cell: int) -> None:
    if not lists.blocks[stream]:
        new_block(lists, stream, 0)
    place = block_of(lists, stream, value, cell)
    block = lists.directory[stream, place]
    if lists.size[block] == lists.value.shape[1]:
        half = lists.size[block] // 2
        other = new_block(lists, stream, place + 1)
        for j in range(half, lists.size[block]):
            lists.value[other, j - half] = lists.value[block, j]
            lists.cell[other, j - half] = lists.cell[block, j]
        lists.size[other] = lists.size[block] - half
        lists.size[block] = half
        if not before(value, cell, lists.value[other, 0], lists.cell[other, 0]):
            block = other
    i, n = place_in(lists, block, value, cell), lists.size[block]
    # Hand over hand from the front, array by array: such a loop becomes vector moves, one from the back does not.
    values, cells = lists.value[block, i : n + 1], lists.cell[block, i : n + 1]
    for j in range(len(values)):
        pushed = values[j]
        values[j] = value
        value = pushed
    entry = np.int32(cell)
    for j in range(len(cells)):
        own = cells[j]
        cells[j] = entry
        entry = own
    lists.size[block] = n + 1
    lists.numbers[MOVED] += n - i


@inlined
def remove(lists: Sorted, stream: int, value: float, cell: int) -> None:
    """Take out an entry that is there."""
    place = block_of(lists, stream, value, cell)
    block = lists.directory[stream, place]
    i, n = place_in(lists, block, value, cell), lists.size[block] - 1
    values, cells = lists.value[block, i : n + 1], lists.cell[block, i : n + 1]
    for j in range(n - i):
        values[j] = values[j + 1]
    for j in range(n - i):
        cells[j] = cells[j + 1]
    lists.size[block] = n
    lists.numbers[MOVED] += n - i
    if 4 * n < lists.value.shape[1]:
        thin(lists, stream, place)


@bare
def thin(lists: Sorted, stream: int, place: int) -> None:
    """Put what is left of a block into a neighbour that has room, so that blocks stay a quarter full on average."""
    block = lists.directory[stream, place]
    n = lists.size[block]
    into = place + 1 if place + 1 < lists.blocks[stream] else place - 1
    if n and into < 0:
        return
    if n:
        other = lists.directory[stream, into]
        m = lists.size[other]
        if 4 * (n + m) > 3 * lists.value.shape[1]:
            return
        begin = m
        if into > place:
            begin = 0
            for j in range(m - 1, -1, -1):
                lists.value[other, j + n] = lists.value[other, j]
                lists.cell[other, j + n] = lists.cell[other, j]
        for j in range(n):
            lists.value[other, begin + j] = lists.value[block, j]
            lists.cell[other, begin + j] = lists.cell[block, j]
        lists.size[other] = n + m
        lists.numbers[MOVED] += n + m
    lists.blocks[stream] -= 1
    for j in range(place, lists.blocks[stream]):
        lists.directory[stream, j] = lists.directory[stream, j + 1]
    lists.spare[lists.numbers[FREE]] = block
    lists.numbers[FREE] += 1
