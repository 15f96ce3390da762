"""Groups whose score is the sum of what their partial aggregates bring, none of which is negative.

The partial aggregates of a group are a chain, the newest first. Each knows what came before it in its chain, so a score
over any window is a difference, and the oldest in a window is found by jumping. Windows of many lengths (`boards`, the
shortest first) are served by one walk when a partial aggregate comes: only then can a score rise. Whoever reaches the
mark of a board is remembered there, and a report looks at nobody else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.common.select import best_first
from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.types import Ints

AT, BEFORE, OLDER, JUMP = range(4)
"""Of a link: its time; what its chain brought before it; the link before it and one a few before that, as they are
counted: 0 if there is none."""
HEAD, SUM, STOP, LENGTH, EPOCH, BEGAN, BEGAN_BEFORE, SEEN = range(8)
"""Of a group, side by side as they are looked at together: its newest link; what its chain brought; the last link that
jumps lead to, and how many are behind that; the stretch of time of its newest link, as long as the longest windows, and
what its chain had brought when that stretch began and when the one before did; when a report looked at it last."""
STRIDE = 8
"""So many links lie between two that jumps lead to."""
EVERYONE, NOBODY = -1, 2**63 - 1
"""Marks that all reach, and none does."""
AHEAD = 64
"""The groups of so many links are fetched together."""
SPARE = 32
"""So many more than a quarter more than can be listed reach a mark when it is set."""
DONE, NO_ROOM, NO_ROOM_FOR_LISTS = 0, 1, 2


class Rows(NamedTuple):
    """Partial aggregates in feed order, counted from `first` on: when they came, the number of their group, what they
    bring, what they add to other sums, and room for a link and for what the links before it add to those (none, if
    nobody remembers that); and the groups, at first zeros."""

    first: int
    at: Ints
    slot: Ints
    gain: Ints
    added: Ints
    link: Ints
    sums: Ints
    group: Ints


class Marks(NamedTuple):
    """By board: the length of its windows, the largest k, the score that matters there (of equal ones, the newest link
    from `tie` on), the least mark of it and all longer ones, and who has reached it, `known` of them, fewer than there
    is room for."""

    width: Ints
    most: Ints
    mark: Ints
    tie: Ints
    least: Ints
    who: NDArray[np.int32]
    known: Ints


class Due(NamedTuple):
    """Reports in the order of their ends."""

    start: Ints
    end: Ints
    k: Ints
    board: Ints


class Lists(NamedTuple):
    """By report: where its entries begin, and how many they are; of each entry the newest and the oldest partial
    aggregate, and the score; and room for all groups to work in."""

    begin: Ints
    size: Ints
    head: Ints
    score: Ints
    oldest: Ints
    work_score: Ints
    work_head: Ints
    work_oldest: Ints
    work_slot: Ints
    order: Ints


@kernel
def report_chains(
    rows: Rows, marks: Marks, due: Due, lists: Lists, linked: int, report: int, used: int, tick: int
) -> tuple[int, int, int, int, int, int]:
    """From the report on: links what its window holds and lists the best. Where it stopped, and why: the same four
    numbers to go on with, one of the reasons above, and how many steps it took."""
    steps = 0
    while report < len(due.end):
        if report and _same_window(due, report):
            lists.begin[report], lists.size[report] = (
                lists.begin[report - 1],
                min(lists.size[report - 1], due.k[report]),
            )
            report += 1
            continue
        linked, walked, room = _link(rows, marks, linked, due.end[report])
        steps += walked
        if not room:
            if _crowded(rows, marks, tick):
                return linked, report, used, tick + len(marks.width), NO_ROOM, steps
            tick += len(marks.width)
            continue
        board, k, start = due.board[report], due.k[report], due.start[report]
        if used + min(k, len(rows.group)) > len(lists.head):
            return linked, report, used, tick, NO_ROOM_FOR_LISTS, steps
        tick += 1
        found = _remembered(rows, marks, lists, board, start, tick)
        steps += marks.known[board]
        most = min(marks.most[board], len(rows.group))
        enough = most + most // 4 + SPARE
        if found < k and marks.mark[board] != EVERYONE:
            found = _all_groups(rows, lists, start)
            steps += len(rows.group)
            if enough >= marks.who.shape[1]:
                return linked, report, used, tick, NO_ROOM, steps
            found = _mark(marks, lists, board, found, enough)
        elif 2 * found > 3 * enough:
            found = _mark(marks, lists, board, found, enough)
        _sort(lists, found)
        for i in range(found):
            marks.who[board, i] = lists.work_slot[lists.order[i]]
        marks.known[board] = found
        size = min(found, k)
        for i in range(size):
            lists.head[used + i] = lists.work_head[lists.order[i]]
            lists.score[used + i] = lists.work_score[lists.order[i]]
            lists.oldest[used + i] = lists.work_oldest[lists.order[i]]
        lists.begin[report], lists.size[report] = used, size
        used += size
        report += 1
    return linked, report, used, tick, DONE, steps


@kernel
def _same_window(due: Due, report: int) -> bool:
    """As that of the report before, whose k is no smaller."""
    before = report - 1
    same = due.start[report] == due.start[before] and due.end[report] == due.end[before]
    return bool(same and due.k[report] <= due.k[before])


@kernel
def _link(rows: Rows, marks: Marks, linked: int, end: int) -> tuple[int, int, bool]:
    """Everything before `end` joins the chain of its group. How far it came, steps, and whether there was room."""
    steps, longest, fetched = 0, marks.width[-1], linked
    while linked - rows.first < len(rows.at) and rows.at[linked - rows.first] < end:
        if linked == fetched:
            fetched = min(linked + AHEAD, rows.first + len(rows.at))
            steps += _fetch(rows, linked, fetched)
        most, fits = _join(rows, longest, linked), True
        if most >= marks.least[0]:
            walked, fits = _tell(rows, marks, linked, most)
            steps += walked
        steps += 1
        linked += 1
        if not fits:
            return linked, steps, False
    return linked, steps, True


@inlined
def _fetch(rows: Rows, low: int, high: int) -> int:
    """Looks at the groups of some links, which lie anywhere in memory: all at once takes little longer than one. It
    finds nothing."""
    found = 0
    for i in range(low - rows.first, high - rows.first):
        found += rows.group[rows.slot[i], HEAD] < 0
    return found


@inlined
def _join(rows: Rows, longest: int, at: int) -> int:
    """A link becomes the newest of its group. At least as much as the group brings in any window."""
    i, slot, group = at - rows.first, rows.slot[at - rows.first], rows.group
    gain, now, before = rows.gain[i], rows.at[i], group[slot, SUM]
    rows.link[i, AT], rows.link[i, BEFORE] = now, before
    rows.link[i, OLDER], rows.link[i, JUMP] = group[slot, HEAD], group[slot, STOP]
    older = group[slot, HEAD] - rows.first
    for column in range(rows.sums.shape[1]):
        rows.sums[i, column] = rows.sums[older, column] + rows.added[older, column] if older >= 0 else 0
    group[slot, HEAD], group[slot, SUM] = at, before + gain
    group[slot, LENGTH] += 1
    if group[slot, LENGTH] == STRIDE:
        group[slot, STOP], group[slot, LENGTH] = at, 0
    epoch = now // longest
    if group[slot, EPOCH] != epoch:
        group[slot, BEGAN_BEFORE] = group[slot, BEGAN] if group[slot, EPOCH] == epoch - 1 else before
        group[slot, EPOCH], group[slot, BEGAN] = epoch, before
    most: int = before + gain - group[slot, BEGAN_BEFORE]
    return most


@inlined
def _oldest(rows: Rows, i: int, start: int) -> int:
    """The oldest link of the chain from this one back that is not before `start`; nor is this one itself."""
    first, link = rows.first, rows.link
    while True:
        jump, older = link[i, JUMP] - first, link[i, OLDER] - first
        if jump >= 0 and link[jump, AT] >= start:
            i = jump
        elif older >= 0 and link[older, AT] >= start:
            i = older
        else:
            return i


@kernel
def _tell(rows: Rows, marks: Marks, at: int, most: int) -> tuple[int, bool]:
    """The boards whose mark its group reaches now; it brings `most` at the most. Steps, and whether there is room for
    another one."""
    first, link, boards = rows.first, rows.link, len(marks.width)
    i, slot = at - first, rows.slot[at - first]
    now, total = link[i, AT], rows.group[slot, SUM]
    board, j, steps, fits = 0, i, 0, True
    while board < boards and most >= marks.least[board]:
        steps += 1
        j = _oldest(rows, j, now - marks.width[board] + 1)
        score, older = total - link[j, BEFORE], link[j, OLDER] - first
        behind = boards if older < 0 else _holding(marks.width, board, now - link[older, AT])
        if score >= marks.least[board]:
            for b in range(board, behind):
                if score >= marks.mark[b]:
                    marks.who[b, marks.known[b]] = slot
                    marks.known[b] += 1
                    fits = fits and marks.known[b] < marks.who.shape[1]
        board = behind
    return steps, fits


@kernel
def _holding(width: Ints, low: int, age: int) -> int:
    """The first board, from `low` on, whose windows may hold what is so old."""
    high = len(width)
    while low < high:
        middle = (low + high) // 2
        if width[middle] > age:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _crowded(rows: Rows, marks: Marks, tick: int) -> bool:
    """Whether a board is more than half full although everybody is named once."""
    crowded = False
    for board in range(len(marks.width)):
        tick += 1
        kept = 0
        for i in range(marks.known[board]):
            slot = marks.who[board, i]
            if rows.group[slot, SEEN] != tick:
                rows.group[slot, SEEN] = tick
                marks.who[board, kept] = slot
                kept += 1
        marks.known[board] = kept
        crowded = crowded or 2 * kept > marks.who.shape[1]
    return crowded


@kernel
def _remembered(rows: Rows, marks: Marks, lists: Lists, board: int, start: int, tick: int) -> int:
    """How many of those that the board knows still reach its mark."""
    found, mark, tie = 0, marks.mark[board], marks.tie[board]
    for i in range(marks.known[board]):
        slot = marks.who[board, i]
        if rows.group[slot, SEEN] == tick or not _is_in(rows, slot, start):
            continue
        rows.group[slot, SEEN] = tick
        _look_at(rows, lists, found, slot, start)
        score, head = lists.work_score[found], lists.work_head[found]
        if score > mark or (score == mark and head >= tie):
            found += 1
    return found


@kernel
def _all_groups(rows: Rows, lists: Lists, start: int) -> int:
    found = 0
    for slot in range(len(rows.group)):
        if _is_in(rows, slot, start):
            _look_at(rows, lists, found, slot, start)
            found += 1
    return found


@inlined
def _is_in(rows: Rows, slot: int, start: int) -> bool:
    """Whether a group has a link from `start` on."""
    head = rows.group[slot, HEAD] - rows.first
    return bool(head >= 0 and rows.link[head, AT] >= start)


@inlined
def _look_at(rows: Rows, lists: Lists, place: int, slot: int, start: int) -> None:
    """What the window from `start` on has of a group goes to a place to work in."""
    head = rows.group[slot, HEAD]
    oldest = _oldest(rows, head - rows.first, start)
    lists.work_slot[place], lists.work_head[place] = slot, head
    lists.work_oldest[place] = oldest + rows.first
    lists.work_score[place] = rows.group[slot, SUM] - rows.link[oldest, BEFORE]


@kernel
def _mark(marks: Marks, lists: Lists, board: int, found: int, enough: int) -> int:
    """The board's mark is set so that `enough` of those found reach it; how many are left."""
    mark, tie = _last_of(lists, found, enough) if found > enough else (np.int64(EVERYONE), np.int64(0))
    left = 0
    for i in range(found):
        score, head = lists.work_score[i], lists.work_head[i]
        if score > mark or (score == mark and head >= tie):
            lists.work_score[left], lists.work_head[left] = score, head
            lists.work_slot[left], lists.work_oldest[left] = lists.work_slot[i], lists.work_oldest[i]
            left += 1
    marks.mark[board], marks.tie[board] = mark, tie
    least = NOBODY
    for b in range(len(marks.width) - 1, -1, -1):
        least = min(least, marks.mark[b])
        marks.least[b] = least
    return left


@kernel
def _last_of(lists: Lists, found: int, enough: int) -> tuple[np.int64, np.int64]:
    """Score and newest partial aggregate of the last of the best `enough`."""
    values = lists.order
    for i in range(found):
        values[i] = lists.work_score[i]
    mark = np.int64(best_first(values, found, enough))
    better, equal = 0, 0
    for i in range(found):
        score = lists.work_score[i]
        better += score > mark
        if score == mark:
            values[equal] = lists.work_head[i]
            equal += 1
    return mark, np.int64(best_first(values, equal, enough - better))


@kernel
def _sort(lists: Lists, found: int) -> None:
    """`order` has the places of the first so many, the best first; where they were sorted before, in few steps."""
    order, score, head = lists.order, lists.work_score, lists.work_head
    for i in range(found):
        order[i] = i
    gap = 1
    while 9 * gap // 4 + 1 < found:
        gap = 9 * gap // 4 + 1
    while gap > 0:
        for i in range(gap, found):
            mine, j = order[i], i
            while j >= gap and (
                score[order[j - gap]] < score[mine]
                or (score[order[j - gap]] == score[mine] and head[order[j - gap]] < head[mine])
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = mine
        gap = 0 if gap == 1 else max(4 * (gap - 1) // 9, 1)


@kernel
def count_links(rows: Rows, head: Ints, oldest: Ints, size: Ints) -> int:
    """How many links each chain has, from a newest one on back to an oldest; and all together."""
    total = 0
    for i in range(len(head)):
        j, many = head[i], 1
        while j != oldest[i]:
            many += 1
            j = rows.link[j - rows.first, OLDER]
        size[i] = many
        total += many
    return total


@kernel
def list_links(rows: Rows, head: Ints, size: Ints, place: Ints) -> None:
    """The places of these, chain after chain."""
    used = 0
    for i in range(len(head)):
        j = head[i] - rows.first
        for _ in range(size[i]):
            place[used] = j
            used += 1
            j = rows.link[j, OLDER] - rows.first


@kernel
def add_links(rows: Rows, head: Ints, oldest: Ints, total: Ints) -> None:
    """What chains add up to, a row each: a difference where sums are remembered."""
    for i in range(len(head)):
        j, last = head[i] - rows.first, oldest[i] - rows.first
        for column in range(rows.sums.shape[1]):
            total[i, column] = rows.sums[j, column] - rows.sums[last, column]
        while not rows.sums.shape[1] and j != last:
            for column in range(total.shape[1]):
                total[i, column] += rows.added[j, column]
            j = rows.link[j, OLDER] - rows.first
        for column in range(total.shape[1]):
            total[i, column] += rows.added[j, column]
