"""Stage 2 for a stream: one family (and bucket) per key, its rows in RocksDB, one timer for its next report.

Rows are kept in segments: a micro-batch writes one with what is new, and all are written anew only when most of their
rows are dead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from skyband.errors import SkybandError
from skyband.model import NEVER
from skyband.planner import PlannedFamily
from skyband.runtime import pieces
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import ints
from skyband.runtime.replan import beats_of, pending
from skyband.runtime.state import ID, json_bytes, table_bytes, table_of
from skyband.runtime.worlds import Worlds
from skyband.spark.chunks import Chunk, feed_rows, one_table
from skyband.spark.clock import from_watermark, to_timer
from skyband.spark.lateness import KEY as LATE, Lateness
from skyband.spark.processor import State
from skyband.spark.spill import ANSWERS_DDL, Outgoing

VERSION = 1
TOLD = f"{ANSWERS_DDL}, late BIGINT, dropped BIGINT, candidates BIGINT, precision_ppm BIGINT"
"""What this stage sends: answers, or numbers for whoever observes."""
SEGMENTS = 24
MEMORY = -2
"""Stands among the numbers of segments for what an engine has learnt; -1 is taken (see `drain`)."""


class Turn:
    """One call for one key: reports what the watermark has reached, then takes in what arrived, so that late rows meet
    only windows still open."""

    def __init__(self, families: dict[str, PlannedFamily], new: frozenset[str]) -> None:
        self.families = families
        self.new = new
        self.lateness = Lateness.of(list({each.family.fingerprint: each for each in families.values()}.values()))
        self._outgoing = Outgoing()

    def __call__(self, name: str, chunks: list[Chunk], milliseconds: int, state: State) -> Iterator[Row]:
        if name == LATE:
            yield from self._late(one_table(chunks), from_watermark(milliseconds))
            return
        planned = self.families.get(name)
        if planned is None:
            # A family of an earlier workload: nothing asks for it any more.
            state.clock.clear()
            state.segments.clear()
            return
        saved, watermark = Saved(state.clock, state.segments), from_watermark(milliseconds)
        run = saved.load(planned)
        saved.welcome(run, watermark, self.new)
        for answers, spilled in self._outgoing.sent(_answers(run, saved, chunks, watermark)):
            yield _told(name, answers=answers, spilled=spilled)
        if planned.family.kind == "range":
            _arm(state, saved, run.next_report())
        saved.store(run)
        counters = run.keeper.counters
        yield _told(name, candidates=counters.get("candidates", 0), precision=counters.get("precision_ppm"))

    def _late(self, seen: pa.Table | None, watermark: int) -> Iterator[Row]:
        if seen is not None and watermark > NEVER:
            late, dropped = self.lateness.count(seen, watermark)
            yield _told(LATE, late=late, dropped=dropped)


def _answers(run: FamilyRun, saved: Saved, chunks: list[Chunk], watermark: int) -> Iterator[pa.Table]:
    if run.planned.family.kind == "rows":
        yield from feed_rows(run, run.planned, chunks, saved.seen)
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


class Saved:
    """A family's rows and clock in the state store."""

    def __init__(self, clock: Any, segments: Any) -> None:
        self._clock, self._segments = clock, segments
        self._value: dict[str, Any] = {}
        self.seen: dict[str, int] = {}
        self.armed: int | None = None

    def load(self, planned: PlannedFamily) -> FamilyRun:
        run = FamilyRun(planned)
        if not self._clock.exists():
            self._value = {"version": VERSION, "until": int(NEVER), "next_id": 0, "segments": []}
            self._plan(run)
            return run
        value = self._value = json.loads(bytes(self._clock.get()[0]))
        if value["version"] != VERSION:
            raise SkybandError(
                f"the checkpoint holds state of version {value['version']}", expected=f"version {VERSION}"
            )
        self.seen, self.armed = value["seen"], value["armed"]
        run.until, run.payload.next_id, run.records = value["until"], value["next_id"], value["records"]
        run.since[:] = [value["since"].get(str(query), NEVER) for query in planned.family.queries]
        number = {str(query): place for place, query in enumerate(planned.family.queries)}
        for query, group, ids in value["changes"]:
            if query in number:
                run.changes.previous[number[query], group] = np.array(ids, np.int64)
        self._plan(run)
        parts = [table_of(bytes(self._segments.getValue((number,))[0])) for number in value["segments"]]
        if parts:
            # Segments of another workload may lack columns that are shown now.
            rows = pa.concat_tables([part for part in parts if part is not None], promote_options="default")
            seen = self.seen if planned.family.kind == "rows" else None
            memory = bytes(self._segments.getValue((MEMORY,))[0]) if value.get("memory") else b""
            run.resume(rows.drop_columns([ID]), ints(rows, ID), value["until"], seen, memory)
        return run

    def _plan(self, run: FamilyRun) -> None:
        """Queries of an uncertain family keep to the plan of an earlier workload until its cycle ends."""
        if isinstance(run.keeper, Worlds):
            clocks = self.seen if run.planned.family.kind == "rows" else {"": run.until}
            waiting = pending(self._value, run.planned, clocks)
            run.keeper.hand_over(waiting, run.planned)
            self._value |= {"pending": waiting, "beats": beats_of(run.planned)}

    def welcome(self, run: FamilyRun, watermark: int, new: frozenset[str]) -> None:
        """A query that joins a running stream is complete from the latest record on that came before it: what was
        dropped until then was dropped without asking it."""
        family, since = run.planned.family, self._value.get("since", {})
        begin = watermark + family.stream.lateness + 1_000 if watermark > NEVER else int(NEVER)
        if family.kind == "rows":
            begin = max(self.seen.values(), default=0)
        for number, query in enumerate(family.queries):
            joins = "records" in self._value or query.name in new
            run.since[number] = since.get(str(query), begin if joins else int(NEVER))
        self._value["since"] = dict(zip(map(str, family.queries), run.since.tolist(), strict=True))

    def store(self, run: FamilyRun) -> None:
        """Write what changed: the clock, and a segment with the new rows (or all of them anew, when most are dead)."""
        rows, ids, segments = run.rows(essential=True), run.payload.ids, list(self._value["segments"])
        fresh = ids >= self._value["next_id"]
        stored = self._value.get("stored", 0)
        if len(segments) >= SEGMENTS or stored > 2 * (len(ids) - int(fresh.sum())) + 1_000:
            for number in segments:
                self._segments.removeKey((number,))
            segments, stored, fresh = [], 0, np.ones(len(ids), bool)
        if rows is not None and fresh.any():
            number = self._value.get("next_segment", 0)
            table = rows.append_column(ID, pa.array(ids)).filter(pa.array(fresh))
            self._segments.updateValue((number,), (table_bytes(table.combine_chunks()),))
            self._value["next_segment"] = number + 1
            segments.append(number)
            stored += int(fresh.sum())
        memory = run.memory()
        if memory:
            self._segments.updateValue((MEMORY,), (memory,))
        changes = [
            [str(run.planned.family.queries[query]), group, previous.tolist()]
            for (query, group), previous in run.changes.previous.items()
        ]
        self._value |= {"until": run.until, "next_id": run.payload.next_id, "records": run.records, "changes": changes}
        self._value |= {"seen": self.seen, "armed": self.armed, "segments": segments, "stored": stored}
        self._value["memory"] = bool(memory)
        self._clock.update((json_bytes(self._value),))
