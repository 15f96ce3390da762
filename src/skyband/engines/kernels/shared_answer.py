"""One report: the best of the whole partitions, of the one that its start cuts, and of the open one."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.run import Output
from skyband.engines.kernels.shared_open import Batch, place_of, scan_open
from skyband.engines.kernels.shared_pool import order_part, skip_dead
from skyband.engines.kernels.shared_rank import Hits, rank_hits
from skyband.engines.kernels.shared_scan import no_floor
from skyband.engines.kernels.shared_state import (
    BLOCK,
    DIRECT,
    FIRST_ID,
    FOREVER,
    FRONT,
    NEED_OUT,
    PARTS,
    Pool,
    Ranked,
    Shared,
)
from skyband.model.arrays import Floats, Ints

FEW = 64


@kernel
def answer_open(state: Shared, batch: Batch, low: int, high: int, start: int, k: int, out: Output, used: int) -> int:
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
    if n <= FEW:
        before = 0
        for p in range(n):
            before += last[p] < start
        return before
    return int(np.searchsorted(last[:n], start))


@kernel
def answer(state: Shared, start: int, k: int, newest: int, oldest: int, out: Output, used: int) -> tuple[int, int]:
    """Merge the best of all whole partitions, what the partition cut by `start` has above their k-th, and the best of
    the open one, which begins at `newest`. How many (-1: there is no room), and the last start for which this would be
    the answer. No window starts before `oldest` any more."""
    parts, n, suffix, hits = state.parts, state.number[PARTS], state.suffix, state.hits
    p = _first_part(parts.last, n, start)
    cut = p
    if p < n and parts.first[p] < start:
        p += 1
    begin, size, good_until = 0, 0, newest
    if p < n:
        begin, size, good_until = parts.suffix[p], min(parts.suffix_size[p], k), parts.first[p]
    found = 0
    if cut < p:
        if not parts.ordered[cut]:
            order_part(state.pool, parts, cut, hits)
        skip_dead(state.pool, parts, cut, oldest)
        floor = suffix.score[begin + k - 1] if size == k else no_floor()
        found, eldest = _filter(state.pool, parts.begin[cut], parts.size[cut], start, k, floor, hits)
        good_until = min(good_until, eldest)
    front = state.number[FRONT]
    needed = used + min(k, size + found + front)
    if needed > len(out.id):
        state.number[NEED_OUT] = needed
        return -1, 0
    _merge_three(suffix, begin, size, hits, found, state.front, front, out.score, out.id, used, needed)
    return needed - used, good_until


@kernel
def _filter(pool: Pool, begin: int, size: int, start: int, k: int, floor: float, hits: Hits) -> tuple[int, int]:
    """The best k of a partition's run that are not before `start`, while they are above the floor, into `hits`, with
    their ids. How many, and the oldest time among them (and perhaps some more)."""
    score, at, id, newest = pool.score, pool.at, pool.id, pool.newest
    hit, place = hits.score, hits.place
    end = begin + size
    found = 0
    oldest = FOREVER
    for low in range(begin, end, BLOCK):
        # A look at the scores of a block that is too old would be a cache miss for nothing.
        if newest[low // BLOCK] < start:
            continue
        if found >= k or score[low] <= floor:
            break
        stop = low
        for i in range(low, min(low + BLOCK, end)):
            stop += not (score[i] <= floor)
        # Written whether it is in the window or not: a branch would be guessed wrong.
        for i in range(low, stop):
            hit[found] = score[i]
            place[found] = id[i]
            inside = at[i] >= start
            oldest = min(oldest, at[i] if inside else FOREVER)
            found += inside
    return min(found, k), oldest


@kernel
def _merge_three(
    whole: Ranked,
    i: int,
    n: int,
    older: Hits,
    m: int,
    newer: Ranked,
    r: int,
    scores: Floats,
    ids: Ints,
    o: int,
    stop: int,
) -> None:
    """The best of three runs into scores[o:stop]; n of `whole` from i on usually give most. Ids tell who wins a tie."""
    whole_score, whole_id, old_score, new_score = whole.score, whole.id, older.score, newer.score
    n += i
    a, b = 0, 0
    while o < stop and (a < m or b < r):
        if b == r or (a < m and old_score[a] > new_score[b]):
            score, id = old_score[a], older.place[a]
            a += 1
        else:
            score, id = new_score[b], newer.id[b]
            b += 1
        while i < n and o < stop and (whole_score[i] > score or (whole_score[i] == score and whole_id[i] > id)):
            scores[o] = whole_score[i]
            ids[o] = whole_id[i]
            i += 1
            o += 1
        if o < stop:
            scores[o] = score
            ids[o] = id
            o += 1
    for j in range(stop - o):
        scores[o + j] = whole_score[i + j]
        ids[o + j] = whole_id[i + j]
