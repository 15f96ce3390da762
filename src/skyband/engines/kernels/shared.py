"""Feeding records and answering reports over shared partitions (docs/design/0002-shared.md)."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import Output, finished, first_at_or_after, grown, new_output
from skyband.engines.kernels.shared_open import (
    LEVEL_REPEATS,
    Batch,
    Plan,
    bring,
    close,
    closes_at,
    open_first,
    open_size,
    place_of,
    scan_open,
    settled,
    start_anew,
    store_tail,
)
from skyband.engines.kernels.shared_scan import no_floor, rank_hits
from skyband.engines.kernels.shared_state import (
    BLOCK,
    DIRECT,
    EPOCH,
    FIRST_ID,
    FOREVER,
    FRONT,
    PARTS,
    REPEATS,
    Ranked,
    Shared,
    copy,
    copy_ids,
    ranked,
    with_hits,
)
from skyband.model.arrays import Ints


@kernel
def advance_shared(
    batch: Batch,
    base: int,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    due_query: Ints,
    until: int,
    plan: Plan,
    state: Shared,
) -> tuple[Shared, Output]:
    """Feed records, close partitions and answer reports in time order."""
    number = state.number
    at = batch.at
    out = new_output(len(due_end))
    used = 0
    low = 0
    i = 0
    due = 0
    # Answers of the last call are not in this call's arrays.
    number[EPOCH] += 1
    state.level[LEVEL_REPEATS] = np.inf
    closing = closes_at(state, plan, batch, low, i) if open_size(state, low, i) else -1
    while True:
        cut = due_end[due] if due < len(due_end) else FOREVER
        j = _first_from(at, i, cut)
        while i < j:
            if closing < 0:
                low = i
                number[FIRST_ID] = base + i
                closing = closes_at(state, plan, batch, low, i)
            if closing >= j:
                i = j
            else:
                i = closing
                state = close(state, plan, batch, low, i)
                low = i
                closing = -1
        if due == len(due_end):
            break
        while due < len(due_end) and due_end[due] == cut:
            start, k, query = due_start[due], due_k[due], due_query[due]
            if due and due_end[due - 1] == cut and due_start[due - 1] == start and due_k[due - 1] >= k:
                # The same window with a smaller k: the beginning of the answer before.
                out.begin[due] = out.begin[due - 1]
                out.size[due] = min(out.size[due - 1], k)
                due += 1
                continue
            if closing >= 0:
                if open_first(state, batch, low) >= start:
                    state = bring(state, plan, batch, low, i)
                elif open_size(state, low, i) >= plan.least:
                    state = close(state, plan, batch, low, i)
                    low = i
                    closing = -1
                else:
                    out.begin[due] = used
                    state, out, used = _answer_open(state, batch, low, i, start, k, out, used)
                    out.size[due] = used - out.begin[due]
                    due += 1
                    continue
            memory = state.memory
            if (
                memory.epoch[query] == number[EPOCH]
                and start <= memory.good_until[query]
                and start >= memory.start[query]
                and memory.k[query] == k
            ):
                out.begin[due] = memory.begin[query]
                out.size[due] = memory.size[query]
                memory.start[query] = start
                number[REPEATS] += 1
                due += 1
                continue
            newest = open_first(state, batch, low) if closing >= 0 else FOREVER
            out.begin[due] = used
            state, out, used, good_until = _answer(state, start, k, newest, out, used)
            out.size[due] = used - out.begin[due]
            if memory.start[query] >= start - plan.near:
                _remember(state, query, start, k, good_until, out, due)
            memory.start[query] = start
            due += 1
    if closing >= 0:
        state = store_tail(state, batch, low)
    return expired(state, plan, until), finished(out, used)


@kernel
def expired(state: Shared, plan: Plan, until: int) -> Shared:
    """Drop what only reports up to `until` could ask for."""
    size = open_size(state, 0, 0)
    if size and state.tail.at[size - 1] < until + 1 - plan.longest:
        start_anew(state, state.number[FIRST_ID] + size)
    if state.number[PARTS] and state.parts.last[0] < until + 1 - plan.longest:
        state = settled(state, plan, until + 1)
    return state


@kernel
def _first_from(at: Ints, i: int, cut: int) -> int:
    """The first index from i on with at[index] >= cut; with one record per unit of time it is known at once."""
    n = len(at)
    if i == n or cut == FOREVER:
        return n
    guess = i + max(cut - at[i], 0)
    if guess <= n and (guess == i or at[guess - 1] < cut) and (guess == n or at[guess] >= cut):
        return int(guess)
    return int(first_at_or_after(at, i, cut))


@kernel
def _remember(state: Shared, query: int, start: int, k: int, good_until: int, out: Output, due: int) -> None:
    memory, level = state.memory, state.level
    size = out.size[due]
    memory.begin[query] = out.begin[due]
    memory.size[query] = size
    memory.k[query] = k
    memory.good_until[query] = good_until
    memory.floor[query] = out.score[out.begin[due] + size - 1] if size == k else -np.inf
    memory.epoch[query] = state.number[EPOCH]
    level[LEVEL_REPEATS] = min(level[LEVEL_REPEATS], memory.floor[query])


@kernel
def _answer_open(
    state: Shared, batch: Batch, low: int, high: int, start: int, k: int, out: Output, used: int
) -> tuple[Shared, Output, int]:
    """A window inside the open partition, which is too small to be closed for it."""
    place = place_of(state, batch, low, high, start)
    state = with_hits(state, open_size(state, low, high) - place)
    found = scan_open(state, batch, low, high, place, k, no_floor())
    rank_hits(state.hits, found)
    found = min(found, k)
    out = grown(out, used, found)
    for i in range(found):
        out.score[used + i] = state.hits.score[i]
        out.id[used + i] = state.number[FIRST_ID] + state.hits.place[i]
    state.number[DIRECT] += 1
    return state, out, used + found


@kernel
def _first_part(state: Shared, start: int) -> int:
    """The oldest partition that holds a record of a window with this start."""
    low, high = 0, state.number[PARTS]
    while low < high:
        middle = (low + high) // 2
        if state.parts.last[middle] < start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def _answer(
    state: Shared, start: int, k: int, newest: int, out: Output, used: int
) -> tuple[Shared, Output, int, int]:
    """Merge the best of all whole partitions, what the partition cut by `start` has above their k-th, and the best of
    the open one, which begins at `newest`. Also the last start for which this would be the answer."""
    parts, n = state.parts, state.number[PARTS]
    p = _first_part(state, start)
    cut = p
    if p < n and parts.first[p] < start:
        p += 1
    whole = ranked(state.suffix, parts.suffix[p], parts.suffix_size[p]) if p < n else ranked(state.suffix, 0, 0)
    good_until = parts.first[p] if p < n else newest
    found = 0
    if cut < p:
        state = with_hits(state, min(k, parts.size[cut]))
        floor = whole.score[k - 1] if len(whole.score) >= k else no_floor()
        found, oldest = _filter(state, cut, start, k, floor)
        good_until = min(good_until, oldest)
    front = ranked(state.front, 0, state.number[FRONT])
    out = grown(out, used, min(k, len(whole.score) + found + len(front.score)))
    used += _merge_three(whole, Ranked(state.hits.score[:found], state.hits.place[:found]), front, k, out, used)
    return state, out, used, good_until


@kernel
def _filter(state: Shared, p: int, start: int, k: int, floor: float) -> tuple[int, int]:
    """The best k of a partition's run that are not before `start`, while they are above the floor. Into `hits`, with ids;
    returns how many, and the oldest time among them."""
    pool, hits = state.pool, state.hits
    begin, end = state.parts.begin[p], state.parts.begin[p] + state.parts.size[p]
    found = 0
    oldest = FOREVER
    for low in range(begin, end, BLOCK):
        if pool.score[low] <= floor:
            break
        if pool.newest[low // BLOCK] < start:
            continue
        for i in range(low, min(low + BLOCK, end)):
            if pool.score[i] <= floor or found == k:
                return found, oldest
            if pool.at[i] >= start:
                hits.score[found] = pool.score[i]
                hits.place[found] = pool.id[i]
                oldest = min(oldest, pool.at[i])
                found += 1
    return found, oldest


@kernel
def _merge_three(whole: Ranked, older: Ranked, newer: Ranked, k: int, out: Output, used: int) -> int:
    """The best k of three runs, of which `whole` usually gives most. Ids tell who wins a tie."""
    n, m, l = len(whole.score), len(older.score), len(newer.score)
    stop = min(k, n + m + l)
    scores, ids = out.score[used : used + stop], out.id[used : used + stop]
    i, a, b, o = 0, 0, 0, 0
    while o < stop and (a < m or b < l):
        if b == l or (a < m and older.score[a] > newer.score[b]):
            score, id = older.score[a], older.id[a]
            a += 1
        else:
            score, id = newer.score[b], newer.id[b]
            b += 1
        while i < n and o < stop and (whole.score[i] > score or (whole.score[i] == score and whole.id[i] > id)):
            scores[o] = whole.score[i]
            ids[o] = whole.id[i]
            i += 1
            o += 1
        if o < stop:
            scores[o] = score
            ids[o] = id
            o += 1
    rest = stop - o
    if rest:
        copy(whole.score[i : i + rest], scores[o:])
        copy_ids(whole.id[i : i + rest], ids[o:])
    return stop
