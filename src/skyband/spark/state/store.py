"""A family's rows and clock in Spark's state store.

Rows are kept in segments: a micro-batch writes one with what is new, and all are written anew only when most of their
rows are dead.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.codec import sealed, table_bytes, table_of, unsealed
from skyband.planner import Family, PlannedFamily
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import Positions, first_position
from skyband.runtime.state import json_bytes, restore, state_of, with_ids
from skyband.runtime.warm_up import beginning
from skyband.spark.state.joining import NOTHING_NOTED, Joining

SEGMENTS = 24
LEARNED = -2
"""Stands among the numbers of segments for what an engine has learnt; -1 is taken (see `drain`)."""
KIND, ROWS = "state of a key", "rows of a key"


class FamilyStateStore:
    """`clock` and `segments` are the state variables of a key."""

    def __init__(self, clock: Any, segments: Any) -> None:
        self._clock, self._segments = clock, segments
        self._value: dict[str, Any] = {}
        self._stayed: set[str] = set()
        self.positions = Positions()
        self.armed: int | None = None
        """The timer that is set."""

    def load(self, planned: PlannedFamily, joining: Joining = NOTHING_NOTED) -> FamilyOperator:
        """The family as it was left; as new where none of its queries was there then."""
        operator, texts = FamilyOperator(planned), [str(query) for query in planned.family.queries]
        value = self._value = read_clock(self._clock)
        state = value.get("operator")
        known = () if state is None else state["queries"]
        self._stayed = {text for text in known if joining.stayed(text, value["joined"])}
        if not self._stayed.intersection(texts) and all(map(joining.late, texts)):
            self._begin_anew(planned.family, joining)
            state = None
        if state is None:
            return operator
        self.positions = Positions(value["first"])
        self.positions.seen, self.armed = value["seen"], value["armed"]
        restore(operator, state, self._rows(), self._learned(), self.positions.seen, self._stayed)
        return operator

    def _rows(self) -> pa.Table | None:
        parts = [self._segment(number) for number in self._value["segments"]]
        # Segments of another workload may lack columns that are shown now.
        return pa.concat_tables(parts, promote_options="default") if parts else None

    def _segment(self, number: int) -> pa.Table:
        return table_of(unsealed(ROWS, bytes(self._segments.getValue((number,))[0]))["rows"])

    def _learned(self) -> bytes:
        return bytes(self._segments.getValue((LEARNED,))[0]) if self._value["learned"] else b""

    def _begin_anew(self, family: Family, joining: Joining) -> None:
        """Between what is kept and what comes now records are missing. Positions go on as the stream's."""
        for number in self._value["segments"]:
            self._segments.removeKey((number,))
        self.armed = self._value["armed"]
        self._value = NOTHING | {}
        records = joining.records.get(family.stream.name, 0)
        if family.per:
            self.positions = Positions(first_position(records, *(query.window.slide for query in family.queries)))
        else:
            self.positions.seen = {"": records}

    def mark_warming(self, operator: FamilyOperator, watermark: int, joining: Joining) -> None:
        """A query that joins a running stream is complete from the latest record on that came before it: what was
        dropped until then was dropped without asking it."""
        texts = [str(query) for query in operator.planned.family.queries]
        begin = beginning(operator.planned.family, self.positions, watermark, tick=1_000)
        for number, text in enumerate(texts):
            if text not in self._stayed and ("operator" in self._value or joining.late(text)):
                operator.warm_up[number] = begin
        self._value["joined"] = {text: joining.with_batch[text] for text in texts if joining.late(text)}

    def save(self, operator: FamilyOperator) -> None:
        """Write what changed: the clock, and a segment with the new rows (or all of them anew, when most are dead)."""
        before = self._value.get("operator", {"next id": 0})["next id"]
        state, learned = state_of(operator), operator.executor.learned_state()
        if learned:
            self._segments.updateValue((LEARNED,), (learned,))
        self._write_rows(operator, before)
        self._value |= {"operator": state, "learned": bool(learned), "armed": self.armed}
        self._value |= {"seen": self.positions.seen, "first": self.positions.first}
        self._clock.update((sealed(KIND, {"state": json_bytes(self._value)}),))

    def _write_rows(self, operator: FamilyOperator, before: int) -> None:
        rows, ids = operator.rows(essential=True), operator.store.ids
        segments, stored, fresh = list(self._value["segments"]), self._value["stored"], ids >= before
        if len(segments) >= SEGMENTS or stored > 2 * (len(ids) - int(fresh.sum())) + 1_000:
            for number in segments:
                self._segments.removeKey((number,))
            segments, stored, fresh = [], 0, np.ones(len(ids), bool)
        if rows is not None and fresh.any():
            number = self._value["next segment"]
            table = with_ids(operator, rows).filter(pa.array(fresh)).combine_chunks()
            self._segments.updateValue((number,), (sealed(ROWS, {"rows": table_bytes(table)}),))
            self._value["next segment"] = number + 1
            segments.append(number)
            stored += int(fresh.sum())
        self._value |= {"segments": segments, "stored": stored}


NOTHING: dict[str, Any] = {"segments": [], "stored": 0, "next segment": 0, "armed": None, "joined": {}}


def read_clock(clock: Any) -> dict[str, Any]:
    """What a key's clock says; what was not written by this version is refused."""
    if not clock.exists():
        return NOTHING | {}
    found: dict[str, Any] = json.loads(unsealed(KIND, bytes(clock.get()[0]))["state"])
    return found
