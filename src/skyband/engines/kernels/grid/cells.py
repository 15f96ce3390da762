"""The grid: where a point belongs, putting it there, taking the oldest out."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.state import CHUNK, FIRST, NEXT, NOBODY, SPARE, SPARES, Cells, Points
from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.model.many import LARGEST
from skyband.model.types import Floats, Ints


@kernel
def new_cells(low: Floats, high: Floats, bits: int) -> Cells:
    """2^bits cells over the box; halves are taken axis after axis. Watched strata lie an axis round apart."""
    d = len(low)
    most = 1 << ((bits + d - 1) // d)
    edge = np.zeros((d, most + 1))
    scale = np.zeros(d)
    sides = np.ones(d, np.int64)
    spread = np.zeros((d, most), np.int64)
    for j in range(d):
        halvings = bits // d + (1 if j < bits % d else 0)
        sides[j] = 1 << halvings
        span = high[j] - low[j]
        scale[j] = sides[j] / span if span > 0 else 0.0
        for c in range(sides[j] + 1):
            edge[j, c] = low[j] + span * (c / sides[j])
        edge[j, 0] = low[j]
        edge[j, sides[j]] = max(high[j], edge[j, sides[j]])
        for c in range(sides[j]):
            for t in range(halvings):
                spread[j, c] |= ((c >> (halvings - 1 - t)) & 1) << (bits - 1 - (t * d + j))
    leaves = 1 << bits
    depth = np.zeros(2 * leaves, np.int8)
    first = np.zeros((2 * leaves, d), np.int16)
    reach = np.zeros((bits + 1, d), np.int64)
    reach[0] = sides
    for level in range(bits):
        reach[level + 1] = reach[level]
        reach[level + 1, level % d] = reach[level, level % d] // 2
    for node in range(1, leaves):
        for half in range(2):
            child = 2 * node + half
            depth[child] = depth[node] + 1
            first[child] = first[node]
            if half:
                first[child, depth[node] % d] += reach[depth[child], depth[node] % d]
    step = max(4, d)
    at_stratum = np.zeros(bits + 1, np.bool_)
    at_stratum[bits] = True
    for level in range(0, bits, step):
        at_stratum[level] = True
    strata = np.empty(int(at_stratum.sum()), np.int64)
    n = 0
    for level in range(bits, -1, -1):
        if at_stratum[level]:
            strata[n] = bits - level
            n += 1
    filled = np.zeros(2 * leaves + 1, np.int32)
    head = np.full(leaves + 1, NOBODY, np.int32)
    start = np.zeros(leaves + 1, np.int32)
    tail = np.full(leaves + 1, NOBODY, np.int32)
    watched = np.full(2 * leaves, NOBODY, np.int32)
    return Cells(
        edge, scale, sides, spread, first, depth, reach, filled, head, start, tail, watched, strata, at_stratum
    )


@inlined
def is_odd(x: Floats, i: int) -> bool:
    odd = False
    for j in range(x.shape[1]):
        odd |= not abs(x[i, j]) <= LARGEST
    return odd


@inlined
def cell_of(cells: Cells, x: Floats, i: int) -> int:
    """The number of the cell of point x[i]; the last one is for points without a place."""
    cell = 0
    for j in range(x.shape[1]):
        if not abs(x[i, j]) <= LARGEST:
            return len(cells.head) - 1
        last = cells.sides[j] - 1
        c = min(max(int((x[i, j] - cells.edge[j, 0]) * cells.scale[j]), 0), last)
        # Rounding may miss by one; the edges decide, for bounds are made of them.
        while c > 0 and x[i, j] < cells.edge[j, c]:
            c -= 1
        while c < last and x[i, j] >= cells.edge[j, c + 1]:
            c += 1
        cell += cells.spread[j, c]
    return int(cell)


@bare
def outside(cells: Cells, x: Floats) -> bool:
    """Some point lies outside the grid's bounds."""
    for i in range(len(x)):
        if is_odd(x, i):
            continue
        for j in range(x.shape[1]):
            if x[i, j] < cells.edge[j, 0] or x[i, j] > cells.edge[j, cells.sides[j]]:
                return True
    return False


@bare
def spans(x: Floats, low: Floats, high: Floats) -> int:
    """Widen [low, high] to hold these points; how many there are."""
    n = 0
    for i in range(len(x)):
        if is_odd(x, i):
            continue
        n += 1
        for j in range(x.shape[1]):
            low[j] = min(low[j], x[i, j])
            high[j] = max(high[j], x[i, j])
    return n


@kernel
def new_points(room: int, d: int, chunks: int, numbers: Ints) -> Points:
    """An empty window for `room` points."""
    following = np.arange(1, chunks + 1).astype(np.int32)
    following[-1] = NOBODY
    numbers[SPARE] = 0
    numbers[SPARES] = chunks
    return Points(
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.zeros(room, np.bool_),
        np.empty((chunks * CHUNK, d)),
        np.empty(chunks * CHUNK, np.int32),
        following,
    )


@kernel
def more_chunks(points: Points, numbers: Ints, more: int) -> Points:
    old = len(points.following)
    x = np.empty(((old + more) * CHUNK, points.x.shape[1]))
    slot = np.empty((old + more) * CHUNK, np.int32)
    following = np.empty(old + more, np.int32)
    x[: old * CHUNK] = points.x
    slot[: old * CHUNK] = points.slot
    following[:old] = points.following
    for chunk in range(old, old + more):
        following[chunk] = chunk + 1
    following[-1] = numbers[SPARE]
    numbers[SPARE] = old
    numbers[SPARES] += more
    return Points(points.at, points.cell, points.gone, x, slot, following)


@inlined
def put(points: Points, cells: Cells, numbers: Ints, slot: int, x: Floats, i: int) -> int:
    """Append point x[i] to its cell; there is a free chunk. Returns the cell."""
    cell = cell_of(cells, x, i)
    leaves = len(cells.head) - 1
    node = leaves + cell
    place = (cells.start[cell] + cells.filled[node]) % CHUNK
    if place == 0 or cells.filled[node] == 0:
        chunk = numbers[SPARE]
        numbers[SPARE] = points.following[chunk]
        numbers[SPARES] -= 1
        if cells.filled[node]:
            points.following[cells.tail[cell]] = chunk
        else:
            cells.head[cell] = chunk
            cells.start[cell] = 0
            place = 0
        cells.tail[cell] = chunk
    row = cells.tail[cell] * CHUNK + place
    for j in range(x.shape[1]):
        points.x[row, j] = x[i, j]
    points.slot[row] = slot
    points.cell[slot] = cell
    cells.filled[node] += 1
    if cells.filled[node] == 1 and cell < leaves:
        while node > 1:
            node >>= 1
            cells.filled[node] += 1
            if cells.filled[node] > 1:
                break
    return cell


@bare
def drop_before(points: Points, cells: Cells, numbers: Ints, at: int) -> None:
    """Take out the oldest points as far as they are older than `at`: first in, first out, in every cell too."""
    room = len(points.at)
    leaves = len(cells.head) - 1
    while numbers[FIRST] < numbers[NEXT]:
        slot = numbers[FIRST] % room
        if points.at[slot] >= at:
            break
        cell = points.cell[slot]
        node = leaves + cell
        cells.start[cell] += 1
        cells.filled[node] -= 1
        if cells.start[cell] == CHUNK or cells.filled[node] == 0:
            chunk = cells.head[cell]
            cells.head[cell] = points.following[chunk]
            cells.start[cell] = 0
            points.following[chunk] = numbers[SPARE]
            numbers[SPARE] = chunk
            numbers[SPARES] += 1
        if cells.filled[node] == 0 and cell < leaves:
            while node > 1:
                node >>= 1
                cells.filled[node] -= 1
                if cells.filled[node] > 0:
                    break
        numbers[FIRST] += 1


@kernel
def gathered(points: Points, cells: Cells, numbers: Ints) -> Floats:
    """The values of the whole window, oldest first."""
    n = numbers[NEXT] - numbers[FIRST]
    room = len(points.at)
    oldest = numbers[FIRST] % room
    x = np.empty((n, points.x.shape[1]))
    leaves = len(cells.head) - 1
    for cell in range(leaves + 1):
        chunk = cells.head[cell]
        place = cells.start[cell]
        for _ in range(cells.filled[leaves + cell]):
            row = chunk * CHUNK + place
            behind = points.slot[row] - oldest
            x[behind if behind >= 0 else behind + room] = points.x[row]
            place += 1
            if place == CHUNK:
                chunk = points.following[chunk]
                place = 0
    return x


@bare
def put_all(old: Points, points: Points, cells: Cells, numbers: Ints, x: Floats, begin: int) -> int:
    """Fill a ring and cells with the window of an old ring, whose values are `x`, from place `begin` on. Returns where
    it stopped for want of chunks."""
    for i in range(begin, len(x)):
        if numbers[SPARES] == 0:
            return i
        number = numbers[FIRST] + i
        slot = number % len(points.at)
        points.at[slot] = old.at[number % len(old.at)]
        points.gone[slot] = old.gone[number % len(old.at)]
        put(points, cells, numbers, slot, x, i)
    return len(x)
