"""The open partition: its best K so far, ready for a report at any moment."""

from __future__ import annotations

from typing import NamedTuple

from skyband.engines.kernels.common.order_key import just_below, least, no_floor, passes
from skyband.engines.kernels.common.run import first_at_or_after
from skyband.engines.kernels.common.select import highest
from skyband.engines.kernels.jit import kernel
from skyband.engines.kernels.shared.rank import Hits, rank_hits
from skyband.engines.kernels.shared.scan import (
    FLOOR,
    LOOKED,
    Gauge,
    block_top,
    new_gauge,
    note_peaks,
    scan_back,
    scan_blocks,
)
from skyband.engines.kernels.shared.state import (
    BLOCK,
    BROUGHT,
    COMPARISONS,
    EPOCH,
    FIRST_ID,
    FRONT,
    INSERTIONS,
    LEVEL_BASE,
    LEVEL_FRONT,
    LEVEL_SCAN,
    PARTS,
    PEAKED,
    REACH,
    RECENT,
    TAIL,
    TURN,
    Ranked,
    Shared,
    rounded,
)
from skyband.model.types import Ints, Keys


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
    score: Keys


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
    level[LEVEL_BASE] = no_floor(level)
    certain = first + plan.span + plan.span // 8 - plan.shortest
    for p in range(number[PARTS]):
        if parts.first[p] >= certain:
            if parts.suffix_size[p] >= plan.most:
                number[REACH] = min(parts.first[p], first)
                level[LEVEL_BASE] = just_below(state.suffix.score[parts.suffix[p] + plan.most - 1])
            break
    level[LEVEL_FRONT] = level[LEVEL_BASE]


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
def is_complete(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> bool:
    """The next record, whenever it comes, finds the open partition long enough."""
    size = open_size(state, low, high)
    if not plan.distinct or size < plan.least:
        return False
    return time_at(state, batch, low, size - 1) + 1 - open_first(state, batch, low) >= plan.span


@kernel
def place_of(state: Shared, batch: Batch, low: int, high: int, start: int) -> int:
    """The first open record that is not before `start`."""
    tail = state.number[TAIL]
    if tail and state.tail.at[tail - 1] >= start:
        return first_at_or_after(state.tail.at[:tail], 0, start)
    return int(tail + first_at_or_after(batch.at[:high], low, start) - low)


@kernel
def start_anew(number: Ints, level: Keys, id: int) -> None:
    """No record is open; the next has this id."""
    number[TAIL] = 0
    number[PEAKED] = 0
    number[FIRST_ID] = id
    level[LEVEL_BASE] = no_floor(level)
    _empty_front(number, level)


@kernel
def _empty_front(number: Ints, level: Keys) -> None:
    """No record was brought; answers from before do not count."""
    number[BROUGHT] = 0
    number[FRONT] = 0
    number[RECENT] = 0
    number[EPOCH] += 1
    level[LEVEL_FRONT] = level[LEVEL_BASE]


@kernel
def lower(number: Ints, level: Keys, first: int) -> None:
    """A window starts later than was thought when the floor was made: look at the open records again."""
    number[REACH] = first
    level[LEVEL_BASE] = no_floor(level)
    _empty_front(number, level)


@kernel
def scan_open(state: Shared, batch: Batch, low: int, high: int, place: int, k: int, floor: float) -> int:
    """Hits among the open records from `place` on, newest first; whole blocks by their best where it is known."""
    number, tail, hits = state.number, state.number[TAIL], state.hits
    size, peaked = open_size(state, low, high), number[PEAKED]
    gauge = new_gauge(k, size - place, floor, batch.score)
    begin = rounded(place)
    if begin >= peaked:
        found = _scan_places(state, batch, low, place, size, k, gauge, 0)
    else:
        found = _scan_places(state, batch, low, peaked, size, k, gauge, 0)
        # The block in which the tail ends is in two arrays.
        new = max(begin, min(rounded(tail), peaked))
        old = max(begin, min(tail // BLOCK * BLOCK, peaked))
        if new < peaked:
            part, peak = batch.score[low + new - tail : low + peaked - tail], state.peak[new // BLOCK : peaked // BLOCK]
            found = scan_blocks(part, new, peak, k, gauge, hits, found)
        found = _scan_places(state, batch, low, old, new, k, gauge, found)
        if begin < old:
            part, peak = state.tail.score[begin:old], state.peak[begin // BLOCK : old // BLOCK]
            found = scan_blocks(part, begin, peak, k, gauge, hits, found)
        found = _scan_places(state, batch, low, place, begin, k, gauge, found)
    number[COMPARISONS] += gauge.tally[LOOKED]
    state.level[LEVEL_SCAN] = gauge.level[FLOOR]
    return found


@kernel
def _scan_places(state: Shared, batch: Batch, low: int, begin: int, end: int, k: int, gauge: Gauge, found: int) -> int:
    """Every record from place `begin` to `end`."""
    tail = state.number[TAIL]
    if end > max(begin, tail):
        first = max(begin, tail)
        found = scan_back(batch.score[low + first - tail : low + end - tail], first, k, gauge, state.hits, found)
    if begin < min(end, tail):
        found = scan_back(state.tail.score[begin : min(end, tail)], begin, k, gauge, state.hits, found)
    return found


@kernel
def bring_quickly(
    score: Keys,
    shift: int,
    size: int,
    peak: Keys,
    front_score: Keys,
    front_id: Ints,
    recent_score: Keys,
    recent_turn: Ints,
    number: Ints,
    level: Keys,
    k: int,
) -> bool:
    """Let the best K of the open partition, which has `size` records, know those since the last report, if they are few
    or none of them is among the best. Place p is at score[p + shift]."""
    place = number[BROUGHT]
    if place < number[TAIL]:
        return False
    if size - place < BLOCK:
        _insert_few(front_score, front_id, score, shift, place, size, number, level, k, recent_score, recent_turn)
    else:
        if number[PEAKED] < number[TAIL]:
            return False
        over, number[PEAKED] = note_peaks(score, shift, peak, number[PEAKED], place, size, level[LEVEL_FRONT])
        if over:
            return False
    number[COMPARISONS] += size - place
    number[BROUGHT] = size
    return True


@kernel
def bring(state: Shared, plan: Plan, batch: Batch, low: int, high: int) -> None:
    """As `bring_quickly`, whatever has come."""
    number, level, size = state.number, state.level, open_size(state, low, high)
    if number[PEAKED] < number[TAIL]:
        _peak_tail(state, batch, low, size)
    found = scan_open(state, batch, low, high, number[BROUGHT], plan.most, level[LEVEL_FRONT])
    number[BROUGHT] = size
    if found:
        rank_hits(state.hits, found)
        _merge_front(state.front, state.hits, number, level, plan.most, min(found, plan.most))
        number[INSERTIONS] += found
        _note_newcomer(state.recent.score, state.recent.id, number, state.hits.score[0])


@kernel
def _peak_tail(state: Shared, batch: Batch, low: int, size: int) -> None:
    """Note the best of the blocks that begin in the tail."""
    number, tail = state.number, state.number[TAIL]
    while number[PEAKED] < tail and number[PEAKED] + BLOCK <= size:
        begin = number[PEAKED]
        if begin + BLOCK <= tail:
            top = block_top(state.tail.score, begin)
        else:
            top = highest(state.tail.score[begin:tail])
            top = max(top, highest(batch.score[low : low + begin + BLOCK - tail]))
        state.peak[begin // BLOCK] = top
        number[PEAKED] = begin + BLOCK


@kernel
def _insert_few(
    best: Keys,
    ids: Ints,
    score: Keys,
    shift: int,
    begin: int,
    end: int,
    number: Ints,
    level: Keys,
    k: int,
    recent_score: Keys,
    recent_turn: Ints,
) -> None:
    """Insert what is above the floor from place `begin` to `end`, one by one."""
    n, floor, entered = number[FRONT], level[LEVEL_FRONT], 0
    top = least(score)
    for place in range(begin, end):
        s = score[place + shift]
        if not passes(s, floor):
            continue
        o = n if n < k else k - 1
        while o > 0 and best[o - 1] <= s:
            best[o] = best[o - 1]
            ids[o] = ids[o - 1]
            o -= 1
        best[o] = s
        ids[o] = number[FIRST_ID] + place
        n = min(n + 1, k)
        if n == k:
            floor = just_below(best[k - 1])
        top = max(top, s)
        entered += 1
    if entered:
        number[FRONT] = n
        number[INSERTIONS] += entered
        level[LEVEL_FRONT] = floor
        _note_newcomer(recent_score, recent_turn, number, top)


@kernel
def _merge_front(front: Ranked, hits: Hits, number: Ints, level: Keys, k: int, found: int) -> None:
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
def _note_newcomer(recent: Keys, turn: Ints, number: Ints, score: float) -> None:
    """A record with this score, and perhaps worse ones, came into the front. A stack, best first: fewer than K of the
    front are better than its last."""
    n = number[RECENT]
    while n and recent[n - 1] <= score:
        n -= 1
    number[TURN] += 1
    recent[n] = score
    turn[n] = number[TURN]
    number[RECENT] = n + 1


@kernel
def outdone(recent: Keys, turns: Ints, n: int, turn: int, floor: float) -> bool:
    """Whether since this turn a newcomer came that reaches the floor."""
    while n and turns[n - 1] > turn:
        n -= 1
        if recent[n] >= floor:
            return True
    return False
