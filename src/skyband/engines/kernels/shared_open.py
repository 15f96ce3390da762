"""The open partition: its best K so far, ready for a report at any moment, and how it is closed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import first_at_or_after
from skyband.engines.kernels.shared_scan import Hits, just_below, new_gauge, no_floor, rank_hits, scan_back
from skyband.engines.kernels.shared_state import (
    BROUGHT,
    COMPARISONS,
    EPOCH,
    FIRST_ID,
    FOREVER,
    FRONT,
    INSERTIONS,
    SCANS,
    TAIL,
    Ranked,
    Shared,
    Tail,
    add_part,
    build_suffixes,
    coalesce,
    drop_parts,
    pool_end,
    with_hits,
    with_room,
)
from skyband.model.arrays import Floats, Ints

LEVEL_FRONT, LEVEL_REPEATS = 0, 1


class Plan(NamedTuple):
    """What follows from the meta query. Starts are `offset` modulo `period`, one row per distinct grid; none where there
    are too many grids to ask: then a start is taken to be everywhere. A partition is closed when it is `span` long and has
    `least` records, or has `cap`. Answers are remembered while the starts of a query are no more than `near` apart."""

    most: int
    longest: int
    span: int
    least: int
    cap: int
    near: int
    period: Ints
    offset: Ints


class Batch(NamedTuple):
    at: Ints
    score: Floats


@kernel
def open_size(state: Shared, low: int, high: int) -> int:
    """Records of the open partition: the tail, and batch[low:high]."""
    return int(state.number[TAIL] + high - low)


@kernel
def open_first(state: Shared, batch: Batch, low: int) -> int:
    return int(state.tail.at[0] if state.number[TAIL] else batch.at[low])


@kernel
def time_at(state: Shared, batch: Batch, low: int, place: int) -> int:
    tail = state.number[TAIL]
    return int(state.tail.at[place] if place < tail else batch.at[low + place - tail])


@kernel
def closes_at(state: Shared, plan: Plan, batch: Batch, low: int, i: int) -> int:
    """The record of the batch before which the open partition closes; its length if none. A partition is long enough
    by time and by number, or as long as the longest window, or too large to wait."""
    first, size = open_first(state, batch, low), open_size(state, low, i)
    large = i + max(plan.least - size, 0)
    if large < len(batch.at):
        large = first_at_or_after(batch.at, large, first + plan.span)
    far = first_at_or_after(batch.at, i, first + plan.longest) if large > i else large
    return int(min(large, far, i + max(plan.cap - size, 0), len(batch.at)))


@kernel
def scan_open(state: Shared, batch: Batch, low: int, high: int, place: int, k: int, floor: float) -> int:
    """Hits among the open records from `place` on."""
    tail = state.number[TAIL]
    size = open_size(state, low, high)
    gauge = new_gauge(k, size - place, floor)
    found = 0
    if size > tail:
        begin = max(place, tail)
        found = scan_back(batch.score[low + begin - tail : high], begin, k, gauge, state.hits, found)
    if place < tail:
        found = scan_back(state.tail.score[place:tail], place, k, gauge, state.hits, found)
    state.number[COMPARISONS] += size - place
    return found


@kernel
def bring(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> Shared:
    """Let the best K of the open partition know the records since the last report."""
    number = state.number
    place, size = number[BROUGHT], open_size(state, low, high)
    if place == size:
        return state
    number[BROUGHT] = size
    if size == place + 1 and high > low and batch.score[high - 1] <= state.level[LEVEL_FRONT]:
        number[COMPARISONS] += 1
        return state
    state = with_hits(state, size - place)
    found = scan_open(state, batch, low, high, place, plan.most, state.level[LEVEL_FRONT])
    if found:
        rank_hits(state.hits, found)
        state = _merge_front(state, plan.most, found)
        number[INSERTIONS] += found
        _forget_answers(state, state.hits.score[0])
    return state


@kernel
def _merge_front(state: Shared, k: int, found: int) -> Shared:
    """Merge ranked newcomers into the front in place, from the worst up; newcomers win ties."""
    number, front, hits = state.number, state.front, state.hits
    n = number[FRONT]
    if n + found > len(front.score):
        size = 2 * (n + found)
        front = Ranked(np.empty(size), np.empty(size, np.int64))
        front.score[:n] = state.front.score[:n]
        front.id[:n] = state.front.id[:n]
    i, j, o = n - 1, found - 1, n + found - 1
    while j >= 0:
        if i >= 0 and front.score[i] <= hits.score[j]:
            front.score[o] = front.score[i]
            front.id[o] = front.id[i]
            i -= 1
        else:
            front.score[o] = hits.score[j]
            front.id[o] = number[FIRST_ID] + hits.place[j]
            j -= 1
        o -= 1
    number[FRONT] = min(n + found, k)
    state.level[LEVEL_FRONT] = just_below(front.score[k - 1]) if n + found >= k else no_floor()
    return Shared(
        state.pool, state.parts, state.suffix, front, state.tail, hits, state.memory, state.level, state.number
    )


@kernel
def _forget_answers(state: Shared, score: float) -> None:
    """A newcomer with this score changes every answer that it can enter."""
    level, memory = state.level, state.memory
    if score < level[LEVEL_REPEATS]:
        return
    lowest = np.inf
    for q in range(len(memory.epoch)):
        if memory.epoch[q] == state.number[EPOCH]:
            if memory.floor[q] <= score:
                memory.epoch[q] = -1
            else:
                lowest = min(lowest, memory.floor[q])
    level[LEVEL_REPEATS] = lowest


@kernel
def has_start_inside(plan: Plan, first: int, last: int) -> bool:
    """A window may start after `first` and not after `last`: only some of these records are in it then."""
    if len(plan.period) == 0:
        return True
    for g in range(len(plan.period)):
        if (last - plan.offset[g]) // plan.period[g] > (first - plan.offset[g]) // plan.period[g]:
            return True
    return False


@kernel
def close(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> Shared:
    """Make a partition of the open records; afterwards none is open."""
    number = state.number
    size = open_size(state, low, high)
    first, last = open_first(state, batch, low), time_at(state, batch, low, size - 1)
    if has_start_inside(plan, first, last):
        state = with_hits(state, size)
        found = scan_open(state, batch, low, high, 0, plan.most, no_floor())
        rank_hits(state.hits, found)
        number[SCANS] += 1
    else:
        state = bring(state, plan, batch, low, high)
        found = number[FRONT]
        state = with_hits(state, found)
        for i in range(found):
            state.hits.score[i] = state.front.score[i]
            state.hits.place[i] = state.front.id[i] - number[FIRST_ID]
    state = with_room(state, found)
    _write_run(state, batch, low, found)
    add_part(state, found, first, last, size)
    number[INSERTIONS] += found
    start_anew(state, number[FIRST_ID] + size)
    return settled(state, plan, last + 1)


@kernel
def _write_run(state: Shared, batch: Batch, low: int, found: int) -> None:
    pool, hits, end = state.pool, state.hits, pool_end(state)
    for i in range(found):
        place = hits.place[i]
        pool.score[end + i] = hits.score[i]
        pool.id[end + i] = state.number[FIRST_ID] + place
        pool.at[end + i] = time_at(state, batch, low, place)


@kernel
def start_anew(state: Shared, id: int) -> None:
    """No record is open; the next has this id."""
    number, level = state.number, state.level
    number[TAIL] = 0
    number[BROUGHT] = 0
    number[FRONT] = 0
    number[FIRST_ID] = id
    number[EPOCH] += 1
    level[LEVEL_FRONT] = no_floor()
    level[LEVEL_REPEATS] = np.inf


@kernel
def settled(state: Shared, plan: Plan, now: int) -> Shared:
    """Drop what no report from `now` on can ask for, and merge anew."""
    drop_parts(state, now - plan.longest)
    state = coalesce(state, plan.most, plan.span)
    return build_suffixes(state, plan.most)


@kernel
def store_tail(state: Shared, batch: Batch, low: int) -> Shared:
    """Keep the batch from `low` on: it belongs to the open partition."""
    number, tail = state.number, state.tail
    n, more = number[TAIL], len(batch.at) - low
    if n + more > len(tail.score):
        size = max(n + more, min(2 * len(tail.score), FOREVER))
        tail = Tail(np.empty(size), np.empty(size, np.int64))
        tail.score[:n] = state.tail.score[:n]
        tail.at[:n] = state.tail.at[:n]
    tail.score[n : n + more] = batch.score[low:]
    tail.at[n : n + more] = batch.at[low:]
    number[TAIL] = n + more
    return Shared(
        state.pool, state.parts, state.suffix, state.front, tail, state.hits, state.memory, state.level, state.number
    )


@kernel
def place_of(state: Shared, batch: Batch, low: int, high: int, start: int) -> int:
    """The first open record that is not before `start`."""
    tail = state.number[TAIL]
    if tail and state.tail.at[tail - 1] >= start:
        return int(np.searchsorted(state.tail.at[:tail], start))
    return int(tail + np.searchsorted(batch.at[low:high], start))
