"""Feeding records and answering reports over shared partitions (docs/design/0002-shared.md)."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import Output, first_at_or_after
from skyband.engines.kernels.shared_open import (
    LEVEL_FRONT,
    LEVEL_REPEATS,
    Batch,
    Plan,
    bring,
    close,
    closes_at,
    lower,
    open_anew,
    open_first,
    open_size,
    place_of,
    scan_open,
    start_anew,
)
from skyband.engines.kernels.shared_scan import Hits, any_above, no_floor, rank_hits
from skyband.engines.kernels.shared_state import (
    BLOCK,
    BROUGHT,
    CLOSING,
    COMPARISONS,
    DIRECT,
    DUE,
    EPOCH,
    FIRST_ID,
    FOREVER,
    FRONT,
    LOW,
    NEED_OUT,
    NEXT,
    PARTS,
    REACH,
    REPEATS,
    TAIL,
    USED,
    Memory,
    Pool,
    Ranked,
    Shared,
    copy,
    copy_ids,
    drop_parts,
    order_part,
    ranked,
    skip_dead,
)
from skyband.model.arrays import Floats, Ints


@kernel
def advance_shared(
    batch: Batch,
    base: int,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    due_query: Ints,
    plan: Plan,
    state: Shared,
    out: Output,
) -> bool:
    """Feed records, close partitions and answer reports in time order. False if some array is too short: `number` says
    which, and the next call goes on where this one stopped. NEXT is -1 before the first."""
    number, level, memory = state.number, state.level, state.memory
    at, score = batch.at, batch.score
    begin, size = out.begin, out.size
    if number[NEXT] < 0:
        _begin(state, plan, batch)
    low, i, closing, due, used = number[LOW], number[NEXT], number[CLOSING], number[DUE], number[USED]
    done = False
    while not done:
        cut = due_end[due] if due < len(due_end) else FOREVER
        j = _first_from(at, i, cut)
        fits = True
        while i < j and fits:
            if closing < 0:
                low = i
                open_anew(state, plan, at[i], base + i)
                closing = closes_at(state, plan, batch, low, i)
            if closing >= j:
                i = j
            else:
                i = closing
                fits = close(state, plan, batch, low, i)
                if fits:
                    low = i
                    closing = -1
        if not fits:
            break
        done = due == len(due_end)
        while due < len(due_end) and due_end[due] == cut:
            start, k, query = due_start[due], due_k[due], due_query[due]
            if due and due_end[due - 1] == cut and due_start[due - 1] == start and due_k[due - 1] >= k:
                # The same window with a smaller k: the beginning of the answer before.
                begin[due] = begin[due - 1]
                size[due] = min(size[due - 1], k)
                due += 1
                continue
            if closing >= 0:
                if start > number[REACH]:
                    first = open_first(state, batch, low)
                    if start <= first:
                        lower(number, level, first)
                if start <= number[REACH]:
                    opened, brought = number[TAIL] + i - low, number[BROUGHT]
                    if brought < opened:
                        if brought >= number[TAIL] and not any_above(
                            score[i - opened + brought : i], level[LEVEL_FRONT]
                        ):
                            number[BROUGHT] = opened
                            number[COMPARISONS] += opened - brought
                        else:
                            bring(state, plan, batch, low, i)
                elif open_size(state, low, i) >= plan.least:
                    fits = close(state, plan, batch, low, i)
                    if not fits:
                        break
                    low = i
                    closing = -1
                elif used + min(k, open_size(state, low, i)) > len(out.id):
                    number[NEED_OUT] = used + min(k, open_size(state, low, i))
                    fits = False
                    break
                else:
                    begin[due] = used
                    used = _answer_open(state, batch, low, i, start, k, out, used)
                    size[due] = used - begin[due]
                    due += 1
                    continue
            if (
                memory.epoch[query] == number[EPOCH]
                and start <= memory.good_until[query]
                and start >= memory.start[query]
                and memory.k[query] == k
            ):
                last = i
                bound = min(memory.good_until[query], number[REACH]) if closing >= 0 else -FOREVER
                due, i = _repeat(
                    batch, i, closing, bound, level[LEVEL_FRONT], due_start, due_end, due_k, due_query, due, memory, out
                )
                number[BROUGHT] += i - last
                number[COMPARISONS] += i - last
                number[REPEATS] += 1 + i - last
                if i > last:
                    cut = due_end[due - 1]
                continue
            newest = open_first(state, batch, low) if closing >= 0 else FOREVER
            answered, good_until = _answer(state, start, k, newest, cut - plan.longest, out, used)
            if answered < 0:
                fits = False
                break
            begin[due] = used
            size[due] = answered
            used += answered
            if memory.start[query] >= start - plan.near:
                _remember(memory, level, number[EPOCH], query, k, good_until, out, due)
            memory.start[query] = start
            due += 1
        if not fits:
            break
    number[LOW], number[NEXT], number[CLOSING], number[DUE], number[USED] = low, i, closing, due, used
    return done


@kernel
def _repeat(
    batch: Batch,
    i: int,
    closing: int,
    bound: int,
    floor: float,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    due_query: Ints,
    due: int,
    memory: Memory,
    out: Output,
) -> tuple[int, int]:
    """Answer report `due` with its query's last answer; and the next ones too while each is of the same query, has one
    more record, which is not above the floor, and starts at `bound` or before. The next report, the next record."""
    at, score, begin, size = batch.at, batch.score, out.begin, out.size
    query, k = due_query[due], due_k[due]
    entry, entries = memory.begin[query], memory.size[query]
    begin[due] = entry
    size[due] = entries
    due += 1
    stop = min(closing, len(at) - 1)
    while due < len(due_end) and i < stop and score[i] <= floor and due_start[due] <= bound:
        end = due_end[due]
        if due_query[due] != query or due_k[due] != k or at[i] >= end or at[i + 1] < end or due_end[due - 1] == end:
            break
        begin[due] = entry
        size[due] = entries
        due += 1
        i += 1
    memory.start[query] = due_start[due - 1]
    return due, i


@kernel
def _begin(state: Shared, plan: Plan, batch: Batch) -> None:
    """A new batch. Answers to the last one are not in this one's arrays."""
    number = state.number
    number[LOW], number[NEXT], number[DUE], number[USED] = 0, 0, 0, 0
    number[CLOSING] = closes_at(state, plan, batch, 0, 0) if number[TAIL] else -1
    number[EPOCH] += 1
    state.level[LEVEL_REPEATS] = np.inf


@kernel
def expire_shared(state: Shared, plan: Plan, until: int) -> None:
    """Drop what only reports up to `until` could ask for. The batch is in the tail by now."""
    number, oldest = state.number, until + 1 - plan.longest
    if number[TAIL] and state.tail.at[number[TAIL] - 1] < oldest:
        start_anew(number, state.level, number[FIRST_ID] + number[TAIL])
    if number[PARTS] and state.parts.last[0] < oldest:
        drop_parts(state.parts, number, oldest)


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
def _remember(
    memory: Memory, level: Floats, epoch: int, query: int, k: int, good_until: int, out: Output, due: int
) -> None:
    size = out.size[due]
    memory.begin[query] = out.begin[due]
    memory.size[query] = size
    memory.k[query] = k
    memory.good_until[query] = good_until
    memory.floor[query] = out.score[out.begin[due] + size - 1] if size == k else -np.inf
    memory.epoch[query] = epoch
    level[LEVEL_REPEATS] = min(level[LEVEL_REPEATS], memory.floor[query])


@kernel
def _answer_open(state: Shared, batch: Batch, low: int, high: int, start: int, k: int, out: Output, used: int) -> int:
    """A window inside the open partition, which is too small to be closed for it."""
    place = place_of(state, batch, low, high, start)
    found = scan_open(state, batch, low, high, place, k, no_floor())
    rank_hits(state.hits, found)
    found = min(found, k)
    for i in range(found):
        out.score[used + i] = state.hits.score[i]
        out.id[used + i] = state.number[FIRST_ID] + state.hits.place[i]
    state.number[DIRECT] += 1
    return used + found


@kernel
def _first_part(last: Ints, n: int, start: int) -> int:
    """The oldest partition that holds a record of a window with this start."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if last[middle] < start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def _answer(state: Shared, start: int, k: int, newest: int, oldest: int, out: Output, used: int) -> tuple[int, int]:
    """Merge the best of all whole partitions, what the partition cut by `start` has above their k-th, and the best of
    the open one, which begins at `newest`. How many (-1: there is no room), and the last start for which this would be
    the answer. No window starts before `oldest` any more."""
    parts, n = state.parts, state.number[PARTS]
    p = _first_part(parts.last, n, start)
    cut = p
    if p < n and parts.first[p] < start:
        p += 1
    whole = ranked(state.suffix, parts.suffix[p], parts.suffix_size[p]) if p < n else ranked(state.suffix, 0, 0)
    good_until = parts.first[p] if p < n else newest
    found = 0
    if cut < p:
        order_part(state.pool, parts, cut, state.hits)
        skip_dead(state.pool, parts, cut, oldest)
        floor = whole.score[k - 1] if len(whole.score) >= k else no_floor()
        found, eldest = _filter(state.pool, parts.begin[cut], parts.size[cut], start, k, floor, state.hits)
        good_until = min(good_until, eldest)
    front = ranked(state.front, 0, state.number[FRONT])
    needed = used + min(k, len(whole.score) + found + len(front.score))
    if needed > len(out.id):
        state.number[NEED_OUT] = needed
        return -1, 0
    older = Ranked(state.hits.score[:found], state.hits.place[:found])
    return _merge_three(whole, older, front, out.score[used:needed], out.id[used:needed]), good_until


@kernel
def _filter(pool: Pool, begin: int, size: int, start: int, k: int, floor: float, hits: Hits) -> tuple[int, int]:
    """The best k of a partition's run that are not before `start`, while they are above the floor, into `hits`, with
    their ids. How many, and the oldest time among them."""
    end = begin + size
    found = 0
    oldest = FOREVER
    for low in range(begin, end, BLOCK):
        # A look at the scores of a block that is too old would be a cache miss for nothing.
        if pool.newest[low // BLOCK] < start:
            continue
        if pool.score[low] <= floor:
            break
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
def _merge_three(whole: Ranked, older: Ranked, newer: Ranked, scores: Floats, ids: Ints) -> int:
    """The best k of three runs, of which `whole` usually gives most. Ids tell who wins a tie."""
    n, m, r = len(whole.score), len(older.score), len(newer.score)
    stop = len(scores)
    i, a, b, o = 0, 0, 0, 0
    while o < stop and (a < m or b < r):
        if b == r or (a < m and older.score[a] > newer.score[b]):
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
