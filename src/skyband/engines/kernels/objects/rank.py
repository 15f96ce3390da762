"""`eaa`: scores of objects, and a tournament tree over them off which reports read the best."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.engines.kernels.objects.state import (
    AVG,
    COMPARED,
    DIRTY,
    EXPRESSION,
    INSERTED,
    LEAVES,
    MAX,
    MIN,
    NOBODY,
    OBJECTS,
    SUM,
    Answered,
    Cells,
    Objects,
    Recipe,
    Values,
    adds,
    put,
    rounded,
)
from skyband.model.types import Floats, Ints


@inlined
def attribute(cells: Cells, recipe: Recipe, cell: int) -> float:
    """What the values of a cell in the window make; there is at least one."""
    made = together(cells, recipe, cell)
    return made / (cells.old[cell] + cells.new[cell]) if recipe.collect == AVG else made


@inlined
def together(cells: Cells, recipe: Recipe, cell: int) -> float:
    """Its two parts."""
    if not cells.old[cell]:
        return rounded(cells.new_hi[cell], cells.new_lo[cell])
    if not cells.new[cell]:
        return rounded(cells.old_hi[cell], cells.old_lo[cell])
    if adds(recipe.collect):
        hi, lo = put(cells.old_hi[cell], cells.old_lo[cell] + cells.new_lo[cell], cells.new_hi[cell])
        return rounded(hi, lo)
    return float(max(cells.old_hi[cell], cells.new_hi[cell]))


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


@inlined
def merged(combine: int, so_far: float, part: float) -> float:
    """As `combined`, rounded at every step: for bounds."""
    if combine == SUM:
        return so_far + part
    if combine == MAX:
        return max(so_far, part)
    return min(so_far, part) if combine == MIN else so_far * part


@inlined
def score_of(cells: Cells, objects: Objects, recipe: Recipe, who: int) -> float:
    """An object's score now, as the user sees it; NaN keeps it out of the ranking."""
    hi, lo, parts = 0.0, 0.0, 0
    if recipe.streams and not recipe.sparse:
        for x in range(recipe.streams):
            cell = cell_in(cells, objects, who, x)
            part = recipe.weight[x] * (recipe.low[x] if cell == NOBODY else attribute(cells, recipe, cell))
            if part != part:
                return np.nan
            if x:
                hi, lo = combined(recipe.combine, hi, lo, part)
            else:
                hi = part
        return rounded(hi, lo) + 0.0
    cell = objects.cell[who]
    while cell != NOBODY:
        if cells.old[cell] + cells.new[cell]:
            part = attribute(cells, recipe, cell)
            if recipe.streams:
                part *= recipe.weight[cells.stream[cell]]
            if part != part:
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
        return bool(objects.score[a] > objects.score[b])
    return bool(objects.shown[a] >= objects.shown[b])


@inlined
def rescore(cells: Cells, objects: Objects, recipe: Recipe, who: int) -> None:
    """Compute an object's score, if it is in the window."""
    rate(objects, recipe, who, score_of(cells, objects, recipe, who) if objects.held[who] else np.nan)


@inlined
def rate(objects: Objects, recipe: Recipe, who: int, score: float) -> None:
    """An object that has no score, or is not in the window, ranks behind all."""
    objects.waiting[who] = False
    ranks = objects.held[who] > 0 and score == score
    objects.score[who] = recipe.sign * score if ranks else -np.inf
    objects.shown[who] = objects.newest[who] if ranks else NOBODY


@inlined
def replay(objects: Objects, numbers: Ints, who: int) -> None:
    """Play the matches of an object that has another score."""
    leaves = numbers[LEAVES]
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


@bare
def refresh(cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """Compute the scores that changed, and play their matches in the tournament again."""
    for j in range(numbers[DIRTY]):
        rescore(cells, objects, recipe, objects.dirty[j])
        replay(objects, numbers, objects.dirty[j])
    numbers[DIRTY] = 0


@kernel
def changed_attributes(cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> Floats:
    """The attributes of the objects whose scores changed, a row for each stream."""
    found = np.empty((recipe.streams, numbers[DIRTY]))
    for j in range(numbers[DIRTY]):
        for x in range(recipe.streams):
            found[x, j] = recipe.low[x]
        cell = objects.cell[objects.dirty[j]]
        while cell != NOBODY:
            if cells.old[cell] + cells.new[cell]:
                found[cells.stream[cell], j] = attribute(cells, recipe, cell)
            cell = cells.link[cell]
    return found


@kernel
def take_scores(objects: Objects, numbers: Ints, recipe: Recipe, score: Floats) -> None:
    """As `refresh`, with scores that somebody else computed."""
    for j in range(numbers[DIRTY]):
        rate(objects, recipe, objects.dirty[j], score[j])
        replay(objects, numbers, objects.dirty[j])
    numbers[DIRTY] = 0


@bare
def play_all(cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe) -> None:
    """The whole tournament anew, after objects and values have moved. Scores stand unless their object waits; one that
    is scored elsewhere goes on waiting."""
    leaves, n = numbers[LEAVES], numbers[OBJECTS]
    numbers[DIRTY] = 0
    for who in range(n):
        if objects.waiting[who] and recipe.combine == EXPRESSION:
            rate(objects, recipe, who, np.nan)
            objects.waiting[who] = True
            objects.dirty[numbers[DIRTY]] = who
            numbers[DIRTY] += 1
        elif objects.waiting[who]:
            rescore(cells, objects, recipe, who)
        elif objects.shown[who] != NOBODY:
            objects.shown[who] = objects.newest[who]
    for who in range(leaves):
        objects.winner[leaves + who] = who if who < n else NOBODY
    for node in range(leaves - 1, 0, -1):
        a, b = objects.winner[2 * node], objects.winner[2 * node + 1]
        objects.winner[node] = b if a == NOBODY or (b != NOBODY and better(objects, b, a)) else a
    numbers[COMPARED] += leaves


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
def best(objects: Objects, values: Values, numbers: Ints, sign: float, k: int, above: float, out: Answered) -> int:
    """The best k objects behind the entries in use: when a winner is read, those it beat on its way up come next. Only
    scores that exceed `above` count, if that is a number; where the lowest come first, those are read past."""
    leaves = numbers[LEAVES]
    found, size = 0, 0
    if objects.winner[1] != NOBODY:
        size = push(objects, size, 1)
    while found < k and size:
        node = objects.frontier[0]
        who = objects.winner[node]
        if objects.shown[who] == NOBODY:
            break
        score = sign * objects.score[who] + 0.0
        if score <= above and sign > 0:
            break
        size = pop(objects, size)
        if not score <= above:
            out.id[out.used[0] + found] = values.id[objects.newest[who]]
            out.score[out.used[0] + found] = score
            found += 1
        while node < leaves:
            left = objects.winner[2 * node] == who
            beaten = 2 * node + 1 if left else 2 * node
            node = 2 * node if left else 2 * node + 1
            if objects.winner[beaten] != NOBODY:
                size = push(objects, size, beaten)
                numbers[COMPARED] += 1
    return found
