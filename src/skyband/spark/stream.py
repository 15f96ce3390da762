"""Stage 2 for a stream: one family (and bucket) per key, its rows in RocksDB, one timer for its next report."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Row

from skyband.model import NEVER
from skyband.planner import PlannedFamily
from skyband.runtime import pieces
from skyband.runtime.family import FamilyRun
from skyband.runtime.state import json_bytes
from skyband.spark.chunks import Chunk, feed_rows, one_table
from skyband.spark.clock import from_watermark, to_timer
from skyband.spark.joining import Joining
from skyband.spark.lateness import KEY as LATE, Lateness
from skyband.spark.processor import State
from skyband.spark.saved import VERSION, Saved
from skyband.spark.spill import ANSWERS_DDL, Outgoing

TOLD = f"{ANSWERS_DDL}, late BIGINT, dropped BIGINT, candidates BIGINT, precision_ppm BIGINT"
"""What this stage sends: answers, or numbers for whoever observes."""


class Turn:
    """One call for one key: reports what the watermark has reached, then takes in what arrived, so that late rows meet
    only windows still open."""

    def __init__(self, families: dict[str, PlannedFamily], joining: Joining) -> None:
        self.families = families
        self.joining = joining
        self.lateness = Lateness.of(list({each.family.fingerprint: each for each in families.values()}.values()))
        self._outgoing = Outgoing()

    def __call__(self, name: str, chunks: list[Chunk], milliseconds: int, state: State) -> Iterator[Row]:
        if name == LATE:
            self._count(chunks, state)
            yield from self._late(one_table(chunks), from_watermark(milliseconds))
            return
        planned = self.families.get(name)
        if planned is None:
            # A family of an earlier workload: nothing asks for it any more.
            state.clock.clear()
            state.segments.clear()
            return
        saved, watermark = Saved(state.clock, state.segments), from_watermark(milliseconds)
        run = saved.load(planned, self.joining)
        saved.welcome(run, watermark, self.joining)
        for answers, spilled in self._outgoing.sent(_answers(run, saved, chunks, watermark)):
            yield _told(name, answers=answers, spilled=spilled)
        if planned.family.kind == "range":
            _arm(state, saved, run.next_report())
        saved.store(run)
        counters = run.keeper.counters
        yield _told(name, candidates=counters.get("candidates", 0), precision=counters.get("precision_ppm"))

    def _count(self, chunks: list[Chunk], state: State) -> None:
        """The stream's records so far: positions of windows that a later start asks for begin there."""
        known = json.loads(bytes(state.clock.get()[0])) if state.clock.exists() else {"version": VERSION, "records": 0}
        known["stream"] = next(iter(self.families.values())).family.stream.name
        known["records"] += sum(chunk.size for chunk in chunks)
        state.clock.update((json_bytes(known),))

    def _late(self, seen: pa.Table | None, watermark: int) -> Iterator[Row]:
        if seen is not None and watermark > NEVER:
            late, dropped = self.lateness.count(seen, watermark)
            yield _told(LATE, late=late, dropped=dropped)


def _answers(run: FamilyRun, saved: Saved, chunks: list[Chunk], watermark: int) -> Iterator[pa.Table]:
    if run.planned.family.kind == "rows":
        yield from feed_rows(run, chunks, saved.positions)
        return
    until = max(watermark, run.until)
    yield from pieces.feed(run, None, until)
    yield from pieces.feed(run, one_table(chunks), until)


def _told(
    family: str,
    answers: bytes | None = None,
    spilled: str | None = None,
    late: int = 0,
    dropped: int = 0,
    candidates: int | None = None,
    precision: int | None = None,
) -> Row:
    """A row of `TOLD`."""
    told = {"family": family, "answers": answers, "spilled": spilled, "late": late, "dropped": dropped}
    return Row(**told, candidates=candidates, precision_ppm=precision)


def _arm(state: State, saved: Saved, moment: int | None) -> None:
    """One armed timer per key, at the next report."""
    due = None if moment is None else to_timer(moment)
    if due == saved.armed:
        return
    if saved.armed is not None:
        state.handle.deleteTimer(saved.armed)
    if due is not None:
        state.handle.registerTimer(due)
    saved.armed = due
