"""The top-k computation (tma-sma-sigmod06, Figure 6): cells by the best score a point in them could have.

The paper walks from cell to neighbouring cell. Here boxes of cells are halved, best first: empty boxes are passed over
whole, which matters where the good corner of the space holds nothing, and a score need not be monotone, for all that is
asked of a box is a bound.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.result_lists import offer, ranked
from skyband.engines.kernels.grid.score import apart, bound, merit, qualifies
from skyband.engines.kernels.grid.state import (
    CELLS,
    CHUNK,
    FREE,
    NOBODY,
    SCORED,
    SEARCHED,
    UNUSED,
    Cells,
    Influence,
    Lists,
    Points,
    Queries,
    Scratch,
)
from skyband.engines.kernels.jit import bare, inlined
from skyband.model.types import Ints


@inlined
def watch(cells: Cells, influence: Influence, lists: Lists, numbers: Ints, q: int, node: int) -> None:
    """There is a free entry: the engine sees to it."""
    entry = numbers[FREE]
    numbers[FREE] = influence.other[entry]
    numbers[UNUSED] -= 1
    influence.query[entry] = q
    influence.node[entry] = node
    influence.before[entry] = NOBODY
    influence.after[entry] = cells.watched[node]
    if cells.watched[node] != NOBODY:
        influence.before[cells.watched[node]] = entry
    cells.watched[node] = entry
    influence.other[entry] = lists.own[q]
    lists.own[q] = entry


@inlined
def unwatch(cells: Cells, influence: Influence, lists: Lists, numbers: Ints, q: int) -> None:
    """Take the query off all nodes."""
    entry = lists.own[q]
    while entry != NOBODY:
        following = influence.other[entry]
        before = influence.before[entry]
        after = influence.after[entry]
        if before == NOBODY:
            cells.watched[influence.node[entry]] = after
        else:
            influence.after[before] = after
        if after != NOBODY:
            influence.before[after] = before
        influence.other[entry] = numbers[FREE]
        numbers[FREE] = entry
        numbers[UNUSED] += 1
        entry = following
    lists.own[q] = NOBODY


@inlined
def push_node(scratch: Scratch, n: int, key: float, node: int) -> int:
    i = n
    while i > 0:
        parent = (i - 1) >> 1
        if scratch.bound[parent] >= key:
            break
        scratch.bound[i] = scratch.bound[parent]
        scratch.node[i] = scratch.node[parent]
        i = parent
    scratch.bound[i] = key
    scratch.node[i] = node
    return n + 1


@inlined
def pop_node(scratch: Scratch, n: int) -> int:
    """Take the top out; returns how many are left."""
    n -= 1
    key = scratch.bound[n]
    node = scratch.node[n]
    i = 0
    child = 1
    while child < n:
        if child + 1 < n and scratch.bound[child + 1] > scratch.bound[child]:
            child += 1
        if scratch.bound[child] <= key:
            break
        scratch.bound[i] = scratch.bound[child]
        scratch.node[i] = scratch.node[child]
        i = child
        child = 2 * i + 1
    scratch.bound[i] = key
    scratch.node[i] = node
    return n


@inlined
def scan(
    points: Points, cells: Cells, queries: Queries, q: int, cell: int, scratch: Scratch, found: int, k: int, first: int
) -> int:
    """Offer the points of one cell: those that may be among the best k, or are above the query's threshold. `first` is
    the number of the oldest point of the window."""
    room = len(points.at)
    oldest = first % room
    chunk = cells.head[cell]
    row = chunk * CHUNK + cells.start[cell]
    end = (chunk + 1) * CHUNK
    limit = queries.threshold[q]
    above = limit == limit
    floor = limit if above else scratch.score[0] if found == k else -np.inf
    for _ in range(cells.filled[len(cells.head) - 1 + cell]):
        score = merit(queries, q, points.x, row)
        # The test fails for NaN too: such a point is not ranked.
        if score >= floor and qualifies(queries, q, points.x, row) and not points.gone[points.slot[row]]:
            behind = points.slot[row] - oldest
            number = first + (behind if behind >= 0 else behind + room)
            if not above:
                found = offer(scratch, found, k, score, number)
                floor = scratch.score[0] if found == k else -np.inf
            elif score > limit:
                found = offer(scratch, found, k, queries.turn[q] * score + 0.0, number)
        row += 1
        if row == end:
            chunk = points.following[chunk]
            row = chunk * CHUNK
            end = row + CHUNK
    return found


@bare
def search(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    scratch: Scratch,
    numbers: Ints,
    q: int,
    k: int,
    first: int,
) -> int:
    """The best k of the window into `scratch`, best first; the query watches the cells it saw. How many were found.

    It goes on while a bound equals the k-th score: a newer point of that score would rank higher.
    """
    unwatch(cells, influence, lists, numbers, q)
    numbers[SEARCHED] += 1
    lists.searched[q] = numbers[SEARCHED]
    before = numbers[SCORED]
    leaves = len(cells.head) - 1
    found = scan(points, cells, queries, q, leaves, scratch, 0, k, first)
    numbers[SCORED] += cells.filled[2 * leaves]
    waiting = 0
    if not apart(queries, q, cells, 1):
        waiting = push_node(scratch, 0, bound(queries, q, cells, 1), 1)
    while waiting > 0 and (found < k or not scratch.bound[0] < scratch.score[0]):
        node = scratch.node[0]
        key = scratch.bound[0]
        waiting = pop_node(scratch, waiting)
        empty = cells.filled[node] == 0
        if node >= leaves or (empty and cells.at_stratum[cells.depth[node]]):
            if lists.dense[q]:
                influence.seen[node] = numbers[SEARCHED]
            else:
                watch(cells, influence, lists, numbers, q, node)
            numbers[CELLS] += 1
            if not empty:
                found = scan(points, cells, queries, q, node - leaves, scratch, found, k, first)
                numbers[SCORED] += cells.filled[node]
            continue
        for child in range(2 * node, 2 * node + 2):
            if apart(queries, q, cells, child):
                continue
            best = bound(queries, q, cells, child)
            # A box is no better than the one it lies in; a bound that is NaN says nothing.
            best = min(best, key) if best == best else key
            if found < k or not best < scratch.score[0]:
                waiting = push_node(scratch, waiting, best, child)
    lists.looked[q] = numbers[SCORED] - before
    ranked(scratch, found)
    return found


@bare
def search_above(
    points: Points, cells: Cells, queries: Queries, scratch: Scratch, numbers: Ints, q: int, first: int
) -> int:
    """Every point above the query's threshold into `scratch`, best first; the order of the cells does not matter."""
    leaves = len(cells.head) - 1
    room = len(points.at)
    found = scan(points, cells, queries, q, leaves, scratch, 0, room, first)
    numbers[SCORED] += cells.filled[2 * leaves]
    waiting = 0
    if cells.filled[1]:
        scratch.node[0] = 1
        waiting = 1
    while waiting > 0:
        waiting -= 1
        node = scratch.node[waiting]
        if apart(queries, q, cells, node) or bound(queries, q, cells, node) <= queries.threshold[q]:
            continue
        if node >= leaves:
            numbers[CELLS] += 1
            numbers[SCORED] += cells.filled[node]
            found = scan(points, cells, queries, q, node - leaves, scratch, found, room, first)
            continue
        for child in range(2 * node, 2 * node + 2):
            if cells.filled[child]:
                scratch.node[waiting] = child
                waiting += 1
    ranked(scratch, found)
    return found
