"""Objects whose attributes arrive apart: which object, which stream, which value."""

from __future__ import annotations

import json
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.base import LearningEngine, registration
from skyband.engines.codec import damaged, sealed, unsealed
from skyband.engines.limits import LARGEST, Limits
from skyband.model import Across, AttributeValues, Flags, Floats, Ints, MetaQuery
from skyband.model.apart import Assembly
from skyband.planner import PlannedFamily
from skyband.runtime.clock import Clock
from skyband.runtime.columns import column_field, groupable
from skyband.runtime.data_models.base import Columns, DataModel
from skyband.runtime.encoded import AT, FEED, NAME, OBJECT, SCORE, floats, ints
from skyband.runtime.encoder import Encoder, FamilyEncoder, Rejected, Survivors, Valued, family_number
from skyband.runtime.executors.base import Executor, Reports
from skyband.runtime.executors.per_group import Member, PerGroup
from skyband.runtime.fates import fates_of
from skyband.runtime.hashing import hash_rows
from skyband.runtime.partitioning import ByObject, Partitioning
from skyband.runtime.row_store import RowStore
from skyband.runtime.stored_values import COUNT, PLACE, bits, by_name, items, read_json, record, several

KNOWN = record({"clocks": by_name(several(PLACE, PLACE)), "numbers": items(several(bits, COUNT))})
NULL_OBJECT, UNKNOWN_STREAM = "null object", "unknown stream"
OUT_OF_BOUNDS, INFINITE = "value out of its stream's bounds", "infinite value"


class Objects(DataModel):
    """Reports name an object by its newest record in the window; the score is the object's."""

    valued = True

    def __init__(self, planned: PlannedFamily) -> None:
        super().__init__(planned)
        self._assembly = _told(planned)[1]
        self.numbers: dict[int, int] = {}
        """Of streams that are not declared: the number of each, as they came."""
        # Where buckets of objects are merged, ties are decided once more: by time and name.
        self.hidden = tuple(name for name in DataModel.hidden if name != AT)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return ValueEncoder(self.planned, schema, self.survivors)

    def limits(self, column: str) -> Limits:
        """A value of a declared stream is one of its values, and kernels look that stream up."""
        if column == FEED and len(self._assembly):
            return Limits(0, len(self._assembly) - 1)
        return Limits(-LARGEST, LARGEST) if column == SCORE else super().limits(column)

    def executor(self, grace: Ints | None) -> Executor:
        if registration(self.planned.choice.engine).capabilities.exact:
            return super().executor(grace)
        return LearningGroups(self.meta, self, grace)

    def batch(self, rows: pa.Table | None, ids: Ints) -> AttributeValues:
        if rows is None:
            return AttributeValues.none()
        feed = ints(rows, FEED)
        if not len(self._assembly):
            feed = self._numbered(feed)
        return AttributeValues(ids, ints(rows, AT), ints(rows, OBJECT), feed, floats(rows, SCORE))

    def _numbered(self, names: Ints) -> Ints:
        distinct, place = np.unique(names, return_inverse=True)
        known = self.numbers
        number = np.array([known.setdefault(name, len(known)) for name in distinct.tolist()], np.int64)
        return number[place] if len(names) else names

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        """Rows carry scores with the higher first, whatever the query's order."""
        score = reports.beside(report, rank)
        return {SCORE: pa.array(-score if self.meta.ascending else score, mask=rank == 0)}

    def listed(self, store: RowStore, ids: Ints) -> Ints:
        return ints(store.take(ids), OBJECT) if len(ids) else ids

    @property
    def partitioning(self) -> Partitioning:
        """Changes are told against the last list of all, and a number of objects to keep is one for all: these stay in
        one place. So do PER groups, which are spread already."""
        family = self.planned.family
        whole = family.per or family.logged or family.approximate
        return super().partitioning if whole else ByObject(self.planned.parts)


class LearningGroups(PerGroup):
    """Engines that learn from values that they forget, and keep that across restarts."""

    def __init__(self, meta: MetaQuery, model: Objects, grace: Ints | None) -> None:
        super().__init__(meta, model, grace)
        self._model = model

    def learned_state(self) -> bytes:
        clocks = {name: [member.last, member.until] for name, member in self.members.items()}
        known = {"clocks": clocks, "numbers": list(self._model.numbers.items())}
        parts = {"known": json.dumps(known).encode()}
        engines = {f"engine {name}": _learns(member).snapshot() for name, member in self.members.items()}
        return sealed("learned", parts | engines)

    def recall(self, learned: bytes, clock: Clock) -> None:
        parts = unsealed("learned", learned)
        known = read_json("learned", parts["known"], KNOWN)
        self._model.numbers = dict(known["numbers"])
        if sorted(self._model.numbers.values()) != list(range(len(known["numbers"]))):
            raise damaged("learned", "streams are not numbered from 0 on")
        for name, (last, until) in known["clocks"].items():
            member = self._member(name)
            _learns(member).restore(parts[f"engine {name}"])
            if not _learns(member).until == until <= clock.of(name):
                raise damaged("learned", "an engine's clock is not that of its values")
            member.last, member.until = last, until


class ValueEncoder(FamilyEncoder):
    """A value, whose it is, and from which stream. What may be dropped depends on all values of an object."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        first = planned.family.queries[0]
        self.value = family_number(planned.family, first.value, schema)
        self._across, self._assembly = _told(planned)
        for word, columns in (("OBJECT", self._across.object), ("ACROSS", (self._across.stream,))):
            for name in columns:
                groupable(column_field(schema, name, f"query {first.name}, {word}"), first.name, word)

    @property
    def value_columns(self) -> frozenset[str]:
        return self.value.columns | {*self._across.object, self._across.stream}

    def valued(self, table: pa.Table) -> Valued:
        value, keep = self.value.evaluate(table) + 0.0, self.passing(table)
        missing = np.isnan(value)
        if self._across.counts:
            value = np.where(missing, value, 1.0)
        # A stable hash of the columns that name the object.
        object, feed = hash_rows(table.select(list(self._across.object))), self._feeds(table)
        sound, rejected = self._sound(table, keep & ~missing, value, feed)
        return Valued(sound, value, {OBJECT: object, FEED: feed}, fates_of(keep, missing, sound), rejected)

    def extra_columns(self, rows: pa.Table) -> dict[str, pa.ChunkedArray]:
        return {NAME.format(place): rows.column(name) for place, name in enumerate(self._across.object)}

    def _feeds(self, table: pa.Table) -> Ints:
        """The number of each value's stream, -1 if it is none of the declared ones; a hash where none are declared."""
        if not self._across.streams:
            return hash_rows(table.select([self._across.stream]))
        names = pa.array([feed.name for feed in self._across.streams], pa.string())
        column = table.column(self._across.stream)
        text = column if pa.types.is_string(column.type) else column.cast(pa.string())
        return np.asarray(pc.fill_null(pc.index_in(text, value_set=names), -1)).astype(np.int64)

    def _sound(self, table: pa.Table, keep: Flags, value: Floats, feed: Ints) -> tuple[Flags, Rejected]:
        """Without the records that are wrong; and those, by reason."""
        across, assembly = self._across, self._assembly
        nameless = np.zeros(len(table), bool)
        for name in across.object:
            nameless |= np.asarray(table.column(name).is_null())
        stray = np.asarray(table.column(across.stream).is_null()) if not len(assembly) else feed < 0
        reasons = [(NULL_OBJECT, nameless), (UNKNOWN_STREAM, stray), (INFINITE, np.isinf(value))]
        if len(assembly):
            # Without declared bounds only a product minds: it must not fall when an attribute rises.
            low = np.where(np.isinf(assembly.high) & (assembly.combine != "PRODUCT"), -np.inf, assembly.low)
            reasons.append((OUT_OF_BOUNDS, (value < low[feed]) | (value > assembly.high[feed])))
        rejected = []
        for reason, wrong in reasons:
            bad = keep & wrong
            if bad.any():
                rejected.append((reason, table.filter(pa.array(bad))))
            keep = keep & ~wrong
        return keep, rejected


def _learns(member: Member) -> LearningEngine[AttributeValues]:
    return cast("LearningEngine[AttributeValues]", member.engine)


def _told(planned: PlannedFamily) -> tuple[Across, Assembly]:
    assert planned.family.across is not None
    assert planned.meta.apart is not None
    return planned.family.across, planned.meta.apart
