"""Units and partitions of SAP: when one is closed (sap-tkde17 §4), and which units may hide many candidates (TBUI)."""

from __future__ import annotations

from skyband.engines.kernels.common.order_key import greatest, least, no_floor
from skyband.engines.kernels.common.pane import keep_best
from skyband.engines.kernels.common.select import highest
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.sap.held import Held
from skyband.engines.kernels.sap.lists import (
    COMPARISONS,
    STEP,
    Ranked,
    copied,
    new_ranked,
    offer,
    rank_sum_excess,
    ranked_room,
    refine,
)
from skyband.engines.kernels.sap.savl import NODES, SCANNED, new_savl, scan
from skyband.engines.kernels.sap.state import (
    BASE,
    BEST,
    EARLY,
    ENHANCED,
    EQUAL,
    EVENT,
    FRONT,
    LISTED,
    NEXT,
    OPEN,
    OPEN_AT,
    PARTITIONS,
    PARTS,
    PAST,
    PUSHES,
    RESCANNED,
    REST,
    SETTING,
    UNIT,
    UNIT_AT,
    UNIT_END,
    UNITS,
    Plan,
    parts_room,
    units_room,
)
from skyband.model.types import Keys

PIECE = 1024


@kernel
def above_tau(
    score: Keys, base: int, low: int, high: int, tau: float, setting: bool, zeta: int, crowd: int, found: Ranked
) -> tuple[Ranked, int, float]:
    """U^τ of the records [low, high), oldest first, and the τ it ends with (Algorithm 2 over one unit).

    While τ is being set it is the ζ-th best of what was seen; later it rises when a crowd of records passes it.
    """
    n = 0
    full = 2 * zeta if setting else crowd + 1
    part = score[low - base : high - base]
    found = ranked_room(found, min(full, len(part)))
    best, seq = found.score, found.seq
    i = 0
    while i < len(part):
        stop = min(i + STEP, len(part))
        hits = 1
        if stop == i + STEP:
            hits = 0
            for j in range(STEP):
                hits += part[i + j] >= tau
        if hits:
            for j in range(i, stop):
                if part[j] >= tau:
                    best[n] = part[j]
                    seq[n] = low + j
                    n += 1
                    if n == full:
                        n, tau = keep_best(best, seq, n, zeta)
        i = stop
    if setting and n > zeta:
        n, tau = keep_best(found.score, found.seq, n, zeta)
    return found, n, tau


@kernel
def add_unit(state: Held, plan: Plan, low: int, high: int) -> None:
    """Note the records [low, high) as a unit of the open partition; `enhanced` finds out what hides in it."""
    size, tau = state.size, state.tau
    u = size[UNITS]
    units = units_room(state.units, u + 1)
    lists = state.lists
    units.lo[u] = low
    units.hi[u] = high
    units.best[u] = greatest(state.score)
    units.place[u] = -1
    units.listed[u] = 0
    size[UNITS] += 1
    if plan.mode == ENHANCED:
        if low == size[OPEN]:
            size[SETTING] = 1
            tau[0] = least(state.score)
        found, n, tau[0] = above_tau(
            state.score,
            size[BASE],
            low,
            high,
            tau[0],
            size[SETTING] == 1,
            plan.zeta,
            plan.crowd,
            new_ranked(1, state.score),
        )
        size[COMPARISONS] += high - low
        if size[SETTING] == 0:
            if n >= plan.k:
                # Theorem 2: k records here outrank all that the unit before has below τ. It keeps its best only.
                if units.place[u - 1] >= 0:
                    size[LISTED] = units.place[u - 1]
                    units.place[u - 1] = -1
            else:
                # A downtrend. The unit needs its own best k all the same, so τ is set anew on it.
                found, n, tau[0] = above_tau(
                    state.score, size[BASE], low, high, least(state.score), True, plan.zeta, plan.crowd, found
                )
                size[COMPARISONS] += high - low
        size[SETTING] = 0
        units.best[u] = highest(found.score[:n])
        units.place[u] = size[LISTED]
        units.listed[u] = n
        lists = ranked_room(lists, size[LISTED] + n)
        for i in range(n):
            lists.score[size[LISTED] + i] = found.score[i]
            lists.seq[size[LISTED] + i] = found.seq[i]
        size[LISTED] += n
    state.units, state.lists = units, lists


@kernel
def close_partition(state: Held, plan: Plan, best: Ranked, n: int, high: int) -> None:
    """The open partition ends before `high`; its best k join C. The next one begins there."""
    size = state.size
    low, k = size[OPEN], plan.k
    p = size[PARTS]
    parts = parts_room(state.parts, p + 1)
    early = state.early
    parts.lo[p] = low
    parts.hi[p] = high
    parts.whole[p] = n == high - low
    parts.floor[p] = best.score[n - 1]
    parts.floor_seq[p] = best.seq[n - 1]
    parts.early[p] = size[EARLY]
    size[PARTS] += 1
    size[PARTITIONS] += 1
    size[COMPARISONS] += size[REST] + n
    rest, size[REST] = refine(state.rest, size[REST], best, n, k)
    if not plan.delay and not parts.whole[p]:
        # M at once, with nothing newer known: no F_θ, no group dominance.
        savl = new_savl(k, no_floor(state.score))
        savl = scan(savl, state.score, size[BASE], low, high, parts.floor[p], parts.floor_seq[p])
        m = savl.mark[NODES]
        size[PUSHES] += m
        size[RESCANNED] += savl.mark[SCANNED]
        early = ranked_room(early, size[EARLY] + m)
        for i in range(m):
            early.score[size[EARLY] + i] = savl.score[m - 1 - i]
            early.seq[size[EARLY] + i] = savl.seq[m - 1 - i]
        size[EARLY] += m
    size[OPEN] = high
    size[EVENT] = -1
    state.rest, state.parts, state.early = rest, parts, early


@kernel
def close_unit(state: Held, plan: Plan, guess: Keys, scratch: Ranked) -> None:
    """The unit [UNIT, NEXT) is complete: it joins the open partition, or ends it and begins another (§4.2)."""
    size = state.size
    low, high = size[UNIT], size[NEXT]
    if low > size[OPEN]:
        fits = size[UNIT_END] - size[OPEN_AT] <= plan.longest
        if fits:
            excess = rank_sum_excess(
                state.best, size[BEST], state.rest, size[REST], state.front, size[FRONT], plan.earlier, plan.upper
            )
            size[COMPARISONS] += size[BEST] + plan.earlier
            fits = excess <= 0
        if not fits:
            close_partition(state, plan, state.past, size[PAST], low)
            size[BEST] = 0
            begin = low
            while begin < high:
                stop = min(begin + PIECE, high)
                offer(state.best, size, BEST, plan.k, state.score, size[BASE], begin, stop, guess, scratch)
                begin = stop
            size[OPEN_AT] = size[UNIT_AT]
    add_unit(state, plan, low, high)
    if plan.mode == EQUAL:
        close_partition(state, plan, state.best, size[BEST], high)
        size[BEST] = 0
    else:
        state.past = copied(state.best, size[BEST], state.past)
    size[PAST] = size[BEST]
    size[UNIT] = high


@kernel
def close_early(state: Held, plan: Plan) -> None:
    """The window's start has reached the open partition: it is closed as it stands."""
    size = state.size
    if size[NEXT] > size[UNIT]:
        add_unit(state, plan, size[UNIT], size[NEXT])
    close_partition(state, plan, state.best, size[BEST], size[NEXT])
    size[UNIT] = size[NEXT]
    size[BEST] = 0
    size[PAST] = 0
