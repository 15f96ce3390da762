"""S-AVL (sap-tkde17 §5.1): the records of a partition that may be reported once its best k begin to leave.

Records are scanned newest first. Each goes on the stack with the best top that it outranks, so inside a stack the top
is both the best and the first to leave. While stacks are built their tops stand in a sorted array: a push never changes
the order, so binary search serves as the paper's tree. Once built, only the best top is ever asked for: a heap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import bound_of, floor_at, passes
from skyband.engines.kernels.common.pane import BLOCK, best_of_pane, no_guess, pane_room
from skyband.engines.kernels.common.run import first_at_or_after
from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

(NODES, HEAP, FRESH, LIMIT, POPPED, SCANNED) = range(6)
MARKS = 6


class Savl(NamedTuple):
    """`below` links the records of a stack, -1 at its bottom. `fresh` has the tops of stacks under construction, worst
    first; `heap` those of finished ones. A record that does not pass the floor `bar[0]`, F_θ, is dominated from
    outside; one that LIMIT tops outrank, from inside."""

    score: Keys
    seq: Ints
    below: Ints
    heap: Ints
    fresh: Ints
    mark: Ints
    bar: Keys


@kernel
def new_savl(limit: int, bar: float) -> Savl:
    """No stacks yet. A record is meaningful while fewer than `limit` newer ones of its partition outrank it."""
    size = BLOCK + 1
    mark = np.zeros(MARKS, np.int64)
    mark[LIMIT] = limit
    bars = np.full(1, bar)
    return Savl(
        np.empty(size, bars.dtype),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(1, np.int64),
        np.empty(size, np.int64),
        mark,
        bars,
    )


@kernel
def wider(column: Ints, size: int) -> Ints:
    if size <= len(column):
        return column
    room = np.empty(2 * size, np.int64)
    copy_into(room, column, len(column))
    return room


@kernel
def wider_keys(column: Keys, size: int) -> Keys:
    if size <= len(column):
        return column
    room = np.empty(2 * size, column.dtype)
    copy_into(room, column, len(column))
    return room


@kernel
def with_room(savl: Savl, more: int) -> Savl:
    """The same with room for so many more pushes."""
    nodes = savl.mark[NODES] + more
    fresh = savl.mark[FRESH] + more
    if nodes <= len(savl.score) and fresh <= len(savl.fresh):
        return savl
    return Savl(
        wider_keys(savl.score, nodes),
        wider(savl.seq, nodes),
        wider(savl.below, nodes),
        savl.heap,
        wider(savl.fresh, fresh),
        savl.mark,
        savl.bar,
    )


@kernel
def held(savl: Savl) -> int:
    """Records on the stacks."""
    return int(savl.mark[NODES] - savl.mark[POPPED])


@kernel
def threshold(score: Keys, fresh: Ints, mark: Ints, bar: Keys) -> float:
    """Nothing that does not pass this floor is meaningful any more: global and local pruning in one number."""
    m, limit = mark[FRESH], mark[LIMIT]
    floor: float = bar[0]
    if m >= limit:
        top = floor_at(score[fresh[m - limit]])
        if not top <= floor:
            return top
    return floor


@kernel
def push(score: Keys, seq: Ints, below: Ints, fresh: Ints, mark: Ints, value: float, number: int) -> None:
    """Put a record, older than all before it, where it belongs, or nowhere. There is room.

    Here and below the columns are handed over one by one: a structure in an inner loop costs more than the loop."""
    m, limit = mark[FRESH], mark[LIMIT]
    low = 0
    high = m
    while low < high:
        middle = (low + high) // 2
        # A top of equal score is newer, so it outranks.
        if score[fresh[middle]] < value:
            low = middle + 1
        else:
            high = middle
    node = mark[NODES]
    if m < limit:
        for i in range(m, low, -1):
            fresh[i] = fresh[i - 1]
        fresh[low] = node
        below[node] = -1
        mark[FRESH] += 1
    elif m - low < limit:
        below[node] = fresh[low - 1]
        fresh[low - 1] = node
    else:
        return
    score[node] = value
    seq[node] = number
    mark[NODES] += 1


@kernel
def among_best(value: float, number: int, floor: float, floor_seq: int) -> bool:
    """Whether a record is among the best k, whose last one is given. Those outrank all that are older or as old, and
    one stack less can be meaningful (Lemma 2 counts them too)."""
    return value > floor or (value == floor and number >= floor_seq)


@kernel
def scan(savl: Savl, given: Keys, base: int, low: int, high: int, floor: float, floor_seq: int) -> Savl:
    """Push the meaningful records of [low, high) (numbers of records; given[0] has number `base`), newest first."""
    savl = with_room(savl, high - low + 1)
    score, seq, below, fresh, mark, bar = savl.score, savl.seq, savl.below, savl.fresh, savl.mark, savl.bar
    stop = _push_blocks(score, seq, below, fresh, mark, bar, given, base, low, high, floor, floor_seq)
    mark[SCANNED] += high - stop
    return savl


@kernel
def _push_blocks(
    score: Keys,
    seq: Ints,
    below: Ints,
    fresh: Ints,
    mark: Ints,
    bar: Keys,
    given: Keys,
    base: int,
    low: int,
    high: int,
    floor: float,
    floor_seq: int,
) -> int:
    stop = high
    least = threshold(score, fresh, mark, bar)
    while stop > low and mark[LIMIT] > 0:
        begin = max(stop - BLOCK, low)
        block = given[begin - base : stop - base]
        hits = 0
        if len(block) == BLOCK:
            for j in range(BLOCK):
                hits += passes(block[j], least)
        else:
            hits = 1
        if hits:
            for j in range(len(block) - 1, -1, -1):
                if passes(block[j], least):
                    if among_best(block[j], begin + j, floor, floor_seq):
                        mark[LIMIT] -= 1
                        if mark[LIMIT] <= 0:
                            break
                    else:
                        push(score, seq, below, fresh, mark, block[j], begin + j)
                    least = threshold(score, fresh, mark, bar)
        stop = begin
    return stop


@kernel
def scan_slides(
    savl: Savl,
    at: Ints,
    given: Keys,
    base: int,
    low: int,
    high: int,
    floor: float,
    floor_seq: int,
    origin: int,
    period: int,
) -> Savl:
    """As `scan`, where slides are long (Appendix C): what lies between two window starts leaves together, so only the
    best LIMIT of it, the best k among them, can be meaningful. Equal times are met best first."""
    mark = savl.mark
    stop = high
    while stop > low and mark[LIMIT] > 0:
        start = at[stop - 1 - base] - (at[stop - 1 - base] - origin) % period
        begin = base + first_at_or_after(at[: stop - base], low - base, start)
        most = mark[LIMIT]
        room = pane_room(most, stop - begin)
        best = np.empty(room, given.dtype)
        place = np.empty(room, np.int64)
        bar = threshold(savl.score, savl.fresh, mark, savl.bar)
        found = best_of_pane(given, begin - base, stop - base, most, bound_of(bar), no_guess(given), best, place)
        savl = with_room(savl, found + 1)
        for j in range(found):
            if mark[LIMIT] > 0 and passes(best[j], bar):
                if among_best(best[j], base + place[j], floor, floor_seq):
                    mark[LIMIT] -= 1
                else:
                    push(savl.score, savl.seq, savl.below, savl.fresh, mark, best[j], base + place[j])
        mark[SCANNED] += stop - begin
        stop = begin
    return savl


@kernel
def scan_list(savl: Savl, given: Keys, number: Ints, n: int, floor: float, floor_seq: int) -> Savl:
    """Push the meaningful ones of a list, oldest first in the list."""
    savl = with_room(savl, n + 1)
    score, seq, below, fresh, mark, bar = savl.score, savl.seq, savl.below, savl.fresh, savl.mark, savl.bar
    for j in range(n - 1, -1, -1):
        if mark[LIMIT] <= 0:
            break
        if passes(given[j], threshold(score, fresh, mark, bar)):
            if among_best(given[j], number[j], floor, floor_seq):
                mark[LIMIT] -= 1
            else:
                push(score, seq, below, fresh, mark, given[j], number[j])
    return savl


@kernel
def stack_ranked(savl: Savl, score: Keys, seq: Ints, n: int) -> Savl:
    """One stack of a ranked list, its best on top: Algorithm 1 without the S-AVL."""
    if n == 0:
        return savl
    savl = with_room(savl, n + 1)
    mark = savl.mark
    below = -1
    for j in range(n - 1, -1, -1):
        node = mark[NODES]
        savl.score[node] = score[j]
        savl.seq[node] = seq[j]
        savl.below[node] = below
        below = node
        mark[NODES] += 1
    savl.fresh[mark[FRESH]] = below
    mark[FRESH] += 1
    return savl


@kernel
def better(score: Keys, seq: Ints, a: int, b: int) -> bool:
    return bool(score[a] > score[b] or (score[a] == score[b] and seq[a] > seq[b]))


@kernel
def finish(savl: Savl) -> Savl:
    """The stacks under construction are complete: their tops join the heap."""
    score, seq, mark = savl.score, savl.seq, savl.mark
    heap = wider(savl.heap, mark[HEAP] + mark[FRESH])
    for j in range(mark[FRESH]):
        i = mark[HEAP]
        node = savl.fresh[j]
        while i > 0 and better(score, seq, node, heap[(i - 1) // 2]):
            heap[i] = heap[(i - 1) // 2]
            i = (i - 1) // 2
        heap[i] = node
        mark[HEAP] += 1
    mark[FRESH] = 0
    return Savl(score, seq, savl.below, heap, savl.fresh, mark, savl.bar)


@kernel
def pop(score: Keys, seq: Ints, below: Ints, heap: Ints, mark: Ints) -> None:
    """Take the best record off its stack. The next of the stack takes its place in the heap."""
    node = below[heap[0]]
    if node < 0:
        mark[HEAP] -= 1
        node = heap[mark[HEAP]]
    n = mark[HEAP]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and better(score, seq, heap[child + 1], heap[child]):
            child += 1
        if better(score, seq, node, heap[child]):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = node
    mark[POPPED] += 1
