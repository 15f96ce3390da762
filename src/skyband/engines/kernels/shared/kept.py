"""Which records must be kept: a set that depends on the stream and the queries alone, not on how it was cut."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.order_key import no_floor
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.close import merge_anew
from skyband.engines.kernels.shared.open import Batch, Plan, open_size, scan_open, start_anew
from skyband.engines.kernels.shared.pool import add_part, mark_newest, place_for
from skyband.engines.kernels.shared.rank import rank_hits
from skyband.engines.kernels.shared.state import COMPARISONS, FIRST_ID, PARTS, Shared
from skyband.model.types import Flags, Ints, Keys


@kernel
def gathered(state: Shared, plan: Plan, batch: Batch, oldest: int) -> tuple[Keys, Ints, Ints]:
    """Score, time and id of all that may be needed from `oldest` on, in no order. `batch` is empty: between two calls
    the open partition is the tail."""
    parts, n, number = state.parts, state.number[PARTS], state.number
    size = open_size(state, 0, 0)
    counted = number[COMPARISONS]
    found = scan_open(state, batch, 0, 0, 0, plan.most, no_floor(batch.score)) if size else 0
    number[COMPARISONS] = counted
    total = found
    for p in range(n):
        total += parts.size[p]
    score, at, id = np.empty(total, batch.score.dtype), np.empty(total, np.int64), np.empty(total, np.int64)
    kept = 0
    pool = state.pool
    for p in range(n):
        for i in range(parts.begin[p], parts.begin[p] + parts.size[p]):
            if pool.at[i] >= oldest:
                score[kept], at[kept], id[kept] = pool.score[i], pool.at[i], pool.id[i]
                kept += 1
    for h in range(found):
        place = state.hits.place[h]
        if state.tail.at[place] >= oldest:
            score[kept], at[kept], id[kept] = state.hits.score[h], state.tail.at[place], number[FIRST_ID] + place
            kept += 1
    return score[:kept], at[:kept], id[:kept]


@kernel
def wanted(score: Keys, at: Ints, plan: Plan) -> Flags:
    """Of records in feed order: which have fewer than K better ones among those that come with them or later.

    Those that come with a record are the ones with no window start in between: they leave every window together. A heap
    holds the best K from the pane on; what is not below its root is among them.
    """
    n = len(score)
    keep = np.ones(n, np.bool_)
    k = plan.most
    if k >= n:
        return keep
    heap = np.empty(k, np.int64)
    held = 0
    high = n
    while high:
        pane = _pane(plan, at[high - 1])
        low = high - 1
        if len(plan.period):
            while low and _pane(plan, at[low - 1]) == pane:
                low -= 1
        for i in range(high - 1, low - 1, -1):
            if held < k:
                heap[held] = i
                held += 1
                _rise(score, heap, held - 1)
            elif _better(score, i, heap[0]):
                heap[0] = i
                _sink(score, heap, held)
        if held == k:
            for i in range(low, high):
                keep[i] = not _better(score, heap[0], i)
        high = low
    return keep


@kernel
def _pane(plan: Plan, at: int) -> int:
    """The latest start that is not after `at`."""
    latest = -(2**62)
    for g in range(len(plan.period)):
        latest = max(latest, at - (at - plan.offset[g]) % plan.period[g])
    return latest


@kernel
def _better(score: Keys, i: int, j: int) -> bool:
    return bool(score[i] > score[j] or (score[i] == score[j] and i > j))


@kernel
def _rise(score: Keys, heap: Ints, i: int) -> None:
    while i and _better(score, heap[(i - 1) // 2], heap[i]):
        heap[(i - 1) // 2], heap[i] = heap[i], heap[(i - 1) // 2]
        i = (i - 1) // 2


@kernel
def _sink(score: Keys, heap: Ints, n: int) -> None:
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _better(score, heap[child], heap[child + 1]):
            child += 1
        if not _better(score, heap[i], heap[child]):
            return
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@kernel
def rebuild_part(state: Shared, plan: Plan, score: Keys, at: Ints, id: Ints, low: int) -> int:
    """A partition whose skyband is formed already, of candidates in feed order from `low` on; the next one's begin.
    There must be room."""
    n = len(score)
    high = low + 1
    while high < n and (at[high] - at[low] < plan.span or high - low < plan.least):
        high += 1
    size = high - low
    hits, pool = state.hits, state.pool
    for i in range(size):
        hits.score[i] = score[high - 1 - i]
        hits.place[i] = high - 1 - i
    rank_hits(hits, size)
    end = place_for(pool, state.parts, state.number[PARTS], size)
    for i in range(size):
        place = hits.place[i]
        pool.score[end + i] = score[place]
        pool.at[end + i] = at[place]
        pool.id[end + i] = id[place]
    mark_newest(pool, end, size)
    add_part(state, end, size, True, at[low], at[high - 1], size)
    return high


@kernel
def rebuild_shared(state: Shared, plan: Plan, score: Keys, at: Ints, id: Ints) -> None:
    low = 0
    while low < len(score):
        low = rebuild_part(state, plan, score, at, id, low)
    start_anew(state.number, state.level, 0)
    merge_anew(state, plan, 0)
