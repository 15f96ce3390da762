"""From a table of a stream to packed rows of objects: which object, which stream, which value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.language import Filter, Score, compile_score
from skyband.model import Flags, Floats, Ints
from skyband.planner import PlannedFamily
from skyband.runtime.hashing import hash_rows
from skyband.runtime.intake import (
    Packed,
    Rejected,
    column_field,
    family_filter,
    groupable,
    late_by_query,
    of_query,
    shown_columns,
)
from skyband.runtime.packed import AT, FEED, GROUP, HASH, KEY, NAME, OBJECT, SCORE

NULL_OBJECT, UNKNOWN_STREAM = "null object", "unknown stream"
OUT_OF_BOUNDS, INFINITE = "value out of its stream's bounds", "infinite value"


@dataclass(frozen=True)
class ObjectIntake:
    """The expressions and columns of a family of objects, compiled for a stream's columns."""

    planned: PlannedFamily
    value: Score
    filter: Filter | None
    names: tuple[str, ...]

    @staticmethod
    def bind(planned: PlannedFamily, schema: pa.Schema) -> ObjectIntake:
        """Compile; what does not fit the columns is refused, naming the query."""
        family = planned.family
        across, first = family.across, family.queries[0]
        assert across is not None
        value = of_query(first.name, lambda: compile_score(first.value, schema, stream=family.stream.name))
        kept, names = family_filter(family, schema), shown_columns(family, schema)
        for word, columns in (("PER", family.per), ("OBJECT", across.object), ("ACROSS", (across.stream,))):
            for name in columns:
                groupable(column_field(schema, name, f"query {first.name}, {word}"), first.name, word)
        return ObjectIntake(planned, value, kept, names)

    def pack(self, table: pa.Table, at: Ints, group: pa.Array | None, watermark: int, aligned: bool = True) -> Packed:
        """Packed rows of the records that qualify: what may be dropped depends on all values of an object."""
        keep, value, unranked = self._valued(table)
        object, feed = self._objects(table), self._feeds(table)
        keep, rejected = self._sound(table, keep, value, feed)
        chosen = np.flatnonzero(keep)
        late, dropped = late_by_query(self.planned.meta, at[chosen], watermark)
        rows = self._rows(table, at, (value, object, feed), group, chosen)
        return Packed(rows, unranked, late, dropped, rejected)

    def pack_all(self, table: pa.Table, at: Ints, group: pa.Array | None) -> tuple[pa.Table, int, Rejected]:
        """Packed rows of all records: one that does not qualify has NaN for a value, but still has to be counted."""
        keep, value, unranked = self._valued(table)
        object, feed = self._objects(table), self._feeds(table)
        keep, rejected = self._sound(table, keep, value, feed)
        value = np.where(keep, value, np.nan)
        return self._rows(table, at, (value, object, feed), group, np.arange(len(table))), unranked, rejected

    def _rows(
        self, table: pa.Table, at: Ints, what: tuple[Floats, Ints, Ints], group: pa.Array | None, chosen: Ints
    ) -> pa.Table:
        family = self.planned.family
        assert family.across is not None
        rows = table.take(pa.array(chosen)) if len(chosen) < len(table) else table
        value, object, feed = what
        packed = {AT: pa.array(at[chosen]), SCORE: pa.array(value[chosen]), HASH: pa.array(hash_rows(rows))}
        packed |= {OBJECT: pa.array(object[chosen]), FEED: pa.array(feed[chosen])}
        packed |= {NAME.format(place): rows.column(name) for place, name in enumerate(family.across.object)}
        if family.stream.key is not None:
            packed[KEY] = rows.column(family.stream.key)
        if group is not None:
            packed[GROUP] = group.take(pa.array(chosen))
        return pa.table(packed | {name: rows.column(name) for name in self.names})

    def _valued(self, table: pa.Table) -> tuple[Flags, Floats, int]:
        """Which records pass the filter and have a value, the values, and how many pass without one."""
        value = self.value.evaluate(table) + 0.0
        keep = np.ones(len(table), bool) if self.filter is None else self.filter.evaluate(table)
        missing = np.isnan(value)
        return keep & ~missing, value, int((keep & missing).sum())

    def _objects(self, table: pa.Table) -> Ints:
        """A stable hash of the columns that name the object."""
        assert self.planned.family.across is not None
        return hash_rows(table.select(list(self.planned.family.across.object)))

    def _feeds(self, table: pa.Table) -> Ints:
        """The number of each value's stream, -1 if it is none of the declared ones; a hash where none are declared."""
        across = self.planned.family.across
        assert across is not None
        if not across.streams:
            return hash_rows(table.select([across.stream]))
        names = pa.array([feed.name for feed in across.streams], pa.string())
        column = table.column(across.stream)
        found = pc.index_in(_text(column), value_set=names)
        return np.asarray(pc.fill_null(found, -1)).astype(np.int64)

    def _sound(self, table: pa.Table, keep: Flags, value: Floats, feed: Ints) -> tuple[Flags, Rejected]:
        """Without the records that are wrong; and those, by reason."""
        across, assembly = self.planned.family.across, self.planned.meta.apart
        assert across is not None
        assert assembly is not None
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


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else column.cast(pa.string())
