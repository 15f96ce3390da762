"""Stage 2 for a stream: one family (and bucket) per state key, its rows in RocksDB, one timer for its next report."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import Row

from skyband.engines.codec import sealed, table_bytes
from skyband.planner import PlannedFamily
from skyband.runtime.lateness import Lateness
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import Positions
from skyband.runtime.reports import Schedule
from skyband.runtime.state import json_bytes
from skyband.spark.event_time import from_watermark, to_timer
from skyband.spark.stages.slices import PartitionSlice, feed, one_table
from skyband.spark.stages.spill import ANSWERS_DDL, Outgoing
from skyband.spark.stages.state_variables import State
from skyband.spark.stages.stream_fates import StreamFates, of_stream
from skyband.spark.stages.stream_reports import REPORTS, StreamReports, counted, packed_stretches
from skyband.spark.state.gone import unknown_state
from skyband.spark.state.joining import Joining
from skyband.spark.state.keys import LATE
from skyband.spark.state.store import KIND, FamilyStateStore, left, read_clock, read_stored
from skyband.spark.state.warm import WARM

MAINTAINED_DDL = f"""{ANSWERS_DDL}, late BIGINT, dropped BIGINT, candidates BIGINT, precision_ppm BIGINT,
reports ARRAY<STRUCT<query: STRING, reports: BIGINT>>,
fates ARRAY<STRUCT<query: STRING, bad: BIGINT, future: BIGINT, dropped: BIGINT, filtered: BIGINT, unranked: BIGINT,
ranked: BIGINT>>"""
"""What this stage sends: answers, or numbers for `observe()`."""


@lru_cache(maxsize=4)
def process_of(made_of: bytes) -> ProcessKey:
    """For the jobs that this worker has served lately: what is the same in every task is made once."""
    return ProcessKey(blake2b(made_of).hexdigest(), *pickle.loads(made_of))


class ProcessKey:
    """One call for one key: reports what the watermark has reached, then takes in what arrived, so that late rows meet
    only windows still open."""

    def __init__(self, job: str, families: dict[str, PlannedFamily], joining: Joining, lines: bool) -> None:
        self._job, self.families = job, families
        self._lines = lines
        self._due, self._fates = StreamReports(families.values()), StreamFates(families.values())
        self.joining = joining
        self.lateness = Lateness.of(list({each.family.fingerprint: each for each in families.values()}.values()))

    def __call__(
        self, key: str, slices: list[PartitionSlice], milliseconds: int, state: State, outgoing: Outgoing
    ) -> Iterator[Row]:
        if key == LATE:
            yield from self._stream(slices, from_watermark(milliseconds), state)
            return
        planned = self.families.get(key)
        if planned is None:
            self._gone(key, from_watermark(milliseconds), state)
            return
        watermark = from_watermark(milliseconds)
        store = self._store(planned, state, watermark)
        operator = store.operator
        store.expire(watermark)
        reports = _GroupReports(operator, store.positions)
        for answers, spilled in outgoing.sent(_answers(operator, store, slices, watermark)):
            yield _sent(key, answers=answers, spilled=spilled)
        store.armed = _armed(state, store.armed, operator.next_report())
        store.save()
        WARM.keep(self._job, store)
        counters = operator.executor.counters
        kept, precision = counters.get("candidates", 0), counters.get("precision_ppm")
        yield _sent(key, candidates=kept, precision=precision, reports=reports.made())

    def _gone(self, key: str, watermark: int, state: State) -> None:
        """State of an earlier workload, that nothing asks for any more. It goes when no window to come could hold a
        record of it."""
        gone = self.joining.gone
        if state.clock.get() is None:
            return
        if gone is not None and key not in gone:
            raise unknown_state(key)
        if gone is not None and key not in self.joining.forgotten:
            lasts = gone[key]
            end = None if lasts is None else self._ended(key, watermark, state) + lasts
            if end is None or watermark < end:
                _armed(state, None, end)
                return
        state.clock.clear()
        state.segments.clear()

    def _ended(self, key: str, watermark: int, state: State) -> int:
        """Up to where a family that is gone has answered; where it has no timer, when it was found to be gone."""
        if key in self.joining.woken:
            return left(state.clock, watermark)
        return int(read_clock(state.clock)["operator"]["until"])

    def _store(self, planned: PlannedFamily, state: State, watermark: int) -> FamilyStateStore:
        """The family as this worker has it at hand, or as it is stored."""
        stored = read_stored(state.clock)
        if (known := WARM.take(self._job, stored.version.life)) is not None:
            known.bind(state.clock, state.segments)
            if known.reaches(stored):
                return known
        store = FamilyStateStore(state.clock, state.segments)
        operator = store.load(planned, stored, self.joining)
        store.mark_warming(operator, watermark, self.joining)
        return store

    def _stream(self, slices: list[PartitionSlice], watermark: int, state: State) -> Iterator[Row]:
        """What is known of the stream alone: its records so far, from where positions of windows go on that a later
        start asks for; what came late; and which reports are due."""
        known, sent = read_clock(state.clock), one_table(slices)
        times, records = of_stream(sent), sum(each.size for each in slices)
        known["stream"] = next(iter(self.families.values())).family.stream.name
        due = self._due.advance(known, watermark, times, records)
        known["armed"] = _armed(state, known["armed"], self._due.next_end(known))
        state.clock.update((sealed(KIND, {"state": json_bytes(known)}),))
        late = dropped = 0
        if times is not None:
            at, many = times.column("at").to_numpy(), times.column("records").to_numpy()
            late, dropped = self.lateness.count(at, watermark, many)
        if self._lines:
            yield _sent(REPORTS, answers=table_bytes(packed_stretches(due)))
        fates = self._fates.count(sent, watermark, records) if slices else {}
        yield _sent(LATE, late=late, dropped=dropped, reports=counted(due), fates=fates)


def _answers(
    operator: FamilyOperator, store: FamilyStateStore, slices: list[PartitionSlice], watermark: int
) -> Iterator[pa.Table]:
    until = max(watermark, operator.clock.of(""))
    yield from feed(operator, [], store.positions, until)
    yield from feed(operator, slices, store.positions, until)


def _sent(
    key: str,
    answers: bytes | None = None,
    spilled: str | None = None,
    late: int = 0,
    dropped: int = 0,
    candidates: int | None = None,
    precision: int | None = None,
    reports: Mapping[str, int] = MappingProxyType({}),
    fates: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> Row:
    """A row of `MAINTAINED_DDL`."""
    sent = {"state_key": key, "answers": answers, "spilled": spilled, "late": late, "dropped": dropped}
    told = [Row(query=query, reports=count) for query, count in reports.items()]
    became = [Row(query=query, **counts) for query, counts in fates.items()]
    return Row(**sent, candidates=candidates, precision_ppm=precision, reports=told, fates=became)


def _armed(state: State, armed: int | None, moment: int | None) -> int | None:
    """One armed timer per key, at the next report; which it is now."""
    due = None if moment is None else to_timer(moment)
    if due == armed:
        return due
    if armed is not None:
        state.handle.deleteTimer(armed)
    if due is not None:
        state.handle.registerTimer(due)
    return due


class _GroupReports:
    """Reports of ROWS windows with PER: only the key of the groups knows how far they have come. Those of other windows
    are counted for the stream."""

    def __init__(self, operator: FamilyOperator, positions: Positions) -> None:
        family, self._positions = operator.planned.family, positions
        mine = family.kind == "rows" and family.per
        self._schedules = [Schedule.of(operator.planned, operator.executor.transitions)] if mine else []
        self._before = self._now()

    def made(self) -> dict[str, int]:
        """By query, since this began."""
        return dict(self._now() - self._before)

    def _now(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for each in self._schedules:
            made = each.made(self._positions.first, self._positions.seen, self._positions.began).tolist()
            found.update(dict(zip((query.name for query in each.family.queries), made, strict=True)))
        return found
