"""Feeding records and answering reports over shared partitions (docs/design/0002-shared.md)."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import Output, first_at_or_after
from skyband.engines.kernels.shared_answer import answer, answer_open
from skyband.engines.kernels.shared_close import close
from skyband.engines.kernels.shared_open import (
    Batch,
    Plan,
    bring,
    closes_at,
    is_complete,
    lower,
    open_anew,
    open_first,
    open_size,
    outdone,
    start_anew,
)
from skyband.engines.kernels.shared_pool import drop_parts
from skyband.engines.kernels.shared_state import (
    BROUGHT,
    CLOSING,
    COMPARISONS,
    DUE,
    EPOCH,
    FIRST_ID,
    FOREVER,
    LEVEL_FRONT,
    LOW,
    NEED_OUT,
    NEXT,
    PARTS,
    REACH,
    RECENT,
    REPEATS,
    TAIL,
    TURN,
    USED,
    Memory,
    Shared,
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
    plan: Plan,
    state: Shared,
    out: Output,
) -> bool:
    """Feed records, close partitions and answer reports in time order. False if some array is too short: `number` says
    which, and the next call goes on where this one stopped. NEXT is -1 before the first."""
    number, level, memory = state.number, state.level, state.memory
    at = batch.at
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
                    if number[BROUGHT] < number[TAIL] + i - low:
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
                    used = answer_open(state, batch, low, i, start, k, out, used)
                    size[due] = used - begin[due]
                    due += 1
                    continue
            if (
                memory.epoch[query] == number[EPOCH]
                and start <= memory.good_until[query]
                and start >= memory.start[query]
                and memory.k[query] == k
                and not outdone(state.recent, number[RECENT], memory.turn[query], memory.floor[query])
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
            answered, good_until = answer(state, start, k, newest, cut - plan.longest, out, used)
            if answered < 0:
                fits = False
                break
            begin[due] = used
            size[due] = answered
            used += answered
            if memory.start[query] >= start - plan.near:
                _remember(memory, number, query, k, good_until, out, due)
            memory.start[query] = start
            due += 1
        if not fits:
            break
        if done and closing >= 0 and is_complete(state, plan, batch, low, i):
            # Otherwise the whole of it would be copied, to be closed by the next record.
            done = close(state, plan, batch, low, i)
            if not done:
                break
            low = i
            closing = -1
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
def _remember(memory: Memory, number: Ints, query: int, k: int, good_until: int, out: Output, due: int) -> None:
    size = out.size[due]
    memory.begin[query] = out.begin[due]
    memory.size[query] = size
    memory.k[query] = k
    memory.good_until[query] = good_until
    memory.floor[query] = out.score[out.begin[due] + size - 1] if size == k else -np.inf
    memory.turn[query] = number[TURN]
    memory.epoch[query] = number[EPOCH]
