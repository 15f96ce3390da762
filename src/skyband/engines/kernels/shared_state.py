"""Closed partitions: the ranked skyband of each, and the best K from each partition to the newest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared_scan import Hits
from skyband.model.arrays import Floats, Ints

FOREVER = 2**62
BLOCK = 64
(
    PARTS,
    FRONT,
    TAIL,
    BROUGHT,
    FIRST_ID,
    EPOCH,
    COMPARISONS,
    INSERTIONS,
    PARTITIONS,
    SCANS,
    MERGES,
    REPEATS,
    DIRECT,
    PEAK,
) = range(14)
NUMBERS = 14


class Pool(NamedTuple):
    """Runs of all partitions, each beginning at a multiple of 64; `newest` is the latest time in each block of 64."""

    score: Floats
    at: Ints
    id: Ints
    newest: Ints


class Parts(NamedTuple):
    """Closed partitions, oldest first: where the run is, first and last time, records it stands for, and where the
    best K from this partition on are."""

    begin: Ints
    size: Ints
    first: Ints
    last: Ints
    records: Ints
    suffix: Ints
    suffix_size: Ints


class Ranked(NamedTuple):
    """Best first."""

    score: Floats
    id: Ints


class Tail(NamedTuple):
    """Records of the open partition from earlier calls, in feed order."""

    score: Floats
    at: Ints


class Memory(NamedTuple):
    """The last report of each query: entries, k, start, the first start at which it would differ, its lowest score, and
    the epoch in which all that holds."""

    begin: Ints
    size: Ints
    k: Ints
    start: Ints
    good_until: Ints
    floor: Floats
    epoch: Ints


class Shared(NamedTuple):
    pool: Pool
    parts: Parts
    suffix: Ranked
    front: Ranked
    tail: Tail
    hits: Hits
    memory: Memory
    level: Floats
    number: Ints


@kernel
def merge_ranked(main: Ranked, n: int, other: Ranked, m: int, k: int, out: Ranked) -> int:
    """The best k of two runs, `other` being the one that gives fewer."""
    stop = min(k, n + m)
    i = 0
    o = 0
    for j in range(m):
        score, id = other.score[j], other.id[j]
        while i < n and o < stop and (main.score[i] > score or (main.score[i] == score and main.id[i] > id)):
            out.score[o] = main.score[i]
            out.id[o] = main.id[i]
            i += 1
            o += 1
        if o == stop:
            return o
        out.score[o] = score
        out.id[o] = id
        o += 1
    rest = stop - o
    copy(main.score[i : i + rest], out.score[o : o + rest])
    copy_ids(main.id[i : i + rest], out.id[o : o + rest])
    return stop


@kernel
def copy(source: Floats, target: Floats) -> None:
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def copy_ids(source: Ints, target: Ints) -> None:
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def ranked(run: Ranked, begin: int, size: int) -> Ranked:
    return Ranked(run.score[begin : begin + size], run.id[begin : begin + size])


@kernel
def rounded(n: int) -> int:
    return (n + BLOCK - 1) // BLOCK * BLOCK


@kernel
def with_hits(state: Shared, needed: int) -> Shared:
    """Room for so many hits; what is in there is lost."""
    if len(state.hits.score) >= needed:
        return state
    size = max(needed, 2 * len(state.hits.score))
    hits = Hits(np.empty(size), np.empty(size, np.int64))
    return Shared(
        state.pool,
        state.parts,
        state.suffix,
        state.front,
        state.tail,
        hits,
        state.memory,
        state.level,
        state.number,
    )


@kernel
def _with_pool(state: Shared, pool: Pool, parts: Parts) -> Shared:
    return Shared(
        pool, parts, state.suffix, state.front, state.tail, state.hits, state.memory, state.level, state.number
    )


@kernel
def pool_end(state: Shared) -> int:
    last = state.number[PARTS] - 1
    return 0 if last < 0 else rounded(state.parts.begin[last] + state.parts.size[last])


@kernel
def with_room(state: Shared, more: int) -> Shared:
    """Room for a run of so many at the end of the pool and for one more partition."""
    parts, n = state.parts, state.number[PARTS]
    if n == len(parts.begin):
        parts = Parts(
            longer(parts.begin, n),
            longer(parts.size, n),
            longer(parts.first, n),
            longer(parts.last, n),
            longer(parts.records, n),
            longer(parts.suffix, n),
            longer(parts.suffix_size, n),
        )
    pool = state.pool
    if pool_end(state) + rounded(more) > len(pool.score):
        alive = 0
        for p in range(n):
            alive += rounded(parts.size[p])
        if 2 * (alive + rounded(more)) > len(pool.score):
            size = 2 * (alive + rounded(more)) + 16 * BLOCK
            pool = Pool(
                np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size // BLOCK, np.int64)
            )
        _compact(state.pool, parts, n, pool)
    return _with_pool(state, pool, parts)


@kernel
def longer(column: Ints, n: int) -> Ints:
    wider = np.empty(2 * n + 8, np.int64)
    wider[:n] = column[:n]
    return wider


@kernel
def _compact(source: Pool, parts: Parts, n: int, target: Pool) -> None:
    """Move the runs to the beginning; each lands where it was or before, so source and target may be the same."""
    end = 0
    for p in range(n):
        begin, size = parts.begin[p], parts.size[p]
        for i in range(size):
            target.score[end + i] = source.score[begin + i]
            target.at[end + i] = source.at[begin + i]
            target.id[end + i] = source.id[begin + i]
        for b in range(rounded(size) // BLOCK):
            target.newest[end // BLOCK + b] = source.newest[begin // BLOCK + b]
        parts.begin[p] = end
        end += rounded(size)


@kernel
def mark_newest(pool: Pool, begin: int, size: int) -> None:
    for low in range(0, size, BLOCK):
        latest = pool.at[begin + low]
        for i in range(low + 1, min(low + BLOCK, size)):
            latest = max(latest, pool.at[begin + i])
        pool.newest[(begin + low) // BLOCK] = latest


@kernel
def add_part(state: Shared, size: int, first: int, last: int, records: int) -> None:
    """Put the run written behind the end of the pool into the table."""
    begin = pool_end(state)
    parts, n = state.parts, state.number[PARTS]
    mark_newest(state.pool, begin, size)
    parts.begin[n] = begin
    parts.size[n] = size
    parts.first[n] = first
    parts.last[n] = last
    parts.records[n] = records
    parts.suffix_size[n] = 0
    state.number[PARTS] = n + 1
    state.number[PARTITIONS] += 1


@kernel
def drop_parts(state: Shared, oldest: int) -> None:
    """Forget partitions that end before `oldest`, the first start that can still be asked for."""
    parts, n = state.parts, state.number[PARTS]
    gone = 0
    while gone < n and parts.last[gone] < oldest:
        gone += 1
    if gone == 0:
        return
    for column in (
        parts.begin,
        parts.size,
        parts.first,
        parts.last,
        parts.records,
        parts.suffix,
        parts.suffix_size,
    ):
        for p in range(gone, n):
            column[p - gone] = column[p]
    state.number[PARTS] = n - gone


@kernel
def coalesce(state: Shared, k: int, span: int) -> Shared:
    """Make one of the two newest partitions while the older is hardly larger and both are short: as in a binary
    counter, a record is merged a logarithmic number of times and few partitions are short."""
    while True:
        parts, n = state.parts, state.number[PARTS]
        if n < 2 or parts.records[n - 2] > 2 * parts.records[n - 1]:
            return state
        if parts.last[n - 1] - parts.first[n - 2] > span:
            return state
        state = with_room(state, parts.size[n - 2] + parts.size[n - 1])
        parts = state.parts
        size = _join(state.pool, parts, n, pool_end(state), k)
        begin = pool_end(state)
        mark_newest(state.pool, begin, size)
        parts.begin[n - 2] = begin
        parts.size[n - 2] = size
        parts.last[n - 2] = parts.last[n - 1]
        parts.records[n - 2] += parts.records[n - 1]
        state.number[PARTS] = n - 1
        state.number[MERGES] += 1


@kernel
def _join(pool: Pool, parts: Parts, n: int, end: int, k: int) -> int:
    """The runs of the two newest partitions as one, written at `end`. What K of the newer outrank is left out."""
    i, j = parts.begin[n - 2], parts.begin[n - 1]
    old, new = i + parts.size[n - 2], j + parts.size[n - 1]
    if new - j >= k:
        old = i + count_above(pool.score[i:old], pool.score[j + k - 1])
    o = end
    while i < old or j < new:
        if j == new or (i < old and pool.score[i] > pool.score[j]):
            source = i
            i += 1
        else:
            source = j
            j += 1
        pool.score[o] = pool.score[source]
        pool.at[o] = pool.at[source]
        pool.id[o] = pool.id[source]
        o += 1
    return o - end


@kernel
def count_above(score: Floats, floor: float) -> int:
    """How many of a falling array are above the floor."""
    low, high = 0, len(score)
    while low < high:
        middle = (low + high) // 2
        if score[middle] > floor:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def build_suffixes(state: Shared, k: int) -> Shared:
    """The best K from every partition to the newest, and of older runs only what is not outranked by K newer."""
    parts, n, number = state.parts, state.number[PARTS], state.number
    needed = 0
    held = 0
    for p in range(n - 1, -1, -1):
        held += parts.size[p]
        needed += min(k, held)
    suffix = state.suffix
    if needed > len(suffix.score):
        suffix = Ranked(np.empty(needed + needed // 2), np.empty(needed + needed // 2, np.int64))
    end = 0
    begin = 0
    size = 0
    held = 0
    for p in range(n - 1, -1, -1):
        newer = ranked(suffix, begin, size)
        low = parts.begin[p]
        if size >= k:
            parts.size[p] = count_above(state.pool.score[low : low + parts.size[p]], newer.score[k - 1])
        run = Ranked(state.pool.score[low : low + parts.size[p]], state.pool.id[low : low + parts.size[p]])
        held += parts.size[p]
        begin = end
        size = merge_ranked(newer, size, run, parts.size[p], k, Ranked(suffix.score[begin:], suffix.id[begin:]))
        parts.suffix[p] = begin
        parts.suffix_size[p] = size
        end += size
        number[MERGES] += 1
    number[PEAK] = max(number[PEAK], held)
    return Shared(
        state.pool, parts, suffix, state.front, state.tail, state.hits, state.memory, state.level, state.number
    )
