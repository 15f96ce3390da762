"""`eaa` settling: the scores of all instances, and who is dominated by k others.

An instance is an object as a window starting at one of its values will see it. Seen from the newest value back, the
current scores of a start are those of the starts after it and a little more, so one pass with a heap of the k best
objects gives every start its threshold, the k-th best current score: an instance is dominated by k distinct objects
exactly if its best score is below the threshold of its start (incomplete-cikm09, Definition 1 and Theorem 1).
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.engines.kernels.objects.rank import merged
from skyband.engines.kernels.objects.state import (
    CELLS,
    COMPARED,
    FRONT,
    LAST,
    MAX,
    NOBODY,
    OBJECTS,
    STORED,
    SUM,
    VISITED,
    Beats,
    Cells,
    Links,
    Objects,
    Recipe,
    Values,
)
from skyband.model.types import Flags, Floats, Ints

RELATIVE = 1e-12
"""An instance is dropped only where its best score is below by more than any rounding: equal scores tie."""


@kernel
def useful(values: Values, cells: Cells, numbers: Ints, collect: int, oldest: int) -> Flags:
    """Of the stored values, those in the window that no later one of their cell makes pointless."""
    found = np.zeros(numbers[STORED], np.bool_)
    highest = np.full(numbers[CELLS], -np.inf)
    for i in range(numbers[STORED] - 1, numbers[FRONT] - 1, -1):
        if values.at[i] < oldest:
            break
        cell = values.cell[i]
        if collect == LAST:
            found[i] = i >= cells.first[cell]
        elif collect == MAX:
            found[i] = i == cells.last[cell] or values.value[i] > highest[cell]
            highest[cell] = max(highest[cell], values.value[i])
        else:
            found[i] = True
    return found


@inlined
def most(recipe: Recipe, stream: int, count: int, total: int, collected: float) -> float:
    """The most an attribute can become: `count` values of this instance make `collected`, the object has `total`."""
    room = recipe.times[stream] - (total if recipe.ever else count)
    own = collected if count else recipe.low[stream]
    if recipe.collect == MAX:
        own = recipe.high[stream] if room > 0 or not recipe.ever else own
    elif room > 0:
        own = (collected if count else 0.0) + room * recipe.high[stream]
    return float(own)


@kernel
def instance_scores(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe, keep: Flags
) -> tuple[Floats, Floats]:
    """The current and the best score of the instance at every value that `keep` names, from the newest back.

    Bounds need no last bit: what is computed here serves to prune, with slack, and is never reported."""
    current, best = np.empty(len(keep)), np.empty(len(keep))
    d = recipe.streams
    collected, count = np.zeros(numbers[CELLS]), np.zeros(numbers[CELLS], np.int32)
    low, high = np.zeros(numbers[OBJECTS]), np.zeros(numbers[OBJECTS])
    if recipe.combine == SUM:
        for x in range(d):
            low += recipe.weight[x] * recipe.low[x]
            high += recipe.weight[x] * most(recipe, x, 0, 0, 0.0)
        if recipe.ever:
            for cell in range(numbers[CELLS]):
                x, total = cells.stream[cell], cells.old[cell] + cells.new[cell]
                more = most(recipe, x, 0, total, 0.0) - most(recipe, x, 0, 0, 0.0)
                high[cells.object[cell]] += recipe.weight[x] * more
    visited = 0
    for i in range(len(keep) - 1, numbers[FRONT] - 1, -1):
        if not keep[i]:
            continue
        visited += 1
        cell, value = values.cell[i], values.value[i]
        who, x = cells.object[cell], cells.stream[cell]
        total, n = cells.old[cell] + cells.new[cell], count[cell]
        old = collected[cell]
        new = value if not n else (old + value if recipe.collect == SUM else max(old, value))
        collected[cell] = new
        count[cell] = n + 1
        if recipe.combine == SUM:
            low[who] += recipe.weight[x] * (new - (old if n else recipe.low[x]))
            high[who] += recipe.weight[x] * (most(recipe, x, n + 1, total, new) - most(recipe, x, n, total, old))
        else:
            low[who], high[who] = both(cells, objects, recipe, collected, count, who)
        current[i] = low[who]
        best[i] = high[who]
    numbers[VISITED] += visited
    return current, best


@kernel
def instance_attributes(
    values: Values, cells: Cells, objects: Objects, numbers: Ints, recipe: Recipe, keep: Flags
) -> tuple[Ints, Floats, Floats]:
    """The values that `keep` names, from the newest back, and of the instance at each its attributes now and at their
    most, a row for each stream: for scores that no kernel can compute."""
    m, d = 0, recipe.streams
    for i in range(numbers[FRONT], len(keep)):
        m += keep[i]
    place, current, best = np.empty(m, np.int64), np.empty((d, m)), np.empty((d, m))
    collected, count = np.zeros(numbers[CELLS]), np.zeros(numbers[CELLS], np.int32)
    j = 0
    for i in range(len(keep) - 1, numbers[FRONT] - 1, -1):
        if not keep[i]:
            continue
        cell, value = values.cell[i], values.value[i]
        old = collected[cell]
        new = value if not count[cell] else (old + value if recipe.collect == SUM else max(old, value))
        collected[cell] = new
        count[cell] += 1
        place[j] = i
        for x in range(d):
            current[x, j], best[x, j] = recipe.low[x], most(recipe, x, 0, 0, 0.0)
        cell = objects.cell[cells.object[cell]]
        while cell != NOBODY:
            x, n, total = cells.stream[cell], count[cell], cells.old[cell] + cells.new[cell]
            current[x, j] = collected[cell] if n else recipe.low[x]
            best[x, j] = most(recipe, x, n, total, current[x, j])
            cell = cells.link[cell]
        j += 1
    numbers[VISITED] += m
    return place, current, best


@bare
def both(
    cells: Cells, objects: Objects, recipe: Recipe, collected: Floats, count: Links, who: int
) -> tuple[float, float]:
    """An instance's scores stream by stream, for combinations that cannot be changed in one place."""
    low, high = 0.0, 0.0
    for x in range(recipe.streams):
        cell = objects.cell[who]
        while cell != NOBODY and cells.stream[cell] != x:
            cell = cells.link[cell]
        n = count[cell] if cell != NOBODY else 0
        total = cells.old[cell] + cells.new[cell] if cell != NOBODY else 0
        own = collected[cell] if n else recipe.low[x]
        part = recipe.weight[x] * own
        bound = recipe.weight[x] * most(recipe, x, n, total, own)
        low = part if not x else merged(recipe.combine, low, part)
        high = bound if not x else merged(recipe.combine, high, bound)
    return low, high


@inlined
def sink(key: Floats, heap: Links, place: Links, size: int, at: int, who: int) -> None:
    """Find the place of an object whose score has risen; the lowest of the heap is on top."""
    i = at
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if not key[heap[child]] < key[who]:
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = who
    place[who] = i


@inlined
def offer(key: Floats, heap: Links, place: Links, size: int, k: int, who: int, score: float) -> int:
    """An object's score is now `score`, which is no less than before: is it among the best k objects?"""
    key[who] = score
    if place[who] != NOBODY:
        sink(key, heap, place, size, place[who], who)
        return size
    if size < k:
        i = size
        while i > 0 and key[heap[(i - 1) // 2]] > score:
            heap[i] = heap[(i - 1) // 2]
            place[heap[i]] = i
            i = (i - 1) // 2
        heap[i] = who
        place[who] = i
        return size + 1
    if score > key[heap[0]]:
        place[heap[0]] = NOBODY
        sink(key, heap, place, size, 0, who)
    return size


@bare
def last_start(beats: Beats, at: int) -> int:
    """The latest window start that is not after this time."""
    if not len(beats.period):
        return at
    end = at + beats.width
    found = end - (end - beats.phase[0]) % beats.period[0]
    for j in range(1, len(beats.period)):
        found = max(found, end - (end - beats.phase[j]) % beats.period[j])
    return int(found - beats.width)


@kernel
def undominated(
    values: Values,
    cells: Cells,
    numbers: Ints,
    beats: Beats,
    k: int,
    current: Floats,
    best: Floats,
    keep: Flags,
    slack: float,
    least: float,
) -> Flags:
    """Whose instance fewer than k objects dominate. Values between two window starts leave together, as one instance.

    An object is counted once: the heap holds objects, each with its score in the window from this start on. Where only
    scores above `least` count, who cannot reach it is dropped, and nobody dominates anybody."""
    found = np.zeros(len(keep), np.bool_)
    n = numbers[OBJECTS]
    key, bound = np.empty(n), np.empty(n)
    heap, place = np.empty(min(k, n) + 1, np.int32), np.full(n, NOBODY, np.int32)
    size, compared = 0, 0
    high = len(keep)
    while high > numbers[FRONT]:
        start = last_start(beats, values.at[high - 1])
        low = high
        while low > numbers[FRONT] and values.at[low - 1] >= start:
            low -= 1
            if keep[low]:
                who = cells.object[values.cell[low]]
                bound[who] = best[low]
                compared += 1
                if least == -np.inf:
                    size = offer(key, heap, place, size, k, who, current[low])
        threshold = key[heap[0]] if size == k else least
        spare = slack + RELATIVE * abs(threshold)
        for i in range(low, high):
            if keep[i]:
                found[i] = not threshold - spare > bound[cells.object[values.cell[i]]]
        high = low
    numbers[COMPARED] += compared
    return found
