"""The open partition: its best K so far, ready for a report at any moment, and how it is closed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import first_at_or_after
from skyband.engines.kernels.shared_scan import FLOOR, Hits, just_below, new_gauge, no_floor, rank_hits, scan_back
from skyband.engines.kernels.shared_state import (
    BROUGHT,
    COMPARISONS,
    EPOCH,
    FIRST_ID,
    FRONT,
    INSERTIONS,
    NEED_POOL,
    NEED_SUFFIX,
    PARTS,
    REACH,
    SCANS,
    TAIL,
    Memory,
    Ranked,
    Shared,
    add_part,
    build_suffixes,
    coalesce,
    drop_parts,
    has_room,
    is_short,
    order_part,
    pool_end,
    rises,
    rounded,
    suffix_room,
    turn,
)
from skyband.model.arrays import Floats, Ints

LEVEL_FRONT, LEVEL_REPEATS, LEVEL_BASE, LEVEL_SCAN = range(4)
LEVELS = 4


class Plan(NamedTuple):
    """What follows from the meta query. Starts are `offset` modulo `period`, one row per distinct grid; none where
    there are too many grids to ask: then a start is taken to be everywhere. A partition is closed when it is `span`
    long and has `least` records, or has `cap`. Answers are remembered while the starts of a query are no more than
    `near` apart. `distinct`: no two records have the same time."""

    most: int
    longest: int
    shortest: int
    span: int
    least: int
    cap: int
    near: int
    distinct: bool
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
def open_anew(state: Shared, plan: Plan, first: int, id: int) -> None:
    """The first record of a partition comes at `first`. No report while it is open will want what K records reach that
    are in every window until then: they make the floor. If a window does start later, `lower` takes it back."""
    number, level, parts = state.number, state.level, state.parts
    number[FIRST_ID] = id
    number[REACH] = first
    level[LEVEL_BASE] = no_floor()
    certain = first + plan.span + plan.span // 8 - plan.shortest
    for p in range(number[PARTS]):
        if parts.first[p] >= certain:
            if parts.suffix_size[p] >= plan.most:
                number[REACH] = min(parts.first[p], first)
                level[LEVEL_BASE] = just_below(state.suffix.score[parts.suffix[p] + plan.most - 1])
            break
    level[LEVEL_FRONT] = level[LEVEL_BASE]


@kernel
def lower(number: Ints, level: Floats, first: int) -> None:
    """A window starts later than was thought when the floor was made: look at the open records again."""
    number[REACH] = first
    number[BROUGHT] = 0
    number[FRONT] = 0
    number[EPOCH] += 1
    level[LEVEL_BASE] = no_floor()
    level[LEVEL_FRONT] = no_floor()
    level[LEVEL_REPEATS] = np.inf


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
    state.level[LEVEL_SCAN] = gauge.level[FLOOR]
    return found


@kernel
def bring(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> None:
    """Let the best K of the open partition know the records since the last report."""
    number = state.number
    place, size = number[BROUGHT], open_size(state, low, high)
    if place == size:
        return
    number[BROUGHT] = size
    found = scan_open(state, batch, low, high, place, plan.most, state.level[LEVEL_FRONT])
    if found:
        rank_hits(state.hits, found)
        _merge_front(state.front, state.hits, number, state.level, plan.most, min(found, plan.most))
        number[INSERTIONS] += found
        _forget_answers(state.memory, state.level, number[EPOCH], state.hits.score[0])


@kernel
def _merge_front(front: Ranked, hits: Hits, number: Ints, level: Floats, k: int, found: int) -> None:
    """Merge ranked newcomers into the front in place, from the worst up; newcomers win ties."""
    n = number[FRONT]
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
    level[LEVEL_FRONT] = just_below(front.score[k - 1]) if n + found >= k else level[LEVEL_BASE]


@kernel
def _forget_answers(memory: Memory, level: Floats, epoch: int, score: float) -> None:
    """A newcomer with this score changes every answer that it can enter."""
    if score < level[LEVEL_REPEATS]:
        return
    lowest = np.inf
    for q in range(len(memory.epoch)):
        if memory.epoch[q] == epoch:
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
def close(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> bool:
    """Make a partition of the open records; afterwards none is open. False if there is no room for it: then nothing
    has changed, and `number` says how much is needed."""
    number = state.number
    size = open_size(state, low, high)
    first, last = open_first(state, batch, low), time_at(state, batch, low, size - 1)
    found = scan_open(state, batch, low, high, 0, plan.most, no_floor())
    drop_parts(state.parts, number, last + 1 - plan.longest)
    if not _is_room(state, plan, found):
        return False
    number[SCANS] += 1
    ordered = not has_start_inside(plan, first, last)
    if ordered:
        found = min(_rank_best(state.hits, found, state.level[LEVEL_SCAN]), plan.most)
    elif rises(state.hits.score[:found]):
        turn(state.hits.score[:found], state.hits.place[:found])
        ordered = True
    _write_run(state, batch, low, found, first, plan.distinct and last - first == size - 1)
    add_part(state, found, ordered, first, last, size)
    number[INSERTIONS] += found
    best = 0 if ordered else _rank_best(state.hits, found, state.level[LEVEL_SCAN])
    for i in range(best):
        state.hits.place[i] += number[FIRST_ID]
    start_anew(number, state.level, number[FIRST_ID] + size)
    merge_anew(state, plan, best)
    return True


@kernel
def _rank_best(hits: Hits, found: int, floor: float) -> int:
    """Only the hits that are not below the floor, which at least K reach, ranked; how many."""
    kept = 0
    for i in range(found):
        if not (hits.score[i] < floor):
            hits.score[kept] = hits.score[i]
            hits.place[kept] = hits.place[i]
            kept += 1
    rank_hits(hits, kept)
    return kept


@kernel
def _is_room(state: Shared, plan: Plan, more: int) -> bool:
    number, parts = state.number, state.parts
    n = number[PARTS]
    needed = suffix_room(parts, n, plan.most, more)
    fits = has_room(state.pool, parts, n, more)
    if fits and needed <= len(state.suffix.score) and n < len(parts.begin):
        return True
    number[NEED_POOL] = pool_end(parts, n) + rounded(more)
    number[NEED_SUFFIX] = needed
    return False


@kernel
def _write_run(state: Shared, batch: Batch, low: int, found: int, first: int, dense: bool) -> None:
    """The ranked hits behind the end of the pool."""
    end = pool_end(state.parts, state.number[PARTS])
    score, at, id = state.pool.score[end:], state.pool.at[end:], state.pool.id[end:]
    hit, place, first_id = state.hits.score, state.hits.place, state.number[FIRST_ID]
    tail, old, new = state.number[TAIL], state.tail.at, batch.at[low:]
    for i in range(found):
        score[i] = hit[i]
        id[i] = first_id + place[i]
    if dense:
        # The times are known without a look at them: each would be a cache miss.
        for i in range(found):
            at[i] = first + place[i]
    else:
        for i in range(found):
            at[i] = old[place[i]] if place[i] < tail else new[place[i] - tail]


@kernel
def start_anew(number: Ints, level: Floats, id: int) -> None:
    """No record is open; the next has this id."""
    number[TAIL] = 0
    number[BROUGHT] = 0
    number[FRONT] = 0
    number[FIRST_ID] = id
    number[EPOCH] += 1
    level[LEVEL_FRONT] = no_floor()
    level[LEVEL_REPEATS] = np.inf


@kernel
def merge_anew(state: Shared, plan: Plan, best: int) -> None:
    """After a partition has come; its best are the first `best` hits unless it is in order."""
    pool, parts, number, hits = state.pool, state.parts, state.number, state.hits
    if number[PARTS] > 1 and is_short(parts, number[PARTS], plan.span):
        order_part(pool, parts, number[PARTS] - 1, hits)
        coalesce(pool, parts, number, plan.most, plan.span, hits)
    build_suffixes(pool, parts, state.suffix, number, plan.most, hits, best)


@kernel
def place_of(state: Shared, batch: Batch, low: int, high: int, start: int) -> int:
    """The first open record that is not before `start`."""
    tail = state.number[TAIL]
    if tail and state.tail.at[tail - 1] >= start:
        return int(np.searchsorted(state.tail.at[:tail], start))
    return int(tail + np.searchsorted(batch.at[low:high], start))
