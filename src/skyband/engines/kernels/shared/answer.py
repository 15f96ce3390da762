"""One report: the best of the whole partitions, of the one that its start cuts, and of the open one."""

from __future__ import annotations

from skyband.engines.kernels.common.order_key import floor_at, no_floor, passes
from skyband.engines.kernels.common.run import Output, first_at_or_after
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.open import Batch, place_of, scan_open
from skyband.engines.kernels.shared.rank import rank_hits
from skyband.engines.kernels.shared.state import (
    BLOCK,
    DIRECT,
    FIRST_ID,
    FOREVER,
    FRONT,
    NEED_OUT,
    Shared,
)
from skyband.model.types import Ints, Keys

FEW = 64


@kernel
def answer_open(state: Shared, batch: Batch, low: int, high: int, start: int, k: int, out: Output, used: int) -> int:
    """A window inside the open partition, which is too small to be closed for it."""
    place = place_of(state, batch, low, high, start)
    found = scan_open(state, batch, low, high, place, k, no_floor(batch.score))
    rank_hits(state.hits, found)
    found = min(found, k)
    for i in range(found):
        out.score[used + i] = state.hits.score[i]
        out.id[used + i] = state.number[FIRST_ID] + state.hits.place[i]
    state.number[DIRECT] += 1
    return used + found


@kernel
def first_part(last: Ints, n: int, start: int) -> int:
    """The oldest partition that holds a record of a window with this start."""
    if n <= FEW:
        before = 0
        for p in range(n):
            before += last[p] < start
        return before
    return first_at_or_after(last[:n], 0, start)


@kernel
def answer(
    cut: int,
    n: int,
    first: Ints,
    part_begin: Ints,
    part_size: Ints,
    suffix: Ints,
    suffix_size: Ints,
    pool_score: Keys,
    pool_at: Ints,
    pool_id: Ints,
    newest: Ints,
    whole_score: Keys,
    whole_id: Ints,
    hit_score: Keys,
    hit_id: Ints,
    front_score: Keys,
    front_id: Ints,
    number: Ints,
    start: int,
    k: int,
    opening: int,
    oldest: int,
    scores: Keys,
    ids: Ints,
    used: int,
) -> tuple[int, int]:
    """Merge the best of all whole partitions, what the partition cut by `start` has above their k-th, and the best of
    the open one, which begins at `opening`. How many (-1: there is no room), and the last start for which this would be
    the answer. Of n partitions those before `cut` are before `start`; no window starts before `oldest` any more.

    Columns are handed over one by one: to take one out of a structure costs a reference count, and there would be a
    hundred of them per report."""
    p = cut
    if p < n and first[p] < start:
        p += 1
    begin, size, good_until = 0, 0, opening
    if p < n:
        begin, size, good_until = suffix[p], min(suffix_size[p], k), first[p]
    found = 0
    if cut < p:
        # When scores fall, the best are the oldest: let the run begin behind blocks that are before every start.
        while part_size[cut] > BLOCK and newest[part_begin[cut] // BLOCK] < oldest:
            part_begin[cut] += BLOCK
            part_size[cut] -= BLOCK
        floor = floor_at(whole_score[begin + k - 1]) if size == k else no_floor(whole_score)
        found, eldest = _filter(
            pool_score,
            pool_at,
            pool_id,
            newest,
            part_begin[cut],
            part_begin[cut] + part_size[cut],
            start,
            k,
            floor,
            hit_score,
            hit_id,
        )
        good_until = min(good_until, eldest)
    needed = used + min(k, size + found + number[FRONT])
    if needed > len(ids):
        number[NEED_OUT] = needed
        return -1, 0
    _merge_three(
        whole_score,
        whole_id,
        begin,
        begin + size,
        hit_score,
        hit_id,
        found,
        front_score,
        front_id,
        number[FRONT],
        scores,
        ids,
        used,
        needed,
    )
    return needed - used, good_until


@kernel
def _filter(
    score: Keys,
    at: Ints,
    id: Ints,
    newest: Ints,
    begin: int,
    end: int,
    start: int,
    k: int,
    floor: float,
    hit: Keys,
    hit_id: Ints,
) -> tuple[int, int]:
    """The best k of a run that are not before `start`, while they are above the floor. How many, and the oldest time
    among them (and perhaps some more)."""
    found = 0
    oldest = FOREVER
    for low in range(begin, end, BLOCK):
        # A look at the scores of a block that is too old would be a cache miss for nothing.
        if newest[low // BLOCK] < start:
            continue
        if found >= k or not passes(score[low], floor):
            break
        stop = low
        for i in range(low, min(low + BLOCK, end)):
            stop += passes(score[i], floor)
        # Written whether it is in the window or not: a branch would be guessed wrong.
        for i in range(low, stop):
            hit[found] = score[i]
            hit_id[found] = id[i]
            inside = at[i] >= start
            oldest = min(oldest, at[i] if inside else FOREVER)
            found += inside
    return min(found, k), oldest


@kernel
def _merge_three(
    whole_score: Keys,
    whole_id: Ints,
    i: int,
    n: int,
    old_score: Keys,
    old_id: Ints,
    m: int,
    new_score: Keys,
    new_id: Ints,
    r: int,
    scores: Keys,
    ids: Ints,
    o: int,
    stop: int,
) -> None:
    """The best of three runs into scores[o:stop]; the first, from i to n, usually gives most. Ids tell who wins a
    tie."""
    a, b = 0, 0
    while o < stop and (a < m or b < r):
        if b == r or (a < m and old_score[a] > new_score[b]):
            score, id = old_score[a], old_id[a]
            a += 1
        else:
            score, id = new_score[b], new_id[b]
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
