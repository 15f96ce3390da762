"""Closed partitions: the ranked skyband of each, and the best K from each partition to the newest."""

from __future__ import annotations

from typing import NamedTuple

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared_scan import Hits, rank_hits
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
    LOW,
    NEXT,
    CLOSING,
    DUE,
    USED,
    NEED_POOL,
    NEED_SUFFIX,
    NEED_OUT,
    REACH,
) = range(23)
NUMBERS = 23


class Pool(NamedTuple):
    """Runs of all partitions, each beginning at a multiple of 64; `newest` is the latest time in each block of 64."""

    score: Floats
    at: Ints
    id: Ints
    newest: Ints


class Parts(NamedTuple):
    """Closed partitions, oldest first: where the run is, whether it is in order (best first, not newest first), first
    and last time, records it stands for, and where the best K from this partition on are."""

    begin: Ints
    size: Ints
    ordered: Ints
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
def pool_end(parts: Parts, n: int) -> int:
    return 0 if n == 0 else rounded(parts.begin[n - 1] + parts.size[n - 1])


@kernel
def has_room(pool: Pool, parts: Parts, n: int, more: int) -> bool:
    """Whether a run of so many fits behind the others, if need be after these have been moved together."""
    if pool_end(parts, n) + rounded(more) > len(pool.score):
        _compact(pool, parts, n)
    return pool_end(parts, n) + rounded(more) <= len(pool.score)


@kernel
def _compact(pool: Pool, parts: Parts, n: int) -> None:
    """Move the runs to the beginning of the pool."""
    end = 0
    for p in range(n):
        begin, size = parts.begin[p], parts.size[p]
        if begin > end:
            for i in range(size):
                pool.score[end + i] = pool.score[begin + i]
                pool.at[end + i] = pool.at[begin + i]
                pool.id[end + i] = pool.id[begin + i]
            for b in range(rounded(size) // BLOCK):
                pool.newest[end // BLOCK + b] = pool.newest[begin // BLOCK + b]
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
def add_part(state: Shared, size: int, ordered: bool, first: int, last: int, records: int) -> None:
    """Put the run written behind the end of the pool into the table."""
    parts, n = state.parts, state.number[PARTS]
    begin = pool_end(parts, n)
    if ordered:
        mark_newest(state.pool, begin, size)
    parts.begin[n] = begin
    parts.size[n] = size
    parts.ordered[n] = ordered
    parts.first[n] = first
    parts.last[n] = last
    parts.records[n] = records
    parts.suffix_size[n] = 0
    state.number[PARTS] = n + 1
    state.number[PARTITIONS] += 1


@kernel
def drop_parts(parts: Parts, number: Ints, oldest: int) -> None:
    """Forget partitions that end before `oldest`, the first start that can still be asked for."""
    n = number[PARTS]
    gone = 0
    while gone < n and parts.last[gone] < oldest:
        gone += 1
    if gone == 0:
        return
    for p in range(gone, n):
        parts.begin[p - gone] = parts.begin[p]
        parts.size[p - gone] = parts.size[p]
        parts.ordered[p - gone] = parts.ordered[p]
        parts.first[p - gone] = parts.first[p]
        parts.last[p - gone] = parts.last[p]
        parts.records[p - gone] = parts.records[p]
        parts.suffix[p - gone] = parts.suffix[p]
        parts.suffix_size[p - gone] = parts.suffix_size[p]
    number[PARTS] = n - gone


@kernel
def order_part(pool: Pool, parts: Parts, p: int, hits: Hits) -> None:
    """Put a run in order that is still as the scan left it, newest first."""
    if parts.ordered[p]:
        return
    begin, n = parts.begin[p], parts.size[p]
    score, at, id = pool.score[begin : begin + n], pool.at[begin : begin + n], pool.id[begin : begin + n]
    for i in range(n):
        hits.score[i] = score[i]
        hits.place[i] = i
    rank_hits(hits, n)
    old_at, old_id = at.copy(), id.copy()
    for i in range(n):
        score[i] = hits.score[i]
        at[i] = old_at[hits.place[i]]
        id[i] = old_id[hits.place[i]]
    mark_newest(pool, begin, n)
    parts.ordered[p] = True


@kernel
def rises(score: Floats) -> bool:
    """Strictly: of equal scores the newer has to stay in front."""
    i = 1
    while i < len(score) and score[i] > score[i - 1]:
        i += 1
    return i >= len(score)


@kernel
def turn(score: Floats, place: Ints) -> None:
    n = len(score)
    for i in range(n // 2):
        score[i], score[n - 1 - i] = score[n - 1 - i], score[i]
        place[i], place[n - 1 - i] = place[n - 1 - i], place[i]


@kernel
def skip_dead(pool: Pool, parts: Parts, p: int, oldest: int) -> None:
    """Let a run begin behind blocks that are before every start: when scores fall, the best are the oldest."""
    while parts.size[p] > BLOCK and pool.newest[parts.begin[p] // BLOCK] < oldest:
        parts.begin[p] += BLOCK
        parts.size[p] -= BLOCK


@kernel
def trim_part(pool: Pool, parts: Parts, p: int, floor: float) -> None:
    """Leave out what is not above the floor, which K newer records reach."""
    if parts.ordered[p]:
        parts.size[p] = _count_above(pool.score, parts.begin[p], parts.size[p], floor)
        return
    begin, n = parts.begin[p], parts.size[p]
    score, at, id = pool.score[begin : begin + n], pool.at[begin : begin + n], pool.id[begin : begin + n]
    kept = 0
    for i in range(n):
        kept += score[i] > floor
    if kept == n:
        return
    kept = 0
    for i in range(n):
        if score[i] > floor:
            score[kept] = score[i]
            at[kept] = at[i]
            id[kept] = id[i]
            kept += 1
    parts.size[p] = kept


@kernel
def is_short(parts: Parts, n: int, span: int) -> bool:
    """The two newest partitions are to be one."""
    return bool(parts.records[n - 2] <= 2 * parts.records[n - 1] and parts.last[n - 1] - parts.first[n - 2] <= span)


@kernel
def coalesce(pool: Pool, parts: Parts, number: Ints, k: int, span: int, hits: Hits) -> None:
    """Make one of the two newest partitions while the older is hardly larger and both are short: as in a binary
    counter, a record is merged a logarithmic number of times and few partitions are short."""
    while number[PARTS] > 1:
        n = number[PARTS]
        if not is_short(parts, n, span):
            return
        if not has_room(pool, parts, n, parts.size[n - 2] + parts.size[n - 1]):
            return
        order_part(pool, parts, n - 1, hits)
        if parts.size[n - 1] >= k:
            trim_part(pool, parts, n - 2, pool.score[parts.begin[n - 1] + k - 1])
        order_part(pool, parts, n - 2, hits)
        begin = pool_end(parts, n)
        size = _join(pool, parts, n, begin)
        mark_newest(pool, begin, size)
        parts.begin[n - 2] = begin
        parts.size[n - 2] = size
        parts.last[n - 2] = parts.last[n - 1]
        parts.records[n - 2] += parts.records[n - 1]
        number[PARTS] = n - 1
        number[MERGES] += 1


@kernel
def _join(pool: Pool, parts: Parts, n: int, end: int) -> int:
    """The runs of the two newest partitions as one, written at `end`."""
    i, j = parts.begin[n - 2], parts.begin[n - 1]
    old, new = i + parts.size[n - 2], j + parts.size[n - 1]
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
    return int(o - end)


@kernel
def _count_above(score: Floats, begin: int, size: int, floor: float) -> int:
    """How many of score[begin:begin + size], which fall, are above the floor."""
    low, high = begin, begin + size
    while low < high:
        middle = (low + high) // 2
        if score[middle] > floor:
            low = middle + 1
        else:
            high = middle
    return int(low - begin)


@kernel
def suffix_room(parts: Parts, n: int, k: int, more: int) -> int:
    """Entries that the suffix runs may need once a run of `more` is added."""
    held = more
    needed = min(k, held)
    for p in range(n - 1, -1, -1):
        held += parts.size[p]
        needed += min(k, held)
    return int(needed)


@kernel
def build_suffixes(pool: Pool, parts: Parts, suffix: Ranked, number: Ints, k: int, hits: Hits, best: int) -> None:
    """The best K from every partition to the newest, and of older runs only what is not outranked by K newer. If the
    newest run is not in order, its best are the first `best` hits, with their ids."""
    score, id = suffix.score, suffix.id
    begin, size, end = 0, 0, 0
    held = 0
    newest = number[PARTS] - 1
    for p in range(newest, -1, -1):
        if p == newest and not parts.ordered[p]:
            size = min(best, k)
            for i in range(size):
                score[i] = hits.score[i]
                id[i] = hits.place[i]
            end = size
        else:
            if size >= k:
                trim_part(pool, parts, p, score[begin + k - 1])
            if not parts.ordered[p]:
                order_part(pool, parts, p, hits)
            if parts.size[p]:
                stop = end + min(k, size + parts.size[p])
                _merge_suffix(suffix, begin, size, pool, parts.begin[p], parts.size[p], end, stop)
                begin, size, end = end, stop - end, stop
                number[MERGES] += 1
        held += parts.size[p]
        parts.suffix[p] = begin
        parts.suffix_size[p] = size
    number[PEAK] = max(number[PEAK], held)


@kernel
def _merge_suffix(suffix: Ranked, i: int, n: int, pool: Pool, j: int, m: int, o: int, stop: int) -> None:
    """Merge the n entries of `suffix` from i on with a run of m older ones into `suffix` from o to stop."""
    score, id, run, run_id = suffix.score, suffix.id, pool.score, pool.id
    n, m = i + n, j + m
    while o < stop and j < m:
        older = run[j]
        while i < n and o < stop and score[i] >= older:
            score[o] = score[i]
            id[o] = id[i]
            i += 1
            o += 1
        if o < stop:
            score[o] = older
            id[o] = run_id[j]
            j += 1
            o += 1
    copy(score[i : i + stop - o], score[o:stop])
    copy_ids(id[i : i + stop - o], id[o:stop])
