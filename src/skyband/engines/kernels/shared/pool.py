"""Runs of closed partitions: where they lie in the pool, how they are ordered, trimmed and forgotten."""

from __future__ import annotations

from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.rank import Hits, rank_hits
from skyband.engines.kernels.shared.state import BLOCK, PARTITIONS, PARTS, Parts, Pool, Shared, rounded
from skyband.model.types import Ints, Keys


@kernel
def place_for(pool: Pool, parts: Parts, n: int, more: int) -> int:
    """Where a run of so many may begin: behind the newest, or in front of the oldest. -1 if nowhere."""
    room, more = len(pool.score), rounded(more)
    if n == 0:
        return 0 if more <= room else -1
    oldest, end = parts.begin[0], rounded(parts.begin[n - 1] + parts.size[n - 1])
    if parts.begin[n - 1] < oldest:
        return int(end) if end + more <= oldest else -1
    if end + more <= room:
        return int(end)
    return 0 if more <= oldest else -1


@kernel
def live_entries(parts: Parts, n: int) -> int:
    held = 0
    for p in range(n):
        held += rounded(parts.size[p])
    return held


@kernel
def has_room(pool: Pool, parts: Parts, n: int, more: int) -> bool:
    """Whether a run of so many fits, if need be after the others have been moved together."""
    if place_for(pool, parts, n, more) >= 0:
        return True
    wraps = n > 0 and parts.begin[n - 1] < parts.begin[0]
    if wraps or 4 * (live_entries(parts, n) + rounded(more)) > 3 * len(pool.score):
        return False
    move_runs(pool, parts, n, pool)
    return place_for(pool, parts, n, more) >= 0


@kernel
def move_runs(pool: Pool, parts: Parts, n: int, target: Pool) -> None:
    """Move the runs to the beginning of `target`: another pool, or the same one if it does not wrap."""
    end = 0
    for p in range(n):
        begin, size = parts.begin[p], parts.size[p]
        for i in range(size):
            target.score[end + i] = pool.score[begin + i]
            target.at[end + i] = pool.at[begin + i]
            target.id[end + i] = pool.id[begin + i]
        for b in range(rounded(size) // BLOCK):
            target.newest[end // BLOCK + b] = pool.newest[begin // BLOCK + b]
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
def mark_last(pool: Pool, begin: int, size: int) -> None:
    """As `mark_newest`, for a run in which times do not fall."""
    for low in range(0, size, BLOCK):
        pool.newest[(begin + low) // BLOCK] = pool.at[begin + min(low + BLOCK, size) - 1]


@kernel
def add_part(state: Shared, begin: int, size: int, ordered: bool, first: int, last: int, records: int) -> None:
    """Put a run that was written into the pool into the table."""
    parts, n = state.parts, state.number[PARTS]
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
def rises(score: Keys) -> bool:
    """Strictly: of equal scores the newer has to stay in front."""
    i = 1
    while i < len(score) and score[i] > score[i - 1]:
        i += 1
    return i >= len(score)


@kernel
def turn(score: Keys, place: Ints) -> None:
    n = len(score)
    for i in range(n // 2):
        score[i], score[n - 1 - i] = score[n - 1 - i], score[i]
        place[i], place[n - 1 - i] = place[n - 1 - i], place[i]


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
def _count_above(score: Keys, begin: int, size: int, floor: float) -> int:
    """How many of score[begin:begin + size], which fall, are above the floor."""
    low, high = begin, begin + size
    while low < high:
        middle = (low + high) // 2
        if score[middle] > floor:
            low = middle + 1
        else:
            high = middle
    return int(low - begin)
