"""A family's rows and clock in Spark's state store.

Rows are kept in segments: a micro-batch writes one with what is new, and all are written anew only when most of their
rows are dead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.engines.codec import reading, sealed, stored_table, table_bytes, unsealed
from skyband.model import NEVER, Ints
from skyband.planner import Family, PlannedFamily
from skyband.runtime.clock import FOREVER
from skyband.runtime.encoded import AT, GROUP, ints
from skyband.runtime.executors.base import NO_IDS
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import EXPIRY, Positions, first_position, positions_of
from skyband.runtime.state import STATE, json_bytes, restore, state_of, with_ids
from skyband.runtime.steps import feed
from skyband.runtime.stored_rows import ID
from skyband.runtime.stored_values import (
    COUNT,
    PLACE,
    bits,
    by_name,
    either,
    flag,
    items,
    nothing,
    read_json,
    record,
    several,
    text,
)
from skyband.runtime.warm_up import beginning
from skyband.spark.state.joining import NOTHING_NOTED, Joining
from skyband.spark.state.segments import Segment, holding, merged_with, read_segments

LEARNED = -2
"""Stands among the numbers of segments for what an engine has learnt; -1 is taken (see `drain`)."""
KIND, ROWS = "state of a key", "rows of a key"
LEFT = "left"
SLACK = 1_000
"""Dead rows that are not worth writing the others anew."""
FEW = 4
"""As often as new rows go into all there are, or more often, and they are few."""
WORD = 16
STEPS = 16
"""Micro-batches that a worker can be behind and catch up."""


VALUE = record(
    {"segments": items(either(COUNT, several(COUNT, COUNT, COUNT))), "stored": COUNT, "next segment": COUNT},
    {
        "operator": STATE,
        "steps": items(several(text, PLACE, COUNT)),
        "armed": either(nothing, bits),
        "joined": by_name(COUNT),
        "learned": flag,
        "seen": by_name(COUNT),
        "first": COUNT,
        "expiry": EXPIRY,
        LEFT: PLACE,
    },
)
"""What the state of a key says; that of the key that counts the stream is another."""


class Version(NamedTuple):
    """Which state a key has: `life` from its first save on, `save` anew with each. Drawn at random: no other state has
    the same. Empty before the first save."""

    life: bytes
    save: bytes

    def next(self) -> Version:
        return Version(self.life or os.urandom(WORD), os.urandom(WORD))


class Stored(NamedTuple):
    """What a key's clock holds."""

    version: Version
    state: bytes = b""

    def value(self) -> dict[str, Any]:
        found: dict[str, Any] = read_json(KIND, self.state, VALUE) if self.state else NOTHING | {}
        return found


class Step(NamedTuple):
    """A micro-batch in the life of a family: rows with ids from `first` on came, then the clock was at `until`."""

    save: str
    """Which version it began with."""
    until: int
    first: int


def since(version: Version, steps: Iterable[Any]) -> list[Step]:
    """The steps that led from this version on; none if it is not known any more."""
    known = list(map(Step._make, steps))
    return next((known[place:] for place, step in enumerate(known) if step.save == version.save.hex()), [])


class FamilyStateStore:
    """`clock` and `segments` are the state variables of a key."""

    operator: FamilyOperator
    """The family, once it is loaded."""

    def __init__(self, clock: Any, segments: Any) -> None:
        self.bind(clock, segments)
        self._value: dict[str, Any] = {}
        self._stayed: set[str] = set()
        self.version = Version(b"", b"")
        self.positions = Positions()
        self.armed: int | None = None
        """The timer that is set."""

    def bind(self, clock: Any, segments: Any) -> None:
        """Go on with the state variables of another task."""
        self._clock, self._segments = clock, segments

    @reading(KIND)
    def reaches(self, stored: Stored) -> bool:
        """Whether the family is as it is stored: as it was saved here last, or after the steps that were taken
        elsewhere since then, if the state still tells them."""
        if self.version == stored.version:
            return True
        value = stored.value()
        steps = since(self.version, value.get("steps", ()))
        if not steps:
            return False
        self._repeat(steps, value)
        self._go_on(value)
        self._value, self.version = value, stored.version
        return True

    def _go_on(self, value: dict[str, Any]) -> None:
        """From the positions, and the timer, that were saved."""
        positions = positions_of(self.operator.planned.family, value["first"])
        positions.restore(value["seen"], value.get("expiry"))
        self._count_by(positions)
        self.armed = value["armed"]

    def _count_by(self, positions: Positions) -> None:
        self.positions, self.operator.began = positions, positions.began

    def expire(self, watermark: int) -> None:
        """Groups that have been silent for too long are gone."""
        slides = [query.window.slide for query in self.operator.planned.family.queries]
        if gone := self.positions.expire(watermark, slides):
            self.operator.forget(gone)

    def _repeat(self, steps: list[Step], value: dict[str, Any]) -> None:
        """What they answered was sent when they were taken."""
        rows = self._rows(holding(read_segments(value["segments"]), steps[0].first))
        ids = NO_IDS if rows is None else ints(rows, ID)
        cuts = np.searchsorted(ids, [*(step.first for step in steps), value["operator"]["next id"]]).tolist()
        for step, low, high in zip(steps, cuts, cuts[1:], strict=False):
            new = None if rows is None or low == high else rows.slice(low, high - low).drop_columns([ID])
            for table in (None, new):
                for _ in feed(self.operator, table, step.until):
                    pass

    @reading(KIND)
    def load(self, planned: PlannedFamily, stored: Stored, joining: Joining = NOTHING_NOTED) -> FamilyOperator:
        """The family as it was left; as new where none of its queries was there then."""
        operator, texts = FamilyOperator(planned), [str(query) for query in planned.family.queries]
        self.operator, self.version = operator, stored.version
        self._count_by(positions_of(planned.family))
        value = self._value = stored.value()
        state = value.get("operator")
        known = () if state is None else state["queries"]
        self._stayed = {text for text in known if joining.stayed(text, value["joined"])}
        if not self._stayed.intersection(texts) and all(map(joining.late, texts)):
            self._begin_anew(planned.family, joining)
            state = None
        if state is None:
            return operator
        self._go_on(value)
        if "expiry" not in value:
            self.positions.pass_by(joining.records.get(planned.family.stream.name, 0), int(NEVER))
        rows = self._live(self._rows(read_segments(value["segments"])))
        restore(operator, state, rows, self._learned(), self.positions.seen, self._stayed)
        return operator

    def _rows(self, segments: list[Segment]) -> pa.Table | None:
        parts = [self._segment(each.number) for each in segments]
        # Segments of another workload may lack columns that are shown now.
        return pa.concat_tables(parts, promote_options="default") if parts else None

    def _live(self, rows: pa.Table | None) -> pa.Table | None:
        """Without those of groups that have expired, which are not taken out of segments."""
        if rows is None or not self.operator.planned.family.per:
            return rows
        live = self.positions.live(len(rows), rows.column(GROUP).combine_chunks(), ints(rows, AT))
        return rows if live is None else rows.take(pa.array(live))

    def _segment(self, number: int) -> pa.Table:
        return stored_table(ROWS, unsealed(ROWS, bytes(self._segments.getValue((number,))[0]))["rows"])

    def _learned(self) -> bytes:
        return bytes(self._segments.getValue((LEARNED,))[0]) if self._value["learned"] else b""

    def _begin_anew(self, family: Family, joining: Joining) -> None:
        """Between what is kept and what comes now records are missing. Positions go on as the stream's."""
        self._remove(read_segments(self._value["segments"]))
        self.armed = self._value["armed"]
        self._value = NOTHING | {}
        records = joining.records.get(family.stream.name, 0)
        if family.per:
            first = first_position(records, *(query.window.slide for query in family.queries))
            self._count_by(positions_of(family, first))
            self.positions.pass_by(records, FOREVER)
        else:
            self.positions.seen = {"": records}

    def mark_warming(self, operator: FamilyOperator, watermark: int, joining: Joining) -> None:
        """A query that joins a running stream is complete from the latest record on that came before it: what was
        dropped until then was dropped without asking it."""
        texts = [str(query) for query in operator.planned.family.queries]
        begin = beginning(operator.planned.family, self.positions, watermark, tick=1_000)
        running = "operator" in self._value
        new = [n for n, text in enumerate(texts) if text not in self._stayed and (running or joining.late(text))]
        known = [number for number in range(len(texts)) if number not in new]
        for number in new:
            operator.warm_up[number] = operator.complete_from(number, begin, known)
        self._value["joined"] = {text: joining.with_batch[text] for text in texts if joining.late(text)}

    def save(self) -> None:
        """Write what changed: the clock, and a segment with the new rows (or all of them anew, when most are dead)."""
        operator = self.operator
        state, learned = state_of(operator), operator.executor.learned_state()
        if learned:
            self._segments.updateValue((LEARNED,), (learned,))
        before = self._value.get("operator", {"next id": 0})["next id"]
        # What stands for other rows is not what came.
        repeatable = operator.planned.family.kind == "range" and not learned and not operator.folded
        self._write_rows(before, operator.size, repeatable=repeatable)
        self._value |= {"operator": state, "learned": bool(learned), "armed": self.armed}
        self._value |= {"seen": self.positions.seen, "first": self.positions.first} | self.positions.state()
        self._value.pop(LEFT, None)
        self.version = self.version.next()
        parts = {"state": json_bytes(self._value), "version": b"".join(self.version)}
        self._clock.update((sealed(KIND, parts),))

    def _write_rows(self, before: int, size: int, repeatable: bool) -> None:
        """Rows from `before` on are new; `size`: how many are alive, about."""
        segments, stored, first = read_segments(self._value["segments"]), self._value["stored"], before
        ids, gone = self._alive(first, size), list[Segment]()
        # Where rows stand for others, those must not be there beside them.
        if stored > 2 * size + SLACK or self.operator.folded:
            self.operator.folded = False
            ids, gone, first, stored = self._alive(0, 0), segments, 0, 0
        elif len(ids) and (gone := merged_with(segments, len(ids))):
            first, stored = gone[0].first, stored - sum(each.rows for each in gone)
            ids = self._alive(first, size)
        kept = segments[: len(segments) - len(gone)]
        if len(ids):
            # In the place of one that goes nothing has to be removed.
            number = gone.pop(0).number if gone else self._value["next segment"]
            table = with_ids(self.operator.store.take(ids), ids).combine_chunks()
            self._segments.updateValue((number,), (sealed(ROWS, {"rows": table_bytes(table)}),))
            self._value["next segment"] = max(self._value["next segment"], number + 1)
            kept.append(Segment(number, first, len(ids)))
        self._remove(gone)
        step = Step(self.version.save.hex(), self.operator.clock.of(""), before)
        steps = [*map(Step._make, self._value.get("steps", ())), step][-STEPS:] if repeatable else []
        # Somebody who repeats them needs every row.
        oldest = max(steps[0].first if steps else 0, first)
        whole = len(ids) - int(np.searchsorted(ids, oldest)) == self.operator.store.next_id - oldest
        self._value |= {"segments": kept, "stored": stored + len(ids), "steps": steps if whole else []}

    def _alive(self, first: int, size: int) -> Ints:
        """Ids of the rows to write, from this one on. Where they are few beside all there are, nobody asks which of
        them are alive: that means to look at all, and dead ones do no harm."""
        ids = self.operator.store.ids
        found = ids[np.searchsorted(ids, first) :]
        if FEW * len(found) < size or not len(found):
            return found
        return found[np.isin(found, self.operator.essential(), assume_unique=True)]

    def _remove(self, segments: list[Segment]) -> None:
        for each in segments:
            self._segments.removeKey((each.number,))


NOTHING: dict[str, Any] = {"segments": [], "stored": 0, "next segment": 0, "armed": None, "joined": {}}


def read_stored(clock: Any) -> Stored:
    """What a key's clock holds; what was not written by this version of the codec is refused."""
    found = clock.get()
    if found is None:
        return Stored(Version(b"", b""))
    parts = unsealed(KIND, bytes(found[0]))
    version = parts.get("version", b"")
    return Stored(Version(version[:WORD], version[WORD:]), parts["state"])


def read_clock(clock: Any) -> dict[str, Any]:
    """What it says."""
    stored = read_stored(clock)
    found: dict[str, Any] = read_json(KIND, stored.state, record({})) if stored.state else NOTHING | {}
    return found


def left(clock: Any, watermark: int) -> int:
    """How far the stream was when a family without a timer was first found to be gone; noted where it was not yet."""
    stored = read_stored(clock)
    value = stored.value()
    if LEFT not in value:
        value[LEFT] = watermark
        clock.update((sealed(KIND, {"state": json_bytes(value), "version": b"".join(stored.version)}),))
    return int(value[LEFT])
