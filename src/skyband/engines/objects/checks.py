"""The structures that hold values of objects check themselves: links between values, cells and objects, sorted lists,
tables, the tournament and the view."""

from __future__ import annotations

from math import fsum, isclose

import numpy as np

from skyband.engines.checks import NOBODY, Whole, chain, check_rising, check_shared_out, linked
from skyband.engines.kernels.objects import state as eaa
from skyband.engines.kernels.objects.state import AVG, LAST, SUM, Cells, Objects, Recipe, Values
from skyband.engines.kernels.sla import lists as blocks, state as sla
from skyband.engines.kernels.sla.lists import Sorted
from skyband.engines.kernels.sla.state import Owners, View, Window
from skyband.model import Floats, Ints

# --------------------------------------------------------------------------------------------------------- `eaa`'s own


def check_values(values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """Values in feed order, each in its cell; a cell's two parts are what its values make; objects count them."""
    front, settled, stored = (int(numbers[each]) for each in (eaa.FRONT, eaa.SETTLED, eaa.STORED))
    assert 0 <= front <= settled <= stored <= len(values.at), "values: their ends are out of order"
    check_rising(values.at[front:stored], "values: times")
    check_rising(values.feed[front:stored], "values: feed order", strictly=True)
    of_object: dict[int, list[int]] = {who: [] for who in range(int(numbers[eaa.OBJECTS]))}
    for cell in range(int(numbers[eaa.CELLS])):
        old, new = int(cells.old[cell]), int(cells.new[cell])
        mine = chain(int(cells.first[cell]), values.following, old + new, "cell: its values") if old + new else []
        assert mine == sorted(mine), "cell: its values are not in feed order"
        if recipe.collect != LAST:
            inside = (front + np.flatnonzero(values.cell[front:stored] == cell)).tolist()
            assert mine == inside, "cell: a value of it is not linked"
        if mine:
            assert (values.cell[mine] == cell).all(), "cell: another cell's value is linked"
            assert mine[-1] == cells.last[cell], "cell: it does not know its last value"
            assert sum(place < settled for place in mine) == old, "cell: settled values are miscounted"
            _check_part(recipe, values.value[mine[:old]], cells.old_hi[cell], cells.old_lo[cell])
            _check_part(recipe, values.value[mine[old:]], cells.new_hi[cell], cells.new_lo[cell])
        of_object[int(cells.object[cell])] += mine
    for who, mine in of_object.items():
        assert objects.held[who] == len(mine), "object: its values are miscounted"
        assert not mine or objects.newest[who] == max(mine), "object: it does not know its newest value"


def _check_part(recipe: Recipe, value: Floats, hi: float, lo: float) -> None:
    if len(value) and np.isfinite(hi):
        made = (
            fsum(value) if recipe.collect in (SUM, AVG) else float(value[-1] if recipe.collect == LAST else value.max())
        )
        assert isclose(made, hi + lo, rel_tol=1e-12, abs_tol=1e-300), "cell: a part is not what its values make"


def check_objects(cells: Cells, objects: Objects, numbers: Ints) -> None:
    """Every cell is its object's, every object is found by its key, and the winner of every match is the better one
    where nobody waits for a score."""
    n, leaves = int(numbers[eaa.OBJECTS]), int(numbers[eaa.LEAVES])
    met = list[int]()
    for who in range(n):
        mine = linked(int(objects.cell[who]), cells.link, len(cells.link))
        assert (cells.object[mine] == who).all(), "object: another one's cell is linked"
        assert len(np.unique(cells.stream[mine])) == len(mine), "object: two cells of one stream"
        met += mine
    check_shared_out(met, int(numbers[eaa.CELLS]), "cells")
    check_table(objects.table[: 2 * leaves], objects.key, n)
    waiting = set(np.flatnonzero(objects.waiting[:n]).tolist())
    listed = objects.dirty[: numbers[eaa.DIRTY]].tolist()
    assert sorted(listed) == sorted(waiting), "object: who waits for a score is not listed, or twice"
    _check_tournament(objects, n, leaves, waiting)


def check_table(table: Whole, key: Ints, n: int) -> None:
    """Open addressing: everyone stands in it once, and between a home and its owner no place is free."""
    mask, taken = len(table) - 1, table[table != NOBODY]
    assert len(taken) == len(np.unique(taken)) == n, "table: somebody is missing, or there twice"
    with np.errstate(over="ignore"):
        mixed = key[taken] * np.int64(-7046029254386353131)
        home = (mixed ^ (mixed >> 32)) & mask
    for place, begin in zip(np.flatnonzero(table != NOBODY).tolist(), home.tolist(), strict=True):
        way = (begin + np.arange((place - begin) & mask)) & mask
        assert (table[way] != NOBODY).all(), "table: somebody is not found by its key"


def _check_tournament(objects: Objects, n: int, leaves: int, waiting: set[int]) -> None:
    fresh = [who not in waiting for who in range(n)] + [True] * (leaves - n)
    sure = [True] * leaves + fresh
    for node in range(leaves - 1, 0, -1):
        sure[node] = sure[2 * node] and sure[2 * node + 1]
        if sure[node]:
            players = [int(objects.winner[child]) for child in (2 * node, 2 * node + 1)]
            winner = int(objects.winner[node])
            assert winner in players, "tournament: somebody won who did not play"
            best = max(_strength(objects, who) for who in players)
            assert _strength(objects, winner) == best, "tournament: the better one lost"


def _strength(objects: Objects, who: int) -> tuple[bool, float, int]:
    return (False, 0.0, 0) if who == NOBODY else (True, float(objects.score[who]), int(objects.shown[who]))


# --------------------------------------------------------------------------------------------------------- `sla`'s own


def check_owners(window: Window, owners: Owners, numbers: Ints) -> None:
    """Every value of the window in its cell, every cell its object's; other cells and objects are free."""
    room, live = len(window.at), np.arange(numbers[sla.FIRST], numbers[sla.NEXT])
    assert len(live) <= room, "window: more values than there is room for"
    check_rising(window.at[live % room], "window: times")
    free = owners.free_object[: numbers[sla.FREE_OBJECTS]].tolist()
    known = owners.table[owners.table != NOBODY]
    check_table(owners.table, owners.key, len(known))
    check_shared_out([*known.tolist(), *free], room, "objects")
    used, met = list[int](), list[int]()
    for who in known.tolist():
        mine = linked(int(owners.cell[who]), owners.link, room)
        assert (owners.object[mine] == who).all(), "object: another one's cell is linked"
        assert owners.held[who] == owners.many[mine].sum() > 0, "object: its values are miscounted"
        used += mine
    for cell in used:
        places = chain(int(owners.first[cell]), window.following, int(owners.many[cell]), "cell: its values")
        assert places[-1] == owners.last[cell], "cell: it does not know its last value"
        assert (window.cell[places] == cell).all(), "cell: another cell's value is linked"
        met += places
    assert sorted(met) == sorted((live % room).tolist()), "window: a value is in no cell, or in two"
    check_shared_out([*used, *owners.free_cell[: numbers[sla.FREE_CELLS]].tolist()], room, "cells")


def check_lists(lists: Sorted, owners: Owners, recipe: Recipe, room: int, free_cells: Whole) -> None:
    """One list per stream: its cells by attribute, block after block; blocks that no list has are spare."""
    in_use = np.setdiff1d(np.arange(room), free_cells)
    used = list[int]()
    for stream in range(len(lists.blocks)):
        mine = lists.directory[stream, : lists.blocks[stream]].tolist()
        used += mine
        assert all(lists.size[block] > 0 for block in mine), "lists: an empty block"
        parts = [(lists.value[block, : lists.size[block]], lists.cell[block, : lists.size[block]]) for block in mine]
        value = np.concatenate([np.empty(0), *(part for part, _ in parts)])
        cell = np.concatenate([np.empty(0, np.int64), *(part for _, part in parts)]).astype(np.int64)
        entries = list(zip(value.tolist(), cell.tolist(), strict=True))
        assert entries == sorted(entries), "lists: not in order"
        assert np.sort(cell).tolist() == in_use[owners.stream[in_use] == stream].tolist(), "lists: a cell is not listed"
        hi, lo = owners.attribute[cell], owners.rest[cell]
        made = np.where(np.isfinite(hi), hi + lo, hi) / (owners.many[cell] if recipe.collect == AVG else 1)
        assert (made == value).all(), "lists: an entry is not its cell's attribute"
    spare = lists.spare[: lists.numbers[blocks.FREE]].tolist()
    check_shared_out([*used, *spare], len(lists.size), "blocks")


def check_view(view: View, owners: Owners) -> None:
    """Best first, above the floor; everyone in it is marked, and nobody else."""
    listed = view.object[: view.number[0]]
    known = owners.table[owners.table != NOBODY]
    assert sorted(listed.tolist()) == sorted(known[owners.viewed[known]].tolist()), "view: marks and entries disagree"
    rank = list(zip(owners.score[listed].tolist(), owners.fed[listed].tolist(), strict=True))
    assert rank == sorted(rank, reverse=True), "view: not best first"
    floor = float(view.level[0]), int(view.level_fed[0])
    assert view.number[1] or all(each >= floor for each in rank), "view: somebody below the floor"
    others = known[~owners.viewed[known] & ~np.isnan(owners.score[known])]
    limit = (np.inf, 0) if view.number[1] else floor
    above = [who for who in others.tolist() if view.number[1] or (owners.score[who], owners.fed[who]) > limit]
    assert not above, "view: somebody above the floor is not in it"
