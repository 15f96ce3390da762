"""Closing a partition: its skyband becomes a run, and the best K of all newer partitions are merged anew."""

from __future__ import annotations

from skyband.engines.kernels.common.order_key import no_floor, reaches
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.merge import build_suffixes, coalesce, is_short, suffix_room
from skyband.engines.kernels.shared.open import (
    Batch,
    Plan,
    open_first,
    open_size,
    scan_open,
    start_anew,
    time_at,
)
from skyband.engines.kernels.shared.pool import (
    add_part,
    drop_parts,
    has_room,
    live_entries,
    mark_last,
    mark_newest,
    order_part,
    place_for,
    rises,
    turn,
)
from skyband.engines.kernels.shared.rank import Hits, rank_hits
from skyband.engines.kernels.shared.scan import falls
from skyband.engines.kernels.shared.state import (
    COMPARISONS,
    FIRST_ID,
    INSERTIONS,
    LEVEL_SCAN,
    NEED_POOL,
    NEED_SUFFIX,
    PARTS,
    SCANS,
    TAIL,
    Shared,
    copy,
    copy_ids,
    rounded,
)


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
    inside = has_start_inside(plan, first, last)
    falling = inside and _falls(state, batch, low, high)
    found = size if falling else scan_open(state, batch, low, high, 0, plan.most, no_floor(batch.score))
    drop_parts(state.parts, number, last + 1 - plan.longest)
    if not _is_room(state, plan, found):
        return False
    number[SCANS] += 1
    best = 0
    if falling:
        _write_falling(state, batch, low, high, first, last)
    else:
        best = _write_hits(state, plan, batch, low, found, inside, first, last, size)
    start_anew(number, state.level, number[FIRST_ID] + size)
    merge_anew(state, plan, best)
    return True


@kernel
def _falls(state: Shared, batch: Batch, low: int, high: int) -> bool:
    """Each open record is worse than the one before: all are in the skyband, and as they came they are ranked."""
    tail = state.number[TAIL]
    old, new = state.tail.score[:tail], batch.score[low:high]
    if tail and high > low and not old[tail - 1] > new[0]:
        return False
    return falls(new) and falls(old)


@kernel
def _write_falling(state: Shared, batch: Batch, low: int, high: int, first: int, last: int) -> None:
    number, pool, tail = state.number, state.pool, state.number[TAIL]
    size = open_size(state, low, high)
    begin = place_for(pool, state.parts, number[PARTS], size)
    score, at, id = pool.score[begin : begin + size], pool.at[begin : begin + size], pool.id[begin : begin + size]
    copy(state.tail.score, score[:tail])
    copy_ids(state.tail.at, at[:tail])
    copy(batch.score[low:high], score[tail:])
    copy_ids(batch.at[low:high], at[tail:])
    first_id = number[FIRST_ID]
    for i in range(size):
        id[i] = first_id + i
    mark_last(pool, begin, size)
    add_part(state, begin, size, True, first, last, size)
    number[COMPARISONS] += size
    number[INSERTIONS] += size


@kernel
def _write_hits(
    state: Shared,
    plan: Plan,
    batch: Batch,
    low: int,
    found: int,
    inside: bool,
    first: int,
    last: int,
    records: int,
) -> int:
    """The run of the hits; if it is left as the scan found it, its best are the first hits, ranked: how many."""
    number, hits = state.number, state.hits
    ordered, rising = not inside, False
    if ordered:
        found = min(_rank_best(hits, found, state.level[LEVEL_SCAN]), plan.most)
    elif rises(hits.score[:found]):
        turn(hits.score[:found], hits.place[:found])
        ordered, rising = True, True
    begin = place_for(state.pool, state.parts, number[PARTS], found)
    _write_run(state, batch, low, begin, found, first, plan.distinct and last - first == records - 1)
    if rising:
        mark_last(state.pool, begin, found)
    elif ordered:
        mark_newest(state.pool, begin, found)
    add_part(state, begin, found, ordered, first, last, records)
    number[INSERTIONS] += found
    if ordered:
        return 0
    best = _rank_best(hits, found, state.level[LEVEL_SCAN])
    for i in range(best):
        hits.place[i] += number[FIRST_ID]
    return best


@kernel
def _rank_best(hits: Hits, found: int, floor: float) -> int:
    """Only the hits that are not below what the floor was made of, which at least K reach, ranked; how many."""
    kept = 0
    for i in range(found):
        if reaches(hits.score[i], floor):
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
    number[NEED_POOL] = 0 if fits else live_entries(parts, n) + rounded(more)
    number[NEED_SUFFIX] = needed
    return False


@kernel
def _write_run(state: Shared, batch: Batch, low: int, begin: int, found: int, first: int, dense: bool) -> None:
    """The hits, with their times, from `begin` on."""
    score, at, id = state.pool.score[begin:], state.pool.at[begin:], state.pool.id[begin:]
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
def merge_anew(state: Shared, plan: Plan, best: int) -> None:
    """After a partition has come; its best are the first `best` hits unless it is in order."""
    pool, parts, number, hits = state.pool, state.parts, state.number, state.hits
    if number[PARTS] > 1 and is_short(parts, number[PARTS], plan.span):
        order_part(pool, parts, number[PARTS] - 1, hits)
        coalesce(pool, parts, number, plan.most, plan.span, hits)
    build_suffixes(pool, parts, state.suffix, number, plan.most, hits, best)
