"""SAP (sap-tkde17): records and reports in time order, over partitions of the window.

A record costs one comparison with the k-th best of the open partition, in blocks. A report is written anew only if one
of its records has left or a newcomer outranks its last one; otherwise it is the answer before (Algorithm 1's R).
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.kskyband import skyband_of
from skyband.engines.kernels.pane import no_guess, pane_room
from skyband.engines.kernels.run import Output, finished, grown, new_output
from skyband.engines.kernels.sap_front import begin_at, fill_up, with_front
from skyband.engines.kernels.sap_lists import first_from, new_ranked, offer, ranked_room, report_three
from skyband.engines.kernels.sap_state import (
    BASE,
    BEST,
    CHUNK,
    EVENT,
    FILLED,
    FIRST,
    FOREVER,
    FRONT,
    MEMBERS_PEAK,
    MEMBERS_SUM,
    NEXT,
    OLDEST,
    OPEN,
    OPEN_AT,
    REST,
    SLIDES,
    STACKED,
    UNIT,
    UNIT_AT,
    UNIT_END,
    Plan,
    State,
    refill,
)
from skyband.engines.kernels.sap_units import PIECE, close_unit, with_best
from skyband.model.arrays import Floats, Ints


@kernel
def _begin_unit(size: Ints, plan: Plan, at: int) -> None:
    """Units begin at window starts, so that what leaves together is in one partition."""
    size[UNIT_AT] = at - (at - plan.origin) % plan.period
    size[UNIT_END] = size[UNIT_AT] + plan.unit
    if size[OPEN] == size[UNIT]:
        size[OPEN_AT] = size[UNIT_AT]


@kernel
def advance_sap(
    at: Ints, score: Floats, due_start: Ints, due_end: Ints, needed_from: int, plan: Plan, state: State
) -> tuple[State, Output]:
    """Feed records and answer reports in time order. After all of them nothing older than `needed_from` is wanted.
    The ids in the output are the numbers of the records."""
    size, k = state.size, plan.k
    scratch = new_ranked(pane_room(k, max(min(len(at), CHUNK), PIECE)))
    guess = no_guess()
    out = new_output(len(due_end))
    used = 0
    taken = 0
    due = 0
    # The last answer: its place in the output, its oldest record and, if it is full, its last score.
    answer = -1
    first = 0
    last = -np.inf
    raw_at, raw_score, best = state.at, state.score, state.best
    while True:
        cut = due_end[due] if due < len(due_end) else FOREVER
        while True:
            if size[NEXT] == size[FILLED]:
                if taken == len(at):
                    break
                state = expire(state, plan, due_start[due] if due < len(due_end) else needed_from)
                before = size[FILLED]
                state = refill(state, at, score, taken)
                taken += size[FILLED] - before
                raw_at, raw_score, best = state.at, state.score, state.best
            i = size[NEXT] - size[BASE]
            now = raw_at[i]
            if now >= cut:
                break
            if size[NEXT] == size[UNIT]:
                _begin_unit(size, plan, now)
            elif now >= size[UNIT_END]:
                if size[NEXT] - size[UNIT] >= k:
                    state = close_unit(state, plan, guess, scratch)
                    continue
                # A partition has at least k records.
                size[UNIT_END] += ((now - size[UNIT_END]) // plan.unit + 1) * plan.unit
            stop = size[BASE] + first_from(raw_at, i, size[FILLED] - size[BASE], min(cut, size[UNIT_END]))
            if size[BEST] < k and len(best.score) < min(size[BEST] + stop - size[NEXT], k):
                state = with_best(state, ranked_room(best, min(size[BEST] + stop - size[NEXT], k)), state.past)
                best = state.best
            top = offer(best, size, BEST, k, raw_score, size[BASE], size[NEXT], stop, guess, scratch)
            size[NEXT] = stop
            if top >= last:
                answer = -1
        if cut == FOREVER:
            break
        while due < len(due_end) and due_end[due] == cut:
            begin = size[BASE] + first_from(raw_at, size[FIRST] - size[BASE], size[NEXT] - size[BASE], due_start[due])
            stale = size[OLDEST] < begin
            if begin > size[EVENT]:
                state = begin_at(state, plan, begin)
                stale = True
            size[FIRST] = begin
            if stale:
                while not fill_up(state.savl, state.front, k, size):
                    state = with_front(state, size[FRONT] + 1)
            if answer < 0 or first < begin:
                wanted = min(k, size[BEST] + size[REST] + size[FRONT])
                out = grown(out, used, wanted)
                answer = due
                out.begin[due] = used
                used, first = report_three(
                    best, size[BEST], state.rest, size[REST], state.front, size[FRONT], wanted, out, used
                )
                out.size[due] = wanted
                last = out.score[used - 1] if wanted == k else -np.inf
            else:
                out.begin[due] = out.begin[answer]
                out.size[due] = out.size[answer]
            kept = size[REST] + size[FRONT] + size[BEST] + size[STACKED]
            size[SLIDES] += 1
            size[MEMBERS_SUM] += kept
            size[MEMBERS_PEAK] = max(size[MEMBERS_PEAK], kept)
            due += 1
    return expire(state, plan, needed_from), finished(out, used)


@kernel
def expire(state: State, plan: Plan, start: int) -> State:
    """Let the window begin at time `start`."""
    size = state.size
    first = size[BASE] + first_from(state.at, size[FIRST] - size[BASE], size[NEXT] - size[BASE], start)
    if first > size[FIRST]:
        if first > size[EVENT]:
            state = begin_at(state, plan, first)
        size[FIRST] = first
        while not fill_up(state.savl, state.front, plan.k, size):
            state = with_front(state, size[FRONT] + 1)
    return state


@kernel
def skyband_of_window(state: State, k: int) -> tuple[Ints, Ints, Floats]:
    """Numbers, times and scores, oldest first, of the records in the window that fewer than k newer ones outrank:
    all that may still be reported, whatever is known about it yet."""
    size = state.size
    low, high = size[FIRST] - size[BASE], size[NEXT] - size[BASE]
    score = np.empty(high - low)
    place = np.empty(high - low, np.int64)
    dominators = np.empty(high - low, np.int64)
    found = skyband_of(state.score, low, high, k, score, place, dominators)
    order = np.sort(place[:found])
    return order + size[BASE], state.at[order], state.score[order]
