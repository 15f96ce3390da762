"""Result lists kept up to date: the k best (TMA, Figure 9) or a k-skyband in score and time (SMA, Figure 11)."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid_cells import put
from skyband.engines.kernels.grid_score import merit, qualifies
from skyband.engines.kernels.grid_search import below, search, search_above, unwatch
from skyband.engines.kernels.grid_state import (
    CHUNK,
    COMPARED,
    COMPUTED,
    FIRST,
    INSERTED,
    NEXT,
    NOBODY,
    REFRESHED,
    SPARES,
    UNUSED,
    Cells,
    Influence,
    Lists,
    Points,
    Queries,
    Scratch,
)
from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.engines.kernels.run import Output, grown
from skyband.model.arrays import Floats, Ints


@bare
def arrive(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    numbers: Ints,
    at: Ints,
    x: Floats,
    begin: int,
    skyband: bool,
) -> int:
    """Put points from `begin` on into the grid and into the lists of the queries that watch their cells. Returns where
    it stopped for want of chunks."""
    room = len(points.at)
    leaves = len(cells.head) - 1
    for i in range(begin, len(at)):
        if numbers[SPARES] == 0:
            return i
        number = numbers[NEXT]
        slot = number % room
        points.at[slot] = at[i]
        points.gone[slot] = False
        numbers[NEXT] += 1
        cell = put(points, cells, numbers, slot, x, i)
        if cell == leaves:
            for q in range(len(lists.own)):
                if queries.alive[q]:
                    consider(queries, lists, numbers, q, x, i, number, skyband)
            continue
        for shift in cells.strata:
            entry = cells.watched[(leaves + cell) >> shift]
            while entry != NOBODY:
                consider(queries, lists, numbers, influence.query[entry], x, i, number, skyband)
                entry = influence.after[entry]
    return len(at)


@inlined
def consider(
    queries: Queries, lists: Lists, numbers: Ints, q: int, x: Floats, i: int, number: int, skyband: bool
) -> None:
    if lists.stale[q]:
        return
    score = merit(queries, q, x, i)
    numbers[COMPARED] += 1
    # Equal scores count: the newer ranks higher. NaN fails the test.
    if score >= lists.floor[q] and qualifies(queries, q, x, i):
        numbers[INSERTED] += 1
        if skyband:
            insert_skyband(queries, lists, numbers, q, score, number)
        else:
            insert_top(queries, lists, q, score, number)


@inlined
def insert_top(queries: Queries, lists: Lists, q: int, score: float, number: int) -> None:
    """Into the k best. Once something has been left out, the k-th score is the floor."""
    begin = lists.begin[q]
    n = lists.size[q]
    if n == queries.k[q]:
        n -= 1
        lists.whole[q] = False
        if below(score, number, lists.score[begin + n], lists.number[begin + n]):
            lists.floor[q] = lists.score[begin + n]
            return
    i = begin + n
    while i > begin and below(lists.score[i - 1], lists.number[i - 1], score, number):
        lists.score[i] = lists.score[i - 1]
        lists.number[i] = lists.number[i - 1]
        i -= 1
    lists.score[i] = score
    lists.number[i] = number
    lists.size[q] = n + 1
    if not lists.whole[q]:
        lists.floor[q] = lists.score[begin + n]


@inlined
def insert_skyband(queries: Queries, lists: Lists, numbers: Ints, q: int, score: float, number: int) -> None:
    """The newest point dominates all that do not rank above it; whoever has k dominators goes."""
    if lists.begin[q] + lists.size[q] == lists.begin[q + 1]:
        drop_expired(lists, q, numbers[FIRST])
        if lists.begin[q] + lists.size[q] == lists.begin[q + 1]:
            # A list much longer than k: its floor is too low. A search raises it and lets the query watch less.
            lists.stale[q] = True
            return
    begin = lists.begin[q]
    end = begin + lists.size[q]
    place = begin
    span = lists.size[q]
    while span > 0:
        half = span >> 1
        if lists.score[place + half] > score:
            place += half + 1
            span -= half + 1
        else:
            span = half
    carried_score = score
    carried_number = number
    carried_count = np.int32(0)
    to = place
    for i in range(place, end):
        next_score = lists.score[i]
        next_number = lists.number[i]
        next_count = lists.dominated[i] + np.int32(1)
        if next_count >= queries.k[q]:
            continue
        lists.score[to] = carried_score
        lists.number[to] = carried_number
        lists.dominated[to] = carried_count
        to += 1
        carried_score = next_score
        carried_number = next_number
        carried_count = next_count
    lists.score[to] = carried_score
    lists.number[to] = carried_number
    lists.dominated[to] = carried_count
    lists.size[q] = to + 1 - begin


@inlined
def drop_expired(lists: Lists, q: int, first: int) -> int:
    """By age, not by cell or rank; returns how many went."""
    begin = lists.begin[q]
    to = begin
    for i in range(begin, begin + lists.size[q]):
        if lists.number[i] >= first:
            if to < i:
                lists.score[to] = lists.score[i]
                lists.number[to] = lists.number[i]
                lists.dominated[to] = lists.dominated[i]
            to += 1
    gone = begin + lists.size[q] - to
    lists.size[q] = to - begin
    return int(gone)


@bare
def forget(
    points: Points, cells: Cells, influence: Influence, queries: Queries, lists: Lists, numbers: Ints, deleted: Ints
) -> None:
    """Deleted points leave the k best of the queries that watch them. Their places go when their turn has come."""
    room = len(points.at)
    leaves = len(cells.head) - 1
    for number in deleted:
        slot = number % room
        if number < numbers[FIRST] or points.gone[slot]:
            continue
        points.gone[slot] = True
        cell = points.cell[slot]
        if cell == leaves:
            for q in range(len(lists.own)):
                take_out(lists, q, number)
            continue
        row = row_of(points, cells, cell, slot)
        for shift in cells.strata:
            entry = cells.watched[(leaves + cell) >> shift]
            while entry != NOBODY:
                q = influence.query[entry]
                if merit(queries, q, points.x, row) >= lists.floor[q]:
                    take_out(lists, q, number)
                entry = influence.after[entry]


@inlined
def row_of(points: Points, cells: Cells, cell: int, slot: int) -> int:
    """Where the values of a point are, of which only the cell is known."""
    chunk = cells.head[cell]
    row = chunk * CHUNK + cells.start[cell]
    while points.slot[row] != slot:
        row += 1
        if row % CHUNK == 0:
            chunk = points.following[chunk]
            row = chunk * CHUNK
    return int(row)


@inlined
def take_out(lists: Lists, q: int, number: int) -> None:
    begin = lists.begin[q]
    end = begin + lists.size[q]
    for i in range(begin, end):
        if lists.number[i] == number:
            for j in range(i, end - 1):
                lists.score[j] = lists.score[j + 1]
                lists.number[j] = lists.number[j + 1]
            lists.size[q] -= 1
            # Something unknown may rank behind those that are left.
            if not lists.whole[q]:
                lists.stale[q] = True
            return


@bare
def settle(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    scratch: Scratch,
    numbers: Ints,
    begin: int,
    skyband: bool,
) -> int:
    """Bring every list up to date from query `begin` on; returns the query for which influence entries ran out."""
    first = numbers[FIRST]
    for q in range(begin, len(lists.own)):
        if not queries.alive[q] or queries.threshold[q] == queries.threshold[q]:
            continue
        if numbers[UNUSED] < 2 * len(cells.head):
            return q
        lost = drop_expired(lists, q, first)
        short = lists.size[q] < queries.k[q] if skyband else lost > 0
        expired = short and not lists.whole[q]
        if expired or lists.stale[q]:
            numbers[REFRESHED if lists.stale[q] and not expired else COMPUTED] += 1
            compute(points, cells, influence, queries, lists, scratch, numbers, q, skyband)
    return len(lists.own)


@bare
def compute(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    scratch: Scratch,
    numbers: Ints,
    q: int,
    skyband: bool,
) -> None:
    """From scratch. With fewer matches than k the list is all there is: the floor is minus infinity."""
    k = min(queries.k[q], len(points.at))
    found = search(points, cells, influence, queries, lists, scratch, numbers, q, k, numbers[FIRST])
    begin = lists.begin[q]
    for i in range(found):
        lists.score[begin + i] = scratch.score[i]
        lists.number[begin + i] = scratch.number[i]
    lists.size[q] = found
    lists.whole[q] = found < queries.k[q]
    lists.floor[q] = -np.inf if lists.whole[q] else lists.score[begin + found - 1]
    lists.stale[q] = False
    if skyband:
        count_dominators(lists, scratch, begin, found)


@bare
def count_dominators(lists: Lists, scratch: Scratch, begin: int, n: int) -> None:
    """For every entry, how many better ones are newer: entries stand best first, so a merge sort by age, newest first,
    counts whom each one is overtaken by."""
    order = scratch.order
    merged = scratch.merged
    for i in range(n):
        lists.dominated[begin + i] = 0
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for to in range(low, high):
                if j == high or (i < middle and lists.number[begin + order[i]] > lists.number[begin + order[j]]):
                    merged[to] = order[i]
                    i += 1
                else:
                    lists.dominated[begin + order[j]] += i - low
                    merged[to] = order[j]
                    j += 1
        for i in range(n):
            order[i] = merged[i]
        width *= 2


@bare
def forget_query(cells: Cells, influence: Influence, lists: Lists, numbers: Ints, q: int) -> None:
    unwatch(cells, influence, lists, numbers, q)
    lists.size[q] = 0


@kernel
def report(
    points: Points,
    cells: Cells,
    queries: Queries,
    lists: Lists,
    scratch: Scratch,
    numbers: Ints,
    chosen: Ints,
    out: Output,
    used: int,
    row: int,
) -> tuple[Output, int]:
    """The answers of these queries, in their order, into rows `row` and on of the output."""
    for i in range(len(chosen)):
        q = chosen[i]
        out.begin[row + i] = used
        if queries.threshold[q] == queries.threshold[q]:
            n = search_above(points, cells, queries, scratch, numbers, q, numbers[FIRST])
            out = grown(out, used, n)
            for j in range(n):
                out.id[used + j] = scratch.number[j]
                out.score[used + j] = scratch.score[j]
        else:
            n = min(lists.size[q], queries.k[q])
            out = grown(out, used, n)
            begin = lists.begin[q]
            for j in range(n):
                out.id[used + j] = lists.number[begin + j]
                out.score[used + j] = lists.score[begin + j]
        out.size[row + i] = n
        used += n
    return out, used
