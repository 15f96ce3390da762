"""Shared: partitions for a whole family of queries, of which only the cut ones are looked into.

**Idea.** The stream is cut into partitions, an eighth of the longest window or less. When one closes, a single scan
from its newest record back finds its K-skyband (what fewer than K newer records of it outrank), while it is still in
the cache; and the best K from every partition to the newest are merged once for all queries. A report copies the best k
of the whole partitions and puts in what the partition cut by its start, and the open one, have above their k-th.

**Guarantee.** Exact. What is kept depends on stream and queries alone: a record stays while fewer than K better ones
share its pane or came later (for one query the minimal set of mtops-cikm11; K is the largest k of the family).

**Cost.** A record costs one lane of a comparison unless it enters a skyband; K (1 + ln(P / K)) records of a partition
of P do when scores come in random order, all of them when scores fall: then they are copied, O(log P) each at worst.
A report costs what copying its answer costs, or nothing while the query's last answer stands: then both share entries.
Space: the candidates, a suffix run of K per partition, and the open partition.

**Source.** None of the papers: the sharing of mtops-cikm11 and the partitions of sap-tkde17, see
docs/design/0002-shared.md.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = Shared(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> [answers.score[answers[i]].tolist() for i in range(5)]
[[5.0], [9.0], [9.0], [9.0], [7.0]]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.engines.complete.checks import check_shared
from skyband.engines.kernels.common.order_key import no_floor
from skyband.engines.kernels.common.run import Output
from skyband.engines.kernels.shared import state as numbers
from skyband.engines.kernels.shared.feed import advance_shared, expire_shared
from skyband.engines.kernels.shared.kept import gathered, rebuild_shared, wanted
from skyband.engines.kernels.shared.open import Batch, Plan
from skyband.engines.kernels.shared.pool import move_runs
from skyband.engines.kernels.shared.rank import Hits
from skyband.engines.kernels.shared.scan import LANE
from skyband.engines.kernels.shared.state import BLOCK, Parts, Pool, Ranked, Shared as State, Tail, rounded
from skyband.model import Answers, DueReports, Ints, MetaQuery, Records

PARTITIONS = 8
"""The longest window of a few queries holds about so many. With fewer, more is open or cut when a report comes; with
more, more records enter skybands. Many queries have many reports: they get twice as many."""
MANY = 8
"""Queries that are many."""
LEAST = 1024
"""Records in a partition, at least; and four times K. Where queries are many, a quarter and twice: of records that were
pruned before, 1,024 may be longer than a window, and what is open is looked through for every window inside it."""
CAP = 2**20
"""Records in a partition, at most, unless K is above it."""
GRIDS = 16
"""Distinct grids of window starts that are told apart; with more a start is taken to be everywhere."""
COUNTED = {
    "comparisons": numbers.COMPARISONS,
    "insertions": numbers.INSERTIONS,
    "partitions": numbers.PARTITIONS,
    "scans": numbers.SCANS,
    "merges": numbers.MERGES,
    "repeats": numbers.REPEATS,
    "direct": numbers.DIRECT,
    "candidates_peak": numbers.PEAK,
}


@register(
    "shared",
    Capabilities(
        "partitions that a whole family shares, the skyband of each, and the best of all newer ones",
        "ours",
        priority=1,
        integer_keys=True,
    ),
)
class Shared(CandidateEngine):
    def __init__(self, meta: MetaQuery, partitions: int = 0, least: int = LEAST) -> None:
        super().__init__(meta)
        self._plan = _plan(meta, partitions, least)
        self._entries = 64
        self.clear()

    def clear(self) -> None:
        self._kept: Candidates | None = None
        self._state = _empty(self.meta, self.key)

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        self._kept = None
        batch = Batch(records.at, records.score)
        due = (due_reports.start, due_reports.end, due_reports.k, due_reports.query)
        reports = len(due_reports)
        out = Output(_ints(self._entries), np.empty(self._entries, self.key), _ints(reports), _ints(reports))
        state = self._reserve(len(records))
        state.number[numbers.NEXT] = -1
        while not advance_shared(batch, self.fed, *due, self._plan, state, out):
            out = _longer_output(out, int(state.number[numbers.USED]), int(state.number[numbers.NEED_OUT]))
            state = self._reserve(len(records))
        used = int(state.number[numbers.USED])
        self._entries = used + used // 8 + 64
        self._store_tail(records)
        if self._has_expired(due_reports.until + 1 - self._plan.longest):
            expire_shared(self._state, self._plan, due_reports.until)
        self._clock(records, due_reports)
        return Answers(out.begin, out.size, out.id[:used], out.score[:used])

    def kept(self) -> Candidates:
        if self._kept is None:
            nothing = Batch(_ints(0), np.empty(0, self.key))
            score, at, id = gathered(self._reserve(0), self._plan, nothing, self._oldest())
            held = Candidates.sorted(id, at, score)
            keep = wanted(held.score, held.at, self._plan)
            self._kept = Candidates(held.id[keep], held.at[keep], held.score[keep])
        return self._kept

    def build(self, kept: Candidates) -> None:
        self.clear()
        parts = len(kept) // self._plan.least + self.meta.longest // self._plan.span + 2
        self._state = self._state._replace(parts=Parts(*(_ints(parts) for _ in Parts._fields)))
        self._state.number[numbers.NEED_POOL] = len(kept) + parts * numbers.BLOCK
        self._state.number[numbers.NEED_SUFFIX] = min(parts * self.meta.most, parts * len(kept))
        state = self._reserve(len(kept))
        rebuild_shared(state, self._plan, np.array(kept.score), np.array(kept.at), np.array(kept.id))

    def check(self) -> None:
        super().check()
        check_shared(self._state, self._plan.most)

    @property
    def counters(self) -> Counters:
        number, kept = self._state.number, len(self.kept())
        number[numbers.PEAK] = max(number[numbers.PEAK], kept)
        counted = {name: int(number[place]) for name, place in COUNTED.items()}
        return {"records": self.taken, **counted, "candidates": kept}

    def recount(self, counters: Counters) -> None:
        for name, place in COUNTED.items():
            self._state.number[place] = counters.get(name, 0)

    def _reserve(self, records: int) -> State:
        """The structure with room for what the kernel said it needs, and for an open partition with `records` more."""
        state, number, most = self._state, self._state.number, self._plan.most
        if number[numbers.NEED_POOL]:
            state = state._replace(pool=_wider_pool(state))
            number[numbers.NEED_POOL] = 0
        if number[numbers.PARTS] == len(state.parts.begin):
            state = state._replace(parts=Parts(*(_longer(column, 2 * len(column) + 64) for column in state.parts)))
        suffix = int(number[numbers.NEED_SUFFIX])
        if suffix > len(state.suffix.score):
            room = suffix + suffix // 2
            state = state._replace(suffix=Ranked(np.empty(room, self.key), _ints(room)))
        largest = min(int(number[numbers.TAIL]) + records, self._plan.cap)
        if self.meta.kind == "rows":
            largest = min(largest, max(self._plan.span, self._plan.least))
        if 2 * min(most, largest) > len(state.front.score):
            room = 2 * min(most, largest)
            state = state._replace(
                front=Ranked(*(_longer(column, room) for column in state.front)),
                recent=Ranked(*(_longer(column, room) for column in state.recent)),
            )
        if largest // BLOCK > len(state.peak):
            state = state._replace(peak=_longer(state.peak, largest // BLOCK))
        scratch = max(largest, len(state.pool.score)) + LANE
        if scratch > len(state.hits.score):
            state = state._replace(hits=Hits(np.empty(scratch, self.key), _ints(scratch)))
        self._state = state
        return state

    def _store_tail(self, records: Records) -> None:
        """Keep those of the open partition."""
        tail, number = self._state.tail, self._state.number
        if number[numbers.CLOSING] < 0:
            return
        held, low = int(number[numbers.TAIL]), int(number[numbers.LOW])
        total = held + len(records) - low
        if total > len(tail.score):
            tail = Tail(*(_longer(column, max(total, min(2 * held, self._plan.cap))) for column in tail))
            self._state = self._state._replace(tail=tail)
        tail.score[held:total] = records.score[low:]
        tail.at[held:total] = records.at[low:]
        number[numbers.TAIL] = total

    def _has_expired(self, oldest: int) -> bool:
        """The oldest partition, or all of the open one, is before every start that can still be asked for."""
        number, held = self._state.number, int(self._state.number[numbers.TAIL])
        parts_expired = number[numbers.PARTS] and self._state.parts.last[0] < oldest
        return bool(parts_expired or (held and self._state.tail.at[held - 1] < oldest))

    def _oldest(self) -> int:
        """The first start of a window that is not reported yet."""
        meta, after = self.meta, self.until + 1
        end = after + (meta.phase - after) % meta.period
        return int((end - meta.width).min())


def _plan(meta: MetaQuery, partitions: int, least: int) -> Plan:
    """How partitions are cut."""
    partitions = partitions or (PARTITIONS if len(meta) < MANY else 2 * PARTITIONS)
    span = max(meta.longest // partitions, 1)
    if len(meta) >= MANY and meta.shortest >= span:
        # Short enough for a whole one to be in every window: then the open one begins with a floor.
        span = max(min(span, meta.shortest // 3), 1)
    enough = max(4 * meta.most, least) if len(meta) < MANY else max(2 * meta.most, least // 4)
    grids = np.unique(np.stack((meta.period, (meta.phase - meta.width) % meta.period)), axis=1)
    if grids.shape[1] > GRIDS:
        grids = grids[:, :0]
    period, offset = np.ascontiguousarray(grids[0]), np.ascontiguousarray(grids[1])
    return Plan(
        most=meta.most,
        longest=meta.longest,
        shortest=meta.shortest,
        span=span,
        least=enough,
        cap=max(CAP, enough),
        near=max(span // 8, 1),
        distinct=meta.kind == "rows",
        period=period,
        offset=offset,
    )


def _empty(meta: MetaQuery, key: np.dtype[Any]) -> State:
    queries = int(meta.query.max()) + 1
    memory = np.zeros((numbers.LASTS, queries), np.int64)
    memory[numbers.LAST_START] = -numbers.FOREVER
    memory[numbers.LAST_EPOCH] = -1
    return State(
        Pool(np.empty(0, key), _ints(0), _ints(0), _ints(0)),
        Parts(*(_ints(0) for _ in Parts._fields)),
        Ranked(np.empty(0, key), _ints(0)),
        Ranked(np.empty(0, key), _ints(0)),
        Ranked(np.empty(0, key), _ints(0)),
        np.empty(0, key),
        Tail(np.empty(0, key), _ints(0)),
        Hits(np.empty(0, key), _ints(0)),
        memory,
        np.empty(queries, key),
        np.full(numbers.LEVELS, no_floor(np.empty(0, key))),
        np.zeros(numbers.NUMBERS, np.int64),
    )


def _wider_pool(state: State) -> Pool:
    """The runs moved together; in a longer pool, unless most of this one is free."""
    needed, room = int(state.number[numbers.NEED_POOL]), len(state.pool.score)
    if 4 * needed > 3 * room:
        room = rounded(needed + needed // 2)
    pool = Pool(np.empty(room, state.pool.score.dtype), _ints(room), _ints(room), _ints(room // BLOCK))
    move_runs(state.pool, state.parts, int(state.number[numbers.PARTS]), pool)
    return pool


def _longer(column: np.ndarray, n: int) -> np.ndarray:
    wider = np.empty(n, column.dtype)
    wider[: len(column)] = column
    return wider


def _longer_output(out: Output, used: int, needed: int) -> Output:
    if needed <= len(out.id):
        return out
    size = max(needed, 2 * used)
    return Output(_longer(out.id[:used], size), _longer(out.score[:used], size), out.begin, out.size)


def _ints(n: int) -> Ints:
    return np.empty(n, np.int64)
