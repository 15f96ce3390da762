"""The indexes of points check themselves: the grid, what queries watch there, their lists, and sorted columns."""

from __future__ import annotations

import numpy as np

from skyband.engines.checks import chain, check_best_first, check_rising, check_shared_out, dominators, linked
from skyband.engines.kernels.grid.sorted_lists import Sorted, Window
from skyband.engines.kernels.grid.state import (
    CHUNK,
    FIRST,
    FREE,
    NEXT,
    NOBODY,
    SPARE,
    SPARES,
    UNUSED,
    Cells,
    Influence,
    Lists,
    Points,
    Queries,
)
from skyband.model import Ints
from skyband.model.many import LARGEST


def check_points(points: Points, cells: Cells, numbers: Ints) -> None:
    """Every point of the window is in its cell and nowhere else, oldest first; chunks are used or free."""
    room, leaves, first = len(points.at), len(cells.head) - 1, int(numbers[FIRST])
    window = np.arange(first, numbers[NEXT])
    assert len(window) <= room, "grid: more points than the ring has room for"
    check_rising(points.at[window % room], "grid: times in the ring")
    found, used = list[int](), list[int]()
    for cell in range(leaves + 1):
        rows, chunks = _rows_of(points, cells, cell, leaves)
        used += chunks
        slot = points.slot[rows].astype(np.int64)
        number = first + (slot - first % room) % room
        check_rising(number, "grid: points of a cell", strictly=True)
        assert (points.cell[slot] == cell).all(), "grid: a point does not know its cell"
        _check_place(points, cells, cell, leaves, rows)
        found += number.tolist()
    assert sorted(found) == window.tolist(), "grid: a point of the window is in no cell, or one too many"
    free = chain(int(numbers[SPARE]), points.following, int(numbers[SPARES]), "grid: free chunks")
    check_shared_out([*used, *free], len(points.following), "grid: chunks")
    for node in range(1, leaves):
        halves = int(cells.filled[2 * node] > 0) + int(cells.filled[2 * node + 1] > 0)
        assert cells.filled[node] == halves, "grid: a node miscounts its halves that are not empty"


def _rows_of(points: Points, cells: Cells, cell: int, leaves: int) -> tuple[Ints, list[int]]:
    """Where the points of a cell are, oldest first, and the chunks they take."""
    left = int(cells.filled[leaves + cell])
    if not left:
        return np.empty(0, np.int64), []
    chunk, place, rows, chunks = int(cells.head[cell]), int(cells.start[cell]), list[int](), list[int]()
    while left:
        chunks.append(chunk)
        here = min(CHUNK - place, left)
        rows += range(chunk * CHUNK + place, chunk * CHUNK + place + here)
        left, place, last = left - here, 0, chunk
        chunk = int(points.following[chunk])
    assert last == cells.tail[cell], "grid: a cell does not know its newest chunk"
    return np.array(rows, np.int64), chunks


def _check_place(points: Points, cells: Cells, cell: int, leaves: int, rows: Ints) -> None:
    x = points.x[rows]
    odd = ~(np.abs(x) <= LARGEST).all(axis=1)
    assert (odd == (cell == leaves)).all(), "grid: an odd point in a cell, or another one without"
    if cell == leaves:
        return
    for j in range(x.shape[1]):
        c, last, edge = int(cells.low[leaves + cell, j]), int(cells.sides[j]) - 1, cells.edge[j]
        inside = (x[:, j] >= edge[c]) & ((x[:, j] < edge[c + 1]) | (c == last) & (x[:, j] <= edge[c + 1]))
        assert inside.all(), "grid: a point lies outside its cell"


def check_influence(cells: Cells, influence: Influence, lists: Lists, queries: Queries, numbers: Ints) -> None:
    """Who watches what: the entries of the queries are those of the nodes; the others are free."""
    free = chain(int(numbers[FREE]), influence.other, int(numbers[UNUSED]), "influence: free entries")
    by_query = list[int]()
    for q in range(len(lists.own)):
        mine = linked(int(lists.own[q]), influence.other, len(influence.node))
        assert (influence.query[mine] == q).all(), "influence: a query has another one's entry"
        assert len(np.unique(influence.node[mine])) == len(mine), "influence: a node is watched twice by one query"
        assert not mine or (queries.alive[q] and not lists.dense[q]), (
            "influence: who is gone, or scored always, watches"
        )
        by_query += mine
    by_node = list[int]()
    for node in np.flatnonzero(cells.watched != NOBODY).tolist():
        mine = linked(int(cells.watched[node]), influence.after, len(influence.node))
        assert (influence.node[mine] == node).all(), "influence: a node has another one's entry"
        assert influence.before[mine].tolist() == [NOBODY, *mine[:-1]], "influence: an entry misses the one before it"
        assert cells.at_stratum[cells.depth[node]], "influence: a node that arrivals do not look at is watched"
        by_node += mine
    assert sorted(by_node) == sorted(by_query), "influence: queries and nodes disagree"
    check_shared_out([*by_query, *free], len(influence.node), "influence: entries")


def check_lists(lists: Lists, queries: Queries, numbers: Ints, skyband: bool) -> None:
    """Lists that are not to be searched anew stand best first, inside their room; a skyband knows its dominators."""
    check_rising(lists.begin, "lists: where they begin")
    assert (lists.size <= np.diff(lists.begin)).all(), "lists: one is longer than its room"
    for q in ranked_queries(queries, lists):
        part = slice(int(lists.begin[q]), int(lists.begin[q] + lists.size[q]))
        score, number, k = lists.score[part], lists.number[part], int(queries.k[q])
        check_best_first(score, number, "lists: results")
        assert (number < numbers[NEXT]).all(), "lists: a point that never came"
        assert (score >= lists.floor[q]).all(), "lists: a result below the floor"
        assert not lists.whole[q] or lists.floor[q] == -np.inf, "lists: a whole list with a floor"
        if skyband:
            assert (lists.dominated[part] == dominators(score, number)).all(), "lists: dominators are miscounted"
            assert (lists.dominated[part] < k).all(), "lists: a result with k dominators"
        else:
            assert len(score) <= k, "lists: more than k results"


def ranked_queries(queries: Queries, lists: Lists) -> list[int]:
    """Those that keep a list which is up to date."""
    kept: list[int] = np.flatnonzero(queries.alive & np.isnan(queries.threshold) & ~lists.stale).tolist()
    return kept


def check_watched(
    points: Points, cells: Cells, influence: Influence, lists: Lists, queries: Queries, first: int
) -> None:
    """A result lies in a cell that its query watches, unless that has no place in the grid or is scored always."""
    leaves, room = len(cells.head) - 1, len(points.at)
    for q in ranked_queries(queries, lists):
        number = lists.number[lists.begin[q] : lists.begin[q] + lists.size[q]]
        cell = points.cell[number[number >= first] % room].astype(np.int64)
        path = (leaves + cell[cell < leaves])[:, None] >> cells.strata
        watched = influence.node[linked(int(lists.own[q]), influence.other, len(influence.node))]
        assert lists.dense[q] or np.isin(path, watched).any(axis=1).all(), "influence: a result that nobody watches"


def check_sorted(window: Window, columns: Sorted, listed: int, numbers: Ints) -> None:
    """Every column lists the window, in rising order; NaN may stand anywhere, for it ends no search."""
    number = np.arange(numbers[FIRST], numbers[NEXT])
    check_rising(window.at[number % len(window.at)], "sorted columns: times in the ring")
    assert listed == len(number), "sorted columns: other entries than the window has"
    for j, (value, whose) in enumerate(zip(columns.value[:, :listed], columns.number[:, :listed], strict=True)):
        assert (np.sort(whose) == number).all(), "sorted columns: a point is missing, or there twice"
        own = window.x[whose % len(window.at), j]
        assert np.array_equal(value, own, equal_nan=True), "sorted columns: an entry is not the point's value"
        check_rising(value[~np.isnan(value)], "sorted columns: values")
