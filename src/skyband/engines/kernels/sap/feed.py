"""SAP (sap-tkde17): records and reports in time order, over partitions of the window.

A record costs one comparison with the k-th best of the open partition, in blocks. A report is written anew only if one
of its records has left or a newcomer outranks its last one; otherwise it is the answer before (Algorithm 1's R).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.common.order_key import least
from skyband.engines.kernels.common.pane import no_guess, pane_room
from skyband.engines.kernels.common.run import Output, finished, grown, new_output
from skyband.engines.kernels.common.select import sort_rising
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.lists.kskyband import skyband_of
from skyband.engines.kernels.sap.front import begin_at, fill_up
from skyband.engines.kernels.sap.held import held, let_go
from skyband.engines.kernels.sap.lists import Ranked, Rest, first_from, new_ranked, offer, ranked_room, report_three
from skyband.engines.kernels.sap.savl import Savl
from skyband.engines.kernels.sap.state import (
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
)
from skyband.engines.kernels.sap.units import PIECE, close_unit
from skyband.engines.kernels.sap.window import refill
from skyband.model.types import Ints, Keys

(DONE, REFILL, CLOSE, BEGIN, ROOM, ANSWERS) = range(6)
"""What `_run` asks for."""
(DUE, USED, ANSWER, EARLIEST, BEGIN_WITH) = range(5)
STEPS = 5


class Walk(NamedTuple):
    """Where one call of `advance_sap` is: the next report, what of the output is used, the last answer written and its
    oldest record; its last score if it is full; what `offer` needs."""

    step: Ints
    last: Keys
    guess: Keys
    scratch: Ranked


@kernel
def _begin_unit(size: Ints, plan: Plan, at: int) -> None:
    """Units begin at window starts, so that what leaves together is in one partition."""
    size[UNIT_AT] = at - (at - plan.origin) % plan.period
    size[UNIT_END] = size[UNIT_AT] + plan.unit
    if size[OPEN] == size[UNIT]:
        size[OPEN_AT] = size[UNIT_AT]


@kernel
def _run(
    at: Ints,
    score: Keys,
    best: Ranked,
    rest: Rest,
    front: Ranked,
    savl: Savl,
    due_start: Ints,
    due_end: Ints,
    more: bool,
    plan: Plan,
    size: Ints,
    walk: Walk,
    out: Output,
) -> int:
    """Feed the records there are and answer reports until something is to be done that takes the whole state: says
    what. Called again, it goes on where it was. Kept free of structures that change, for handing them around costs
    more than a slide's records do."""
    k = plan.k
    step = walk.step
    while True:
        due = step[DUE]
        cut = due_end[due] if due < len(due_end) else FOREVER
        while True:
            if size[NEXT] == size[FILLED]:
                if more:
                    return REFILL
                break
            i = size[NEXT] - size[BASE]
            now = at[i]
            if now >= cut:
                break
            if size[NEXT] == size[UNIT]:
                _begin_unit(size, plan, now)
            elif now >= size[UNIT_END]:
                if size[NEXT] - size[UNIT] >= k:
                    return CLOSE
                # A partition has at least k records.
                size[UNIT_END] += ((now - size[UNIT_END]) // plan.unit + 1) * plan.unit
            stop = size[BASE] + first_from(at, i, size[FILLED] - size[BASE], min(cut, size[UNIT_END]))
            top = offer(best, size, BEST, k, score, size[BASE], size[NEXT], stop, walk.guess, walk.scratch)
            size[NEXT] = stop
            if top >= walk.last[0]:
                step[ANSWER] = -1
        if cut == FOREVER:
            return DONE
        first = size[BASE] + first_from(at, size[FIRST] - size[BASE], size[NEXT] - size[BASE], due_start[due])
        if first > size[EVENT]:
            step[BEGIN_WITH] = first
            return BEGIN
        size[FIRST] = first
        if size[OLDEST] < first and not fill_up(savl, front, k, size):
            return ROOM
        listed = size[BEST] + size[REST] + size[FRONT]
        if step[ANSWER] < 0 or step[EARLIEST] < first:
            wanted = min(k, listed)
            used = step[USED]
            if used + wanted > len(out.id):
                return ANSWERS
            out.begin[due] = used
            out.size[due] = wanted
            step[USED], step[EARLIEST] = report_three(
                best, size[BEST], rest, size[REST], front, size[FRONT], wanted, out, used
            )
            step[ANSWER] = due
            walk.last[0] = out.score[used + k - 1] if wanted == k else least(out.score)
        else:
            out.begin[due] = out.begin[step[ANSWER]]
            out.size[due] = out.size[step[ANSWER]]
        size[SLIDES] += 1
        size[MEMBERS_SUM] += listed + size[STACKED]
        size[MEMBERS_PEAK] = max(size[MEMBERS_PEAK], listed + size[STACKED])
        step[DUE] += 1


@kernel
def advance_sap(
    at: Ints, score: Keys, due_start: Ints, due_end: Ints, needed_from: int, plan: Plan, given: State
) -> tuple[State, Output]:
    """Feed records and answer reports in time order. After all of them nothing older than `needed_from` is wanted.
    The ids in the output are the numbers of the records."""
    state = held(given)
    size, k = state.size, plan.k
    out = new_output(len(due_end), score)
    scratch = new_ranked(pane_room(k, max(min(len(at), CHUNK), PIECE)), score)
    step = np.zeros(STEPS, np.int64)
    step[ANSWER] = -1
    walk = Walk(step, np.full(1, least(score)), no_guess(score), scratch)
    taken = 0
    while True:
        todo = _run(
            state.at,
            state.score,
            state.best,
            state.rest,
            state.front,
            state.savl,
            due_start,
            due_end,
            taken < len(at),
            plan,
            size,
            walk,
            out,
        )
        if todo == CLOSE:
            close_unit(state, plan, walk.guess, scratch)
        elif todo == ANSWERS:
            out = grown(out, step[USED], min(k, size[BEST] + size[REST] + size[FRONT]))
        else:
            if todo != ROOM:
                first = step[BEGIN_WITH]
                if todo != BEGIN:
                    # No report is due here, but the next one may let go of much.
                    due = step[DUE]
                    start = due_start[due] if due < len(due_end) else needed_from
                    low, high = size[FIRST] - size[BASE], size[NEXT] - size[BASE]
                    first = size[BASE] + first_from(state.at, low, high, start)
                if first > size[EVENT]:
                    begin_at(state, plan, first)
                size[FIRST] = first
            while not fill_up(state.savl, state.front, k, size):
                state.front = ranked_room(state.front, size[FRONT] + 1)
            if todo == DONE:
                break
            if todo == REFILL:
                before = size[FILLED]
                refill(state, at, score, taken)
                taken += size[FILLED] - before
                state.best = ranked_room(state.best, min(size[BEST] + size[FILLED] - size[NEXT], k))
    return let_go(state), finished(out, step[USED])


@kernel
def skyband_of_window(at: Ints, score: Keys, size: Ints, k: int) -> tuple[Ints, Ints, Keys]:
    """Numbers, times and scores, oldest first, of the records in the window that fewer than k newer ones outrank:
    all that may still be reported, whatever is known about it yet."""
    low, high = size[FIRST] - size[BASE], size[NEXT] - size[BASE]
    best = np.empty(high - low, score.dtype)
    place = np.empty(high - low, np.int64)
    dominators = np.empty(high - low, np.int64)
    found = skyband_of(score, low, high, k, best, place, dominators)
    sort_rising(place, found)
    order = place[:found]
    return order + size[BASE], at[order], score[order]
