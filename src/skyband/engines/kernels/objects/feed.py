"""`eaa` between two settlings: values come and go, scores follow, reports read the best off a tournament tree."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import bare, inlined
from skyband.engines.kernels.objects.rank import best, refresh
from skyband.engines.kernels.objects.state import (
    BEYOND,
    CELLS,
    DIRTY,
    EXPRESSION,
    FED,
    FRONT,
    LAST,
    LEAVES,
    NEXT_END,
    NOBODY,
    OBJECTS,
    PEAK,
    SETTLED,
    STORED,
    SUM,
    Answered,
    Beats,
    Cells,
    Due,
    Fed,
    Objects,
    Recipe,
    Values,
    adds,
    put,
)
from skyband.model.types import Ints

DONE, SETTLE, GROW, RATE = range(4)
"""Why `run` came back: all is fed and reported; it is time to settle; there is no room for the answers; there are
scores to compute that no kernel can."""
_MIX = -7046029254386353131


@inlined
def place_of(objects: Objects, numbers: Ints, key: int) -> int:
    """Where the table has the key, or where it would put it."""
    mask = 2 * numbers[LEAVES] - 1
    mixed = key * _MIX
    place = (mixed ^ (mixed >> 32)) & mask
    while objects.table[place] != NOBODY and objects.key[objects.table[place]] != key:
        place = (place + 1) & mask
    return int(place)


@bare
def next_end(beats: Beats, after: int) -> int:
    """The first report after this moment."""
    if not len(beats.period):
        return after + 1
    found = after + 1 + (beats.phase[0] - (after + 1)) % beats.period[0]
    for j in range(1, len(beats.period)):
        end = after + 1 + (beats.phase[j] - (after + 1)) % beats.period[j]
        found = min(found, end)
    return int(found)


@inlined
def touch(objects: Objects, numbers: Ints, who: int) -> None:
    if not objects.waiting[who]:
        objects.waiting[who] = True
        objects.dirty[numbers[DIRTY]] = who
        numbers[DIRTY] += 1


@inlined
def cell_of(cells: Cells, objects: Objects, numbers: Ints, who: int, stream: int) -> int:
    cell = objects.cell[who]
    while cell != NOBODY and cells.stream[cell] != stream:
        cell = cells.link[cell]
    if cell == NOBODY:
        cell = numbers[CELLS]
        numbers[CELLS] += 1
        cells.object[cell] = who
        cells.stream[cell] = stream
        cells.link[cell] = objects.cell[who]
        objects.cell[who] = cell
        cells.first[cell] = NOBODY
        cells.old[cell] = 0
        cells.new[cell] = 0
    return int(cell)


@inlined
def object_of(objects: Objects, numbers: Ints, key: int) -> int:
    place = place_of(objects, numbers, key)
    who = objects.table[place]
    if who == NOBODY:
        who = numbers[OBJECTS]
        numbers[OBJECTS] += 1
        objects.table[place] = who
        objects.key[who] = key
        objects.cell[who] = NOBODY
        objects.newest[who] = NOBODY
        objects.shown[who] = NOBODY
        objects.held[who] = 0
        objects.score[who] = -np.inf
        objects.waiting[who] = False
    return int(who)


@inlined
def take(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe, key: int, stream: int, value: float
) -> int:
    """Put a value behind all others; returns its place, where the caller writes time and label."""
    who = object_of(objects, numbers, key)
    cell = cell_of(cells, objects, numbers, who, stream)
    place = numbers[STORED]
    numbers[STORED] += 1
    numbers[FED] += 1
    values.value[place] = value
    values.cell[place] = cell
    values.following[place] = NOBODY
    if recipe.collect == LAST and cells.first[cell] != NOBODY:
        # The older ones leave every window before it does, so they will never be the last.
        objects.held[who] -= cells.old[cell] + cells.new[cell]
        cells.first[cell] = NOBODY
        cells.old[cell] = 0
        cells.new[cell] = 0
    if cells.first[cell] == NOBODY:
        cells.first[cell] = place
    else:
        values.following[cells.last[cell]] = place
    cells.last[cell] = place
    if cells.new[cell] == 0:
        cells.new_hi[cell] = value
        cells.new_lo[cell] = 0.0
    elif adds(recipe.collect):
        cells.new_hi[cell], cells.new_lo[cell] = put(cells.new_hi[cell], cells.new_lo[cell], value)
    else:
        cells.new_hi[cell] = max(cells.new_hi[cell], value)
    cells.new[cell] += 1
    objects.held[who] += 1
    objects.newest[who] = place
    touch(objects, numbers, who)
    if recipe.collect == SUM and recipe.streams and cells.old[cell] + cells.new[cell] > recipe.times[stream]:
        numbers[BEYOND] += 1
    return int(place)


@bare
def expire(values: Values, cells: Cells, objects: Objects, numbers: Ints, start: int) -> None:
    """Let go of what is older. Values that came after the last settling stay until the next: see `is_due`."""
    front = numbers[FRONT]
    while front < numbers[SETTLED] and values.at[front] < start:
        cell = values.cell[front]
        if cells.first[cell] == front:
            who = cells.object[cell]
            following = values.following[front]
            cells.first[cell] = following
            cells.old[cell] -= 1
            if cells.old[cell]:
                cells.old_hi[cell] = values.hi[following]
                cells.old_lo[cell] = values.lo[following]
            objects.held[who] -= 1
            touch(objects, numbers, who)
        front += 1
    numbers[FRONT] = front


@inlined
def is_due(values: Values, numbers: Ints, start: int, least: int) -> bool:
    """Whether to settle: when half of the values came since the last time, or one of these is about to leave."""
    stored, settled = numbers[STORED], numbers[SETTLED]
    fresh = stored - settled
    if stored == len(values.at) or numbers[OBJECTS] == numbers[LEAVES]:
        return True
    if numbers[FRONT] == settled and fresh and values.at[settled] < start:
        return True
    return bool(fresh >= least and fresh >= settled - numbers[FRONT])


@bare
def report(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe, due: Due, m: int, out: Answered
) -> None:
    """Answer report m over the window as it is; of one window the largest k came first and begins with the others."""
    k, above = due.k[m], due.above[m]
    alike = np.isnan(above) or (m > 0 and above == due.above[m - 1])
    if m and alike and due.end[m] == due.end[m - 1] and due.start[m] == due.start[m - 1]:
        out.begin[m] = out.begin[m - 1]
        out.size[m] = min(k, out.size[m - 1])
        return
    refresh(cells, objects, numbers, recipe)
    out.begin[m] = out.used[0]
    out.size[m] = best(objects, values, numbers, recipe.sign, k, above, out)
    out.used[0] += out.size[m]


@bare
def run(
    values: Values,
    cells: Cells,
    objects: Objects,
    numbers: Ints,
    recipe: Recipe,
    beats: Beats,
    fed: Fed,
    due: Due,
    at: Ints,
    least: int,
    out: Answered,
) -> int:
    """Feed and report, interleaved; `at` says where to go on: the next record, the next report."""
    while True:
        last = due.end[at[1]] if at[1] < len(due.end) else 0
        while at[0] < len(fed.at) and (at[1] == len(due.end) or fed.at[at[0]] < last):
            i = at[0]
            if fed.at[i] >= numbers[NEXT_END]:
                numbers[NEXT_END] = next_end(beats, fed.at[i])
                expire(values, cells, objects, numbers, numbers[NEXT_END] - beats.width)
            if is_due(values, numbers, numbers[NEXT_END] - beats.width, least):
                return SETTLE
            place = take(values, cells, objects, numbers, recipe, fed.object[i], fed.stream[i], fed.value[i])
            values.at[place] = fed.at[i]
            values.id[place] = fed.id[i]
            values.feed[place] = numbers[FED]
            numbers[PEAK] = max(numbers[PEAK], numbers[STORED] - numbers[FRONT])
            at[0] += 1
        if at[1] == len(due.end):
            return DONE
        numbers[NEXT_END] = max(numbers[NEXT_END], last)
        expire(values, cells, objects, numbers, last - beats.width)
        if is_due(values, numbers, last - beats.width, least):
            return SETTLE
        if out.used[0] + min(due.k[at[1]], numbers[OBJECTS]) > len(out.id):
            return GROW
        if recipe.combine == EXPRESSION and numbers[DIRTY]:
            return RATE
        report(values, cells, objects, numbers, recipe, due, at[1], out)
        at[1] += 1
