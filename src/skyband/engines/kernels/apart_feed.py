"""`eaa` between two settlings: values come and go, scores follow, reports read the best off a tournament tree."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.apart_state import (
    BEYOND,
    CELLS,
    COMPARED,
    DIRTY,
    FED,
    FRONT,
    INSERTED,
    LAST,
    MAX,
    MIN,
    NEXT_END,
    NOBODY,
    OBJECTS,
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
    put,
    rounded,
)
from skyband.engines.kernels.jit import bare, inlined
from skyband.model.arrays import Ints

DONE, SETTLE, GROW = range(3)
"""Why `run` came back: all is fed and reported; it is time to settle; there is no room for the answers."""
_MIX = -7046029254386353131


@inlined
def place_of(objects: Objects, key: int) -> int:
    """Where the table has the key, or where it would put it."""
    mask = len(objects.table) - 1
    mixed = key * _MIX
    place = (mixed ^ (mixed >> 32)) & mask
    while objects.table[place] != NOBODY and objects.key[objects.table[place]] != key:
        place = (place + 1) & mask
    return place


@bare
def next_end(beats: Beats, after: int) -> int:
    """The first report after this moment."""
    if not len(beats.period):
        return after + 1
    found = after + 1 + (beats.phase[0] - (after + 1)) % beats.period[0]
    for j in range(1, len(beats.period)):
        end = after + 1 + (beats.phase[j] - (after + 1)) % beats.period[j]
        found = min(found, end)
    return found


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
    return cell


@inlined
def object_of(objects: Objects, numbers: Ints, key: int) -> int:
    place = place_of(objects, key)
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
    return who


@bare
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
    elif recipe.collect == SUM:
        cells.new_hi[cell], cells.new_lo[cell] = put(cells.new_hi[cell], cells.new_lo[cell], value)
    else:
        cells.new_hi[cell] = max(cells.new_hi[cell], value)
    cells.new[cell] += 1
    objects.held[who] += 1
    objects.newest[who] = place
    touch(objects, numbers, who)
    if recipe.collect == SUM and recipe.streams and cells.old[cell] + cells.new[cell] > recipe.times[stream]:
        numbers[BEYOND] += 1
    return place


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
    """Whether to settle: when a third of the values came since the last time, or one of these is about to leave."""
    stored, settled = numbers[STORED], numbers[SETTLED]
    fresh = stored - settled
    if numbers[FRONT] == settled and fresh and values.at[settled] < start:
        return True
    return fresh >= least and 2 * fresh >= settled - numbers[FRONT]


@inlined
def attribute(cells: Cells, recipe: Recipe, cell: int) -> float:
    """What the values of a cell in the window make; there is at least one."""
    if not cells.old[cell]:
        return rounded(cells.new_hi[cell], cells.new_lo[cell])
    if not cells.new[cell]:
        return rounded(cells.old_hi[cell], cells.old_lo[cell])
    if recipe.collect == SUM:
        hi, lo = put(cells.old_hi[cell], cells.old_lo[cell] + cells.new_lo[cell], cells.new_hi[cell])
        return rounded(hi, lo)
    return max(cells.old_hi[cell], cells.new_hi[cell])


@inlined
def combined(combine: int, hi: float, lo: float, more: float) -> tuple[float, float]:
    """Two parts of a score; the first part comes with lo = 0."""
    if combine == SUM:
        return put(hi, lo, more)
    if combine == MAX:
        return (more if not hi >= more else hi), lo
    if combine == MIN:
        return (more if not hi <= more else hi), lo
    return hi * more, lo


@inlined
def cell_in(cells: Cells, objects: Objects, who: int, stream: int) -> int:
    """The object's cell of this stream, if it has values in the window."""
    cell = objects.cell[who]
    while cell != NOBODY and cells.stream[cell] != stream:
        cell = cells.link[cell]
    return cell if cell == NOBODY or cells.old[cell] + cells.new[cell] else NOBODY


@bare
def score_of(cells: Cells, objects: Objects, recipe: Recipe, who: int) -> float:
    """An object's score now, as the user sees it; NaN keeps it out of the ranking."""
    hi, lo, parts = 0.0, 0.0, 0
    if recipe.streams:
        for x in range(recipe.streams):
            cell = cell_in(cells, objects, who, x)
            part = recipe.weight[x] * (recipe.low[x] if cell == NOBODY else attribute(cells, recipe, cell))
            if not part == part:
                return np.nan
            if x:
                hi, lo = combined(recipe.combine, hi, lo, part)
            else:
                hi = part
    else:
        cell = objects.cell[who]
        while cell != NOBODY:
            if cells.old[cell] + cells.new[cell]:
                part = attribute(cells, recipe, cell)
                if not part == part:
                    return np.nan
                if parts:
                    hi, lo = combined(recipe.combine, hi, lo, part)
                else:
                    hi = part
                parts += 1
            cell = cells.link[cell]
    return rounded(hi, lo) + 0.0


@inlined
def better(objects: Objects, a: int, b: int) -> bool:
    """Higher score first, of equals the one whose newest value was fed later."""
    if objects.score[a] != objects.score[b]:
        return objects.score[a] > objects.score[b]
    return objects.shown[a] >= objects.shown[b]


@bare
def rescore(cells: Cells, objects: Objects, recipe: Recipe, who: int) -> None:
    """An object that has no score, or is not in the window, ranks behind all."""
    objects.waiting[who] = False
    score = recipe.sign * score_of(cells, objects, recipe, who) if objects.held[who] else np.nan
    ranks = score == score
    objects.score[who] = score if ranks else -np.inf
    objects.shown[who] = objects.newest[who] if ranks else NOBODY


@bare
def refresh(cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """Compute the scores that changed, and play their matches in the tournament again."""
    leaves = len(objects.winner) // 2
    for j in range(numbers[DIRTY]):
        who = objects.dirty[j]
        rescore(cells, objects, recipe, who)
        objects.winner[leaves + who] = who
        node = (leaves + who) >> 1
        while node:
            numbers[COMPARED] += 1
            a, b = objects.winner[2 * node], objects.winner[2 * node + 1]
            wins = b if a == NOBODY or (b != NOBODY and better(objects, b, a)) else a
            if objects.winner[node] == wins and wins != who:
                break
            numbers[INSERTED] += 1
            objects.winner[node] = wins
            node >>= 1
    numbers[DIRTY] = 0


@bare
def play_all(cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """The whole tournament anew."""
    leaves, n = len(objects.winner) // 2, numbers[OBJECTS]
    for who in range(n):
        rescore(cells, objects, recipe, who)
    for who in range(leaves):
        objects.winner[leaves + who] = who if who < n else NOBODY
    for node in range(leaves - 1, 0, -1):
        a, b = objects.winner[2 * node], objects.winner[2 * node + 1]
        objects.winner[node] = b if a == NOBODY or (b != NOBODY and better(objects, b, a)) else a
    numbers[COMPARED] += leaves
    numbers[DIRTY] = 0


@bare
def push(objects: Objects, size: int, node: int) -> int:
    """Into a heap of tree nodes with the best winner on top."""
    i, own, frontier = size, objects.winner[node], objects.frontier
    while i > 0 and better(objects, own, objects.winner[frontier[(i - 1) // 2]]):
        frontier[i] = frontier[(i - 1) // 2]
        i = (i - 1) // 2
    frontier[i] = node
    return size + 1


@bare
def pop(objects: Objects, size: int) -> int:
    """Take the top away; the node that was last finds its place."""
    frontier, n = objects.frontier, size - 1
    own = objects.winner[frontier[n]]
    last = frontier[n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and better(objects, objects.winner[frontier[child + 1]], objects.winner[frontier[child]]):
            child += 1
        if better(objects, own, objects.winner[frontier[child]]):
            break
        frontier[i] = frontier[child]
        i = child
    frontier[i] = last
    return n


@bare
def best(objects: Objects, values: Values, numbers: Ints, sign: float, k: int, out: Answered) -> int:
    """The best k objects behind the entries in use: when a winner is read, those it beat on its way up come next."""
    leaves = len(objects.winner) // 2
    found, size = 0, 0
    if objects.winner[1] != NOBODY:
        size = push(objects, size, 1)
    while found < k and size:
        node = objects.frontier[0]
        who = objects.winner[node]
        if objects.shown[who] == NOBODY:
            break
        size = pop(objects, size)
        out.id[out.used[0] + found] = values.id[objects.newest[who]]
        out.score[out.used[0] + found] = sign * objects.score[who] + 0.0
        found += 1
        while node < leaves:
            left = objects.winner[2 * node] == who
            beaten = 2 * node + 1 if left else 2 * node
            node = 2 * node if left else 2 * node + 1
            if objects.winner[beaten] != NOBODY:
                size = push(objects, size, beaten)
                numbers[COMPARED] += 1
    return found


@bare
def report(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe, due: Due, m: int, out: Answered
) -> None:
    """Answer report m over the window as it is; of one window the largest k came first, the others are its beginning."""
    k = due.k[m]
    if m and due.end[m] == due.end[m - 1] and due.start[m] == due.start[m - 1]:
        out.begin[m] = out.begin[m - 1]
        out.size[m] = min(k, out.size[m - 1])
        return
    refresh(cells, objects, numbers, recipe)
    out.begin[m] = out.used[0]
    out.size[m] = best(objects, values, numbers, recipe.sign, k, out)
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
            if numbers[STORED] == len(values.at) or is_due(values, numbers, numbers[NEXT_END] - beats.width, least):
                return SETTLE
            place = take(values, cells, objects, numbers, recipe, fed.object[i], fed.stream[i], fed.value[i])
            values.at[place] = fed.at[i]
            values.id[place] = fed.id[i]
            values.feed[place] = numbers[FED]
            at[0] += 1
        if at[1] == len(due.end):
            return DONE
        numbers[NEXT_END] = max(numbers[NEXT_END], last)
        expire(values, cells, objects, numbers, last - beats.width)
        if is_due(values, numbers, last - beats.width, len(values.at) + 1):
            return SETTLE
        if out.used[0] + min(due.k[at[1]], numbers[OBJECTS]) > len(out.id):
            return GROW
        report(values, cells, objects, numbers, recipe, due, at[1], out)
        at[1] += 1
