"""Result lists kept up to date: the k best (TMA, Figure 9) or a k-skyband in score and time (SMA, Figure 11)."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.run import Output, grown
from skyband.engines.kernels.grid.cells import put
from skyband.engines.kernels.grid.dense import Dense, mark
from skyband.engines.kernels.grid.result_lists import (
    count_dominators,
    drop_expired,
    insert_ranked,
    insert_skyband,
    take_out,
)
from skyband.engines.kernels.grid.score import merit, qualifies
from skyband.engines.kernels.grid.search import search, search_above, unwatch
from skyband.engines.kernels.grid.state import (
    CHUNK,
    COMPARED,
    COMPUTED,
    FIRST,
    INSERTED,
    NEXT,
    NOBODY,
    REFRESHED,
    SEARCHED,
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
from skyband.model.types import Floats, Ints


@bare
def arrive(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    dense: Dense,
    oldest: int,
    numbers: Ints,
    at: Ints,
    x: Floats,
    begin: int,
    skyband: bool,
) -> int:
    """Put points from `begin` on into the grid and into the lists of the queries that watch their cells, or that are
    scored always, whose last searches are not older than `oldest`. Returns where it stopped for want of chunks."""
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
        if concerns(cells, influence, leaves + cell, oldest) and mark(dense, x, i):
            for lane in range(len(dense.hit)):
                if dense.hit[lane]:
                    consider(queries, lists, numbers, dense.query[lane], x, i, number, skyband)
        for shift in cells.strata:
            entry = cells.watched[(leaves + cell) >> shift]
            while entry != NOBODY:
                consider(queries, lists, numbers, influence.query[entry], x, i, number, skyband)
                entry = influence.after[entry]
    return len(at)


@inlined
def concerns(cells: Cells, influence: Influence, leaf: int, oldest: int) -> bool:
    """Some query that is scored always may have seen the cell when it was last searched."""
    seen = False
    for shift in cells.strata:
        seen |= influence.seen[leaf >> shift] >= oldest
    return seen


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
            if lists.size[q] < queries.k[q] and lists.begin[q] + lists.size[q] == lists.begin[q + 1]:
                # k is above the window, for which alone there is room. Nothing was ever left out of such a list, so
                # that nobody has to know what expired; and without that the window and its newest point fit in.
                drop_expired(lists, q, numbers[FIRST])
            insert_ranked(lists, q, queries.k[q], score, number)


@bare
def forget(
    points: Points,
    cells: Cells,
    influence: Influence,
    queries: Queries,
    lists: Lists,
    dense: Dense,
    numbers: Ints,
    deleted: Ints,
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
        if len(dense.floor) and mark(dense, points.x, row):
            for lane in range(len(dense.hit)):
                if dense.hit[lane]:
                    take_out(lists, dense.query[lane], number)
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
def forget_query(cells: Cells, influence: Influence, lists: Lists, numbers: Ints, q: int) -> None:
    unwatch(cells, influence, lists, numbers, q)
    lists.size[q] = 0


@bare
def unwatch_those(cells: Cells, influence: Influence, lists: Lists, numbers: Ints, chosen: Ints) -> None:
    """From now on these are scored always: what they watch has been seen."""
    numbers[SEARCHED] += 1
    for q in chosen:
        entry = lists.own[q]
        if entry != NOBODY:
            lists.searched[q] = numbers[SEARCHED]
        while entry != NOBODY:
            influence.seen[influence.node[entry]] = numbers[SEARCHED]
            entry = influence.other[entry]
        unwatch(cells, influence, lists, numbers, q)


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
