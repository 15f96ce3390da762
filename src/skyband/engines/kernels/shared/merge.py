"""Making one partition of two short ones, and the best K from each partition to the newest."""

from __future__ import annotations

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.pool import has_room, mark_newest, order_part, place_for, trim_part
from skyband.engines.kernels.shared.rank import Hits
from skyband.engines.kernels.shared.state import MERGES, PARTS, PEAK, Parts, Pool, Ranked, copy, copy_ids
from skyband.model.types import Ints


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
        begin = place_for(pool, parts, n, parts.size[n - 2] + parts.size[n - 1])
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
