"""A sorted list of the best k for every view, and one pool of the objects they refer to (mtops-cikm11 §5).

The lists of all views lie in one pair of arrays, each with some room to grow; a list that outgrows its place moves to
the end. An object's references count the lists that hold it: at zero its slot is free again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import greatest, least
from skyband.engines.kernels.common.pane import best_of_pane, no_guess, pane_room
from skyband.engines.kernels.common.run import Output, finished, first_at_or_after, grown, new_output
from skyband.engines.kernels.common.select import copy_into
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

FOREVER = 2**62
SMALLEST = 4
(OBJECTS, FREE, PLACES, VIEWS, WINDOWS, COMPARISONS, INSERTIONS, REFERENCES, PEAK) = range(9)
SIZES = 9


class Pool(NamedTuple):
    """Objects, each once; the first size[FREE] entries of `free` are slots without an object."""

    score: Keys
    at: Ints
    id: Ints
    references: Ints
    free: Ints


class Lists(NamedTuple):
    """Predicted results of all views, each best first: scores, and slots of the pool."""

    score: Keys
    slot: Ints


class Views(NamedTuple):
    """Open views by start: the list is at `place`, has `length` entries and room for `room`, and wants `k`."""

    start: Ints
    k: Ints
    due: Ints
    first_window: Ints
    last_window: Ints
    place: Ints
    room: Ints
    length: Ints


class Windows(NamedTuple):
    """Reports still to come, those of one view side by side."""

    end: Ints
    k: Ints


class TopBand(NamedTuple):
    pool: Pool
    lists: Lists
    views: Views
    windows: Windows
    size: Ints


@kernel
def open_view(state: TopBand, at: int, ends: Ints, ks: Ints) -> None:
    """Begin an empty list at the record of time `at`, serving the windows that end at `ends`."""
    size, views, windows = state.size, state.views, state.windows
    v, w = size[VIEWS], size[WINDOWS]
    k = 0
    due = FOREVER
    for i in range(len(ends)):
        windows.end[w + i] = ends[i]
        windows.k[w + i] = ks[i]
        k = max(k, ks[i])
        due = min(due, ends[i])
    views.start[v] = at
    views.k[v] = k
    views.due[v] = due
    views.first_window[v] = w
    views.last_window[v] = w + len(ends)
    views.place[v] = size[PLACES]
    views.room[v] = 0
    views.length[v] = 0
    size[VIEWS] = v + 1
    size[WINDOWS] = w + len(ends)


@kernel
def _release(state: TopBand, low: int, high: int) -> None:
    """Take one reference from the objects listed at low:high; what no list holds any more leaves the pool."""
    pool, size = state.pool, state.size
    for p in range(low, high):
        slot = state.lists.slot[p]
        pool.references[slot] -= 1
        if pool.references[slot] == 0:
            pool.free[size[FREE]] = slot
            size[FREE] += 1
            size[OBJECTS] -= 1


@kernel
def expire(state: TopBand, now: int) -> None:
    """Forget windows that were reported by `now`; lists are cut to the k still wanted, a view without any goes."""
    size, views, windows = state.size, state.views, state.windows
    kept = 0
    w = 0
    for v in range(size[VIEWS]):
        first = w
        k = 0
        due = FOREVER
        for i in range(views.first_window[v], views.last_window[v]):
            if windows.end[i] > now:
                windows.end[w] = windows.end[i]
                windows.k[w] = windows.k[i]
                k = max(k, windows.k[w])
                due = min(due, windows.end[w])
                w += 1
        count = min(views.length[v], k)
        place = views.place[v]
        _release(state, place + count, place + views.length[v])
        if k == 0:
            continue
        views.start[kept] = views.start[v]
        views.k[kept] = k
        views.due[kept] = due
        views.first_window[kept] = first
        views.last_window[kept] = w
        views.place[kept] = place
        views.room[kept] = views.room[v]
        views.length[kept] = count
        kept += 1
    size[VIEWS] = kept
    size[WINDOWS] = w


@kernel
def _with_slots(state: TopBand, more: int) -> TopBand:
    """The same state with room for `more` objects in the pool."""
    pool, size = state.pool, state.size
    if size[FREE] >= more:
        return state
    old = len(pool.id)
    new = 2 * old + more
    score = np.empty(new, pool.score.dtype)
    at = np.empty(new, np.int64)
    id = np.empty(new, np.int64)
    references = np.zeros(new, np.int64)
    free = np.empty(new, np.int64)
    copy_into(score, pool.score, old)
    copy_into(at, pool.at, old)
    copy_into(id, pool.id, old)
    copy_into(references, pool.references, old)
    copy_into(free, pool.free, size[FREE])
    for slot in range(new - 1, old - 1, -1):
        free[size[FREE]] = slot
        size[FREE] += 1
    return TopBand(Pool(score, at, id, references, free), state.lists, state.views, state.windows, size)


@kernel
def _with_room(state: TopBand, v: int, keep: int, needed: int) -> TopBand:
    """Move view v's list, of which the first `keep` entries count, to where `needed` fit. Lists are packed anew when
    the arrays are used up, so that their size stays in proportion to what is listed."""
    lists, views, size = state.lists, state.views, state.size
    room = min(max(needed, 2 * views.room[v], SMALLEST), views.k[v])
    if size[PLACES] + room > len(lists.slot):
        total = room
        for u in range(size[VIEWS]):
            total += views.room[u]
        packed = Lists(np.empty(2 * total, lists.score.dtype), np.empty(2 * total, np.int64))
        place = 0
        for u in range(size[VIEWS]):
            count = keep if u == v else views.length[u]
            source = views.place[u]
            copy_into(packed.score[place:], lists.score[source:], count)
            copy_into(packed.slot[place:], lists.slot[source:], count)
            views.place[u] = place
            place += views.room[u]
        size[PLACES] = place
        lists = packed
    source, target = views.place[v], size[PLACES]
    for i in range(keep):
        lists.score[target + i] = lists.score[source + i]
        lists.slot[target + i] = lists.slot[source + i]
    views.place[v] = target
    views.room[v] = room
    size[PLACES] += room
    return TopBand(state.pool, lists, views, state.windows, size)


@kernel
def _not_below(score: Keys, m: int, lowest: float, size: Ints) -> int:
    """How many of m ranked newcomers are not below a full view's lowest. Often none: the best is looked at first."""
    low = 0
    high = m
    middle = 0
    while low < high:
        if score[middle] >= lowest:
            low = middle + 1
        else:
            high = middle
        middle = (low + high) // 2
        size[COMPARISONS] += 1
    return low


@kernel
def admit(state: TopBand, score: Keys, at: Ints, id: Ints, m: int) -> TopBand:
    """Offer m ranked newcomers to every open view. They are newer than all that is listed, so they win ties."""
    state = _with_slots(state, m)
    pool, lists, views, size = state.pool, state.lists, state.views, state.size
    slot_of = np.full(m, -1)
    for v in range(size[VIEWS]):
        k, place = views.k[v], views.place[v]
        old = views.length[v]
        new = m
        if old == k:
            new = _not_below(score, m, lists.score[place + k - 1], size)
        size[COMPARISONS] += max(old + new - k, 0)
        while old + new > k:
            if old > 0 and lists.score[place + old - 1] <= score[new - 1]:
                old -= 1
            else:
                new -= 1
        _release(state, place + old, place + views.length[v])
        if old + new > views.room[v]:
            state = _with_room(state, v, old, old + new)
            lists = state.lists
            place = views.place[v]
        views.length[v] = old + new
        size[REFERENCES] += new
        i = old - 1
        j = new - 1
        o = place + old + new - 1
        while j >= 0:
            if i >= 0 and lists.score[place + i] <= score[j]:
                lists.score[o] = lists.score[place + i]
                lists.slot[o] = lists.slot[place + i]
                i -= 1
            else:
                slot = slot_of[j]
                if slot < 0:
                    size[FREE] -= 1
                    slot = pool.free[size[FREE]]
                    slot_of[j] = slot
                    pool.score[slot] = score[j]
                    pool.at[slot] = at[j]
                    pool.id[slot] = id[j]
                    pool.references[slot] = 0
                    size[OBJECTS] += 1
                    size[INSERTIONS] += 1
                pool.references[slot] += 1
                lists.score[o] = score[j]
                lists.slot[o] = slot
                j -= 1
            o -= 1
    size[PEAK] = max(size[PEAK], size[OBJECTS])
    return state


@kernel
def _floor(state: TopBand) -> float:
    """No view wants a score below this: the lowest of the views' k-th best, and the least there is while one is
    not full."""
    views = state.views
    floor = greatest(state.lists.score)
    for v in range(state.size[VIEWS]):
        if views.length[v] < views.k[v]:
            return least(state.lists.score)
        floor = min(floor, state.lists.score[views.place[v] + views.length[v] - 1])
    return floor


@kernel
def _report(state: TopBand, start: int, k: int, out: Output, used: int) -> tuple[Output, int]:
    """Copy the first k of the view that begins with the first record at or after `start`."""
    views, lists = state.views, state.lists
    v = first_at_or_after(views.start[: state.size[VIEWS]], 0, start)
    if v == state.size[VIEWS]:
        return out, used
    wanted = min(k, views.length[v])
    out = grown(out, used, wanted)
    for i in range(views.place[v], views.place[v] + wanted):
        out.score[used] = lists.score[i]
        out.id[used] = state.pool.id[lists.slot[i]]
        used += 1
    return out, used


@kernel
def advance_band(
    at: Ints,
    score: Keys,
    base: int,
    open_start: Ints,
    open_end: Ints,
    open_k: Ints,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    until: int,
    most: int,
    state: TopBand,
) -> tuple[TopBand, Output]:
    """Feed records, open views and answer reports in time order."""
    size = state.size
    room = pane_room(most, len(at))
    guess = no_guess(score)
    pane_score = np.empty(room, score.dtype)
    pane_index = np.empty(room, np.int64)
    pane_at = np.empty(room, np.int64)
    out = new_output(len(due_end), score)
    used = 0
    i = 0
    opened = 0
    seen = 0
    due = 0
    floor = _floor(state)
    while True:
        cut = FOREVER
        if seen < len(open_start):
            cut = open_start[seen]
        if due < len(due_end):
            cut = min(cut, due_end[due])
        j = len(at) if cut == FOREVER else first_at_or_after(at, i, cut)
        if j > i:
            if seen > opened:
                open_view(state, at[i], open_end[opened:seen], open_k[opened:seen])
                opened = seen
                floor = least(score)
            found = best_of_pane(score, i, j, most, floor, guess, pane_score, pane_index)
            size[COMPARISONS] += j - i
            if found:
                for p in range(found):
                    pane_at[p] = at[pane_index[p]]
                    pane_index[p] += base
                state = admit(state, pane_score, pane_at, pane_index, found)
                floor = _floor(state)
            i = j
        if cut == FOREVER:
            break
        while due < len(due_end) and due_end[due] == cut:
            out.begin[due] = used
            out, used = _report(state, due_start[due], due_k[due], out, used)
            out.size[due] = used - out.begin[due]
            due += 1
            if due == len(due_end) or due_end[due] > cut:
                expire(state, cut)
                floor = _floor(state)
        while seen < len(open_start) and open_start[seen] == cut:
            seen += 1
    expire(state, until)
    return state, finished(out, used)
