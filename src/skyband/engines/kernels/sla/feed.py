"""SLA: values come and go, in one sorted list per stream; reports read the view."""

from __future__ import annotations

from skyband.engines.kernels.jit import bare, inlined
from skyband.engines.kernels.objects.feed import next_end
from skyband.engines.kernels.objects.state import LAST, NOBODY, SUM, Answered, Beats, Due, Fed, Recipe, adds, put
from skyband.engines.kernels.sla.lists import Links, Sorted, insert, remove
from skyband.engines.kernels.sla.owners import attribute_of, cell_of, drop_cell, forget, object_of
from skyband.engines.kernels.sla.state import BEYOND, FED, FIRST, NEXT, NEXT_END, PEAK, Owners, View, Window
from skyband.engines.kernels.sla.view import leave_view, rank_anew, search
from skyband.model.types import Ints

DONE, ROOM, GROW = range(3)
"""Why `run` came back: all is fed and reported; there is no room for another value or stream, or for the answers."""


@bare
def collect(window: Window, owners: Owners, recipe: Recipe, cell: int) -> None:
    """A cell's attribute from its values."""
    slot = owners.first[cell]
    hi, lo = window.value[slot], 0.0
    slot = window.following[slot]
    while slot != NOBODY:
        value = window.value[slot]
        if adds(recipe.collect):
            hi, lo = put(hi, lo, value)
        elif recipe.collect == LAST or value > hi:
            hi = value
        slot = window.following[slot]
    owners.attribute[cell] = hi
    owners.rest[cell] = lo


@inlined
def take(
    window: Window, owners: Owners, lists: Sorted, view: View, numbers: Ints, recipe: Recipe, fed: Fed, i: int
) -> None:
    """A value arrives: into its stream's list, its object's score, and the view if it belongs there."""
    stream, value = fed.stream[i], fed.value[i]
    who = object_of(owners, numbers, fed.object[i])
    cell = cell_of(owners, numbers, who, stream)
    slot = numbers[NEXT] % len(window.at)
    numbers[NEXT] += 1
    numbers[FED] += 1
    window.at[slot] = fed.at[i]
    window.id[slot] = fed.id[i]
    window.feed[slot] = numbers[FED]
    window.value[slot] = value
    window.cell[slot] = cell
    window.following[slot] = NOBODY
    if owners.many[cell]:
        remove(lists, stream, attribute_of(owners, recipe, cell), cell)
        window.following[owners.last[cell]] = slot
        if adds(recipe.collect):
            owners.attribute[cell], owners.rest[cell] = put(owners.attribute[cell], owners.rest[cell], value)
        elif recipe.collect == LAST or value > owners.attribute[cell]:
            owners.attribute[cell] = value
    else:
        owners.first[cell] = slot
        owners.attribute[cell] = value
        owners.rest[cell] = 0.0
    owners.last[cell] = slot
    owners.many[cell] += 1
    owners.held[who] += 1
    owners.newest[who] = slot
    insert(lists, stream, attribute_of(owners, recipe, cell), cell)
    if owners.viewed[who]:
        leave_view(view, owners, who)
    owners.fed[who] = numbers[FED]
    rank_anew(view, owners, numbers, recipe, who)
    if recipe.collect == SUM and recipe.streams and owners.many[cell] > recipe.times[stream]:
        numbers[BEYOND] += 1


@bare
def expire(
    window: Window, owners: Owners, lists: Sorted, view: View, numbers: Ints, recipe: Recipe, start: int
) -> None:
    """Values older than this leave the window, their lists, and the scores they were part of."""
    while numbers[FIRST] < numbers[NEXT]:
        slot = numbers[FIRST] % len(window.at)
        if window.at[slot] >= start:
            break
        numbers[FIRST] += 1
        cell = window.cell[slot]
        who, stream = owners.object[cell], owners.stream[cell]
        if owners.viewed[who]:
            leave_view(view, owners, who)
        remove(lists, stream, attribute_of(owners, recipe, cell), cell)
        owners.many[cell] -= 1
        owners.held[who] -= 1
        if owners.many[cell]:
            owners.first[cell] = window.following[slot]
            collect(window, owners, recipe, cell)
            insert(lists, stream, attribute_of(owners, recipe, cell), cell)
        else:
            drop_cell(owners, numbers, who, cell)
        if owners.held[who]:
            rank_anew(view, owners, numbers, recipe, who)
        else:
            forget(owners, numbers, who)


@bare
def report(window: Window, owners: Owners, view: View, recipe: Recipe, due: Due, m: int, out: Answered) -> None:
    out.begin[m] = out.used[0]
    out.size[m] = min(due.k[m], view.number[0])
    for j in range(out.size[m]):
        who = view.object[j]
        out.id[out.used[0] + j] = window.id[owners.newest[who]]
        out.score[out.used[0] + j] = recipe.sign * owners.score[who] + 0.0
    out.used[0] += out.size[m]


@bare
def run(
    window: Window,
    owners: Owners,
    lists: Sorted,
    view: View,
    numbers: Ints,
    recipe: Recipe,
    beats: Beats,
    fed: Fed,
    due: Due,
    at: Ints,
    most: int,
    cursors: tuple[Links, Links],
    out: Answered,
) -> int:
    """Feed and report, interleaved; `at` says where to go on: the next record, the next report. `most` is K."""
    while True:
        last = due.end[at[1]] if at[1] < len(due.end) else 0
        while at[0] < len(fed.at) and (at[1] == len(due.end) or fed.at[at[0]] < last):
            i = at[0]
            if fed.at[i] >= numbers[NEXT_END]:
                numbers[NEXT_END] = next_end(beats, fed.at[i])
                expire(window, owners, lists, view, numbers, recipe, numbers[NEXT_END] - beats.width)
            if numbers[NEXT] - numbers[FIRST] == len(window.at) or fed.stream[i] >= len(lists.blocks):
                return ROOM
            take(window, owners, lists, view, numbers, recipe, fed, i)
            numbers[PEAK] = max(numbers[PEAK], numbers[NEXT] - numbers[FIRST])
            at[0] += 1
        if at[1] == len(due.end):
            return DONE
        numbers[NEXT_END] = max(numbers[NEXT_END], last)
        expire(window, owners, lists, view, numbers, recipe, last - beats.width)
        if view.number[0] < most and not view.number[1]:
            search(owners, lists, view, numbers, recipe, cursors[0], cursors[1])
        if out.used[0] + min(due.k[at[1]], view.number[0]) > len(out.id):
            return GROW
        report(window, owners, view, recipe, due, at[1], out)
        at[1] += 1
