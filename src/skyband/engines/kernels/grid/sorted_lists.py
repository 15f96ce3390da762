"""TSL: the window sorted by every column, the threshold algorithm over these lists, views of more than k results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.grid.result_lists import drop_expired, insert_ranked, offer, ranked, take_out
from skyband.engines.kernels.grid.score import merit, qualifies
from skyband.engines.kernels.grid.state import (
    COMPARED,
    COMPUTED,
    FIRST,
    INSERTED,
    NEXT,
    REFRESHED,
    SCORED,
    Lists,
    Queries,
    Scratch,
)
from skyband.engines.kernels.jit import bare
from skyband.model.types import Flags, Floats, Ints


class Window(NamedTuple):
    """The window in a ring, by slot. `seen` names the last search that looked at a point."""

    x: Floats
    at: Ints
    gone: Flags
    seen: Ints


class Sorted(NamedTuple):
    """By column: values in rising order, and whose they are."""

    value: Floats
    number: Ints


@bare
def store(window: Window, numbers: Ints, at: Ints, x: Floats) -> None:
    for i in range(len(at)):
        slot = numbers[NEXT] % len(window.at)
        for j in range(x.shape[1]):
            window.x[slot, j] = x[i, j]
        window.at[slot] = at[i]
        window.gone[slot] = False
        window.seen[slot] = -1
        numbers[NEXT] += 1


@bare
def expire(window: Window, numbers: Ints, at: int) -> None:
    while numbers[FIRST] < numbers[NEXT] and window.at[numbers[FIRST] % len(window.at)] < at:
        numbers[FIRST] += 1


@bare
def merge(old: Sorted, n: int, x: Floats, order: Ints, base: int, first: int, new: Sorted) -> int:
    """The old lists without what has expired, and the arrivals x (sorted by column in `order`), into `new`. How many
    entries that makes; a NaN has no place in order, so its list holds it last."""
    total = 0
    for j in range(x.shape[1]):
        i = 0
        k = 0
        total = 0
        while i < n or k < len(x):
            while i < n and old.number[j, i] < first:
                i += 1
            if i == n and k == len(x):
                break
            if i < n and (k == len(x) or not old.value[j, i] > x[order[k, j], j]):
                new.value[j, total] = old.value[j, i]
                new.number[j, total] = old.number[j, i]
                i += 1
            else:
                new.value[j, total] = x[order[k, j], j]
                new.number[j, total] = base + order[k, j]
                k += 1
            total += 1
    return total


@bare
def threshold_search(
    window: Window, lists: Sorted, n: int, queries: Queries, scratch: Scratch, numbers: Ints, q: int, k: int, turn: int
) -> int:
    """Fagin's threshold algorithm: go down all lists at once; stop when nobody unseen can reach the k-th best."""
    room = len(window.at)
    found = 0
    for depth in range(n):
        limit = 0.0
        for j in range(queries.terms[q]):
            column = queries.column[q, j]
            weight = queries.weight[q, j]
            i = n - 1 - depth if weight > 0 else depth
            part = weight * lists.value[column, i]
            limit = part if j == 0 else limit + part
            slot = lists.number[column, i] % room
            if window.seen[slot] == turn:
                continue
            window.seen[slot] = turn
            numbers[SCORED] += 1
            score = merit(queries, q, window.x, slot)
            if score >= -np.inf and qualifies(queries, q, window.x, slot) and not window.gone[slot]:
                found = offer(scratch, found, k, score, lists.number[column, i])
        if found == k and limit < scratch.score[0]:
            break
    ranked(scratch, found)
    return found


@bare
def score_all(window: Window, queries: Queries, views: Lists, most: Ints, numbers: Ints, begin: int) -> None:
    """Offer every arrival from number `begin` on to every view. Nothing from a view's floor on is missing there."""
    for number in range(begin, numbers[NEXT]):
        slot = number % len(window.at)
        for q in range(len(views.own)):
            if not queries.alive[q] or views.stale[q] or queries.threshold[q] == queries.threshold[q]:
                continue
            score = merit(queries, q, window.x, slot)
            numbers[COMPARED] += 1
            if score >= views.floor[q] and qualifies(queries, q, window.x, slot):
                insert_ranked(views, q, most[q], score, number)
                numbers[INSERTED] += 1


@bare
def refill(
    window: Window,
    lists: Sorted,
    n: int,
    queries: Queries,
    views: Lists,
    most: Ints,
    scratch: Scratch,
    numbers: Ints,
    turn: int,
) -> int:
    """Drop what expired from the views; those left with fewer than k are filled up. Returns the searches so far."""
    for q in range(len(views.own)):
        if not queries.alive[q] or queries.threshold[q] == queries.threshold[q]:
            continue
        drop_expired(views, q, numbers[FIRST])
        short = views.size[q] < queries.k[q] and not views.whole[q]
        if not short and not views.stale[q]:
            continue
        numbers[COMPUTED if short and not views.stale[q] else REFRESHED] += 1
        turn += 1
        found = threshold_search(window, lists, n, queries, scratch, numbers, q, most[q], turn)
        begin = views.begin[q]
        for i in range(found):
            views.score[begin + i] = scratch.score[i]
            views.number[begin + i] = scratch.number[i]
        views.size[q] = found
        views.whole[q] = found < most[q]
        views.stale[q] = False
        views.floor[q] = -np.inf if views.whole[q] else views.score[begin + found - 1]
    return turn


@bare
def withdraw(window: Window, queries: Queries, views: Lists, numbers: Ints, deleted: Ints) -> None:
    """Deleted points leave the views; a view with k left is still right."""
    for number in deleted:
        slot = number % len(window.at)
        if number < numbers[FIRST] or window.gone[slot]:
            continue
        window.gone[slot] = True
        for q in range(len(views.own)):
            stale = views.stale[q]
            take_out(views, q, number)
            views.stale[q] = stale


@bare
def all_above(window: Window, queries: Queries, scratch: Scratch, numbers: Ints, q: int) -> int:
    """Every point above the query's threshold, best first: lists sorted by column do not help here."""
    found = 0
    for number in range(numbers[FIRST], numbers[NEXT]):
        slot = number % len(window.at)
        score = merit(queries, q, window.x, slot)
        if score > queries.threshold[q] and qualifies(queries, q, window.x, slot) and not window.gone[slot]:
            found = offer(scratch, found, len(window.at), queries.turn[q] * score + 0.0, number)
    return found
