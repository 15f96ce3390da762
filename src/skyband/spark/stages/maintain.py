"""Stage 2 for a stream: one family (and bucket) per state key, its rows in RocksDB, one timer for its next report."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Row

from skyband.engines.codec import sealed
from skyband.planner import PlannedFamily
from skyband.runtime.lateness import Lateness
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.state import json_bytes
from skyband.spark.event_time import from_watermark, to_timer
from skyband.spark.stages.slices import PartitionSlice, feed, one_table
from skyband.spark.stages.spill import ANSWERS_DDL, Outgoing
from skyband.spark.stages.state_variables import State
from skyband.spark.state.joining import Joining
from skyband.spark.state.keys import LATE
from skyband.spark.state.store import KIND, FamilyStateStore, read_clock

MAINTAINED_DDL = f"{ANSWERS_DDL}, late BIGINT, dropped BIGINT, candidates BIGINT, precision_ppm BIGINT"
"""What this stage sends: answers, or numbers for `observe()`."""


class ProcessKey:
    """One call for one key: reports what the watermark has reached, then takes in what arrived, so that late rows meet
    only windows still open."""

    def __init__(self, families: dict[str, PlannedFamily], joining: Joining) -> None:
        self.families = families
        self.joining = joining
        self.lateness = Lateness.of(list({each.family.fingerprint: each for each in families.values()}.values()))
        self._outgoing = Outgoing()

    def __call__(self, key: str, slices: list[PartitionSlice], milliseconds: int, state: State) -> Iterator[Row]:
        if key == LATE:
            self._count(slices, state)
            yield from self._late(one_table(slices), from_watermark(milliseconds))
            return
        planned = self.families.get(key)
        if planned is None:
            # A family of an earlier workload: nothing asks for it any more.
            state.clock.clear()
            state.segments.clear()
            return
        store, watermark = FamilyStateStore(state.clock, state.segments), from_watermark(milliseconds)
        operator = store.load(planned, self.joining)
        store.mark_warming(operator, watermark, self.joining)
        for answers, spilled in self._outgoing.sent(_answers(operator, store, slices, watermark)):
            yield _sent(key, answers=answers, spilled=spilled)
        _arm(state, store, operator)
        store.save(operator)
        counters = operator.executor.counters
        yield _sent(key, candidates=counters.get("candidates", 0), precision=counters.get("precision_ppm"))

    def _count(self, slices: list[PartitionSlice], state: State) -> None:
        """The stream's records so far: positions of windows that a later start asks for begin there."""
        known = read_clock(state.clock)
        known["stream"] = next(iter(self.families.values())).family.stream.name
        known["records"] = known.get("records", 0) + sum(each.size for each in slices)
        state.clock.update((sealed(KIND, {"state": json_bytes(known)}),))

    def _late(self, times: pa.Table | None, watermark: int) -> Iterator[Row]:
        if times is not None:
            at, records = times.column("at").to_numpy(), times.column("records").to_numpy()
            late, dropped = self.lateness.count(at, watermark, records)
            yield _sent(LATE, late=late, dropped=dropped)


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
) -> Row:
    """A row of `MAINTAINED_DDL`."""
    sent = {"state_key": key, "answers": answers, "spilled": spilled, "late": late, "dropped": dropped}
    return Row(**sent, candidates=candidates, precision_ppm=precision)


def _arm(state: State, store: FamilyStateStore, operator: FamilyOperator) -> None:
    """One armed timer per key, at the next report."""
    moment = operator.next_report()
    due = None if moment is None else to_timer(moment)
    if due == store.armed:
        return
    if store.armed is not None:
        state.handle.deleteTimer(store.armed)
    if due is not None:
        state.handle.registerTimer(due)
    store.armed = due
