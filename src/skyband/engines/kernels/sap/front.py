"""The front partition of SAP: when it leaves, when its meaningful set is formed, and what is promoted from it."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import greatest, passes
from skyband.engines.kernels.common.pane import keep_best
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.lists.kskyband import skyband_of
from skyband.engines.kernels.sap.held import Held
from skyband.engines.kernels.sap.lists import (
    Ranked,
    insert_ranked,
    kth_newer,
    living,
    not_below,
    oldest,
    split,
)
from skyband.engines.kernels.sap.savl import (
    HEAP,
    LIMIT,
    NODES,
    POPPED,
    SCANNED,
    Savl,
    finish,
    held,
    new_savl,
    pop,
    scan,
    scan_list,
    scan_slides,
    stack_ranked,
    threshold,
)
from skyband.engines.kernels.sap.state import (
    ACTIVE,
    BASE,
    BEST,
    COMING,
    COMING_AT,
    EARLY,
    EVENT,
    FIRST,
    FORMATIONS,
    FRONT,
    NEXT,
    NEXT_UNIT,
    OLDEST,
    OPEN,
    PARTS,
    PROMOTIONS,
    PUSHES,
    RESCANNED,
    RESCANNED_MOST,
    RESCANS,
    REST,
    RHO,
    SKIPPED,
    STACKED,
    UNITS,
    Plan,
)
from skyband.engines.kernels.sap.units import close_early
from skyband.engines.kernels.sap.window import drop_parts, empty, forget_all
from skyband.model.types import Ints


@kernel
def begin_at(state: Held, plan: Plan, first: int) -> None:
    """The window begins with record `first` now: close, drop and bring to the front what that asks for."""
    size = state.size
    size[FIRST] = first
    if first == size[NEXT]:
        forget_all(state)
        return
    if first > size[OPEN]:
        close_early(state, plan)
    parts = state.parts
    gone = 0
    while gone < size[PARTS] and parts.hi[gone] <= first:
        gone += 1
    if gone:
        drop_parts(state, gone)
    front, savl, coming = state.front, state.savl, state.coming
    scanned = size[RESCANNED]
    if size[PARTS] == 0 or parts.lo[0] >= first:
        if gone:
            size[REST], _, _ = split(state.rest, size[REST], first, first, front)
    elif size[ACTIVE] == 0:
        size[REST], front, size[FRONT] = split(state.rest, size[REST], first, parts.hi[0], front)
        size[ACTIVE] = 1
        size[NEXT_UNIT] = 0
        savl = _formed(state, plan, coming)
        size[OLDEST] = oldest(front.seq, size[FRONT])
    if size[ACTIVE] and size[RHO] < plan.k and plan.stacks and plan.delay:
        savl = _meet_k_units(state, plan, savl)
    if plan.amortised and size[ACTIVE] and size[PARTS] > 1:
        coming = _in_advance(state, plan, coming)
    size[RESCANNED_MOST] = max(size[RESCANNED_MOST], size[RESCANNED] - scanned)
    size[STACKED] = size[EARLY] + held(savl) + held(coming)
    size[EVENT] = max(first, _next_event(state, plan))
    state.front, state.savl, state.coming = front, savl, coming


@kernel
def _next_event(state: Held, plan: Plan) -> int:
    """Up to which first record nothing but the front's own list changes."""
    size, parts, units = state.size, state.parts, state.units
    event = size[OPEN]
    if size[PARTS]:
        event = min(event, parts.hi[0] - 1)
        if size[ACTIVE] == 0:
            return int(min(event, parts.lo[0]))
        u = size[NEXT_UNIT]
        if size[RHO] < plan.k and 0 < u < size[UNITS] and units.hi[u] <= parts.hi[0]:
            event = min(event, units.lo[u - 1] - 1)
        if plan.amortised:
            event = size[FIRST]
    return int(event)


@kernel
def _formed(state: Held, plan: Plan, coming: Savl) -> Savl:
    """M₀ of the partition that has come to the front, if its group dominance number allows any; the open partition's
    best k count, for this is the last moment they are asked."""
    size, parts, k = state.size, state.parts, plan.k
    low, high, floor, floor_seq = parts.lo[0], parts.hi[0], parts.floor[0], parts.floor_seq[0]
    begun = size[COMING] == low
    size[COMING] = -1
    size[RHO] = k
    if not parts.whole[0]:
        size[RHO] = min(k, not_below(state.rest, size[REST], high, state.best, size[BEST], floor))
    if size[RHO] == k:
        empty(coming)
        return new_savl(0, greatest(state.score))
    size[FORMATIONS] += 1
    bar = kth_newer(state.rest, size[REST], high, state.best, size[BEST], k)
    savl = new_savl(k - size[RHO], bar)
    if not plan.delay:
        a = parts.early[0]
        b = parts.early[1] if size[PARTS] > 1 else size[EARLY]
        savl = scan_list(savl, state.early.score[a:b], state.early.seq[a:b], b - a, floor, floor_seq)
    elif not plan.stacks:
        savl = _ranked(state, plan, savl, max(low, size[FIRST]), high, bar)
        size[PUSHES] += savl.mark[NODES]
    elif begun:
        savl = Savl(
            coming.score, coming.seq, coming.below, coming.heap, coming.fresh, coming.mark.copy(), coming.bar.copy()
        )
        empty(coming)
        savl.bar[0] = bar
        savl = _scan_down(state, plan, savl, size[COMING_AT], max(low, size[FIRST]), floor, floor_seq)
    else:
        savl = _scan_down(state, plan, savl, high, max(low, size[FIRST]), floor, floor_seq)
    return finish(savl)


@kernel
def _ranked(state: Held, plan: Plan, savl: Savl, low: int, high: int, bar: float) -> Savl:
    """Without the S-AVL: the records of [low, high) that fewer than k - ρ newer ones of it outrank, ranked."""
    size, parts = state.size, state.parts
    n = high - low
    score = np.empty(n, state.score.dtype)
    seq = np.empty(n, np.int64)
    dominators = np.empty(n, np.int64)
    base = size[BASE]
    found = skyband_of(state.score, low - base, high - base, plan.k - size[RHO], score, seq, dominators)
    size[RESCANS] += 1
    size[RESCANNED] += n
    floor, floor_seq = parts.floor[0], parts.floor_seq[0]
    kept = 0
    for i in range(found):
        number = base + seq[i]
        if passes(score[i], bar) and (score[i] < floor or (score[i] == floor and number < floor_seq)):
            score[kept] = score[i]
            seq[kept] = number
            kept += 1
    return stack_ranked(savl, score, seq, kept)


@kernel
def _scan_down(state: Held, plan: Plan, savl: Savl, high: int, low: int, floor: float, floor_seq: int) -> Savl:
    """Push what is meaningful in [low, high), unit by unit from the newest (UBSA, first phase): of a k-unit its best k,
    of another everything, unless its best record shows that there is nothing."""
    size, units = state.size, state.units
    pushed, scanned = savl.mark[NODES], savl.mark[SCANNED]
    u = size[UNITS] - 1
    while u >= 0 and units.lo[u] >= high:
        u -= 1
    while u >= 0 and high > low and savl.mark[LIMIT] > 0:
        if units.place[u] >= 0:
            if high == units.hi[u]:
                savl = _push_best(state, plan, savl, u, floor, floor_seq)
        elif not passes(units.best[u], threshold(savl.score, savl.fresh, savl.mark, savl.bar)):
            size[SKIPPED] += 1
        else:
            begin = max(units.lo[u], low)
            size[RESCANS] += high == units.hi[u]
            savl = _scan_part(state, plan, savl, begin, high, floor, floor_seq)
        high = units.lo[u]
        u -= 1
    if savl.mark[LIMIT] <= 0:
        # Everything older is dominated by k records: there is nothing to come back for.
        while u >= 0 and units.hi[u] > low:
            if units.hi[u] <= high:
                units.place[u] = -1
            u -= 1
    size[PUSHES] += savl.mark[NODES] - pushed
    size[RESCANNED] += savl.mark[SCANNED] - scanned
    return savl


@kernel
def _scan_part(state: Held, plan: Plan, savl: Savl, low: int, high: int, floor: float, floor_seq: int) -> Savl:
    base = state.size[BASE]
    length = state.at[high - 1 - base] - state.at[low - base] + 1
    if (high - low) * plan.period > 2 * savl.mark[LIMIT] * length:
        return scan_slides(savl, state.at, state.score, base, low, high, floor, floor_seq, plan.origin, plan.period)
    return scan(savl, state.score, base, low, high, floor, floor_seq)


@kernel
def _unit_list(state: Held, u: int) -> Ranked:
    a = state.units.place[u]
    b = a + state.units.listed[u]
    return Ranked(state.lists.score[a:b], state.lists.seq[a:b])


@kernel
def _push_best(state: Held, plan: Plan, savl: Savl, u: int, floor: float, floor_seq: int) -> Savl:
    """U^k of a k-unit, and the k-th of it as the unit's own floor."""
    units = state.units
    listed = _unit_list(state, u)
    score, seq = listed.score.copy(), listed.seq.copy()
    n = len(score)
    if n > plan.k:
        n, _ = keep_best(score, seq, n, plan.k)
    worst = 0
    for i in range(1, n):
        if score[i] < score[worst]:
            worst = i
    units.floor[u] = score[worst]
    units.floor_seq[u] = seq[worst]
    return scan_list(savl, score, seq, n, floor, floor_seq)


@kernel
def _meet_k_units(state: Held, plan: Plan, savl: Savl) -> Savl:
    """UBSA, second phase: a k-unit gets its own stacks when the unit before it has come to the front."""
    size, units, first = state.size, state.units, state.size[FIRST]
    u = size[NEXT_UNIT]
    bound = state.parts.hi[0]
    while u < size[UNITS] and units.hi[u] <= bound and (u == 0 or units.lo[u - 1] <= first):
        if units.place[u] >= 0 and units.hi[u] > first and units.hi[u] - units.lo[u] > plan.k:
            pushed, scanned = savl.mark[NODES], savl.mark[SCANNED]
            savl.bar[0] = kth_newer(state.rest, size[REST], bound, state.best, size[BEST], plan.k)
            savl.mark[LIMIT] = plan.k - size[RHO]
            floor, floor_seq = units.floor[u], units.floor_seq[u]
            listed = _unit_list(state, u)
            if not passes(listed.score.min(), savl.bar[0]):
                savl = scan_list(savl, listed.score, listed.seq, len(listed.score), floor, floor_seq)
            else:
                savl = _scan_part(state, plan, savl, max(units.lo[u], first), units.hi[u], floor, floor_seq)
                size[RESCANS] += 1
            savl = finish(savl)
            size[PUSHES] += savl.mark[NODES] - pushed
            size[RESCANNED] += savl.mark[SCANNED] - scanned
        u += 1
    size[NEXT_UNIT] = u
    return savl


@kernel
def fill_up(savl: Savl, front: Ranked, k: int, size: Ints) -> bool:
    """Drop what has left the front, and fill it up from the best over all stacks, as long as fewer than k of it outrank
    that one. False if the list has no room for the next."""
    first, n = size[FIRST], size[FRONT]
    listed, numbers = front.score, front.seq
    if size[OLDEST] < first:
        n = living(listed, numbers, n, first)
        size[OLDEST] = oldest(numbers, n)
    room = True
    if savl.mark[HEAP] > 0:
        score, seq, below, heap, mark = savl.score, savl.seq, savl.below, savl.heap, savl.mark
        popped = mark[POPPED]
        while mark[HEAP] > 0:
            top, number = score[heap[0]], seq[heap[0]]
            if n >= k and (listed[k - 1] > top or (listed[k - 1] == top and numbers[k - 1] > number)):
                break
            if n == len(listed):
                room = False
                break
            pop(score, seq, below, heap, mark)
            # The paper never expires an entry: a top that is gone is thrown away.
            if number >= first:
                insert_ranked(listed, numbers, n, top, number)
                n += 1
                size[OLDEST] = min(size[OLDEST], number)
                size[PROMOTIONS] += 1
        size[STACKED] -= mark[POPPED] - popped
    size[FRONT] = n
    return room


@kernel
def _in_advance(state: Held, plan: Plan, coming: Savl) -> Savl:
    """Amortised formation: as much of the second partition is scanned as has left of the first."""
    size, parts, k = state.size, state.parts, plan.k
    low, high, floor, floor_seq = parts.lo[1], parts.hi[1], parts.floor[1], parts.floor_seq[1]
    if size[COMING] != low:
        size[COMING] = low
        size[COMING_AT] = high
        rho = k
        if not parts.whole[1]:
            rho = not_below(state.rest, size[REST], high, state.best, size[BEST], floor)
        bar = kth_newer(state.rest, size[REST], high, state.best, size[BEST], k)
        coming = new_savl(max(k - rho, 0), bar)
    left = size[FIRST] - parts.lo[0]
    target = high - (left * (high - low) + parts.hi[0] - parts.lo[0] - 1) // (parts.hi[0] - parts.lo[0])
    if target < size[COMING_AT]:
        coming = _scan_down(state, plan, coming, size[COMING_AT], target, floor, floor_seq)
        size[COMING_AT] = target
    return coming
