"""The estimated best score of an instance: what its object will probably still gain, knowing where and how long ago
it was seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import bare, inlined, kernel
from skyband.engines.kernels.objects.delays import BINS
from skyband.engines.kernels.objects.rank import merged
from skyband.engines.kernels.objects.settle import most
from skyband.engines.kernels.objects.state import (
    CELLS,
    FRONT,
    MAX,
    NOBODY,
    OBJECTS,
    STORED,
    VISITED,
    Cells,
    Objects,
    Recipe,
    Values,
)
from skyband.model.types import Flags, Floats, Ints


class Forecast(NamedTuple):
    """What was learnt about the streams. `pair[i, j]`: how probable j is for an object of i; `sets` are sets of streams
    as bits, rising, and `given[s, j]` how probable j is for an object of the set s; `reached[i, j, b]`: the share of
    those objects of both that had come to j by the end of bin b after i; `amount`: what a value is at most, as far as
    one can tell; `many`: how often an object occurs; `horizon`: how far to look ahead, `width` what the bins are
    about."""

    pair: Floats
    sets: Ints
    given: Floats
    reached: Floats
    amount: Floats
    many: Floats
    horizon: int
    width: int
    aged: bool


@inlined
def reached_by(forecast: Forecast, i: int, j: int, age: int) -> float:
    """The share that has come by this age, between the ends of bins on a line."""
    place = BINS * np.sqrt(min(max(age, 0) / forecast.width, 1.0))
    low = min(int(place), BINS - 1)
    part = place - low
    share: float = (1.0 - part) * forecast.reached[i, j, low] + part * forecast.reached[i, j, low + 1]
    return share


@inlined
def to_come(forecast: Forecast, p: float, i: int, j: int, age: int) -> float:
    """The probability that an object last seen in i so long ago, and not in j since, comes to j within the horizon.

    By Bayes: of the objects of i a share p comes to j, of those a share F(age) would have come already."""
    if not forecast.aged:
        return p
    gone = reached_by(forecast, i, j, age)
    left = reached_by(forecast, i, j, age + forecast.horizon) - gone
    return p * left / max(1.0 - p * gone, 1e-9)


@inlined
def set_place(sets: Ints, wanted: np.int64) -> int:
    low, high = 0, len(sets)
    while low < high:
        middle = (low + high) // 2
        if sets[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(sets) and sets[low] == wanted else NOBODY


@bare
def seen_in(cells: Cells, objects: Objects, who: int) -> np.int64:
    """The streams of the object's values, as bits."""
    bits = np.int64(0)
    cell = objects.cell[who]
    while cell != NOBODY:
        if cells.old[cell] + cells.new[cell]:
            bits |= np.int64(1) << np.int64(cells.stream[cell])
        cell = cells.link[cell]
    return bits


@kernel
def sets_of(cells: Cells, objects: Objects, numbers: Ints) -> Ints:
    """The set of streams of every object kept."""
    out = np.empty(numbers[OBJECTS], np.int64)
    for who in range(len(out)):
        out[who] = seen_in(cells, objects, who)
    return out


@bare
def chances(
    values: Values, cells: Cells, objects: Objects, forecast: Forecast, who: int, now: int, knob: float, out: Floats
) -> None:
    """For every stream the chance, times the knob, that the object shows up there (again) soon."""
    newest = objects.newest[who]
    last = cells.stream[values.cell[newest]]
    place = set_place(forecast.sets, seen_in(cells, objects, who))
    for x in range(len(out)):
        p = forecast.pair[last, x] if place == NOBODY else forecast.given[place, x]
        out[x] = to_come(forecast, p, last, x, now - values.at[newest])
    cell = objects.cell[who]
    while cell != NOBODY:
        x = cells.stream[cell]
        if cells.old[cell] + cells.new[cell]:
            age = now - values.at[cells.last[cell]]
            out[x] = to_come(forecast, forecast.pair[x, x], x, x, age)
        cell = cells.link[cell]
    for x in range(len(out)):
        out[x] = knob * out[x]


@inlined
def gain(
    recipe: Recipe, forecast: Forecast, x: int, chance: float, count: int, total: int, own: float, bounded: bool
) -> float:
    """What the attribute will probably be: `count` values of this instance make `own`, the object has `total`.

    How much and how often are guesses too, and a large knob goes beyond them; but not beyond what was declared, where
    it is `bounded`."""
    whole = forecast.amount[x]
    if recipe.collect != MAX:
        # The first value takes the place of the lowest one, which stood for none.
        whole = max(forecast.many[x] - total, 1.0) * forecast.amount[x] + (own if count else 0.0)
    likely: float = own + chance * max(whole - own, 0.0)
    if not bounded:
        return likely
    return min(likely, most(recipe, x, count, total, own))


@kernel
def estimated_scores(
    values: Values,
    cells: Cells,
    objects: Objects,
    numbers: Ints,
    recipe: Recipe,
    keep: Flags,
    forecast: Forecast,
    weight: Floats,
    low: Floats,
    knob: float,
    bounded: bool,
) -> tuple[Floats, Floats]:
    """As `instance_scores`, with the estimate in place of the best score, and never above that if it is `bounded`."""
    current, best = np.empty(len(keep)), np.empty(len(keep))
    if not numbers[STORED]:
        return current, best
    d, now = len(weight), values.at[numbers[STORED] - 1]
    collected, count = np.zeros(numbers[CELLS]), np.zeros(numbers[CELLS], np.int64)
    chance, ready = np.empty((numbers[OBJECTS], d)), np.zeros(numbers[OBJECTS], np.bool_)
    cell_at = np.empty(d, np.int64)
    for i in range(len(keep) - 1, numbers[FRONT] - 1, -1):
        if not keep[i]:
            continue
        numbers[VISITED] += 1
        own_cell, value = values.cell[i], values.value[i]
        who = cells.object[own_cell]
        if not ready[who]:
            chances(values, cells, objects, forecast, who, now, knob, chance[who])
            ready[who] = True
        if not count[own_cell]:
            collected[own_cell] = value
        elif recipe.collect == MAX:
            collected[own_cell] = max(collected[own_cell], value)
        else:
            collected[own_cell] += value
        count[own_cell] += 1
        cell_at[:] = NOBODY
        cell = objects.cell[who]
        while cell != NOBODY:
            cell_at[cells.stream[cell]] = cell
            cell = cells.link[cell]
        sure, likely, parts = 0.0, 0.0, 0
        for x in range(d):
            cell = cell_at[x]
            n = count[cell] if cell != NOBODY else 0
            total = cells.old[cell] + cells.new[cell] if cell != NOBODY else 0
            own = collected[cell] if n else low[x]
            more = weight[x] * gain(recipe, forecast, x, chance[who, x], n, total, own, bounded)
            likely = more if not x else merged(recipe.combine, likely, more)
            if n or recipe.streams:
                sure = weight[x] * own if not parts else merged(recipe.combine, sure, weight[x] * own)
                parts += 1
        current[i] = sure
        best[i] = max(likely, sure)
    return current, best
