"""Feeding records and answering reports over shared partitions (docs/design/0002-shared.md)."""

from __future__ import annotations

from skyband.engines.kernels.common.order_key import least, passes
from skyband.engines.kernels.common.run import Output, first_at_or_after
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.answer import answer, answer_open, first_part
from skyband.engines.kernels.shared.close import close
from skyband.engines.kernels.shared.open import (
    Batch,
    Plan,
    bring,
    bring_quickly,
    closes_at,
    is_complete,
    lower,
    open_anew,
    open_first,
    outdone,
    start_anew,
)
from skyband.engines.kernels.shared.pool import drop_parts, order_part
from skyband.engines.kernels.shared.state import (
    BROUGHT,
    CLOSING,
    COMPARISONS,
    DUE,
    EPOCH,
    FIRST_ID,
    FOREVER,
    GOOD_UNTIL,
    LAST_BEGIN,
    LAST_EPOCH,
    LAST_K,
    LAST_SIZE,
    LAST_START,
    LAST_TURN,
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
    Shared,
)
from skyband.model.types import Ints, Keys


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
    number, level, memory, lowest = state.number, state.level, state.memory, state.lowest
    at, score, peak = batch.at, batch.score, state.peak
    parts, pool, suffix, hits = state.parts, state.pool, state.suffix, state.hits
    # Taken out of their structures here, once: see `answer`.
    part_first, part_last, part_begin, part_size, ordered = (
        parts.first,
        parts.last,
        parts.begin,
        parts.size,
        parts.ordered,
    )
    part_suffix, part_suffix_size = parts.suffix, parts.suffix_size
    pool_score, pool_at, pool_id, pool_newest = pool.score, pool.at, pool.id, pool.newest
    whole_score, whole_id, hit_score, hit_place = suffix.score, suffix.id, hits.score, hits.place
    front_score, front_id = state.front.score, state.front.id
    recent_score, recent_turn = state.recent.score, state.recent.id
    scores, ids, begin, size = out.score, out.id, out.begin, out.size
    if number[NEXT] < 0:
        _begin(state, plan, batch)
    low, i, closing, due, used = number[LOW], number[NEXT], number[CLOSING], number[DUE], number[USED]
    opening = open_first(state, batch, low) if closing >= 0 else FOREVER
    done = False
    while not done:
        cut = due_end[due] if due < len(due_end) else FOREVER
        j = _first_from(at, i, cut)
        fits = True
        while i < j and fits:
            if closing < 0:
                low = i
                opening = at[i]
                open_anew(state, plan, opening, base + i)
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
                if number[REACH] < start <= opening:
                    lower(number, level, opening)
                opened = number[TAIL] + i - low
                if start <= number[REACH]:
                    if number[BROUGHT] < opened and not bring_quickly(
                        score,
                        i - opened,
                        opened,
                        peak,
                        front_score,
                        front_id,
                        recent_score,
                        recent_turn,
                        number,
                        level,
                        plan.most,
                    ):
                        bring(state, plan, batch, low, i)
                elif opened >= plan.least:
                    fits = close(state, plan, batch, low, i)
                    if not fits:
                        break
                    low = i
                    closing = -1
                elif used + min(k, opened) > len(ids):
                    number[NEED_OUT] = used + min(k, opened)
                    fits = False
                    break
                else:
                    begin[due] = used
                    used = answer_open(state, batch, low, i, start, k, out, used)
                    size[due] = used - begin[due]
                    due += 1
                    continue
            if (
                memory[LAST_EPOCH, query] == number[EPOCH]
                and memory[LAST_START, query] <= start <= memory[GOOD_UNTIL, query]
                and memory[LAST_K, query] == k
                and not outdone(recent_score, recent_turn, number[RECENT], memory[LAST_TURN, query], lowest[query])
            ):
                last = i
                bound = min(memory[GOOD_UNTIL, query], number[REACH]) if closing >= 0 else -FOREVER
                due, i = _repeat(
                    at,
                    score,
                    i,
                    closing,
                    bound,
                    level[LEVEL_FRONT],
                    due_start,
                    due_end,
                    due_k,
                    due_query,
                    due,
                    memory,
                    begin,
                    size,
                )
                number[BROUGHT] += i - last
                number[COMPARISONS] += i - last
                number[REPEATS] += 1 + i - last
                if i > last:
                    cut = due_end[due - 1]
                continue
            part, n = first_part(part_last, number[PARTS], start), number[PARTS]
            if part < n and part_first[part] < start and not ordered[part]:
                order_part(pool, parts, part, hits)
            answered, good_until = answer(
                part,
                n,
                part_first,
                part_begin,
                part_size,
                part_suffix,
                part_suffix_size,
                pool_score,
                pool_at,
                pool_id,
                pool_newest,
                whole_score,
                whole_id,
                hit_score,
                hit_place,
                front_score,
                front_id,
                number,
                start,
                k,
                opening if closing >= 0 else FOREVER,
                cut - plan.longest,
                scores,
                ids,
                used,
            )
            if answered < 0:
                fits = False
                break
            begin[due] = used
            size[due] = answered
            used += answered
            if memory[LAST_START, query] >= start - plan.near:
                memory[LAST_BEGIN, query] = begin[due]
                memory[LAST_SIZE, query] = answered
                memory[LAST_K, query] = k
                memory[GOOD_UNTIL, query] = good_until
                memory[LAST_TURN, query] = number[TURN]
                memory[LAST_EPOCH, query] = number[EPOCH]
                lowest[query] = scores[used - 1] if answered == k else least(scores)
            memory[LAST_START, query] = start
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
    at: Ints,
    score: Keys,
    i: int,
    closing: int,
    bound: int,
    floor: float,
    due_start: Ints,
    due_end: Ints,
    due_k: Ints,
    due_query: Ints,
    due: int,
    memory: Ints,
    begin: Ints,
    size: Ints,
) -> tuple[int, int]:
    """Answer report `due` with its query's last answer; and the next ones too while each is of the same query, has one
    more record, which is not above the floor, and starts at `bound` or before. The next report, the next record."""
    query, k = due_query[due], due_k[due]
    entry, entries = memory[LAST_BEGIN, query], memory[LAST_SIZE, query]
    begin[due] = entry
    size[due] = entries
    due += 1
    stop = min(closing, len(at) - 1)
    while due < len(due_end) and i < stop and not passes(score[i], floor) and due_start[due] <= bound:
        end = due_end[due]
        if due_query[due] != query or due_k[due] != k or at[i] >= end or at[i + 1] < end or due_end[due - 1] == end:
            break
        begin[due] = entry
        size[due] = entries
        due += 1
        i += 1
    memory[LAST_START, query] = due_start[due - 1]
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
