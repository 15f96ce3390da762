"""`eaa` settled: values, cells and objects anew, without those that were dropped."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import bare, kernel
from skyband.engines.kernels.objects.feed import place_of
from skyband.engines.kernels.objects.rank import play_all
from skyband.engines.kernels.objects.state import (
    CELLS,
    DIRTY,
    FRONT,
    LEAVES,
    NOBODY,
    OBJECTS,
    SETTLED,
    SETTLINGS,
    STORED,
    Cells,
    Objects,
    Recipe,
    Values,
    adds,
    put,
)
from skyband.model.types import Flags, Ints


@kernel
def compact(
    values: Values,
    cells: Cells,
    objects: Objects,
    numbers: Ints,
    recipe: Recipe,
    keep: Flags,
    wanted: Flags,
    least: int,
) -> None:
    """Hold the values of `keep` from the first on that is `wanted` of their object, and nothing else.

    A value of an instance that is not wanted stays while an older instance of the object uses it."""
    n = 0
    begun = np.zeros(numbers[OBJECTS], np.bool_)
    used = np.zeros(numbers[CELLS], np.bool_)
    for i in range(numbers[FRONT], len(keep)):
        cell = values.cell[i]
        who = cells.object[cell]
        if wanted[i]:
            begun[who] = True
        if keep[i] and begun[who]:
            used[cell] = True
            values.at[n] = values.at[i]
            values.id[n] = values.id[i]
            values.feed[n] = values.feed[i]
            values.value[n] = values.value[i]
            values.cell[n] = cell
            n += 1
        else:
            objects.waiting[who] = True
    numbers[STORED] = n
    numbers[FRONT] = 0
    numbers[SETTLED] = n
    renumber(values, cells, objects, numbers, begun, used, least)
    gather(values, cells, objects, numbers, recipe)
    play_all(cells, objects, numbers, recipe)
    numbers[SETTLINGS] += 1


@kernel
def renumber(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, begun: Flags, used: Flags, least: int
) -> None:
    """Objects and cells without gaps, in the order they had."""
    own, cell_now = np.empty(len(begun), np.int32), np.empty(len(used), np.int32)
    n = 0
    for who in range(len(begun)):
        if begun[who]:
            own[who] = n
            objects.key[n] = objects.key[who]
            objects.score[n] = objects.score[who]
            objects.shown[n] = objects.shown[who]
            objects.waiting[n] = objects.waiting[who]
            objects.cell[n] = NOBODY
            objects.newest[n] = NOBODY
            objects.held[n] = 0
            n += 1
    numbers[OBJECTS] = n
    # At the next settling there will be so many more values, each perhaps of a new object.
    leaves = 2
    while leaves <= n + max(least, numbers[STORED]):
        leaves *= 2
    numbers[LEAVES] = min(leaves, len(objects.winner) // 2)
    objects.table[: 2 * numbers[LEAVES]] = NOBODY
    for who in range(n):
        objects.table[place_of(objects, numbers, objects.key[who])] = who
    n = 0
    for cell in range(len(used)):
        if used[cell]:
            cell_now[cell] = n
            who = own[cells.object[cell]]
            cells.object[n] = who
            cells.stream[n] = cells.stream[cell]
            cells.link[n] = objects.cell[who]
            objects.cell[who] = n
            cells.first[n] = NOBODY
            cells.old[n] = 0
            cells.new[n] = 0
            n += 1
    numbers[CELLS] = n
    for i in range(numbers[STORED]):
        values.cell[i] = cell_now[values.cell[i]]


@bare
def gather(values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """What every value and the later ones of its cell make together, from the newest back."""
    for i in range(numbers[STORED] - 1, -1, -1):
        cell, value = values.cell[i], values.value[i]
        who, following = cells.object[cell], cells.first[cell]
        values.following[i] = following
        values.hi[i] = value
        values.lo[i] = 0.0
        if following == NOBODY:
            cells.last[cell] = i
        elif adds(recipe.collect):
            values.hi[i], values.lo[i] = put(values.hi[following], values.lo[following], value)
        else:
            values.hi[i] = max(value, values.hi[following])
        cells.first[cell] = i
        cells.old[cell] += 1
        cells.old_hi[cell] = values.hi[i]
        cells.old_lo[cell] = values.lo[i]
        objects.held[who] += 1
        if objects.newest[who] == NOBODY:
            objects.newest[who] = i
    numbers[DIRTY] = 0
