"""Lists of the best: a heap while a search goes on, then ranked lists that points enter and leave.

Of equal scores the higher number, the newer point, is the better one.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.state import FIRST, Lists, Queries, Scratch
from skyband.engines.kernels.jit import bare, inlined
from skyband.model.types import Floats, Ints


@inlined
def below(score: float, number: int, other: float, than: int) -> bool:
    return bool(score < other or (score == other and number < than))


@inlined
def offer(scratch: Scratch, n: int, k: int, score: float, number: int) -> int:
    """Put a point among the best k, kept as a heap with the worst on top; returns how many there are."""
    scores = scratch.score
    numbers = scratch.number
    if n < k:
        i = n
        while i > 0:
            parent = (i - 1) >> 1
            if not below(score, number, scores[parent], numbers[parent]):
                break
            scores[i] = scores[parent]
            numbers[i] = numbers[parent]
            i = parent
        scores[i] = score
        numbers[i] = number
        return n + 1
    if below(score, number, scores[0], numbers[0]):
        return n
    sink(scores, numbers, n, score, number)
    return n


@inlined
def sink(scores: Floats, numbers: Ints, n: int, score: float, number: int) -> None:
    """Replace the top of the heap of n by an entry that may belong further down."""
    i = 0
    child = 1
    while child < n:
        if child + 1 < n and below(scores[child + 1], numbers[child + 1], scores[child], numbers[child]):
            child += 1
        if not below(scores[child], numbers[child], score, number):
            break
        scores[i] = scores[child]
        numbers[i] = numbers[child]
        i = child
        child = 2 * i + 1
    scores[i] = score
    numbers[i] = number


@inlined
def ranked(scratch: Scratch, n: int) -> None:
    """Turn the heap of the best into a list, best first."""
    scores = scratch.score
    numbers = scratch.number
    for left in range(n - 1, 0, -1):
        worst = scores[0]
        its = numbers[0]
        sink(scores, numbers, left, scores[left], numbers[left])
        scores[left] = worst
        numbers[left] = its


@bare
def ranked_best(scratch: Scratch, n: int) -> None:
    ranked(scratch, n)


@inlined
def insert_ranked(lists: Lists, q: int, most: int, score: float, number: int) -> None:
    """Into the `most` best. Once something has been left out, the last score of a full list is the floor."""
    begin = lists.begin[q]
    n = lists.size[q]
    if n == most:
        n -= 1
        lists.whole[q] = False
        if below(score, number, lists.score[begin + n], lists.number[begin + n]):
            lists.floor[q] = lists.score[begin + n]
            return
    i = begin + n
    while i > begin and below(lists.score[i - 1], lists.number[i - 1], score, number):
        lists.score[i] = lists.score[i - 1]
        lists.number[i] = lists.number[i - 1]
        i -= 1
    lists.score[i] = score
    lists.number[i] = number
    lists.size[q] = n + 1
    if n + 1 == most and not lists.whole[q]:
        lists.floor[q] = lists.score[begin + n]


@inlined
def insert_skyband(queries: Queries, lists: Lists, numbers: Ints, q: int, score: float, number: int) -> None:
    """The newest point dominates all that do not rank above it; whoever has k dominators goes."""
    if lists.begin[q] + lists.size[q] == lists.begin[q + 1]:
        drop_expired(lists, q, numbers[FIRST])
        if lists.begin[q] + lists.size[q] == lists.begin[q + 1]:
            # A list much longer than k: its floor is too low. A search raises it and lets the query watch less.
            lists.stale[q] = True
            return
    begin = lists.begin[q]
    end = begin + lists.size[q]
    place = begin
    span = lists.size[q]
    while span > 0:
        half = span >> 1
        if lists.score[place + half] > score:
            place += half + 1
            span -= half + 1
        else:
            span = half
    carried_score = score
    carried_number = number
    carried_count = np.int32(0)
    to = place
    for i in range(place, end):
        next_score = lists.score[i]
        next_number = lists.number[i]
        next_count = lists.dominated[i] + np.int32(1)
        if next_count >= queries.k[q]:
            continue
        lists.score[to] = carried_score
        lists.number[to] = carried_number
        lists.dominated[to] = carried_count
        to += 1
        carried_score = next_score
        carried_number = next_number
        carried_count = next_count
    lists.score[to] = carried_score
    lists.number[to] = carried_number
    lists.dominated[to] = carried_count
    lists.size[q] = to + 1 - begin


@inlined
def drop_expired(lists: Lists, q: int, first: int) -> int:
    """By age, not by cell or rank; returns how many went."""
    begin = lists.begin[q]
    to = begin
    for i in range(begin, begin + lists.size[q]):
        if lists.number[i] >= first:
            if to < i:
                lists.score[to] = lists.score[i]
                lists.number[to] = lists.number[i]
                lists.dominated[to] = lists.dominated[i]
            to += 1
    gone = begin + lists.size[q] - to
    lists.size[q] = to - begin
    return int(gone)


@inlined
def take_out(lists: Lists, q: int, number: int) -> None:
    begin = lists.begin[q]
    end = begin + lists.size[q]
    for i in range(begin, end):
        if lists.number[i] == number:
            for j in range(i, end - 1):
                lists.score[j] = lists.score[j + 1]
                lists.number[j] = lists.number[j + 1]
            lists.size[q] -= 1
            # Something unknown may rank behind those that are left.
            if not lists.whole[q]:
                lists.stale[q] = True
            return


@bare
def count_dominators(lists: Lists, scratch: Scratch, begin: int, n: int) -> None:
    """For every entry, how many better ones are newer: entries stand best first, so a merge sort by age, newest first,
    counts whom each one is overtaken by."""
    order = scratch.order
    merged = scratch.merged
    for i in range(n):
        lists.dominated[begin + i] = 0
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for to in range(low, high):
                if j == high or (i < middle and lists.number[begin + order[i]] > lists.number[begin + order[j]]):
                    merged[to] = order[i]
                    i += 1
                else:
                    lists.dominated[begin + order[j]] += i - low
                    merged[to] = order[j]
                    j += 1
        for i in range(n):
            order[i] = merged[i]
        width *= 2
