"""`sla`: objects by key, their cells by stream, and their scores."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import bare, inlined
from skyband.engines.kernels.objects.rank import combined
from skyband.engines.kernels.objects.state import AVG, NOBODY, Recipe, rounded
from skyband.engines.kernels.sla.state import FREE_CELLS, FREE_OBJECTS, Owners
from skyband.model.types import Ints

_MIX = -7046029254386353131


@inlined
def place_of(owners: Owners, key: int) -> int:
    mask = len(owners.table) - 1
    mixed = key * _MIX
    place = (mixed ^ (mixed >> 32)) & mask
    while owners.table[place] != NOBODY and owners.key[owners.table[place]] != key:
        place = (place + 1) & mask
    return place


@bare
def forget(owners: Owners, numbers: Ints, who: int) -> None:
    """Give an object's place back; those behind it in the table move up where they may."""
    mask = len(owners.table) - 1
    hole = place_of(owners, owners.key[who])
    owners.table[hole] = NOBODY
    place = (hole + 1) & mask
    while owners.table[place] != NOBODY:
        mixed = owners.key[owners.table[place]] * _MIX
        home = (mixed ^ (mixed >> 32)) & mask
        if ((place - home) & mask) >= ((place - hole) & mask):
            owners.table[hole] = owners.table[place]
            owners.table[place] = NOBODY
            hole = place
        place = (place + 1) & mask
    owners.free_object[numbers[FREE_OBJECTS]] = who
    numbers[FREE_OBJECTS] += 1


@inlined
def object_of(owners: Owners, numbers: Ints, key: int) -> int:
    place = place_of(owners, key)
    who = owners.table[place]
    if who == NOBODY:
        numbers[FREE_OBJECTS] -= 1
        who = owners.free_object[numbers[FREE_OBJECTS]]
        owners.table[place] = who
        owners.key[who] = key
        owners.cell[who] = NOBODY
        owners.held[who] = 0
        owners.viewed[who] = False
        owners.seen[who] = -1
    return int(who)


@inlined
def cell_of(owners: Owners, numbers: Ints, who: int, stream: int) -> int:
    cell = owners.cell[who]
    while cell != NOBODY and owners.stream[cell] != stream:
        cell = owners.link[cell]
    if cell == NOBODY:
        numbers[FREE_CELLS] -= 1
        cell = owners.free_cell[numbers[FREE_CELLS]]
        owners.object[cell] = who
        owners.stream[cell] = stream
        owners.link[cell] = owners.cell[who]
        owners.cell[who] = cell
        owners.many[cell] = 0
    return int(cell)


@inlined
def drop_cell(owners: Owners, numbers: Ints, who: int, cell: int) -> None:
    if owners.cell[who] == cell:
        owners.cell[who] = owners.link[cell]
    else:
        before = owners.cell[who]
        while owners.link[before] != cell:
            before = owners.link[before]
        owners.link[before] = owners.link[cell]
    owners.free_cell[numbers[FREE_CELLS]] = cell
    numbers[FREE_CELLS] += 1


@inlined
def attribute_of(owners: Owners, recipe: Recipe, cell: int) -> float:
    """What the values of a cell make; there is at least one."""
    made = rounded(owners.attribute[cell], owners.rest[cell])
    return made / owners.many[cell] if recipe.collect == AVG else made


@inlined
def score_of(owners: Owners, recipe: Recipe, who: int) -> float:
    """By random access to the object's attribute in every stream."""
    hi, lo, parts = 0.0, 0.0, 0
    cell = owners.cell[who]
    if not recipe.streams:
        while cell != NOBODY:
            part = attribute_of(owners, recipe, cell)
            if parts:
                hi, lo = combined(recipe.combine, hi, lo, part)
            else:
                hi = part
            parts += 1
            if part != part:
                return np.nan
            cell = owners.link[cell]
        return rounded(hi, lo) + 0.0
    for x in range(recipe.streams):
        cell = owners.cell[who]
        while cell != NOBODY and owners.stream[cell] != x:
            cell = owners.link[cell]
        own = recipe.low[x] if cell == NOBODY else attribute_of(owners, recipe, cell)
        part = recipe.weight[x] * own
        if part != part:
            return np.nan
        if x:
            hi, lo = combined(recipe.combine, hi, lo, part)
        else:
            hi = part
    return rounded(hi, lo) + 0.0
