"""`sla`: a view of a few more than k objects, and the threshold algorithm that fills it."""

from __future__ import annotations

from skyband.engines.kernels.jit import bare, inlined
from skyband.engines.kernels.objects.rank import merged
from skyband.engines.kernels.objects.state import MAX, PRODUCT, Recipe
from skyband.engines.kernels.sla.lists import Links, Sorted
from skyband.engines.kernels.sla.owners import score_of
from skyband.engines.kernels.sla.state import COMPARED, INSERTED, READ, SEARCHES, TURN, Owners, View
from skyband.model.types import Ints

SLACK = 1e-12
"""A limit is a sum with other roundings than a score has: stop only where that cannot matter."""


@inlined
def outranks(score: float, fed: int, other: float, other_fed: int) -> bool:
    return bool(score > other or (score == other and fed > other_fed))


@bare
def leave_view(view: View, owners: Owners, who: int) -> None:
    n = view.number[0] - 1
    i = 0
    while view.object[i] != who:
        i += 1
    for j in range(i, n):
        view.object[j] = view.object[j + 1]
    view.number[0] = n
    owners.viewed[who] = False


@inlined
def rank_anew(view: View, owners: Owners, numbers: Ints, recipe: Recipe, who: int) -> None:
    """The score of an object that is not (or no more) in the view has changed: is it above the floor?"""
    score = recipe.sign * score_of(owners, recipe, who)
    owners.score[who] = score
    numbers[COMPARED] += 1
    if score != score:
        return
    if not view.number[1] and not outranks(score, owners.fed[who], view.level[0], view.level_fed[0]):
        return
    enter_view(view, owners, numbers, who)


@bare
def enter_view(view: View, owners: Owners, numbers: Ints, who: int) -> None:
    """Into the view; if that is full, its last leaves and the one before becomes the floor."""
    numbers[INSERTED] += 1
    i = view.number[0]
    score, fed = owners.score[who], owners.fed[who]
    while i and outranks(score, fed, owners.score[view.object[i - 1]], owners.fed[view.object[i - 1]]):
        view.object[i] = view.object[i - 1]
        i -= 1
    view.object[i] = who
    owners.viewed[who] = True
    view.number[0] += 1
    if view.number[0] == len(view.object):
        view.number[0] -= 1
        view.number[1] = 0
        last = view.object[view.number[0]]
        owners.viewed[last] = False
        view.level[0] = owners.score[last]
        view.level_fed[0] = owners.fed[last]


@inlined
def limit_of(recipe: Recipe, stream: int, value: float, ended: bool) -> float:
    """What an object that was not seen yet can have at most in a stream whose list has come down to `value`."""
    low = recipe.low[stream] if recipe.streams else 0.0
    weight = recipe.weight[stream] if recipe.streams else 1.0
    if ended:
        return weight * low
    return weight * (max(value, low) if recipe.sign > 0 else min(value, low))


@inlined
def step(
    owners: Owners,
    lists: Sorted,
    view: View,
    numbers: Ints,
    x: int,
    at_block: Links,
    at_entry: Links,
    down: bool,
) -> float:
    """Read a list's next entry and offer its object to the view, once in a search; the value read."""
    block = lists.directory[x, at_block[x]]
    value, who = lists.value[block, at_entry[x]], owners.object[lists.cell[block, at_entry[x]]]
    numbers[READ] += 1
    if down:
        at_entry[x] -= 1
        if at_entry[x] < 0:
            at_block[x] -= 1
            if at_block[x] >= 0:
                at_entry[x] = lists.size[lists.directory[x, at_block[x]]] - 1
    else:
        at_entry[x] += 1
        if at_entry[x] == lists.size[block]:
            at_block[x] += 1
            at_entry[x] = 0
    if owners.seen[who] != numbers[TURN]:
        owners.seen[who] = numbers[TURN]
        score = owners.score[who]
        numbers[COMPARED] += 1
        if score == score and (view.number[1] or outranks(score, owners.fed[who], view.level[0], view.level_fed[0])):
            enter_view(view, owners, numbers, who)
    return float(value)


@bare
def search(
    owners: Owners, lists: Sorted, view: View, numbers: Ints, recipe: Recipe, at_block: Links, at_entry: Links
) -> None:
    """The threshold algorithm: down all lists at once, until nobody unseen can enter the view."""
    for j in range(view.number[0]):
        owners.viewed[view.object[j]] = False
    view.number[0] = 0
    view.number[1] = 1
    numbers[SEARCHES] += 1
    numbers[TURN] += 1
    down = recipe.sign > 0
    for x in range(len(lists.blocks)):
        at_block[x] = lists.blocks[x] - 1 if down else 0
        at_entry[x] = lists.size[lists.directory[x, at_block[x]]] - 1 if down and lists.blocks[x] else 0
    full = len(view.object) - 1
    stops = True
    for x in range(recipe.streams):
        stops = stops and not (recipe.combine == PRODUCT and recipe.low[x] < 0.0)
    while True:
        limit, parts, ended = 0.0, 0, True
        for x in range(len(lists.blocks)):
            over = at_block[x] < 0 or at_block[x] >= lists.blocks[x]
            value = 0.0
            if not over:
                ended = False
                value = step(owners, lists, view, numbers, x, at_block, at_entry, down)
            if over and not recipe.streams and recipe.combine == MAX:
                continue
            part = limit_of(recipe, x, value, over)
            if not recipe.streams and recipe.combine == MAX:
                part = value
            if not parts:
                limit = part
            elif not recipe.streams and recipe.combine == MAX and not down:
                limit = min(limit, part)
            else:
                limit = merged(recipe.combine, limit, part)
            parts += 1
        if ended:
            return
        if stops and view.number[0] == full:
            last = view.object[full - 1]
            if recipe.sign * limit + SLACK * abs(limit) < owners.score[last]:
                view.number[1] = 0
                view.level[0] = owners.score[last]
                view.level_fed[0] = owners.fed[last]
                return
