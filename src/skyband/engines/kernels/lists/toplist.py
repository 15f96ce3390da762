"""One list sorted by score, and a lowest-score pointer per view (mtops-cikm11 §6), maintained in bulk.

Records of a pane enter all views together, so a pane is reduced to its best K first. What survives waits in `recent`,
a second sorted run; it is settled into the list, and the views' pointers moved, once enough has gathered. A report
merges both runs, so settling late changes no answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.common.pane import best_of_pane, no_guess, pane_room
from skyband.engines.kernels.common.run import (
    Output,
    Run,
    copy_entry,
    finished,
    first_at_or_after,
    grown,
    new_output,
    new_run,
    outranks,
    report_two,
)
from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints, Keys

FOREVER = 2**62
(LISTED, RECENT, VIEWS, SETTLED_VIEWS, WINDOWS, NEXT_VIEW, COMPARISONS, INSERTIONS, MOVES, SETTLEMENTS, PEAK) = range(
    11
)
SIZES = 11


class Views(NamedTuple):
    """Open views by start. `low` is the place in the list of the k-th best, or the list's length while not full;
    `held` of the view's records stand there or above."""

    start: Ints
    number: Ints
    low: Ints
    held: Ints
    k: Ints
    due: Ints
    first_window: Ints
    last_window: Ints


class Windows(NamedTuple):
    """Reports still to come, those of one view side by side."""

    end: Ints
    k: Ints


class TopList(NamedTuple):
    listed: Run
    recent: Run
    views: Views
    windows: Windows
    size: Ints


@kernel
def merge_recent(recent: Run, n: int, score: Keys, at: Ints, id: Ints, m: int, view: int) -> None:
    """Merge m ranked newcomers into the n ranked entries of `recent`, in place, from the worst up."""
    i = n - 1
    j = m - 1
    o = n + m - 1
    while j >= 0:
        # Newcomers are newer than everything in `recent`, so they win ties.
        if i >= 0 and recent.score[i] <= score[j]:
            copy_entry(recent, i, recent, o)
            i -= 1
        else:
            recent.score[o] = score[j]
            recent.at[o] = at[j]
            recent.id[o] = id[j]
            recent.born[o] = view
            j -= 1
        o -= 1


@kernel
def open_view(state: TopList, at: int, ends: Ints, ks: Ints) -> None:
    """Begin a view at the record of time `at`, serving the windows that end at `ends`."""
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
    views.number[v] = size[NEXT_VIEW]
    views.low[v] = 0
    views.held[v] = 0
    views.k[v] = k
    views.due[v] = due
    views.first_window[v] = w
    views.last_window[v] = w + len(ends)
    size[VIEWS] = v + 1
    size[WINDOWS] = w + len(ends)
    size[NEXT_VIEW] += 1


@kernel
def expire(state: TopList, now: int) -> None:
    """Forget windows that were reported by `now`; a view's k shrinks with them, and a view without any goes."""
    size, views, windows = state.size, state.views, state.windows
    kept = 0
    settled = 0
    w = 0
    for v in range(size[VIEWS]):
        first = w
        k = views.k[v]
        due = views.due[v]
        if due <= now:
            k = 0
            due = FOREVER
            for i in range(views.first_window[v], views.last_window[v]):
                if windows.end[i] > now:
                    windows.end[w] = windows.end[i]
                    windows.k[w] = windows.k[i]
                    k = max(k, windows.k[w])
                    due = min(due, windows.end[w])
                    w += 1
        else:
            for i in range(views.first_window[v], views.last_window[v]):
                windows.end[w] = windows.end[i]
                windows.k[w] = windows.k[i]
                w += 1
        if k == 0:
            continue
        views.start[kept] = views.start[v]
        views.number[kept] = views.number[v]
        views.low[kept] = views.low[v]
        views.held[kept] = views.held[v]
        views.k[kept] = k
        views.due[kept] = due
        views.first_window[kept] = first
        views.last_window[kept] = w
        kept += 1
        if v < size[SETTLED_VIEWS]:
            settled = kept
    size[VIEWS] = kept
    size[SETTLED_VIEWS] = settled
    size[WINDOWS] = w


@kernel
def settle(state: TopList, now: int) -> TopList:
    """Merge `recent` into the list, move every view's pointer to its k-th best, drop what no view wants."""
    expire(state, now)
    size, views = state.size, state.views
    n, m = size[LISTED], size[RECENT]
    total = n + m
    merged = new_run(total, state.listed.score)
    place = np.empty(n + 1, np.int64)
    fresh = np.empty(total + 1, np.int64)
    i = 0
    j = 0
    for o in range(total):
        fresh[o] = j
        if i < n and (j == m or outranks(state.listed, i, state.recent, j)):
            copy_entry(state.listed, i, merged, o)
            place[i] = o
            i += 1
        else:
            copy_entry(state.recent, j, merged, o)
            j += 1
    fresh[total] = m
    place[n] = total

    wanted = _move_pointers(state, merged, total, place, fresh)
    kept = 0
    landed = np.empty(total + 1, np.int64)
    oldest = views.number[0] if size[VIEWS] else 0
    for o in range(total):
        landed[o] = kept
        own = merged.born[o] - oldest
        if own >= 0 and own < len(wanted) and wanted[own] >= o:
            copy_entry(merged, o, merged, kept)
            kept += 1
    landed[total] = kept
    for v in range(size[VIEWS]):
        views.low[v] = landed[views.low[v]]
    size[LISTED] = kept
    size[RECENT] = 0
    size[SETTLED_VIEWS] = size[VIEWS]
    size[SETTLEMENTS] += 1
    return TopList(merged, state.recent, views, state.windows, size)


@kernel
def _move_pointers(state: TopList, merged: Run, total: int, place: Ints, fresh: Ints) -> Ints:
    """Set `low` and `count` of every view for the merged list. The result, by view number counted from the oldest
    open view: the lowest place that some view wants of those open by then (-1: none wants anything)."""
    size, views = state.size, state.views
    n, m, open_views = size[LISTED], size[RECENT], size[VIEWS]
    if open_views == 0:
        return np.empty(0, np.int64)
    wanted = np.full(size[NEXT_VIEW] - views.number[0], -1)
    deepest = -1
    filled = 0
    moves = 0
    for v in range(open_views):
        start, k = views.start[v], views.k[v]
        if v < size[SETTLED_VIEWS]:
            full = views.low[v] < n
            low = place[views.low[v]] if full else total - 1
            count = views.held[v] + (fresh[low] if full else m)
        else:
            low = total - 1
            count = 0
            for j in range(m):
                count += state.recent.at[j] >= start
        if count >= k:
            while count > k or merged.at[low] < start:
                count -= merged.at[low] >= start
                low -= 1
                moves += 1
        else:
            low = total
        views.low[v] = low
        views.held[v] = count
        number = views.number[v] - views.number[0]
        while filled < number:
            wanted[filled] = deepest
            filled += 1
        deepest = max(deepest, low)
    while filled < len(wanted):
        wanted[filled] = deepest
        filled += 1
    size[MOVES] += moves
    return wanted


@kernel
def _floor(state: TopList) -> float:
    """No view wants a score below this; the least there is while some view is not full."""
    size, views = state.size, state.views
    if size[SETTLED_VIEWS] < size[VIEWS] or size[VIEWS] == 0:
        return least(state.listed.score)
    lowest = 0
    for v in range(size[VIEWS]):
        lowest = max(lowest, views.low[v])
    return least(state.listed.score) if lowest == size[LISTED] else state.listed.score[lowest]


@kernel
def advance_list(
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
    settle_at: int,
    state: TopList,
) -> tuple[TopList, Output]:
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
    reported = -FOREVER
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
            for p in range(found):
                pane_at[p] = at[pane_index[p]]
                pane_index[p] += base
            merge_recent(state.recent, size[RECENT], pane_score, pane_at, pane_index, found, size[NEXT_VIEW] - 1)
            size[COMPARISONS] += j - i
            size[INSERTIONS] += found
            size[RECENT] += found
            size[PEAK] = max(size[PEAK], size[LISTED] + size[RECENT])
            i = j
            if size[RECENT] >= settle_at:
                state = settle(state, reported)
                floor = _floor(state)
        if cut == FOREVER:
            break
        while due < len(due_end) and due_end[due] == cut:
            if due and due_end[due - 1] == cut and due_start[due - 1] == due_start[due]:
                # The same window with a smaller k: the beginning of the answer before.
                out.begin[due] = out.begin[due - 1]
                out.size[due] = min(out.size[due - 1], due_k[due])
            else:
                wanted = min(due_k[due], size[LISTED] + size[RECENT])
                out = grown(out, used, wanted)
                out.begin[due] = used
                used = report_two(
                    state.listed, size[LISTED], state.recent, size[RECENT], due_start[due], wanted, out, used
                )
                out.size[due] = used - out.begin[due]
            due += 1
            reported = cut
        while seen < len(open_start) and open_start[seen] == cut:
            seen += 1
    state = settle(state, until)
    return state, finished(out, used)
