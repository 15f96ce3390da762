"""A family's rows and clock in Spark's state store.

Rows are kept in segments: a micro-batch writes one with what is new, and all are written anew only when most of their
rows are dead.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError
from skyband.model import NEVER
from skyband.planner import Family, PlannedFamily
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import ints
from skyband.runtime.positions import Positions, first_position
from skyband.runtime.replan import beats_of, pending
from skyband.runtime.state import ID, json_bytes, table_bytes, table_of
from skyband.runtime.worlds import Worlds
from skyband.spark.joining import Joining

VERSION = 1
SEGMENTS = 24
MEMORY = -2
"""Stands among the numbers of segments for what an engine has learnt; -1 is taken (see `drain`)."""
NOBODY = Joining()


class Saved:
    """A family's rows and clock in the state store."""

    def __init__(self, clock: Any, segments: Any) -> None:
        self._clock, self._segments = clock, segments
        self._value: dict[str, Any] = {}
        self._stayed: set[str] = set()
        self.positions = Positions()
        self.armed: int | None = None

    def load(self, planned: PlannedFamily, joining: Joining = NOBODY) -> FamilyRun:
        """The family as it was left; as new where none of its queries was there then."""
        run, texts = FamilyRun(planned), [str(query) for query in planned.family.queries]
        value = self._value = self._read()
        joined = value.get("joined", {})
        self._stayed = {text for text in value.get("since", {}) if joining.stayed(text, joined)}
        if not self._stayed.intersection(texts) and all(map(joining.late, texts)):
            self._begin_anew(planned.family, joining)
        if "since" not in self._value:
            self._plan(run)
            return run
        self.positions = Positions(value.get("first", 0))
        self.positions.seen, self.armed = value["seen"], value["armed"]
        run.until, run.payload.next_id, run.records = value["until"], value["next_id"], value["records"]
        number = {text: place for place, text in enumerate(texts) if text in self._stayed}
        for query, group, ids in value["changes"]:
            if query in number:
                run.changes.previous[number[query], group] = np.array(ids, np.int64)
        self._plan(run)
        parts = [table_of(bytes(self._segments.getValue((number,))[0])) for number in value["segments"]]
        if parts:
            # Segments of another workload may lack columns that are shown now.
            rows = pa.concat_tables([part for part in parts if part is not None], promote_options="default")
            seen = self.positions.seen if planned.family.kind == "rows" else None
            memory = bytes(self._segments.getValue((MEMORY,))[0]) if value.get("memory") else b""
            run.resume(rows.drop_columns([ID]), ints(rows, ID), value["until"], seen, memory)
        return run

    def _read(self) -> dict[str, Any]:
        if not self._clock.exists():
            return {"version": VERSION, "until": int(NEVER), "next_id": 0, "segments": []}
        value: dict[str, Any] = json.loads(bytes(self._clock.get()[0]))
        if value["version"] != VERSION:
            raise SkybandError(
                f"the checkpoint holds state of version {value['version']}", expected=f"version {VERSION}"
            )
        return value

    def _begin_anew(self, family: Family, joining: Joining) -> None:
        """Between what is kept and what comes now records are missing. Positions go on as the stream's."""
        for number in self._value["segments"]:
            self._segments.removeKey((number,))
        self.armed = self._value.get("armed")
        self._value = {"version": VERSION, "until": int(NEVER), "next_id": 0, "segments": []}
        records = joining.records.get(family.stream.name, 0)
        if family.per:
            self.positions = Positions(first_position(records, *(query.window.slide for query in family.queries)))
        else:
            self.positions.seen = {"": records}

    def _plan(self, run: FamilyRun) -> None:
        """Queries of an uncertain family keep to the plan of an earlier workload until its cycle ends."""
        if isinstance(run.keeper, Worlds):
            clocks = self.positions.seen if run.planned.family.kind == "rows" else {"": run.until}
            waiting = pending(self._value, run.planned, clocks)
            run.keeper.hand_over(waiting, run.planned)
            self._value |= {"pending": waiting, "beats": beats_of(run.planned)}

    def welcome(self, run: FamilyRun, watermark: int, joining: Joining) -> None:
        """A query that joins a running stream is complete from the latest record on that came before it: what was
        dropped until then was dropped without asking it."""
        texts = [str(query) for query in run.planned.family.queries]
        known, in_group = self._value.get("since", {}), self._value.get("since_in_group", {})
        begin, in_groups = self._beginning(run.planned.family, watermark)
        for number, text in enumerate(texts):
            if text in self._stayed:
                run.since[number], run.since_in_group[number] = known[text], in_group.get(text, {})
            elif "records" in self._value or joining.late(text):
                run.since[number], run.since_in_group[number] = begin, dict(in_groups)
        self._value["since"] = dict(zip(texts, run.since.tolist(), strict=True))
        self._value["joined"] = {text: joining.with_batch[text] for text in texts if joining.late(text)}

    def _beginning(self, family: Family, watermark: int) -> tuple[int, dict[str, int]]:
        """From where on a query that joins now misses nothing; and in which groups later."""
        if family.kind == "range":
            return watermark + family.stream.lateness + 1_000 if watermark > NEVER else int(NEVER), {}
        if not family.per:
            return self.positions.seen.get("", 0), {}
        return self.positions.first, dict(self.positions.seen)

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
        self._value |= {"seen": self.positions.seen, "first": self.positions.first, "armed": self.armed}
        self._value |= {"segments": segments, "stored": stored, "memory": bool(memory)}
        texts = map(str, run.planned.family.queries)
        self._value["since_in_group"] = {
            text: some for text, some in zip(texts, run.since_in_group, strict=True) if some
        }
        self._clock.update((json_bytes(self._value),))
