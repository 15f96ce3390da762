"""Values that are bytes, made to the columns of a stream: opened, read with the schema of each, fitted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.spark.io.fitting import fitted
from skyband.spark.io.frames import Framing, SchemaKey
from skyband.spark.io.value_reader import ValueReader
from skyband.spark.io.value_schemas import Schemas

NO_FRAME = "a value without the frame of a schema registry"
MISSING = "no value"
SHOWN_BYTES = 32
"""Of a value that is logged."""
Refused = list[tuple[str, pa.Table]]
"""Why values were left out, and what is shown of them."""


@dataclass(frozen=True)
class Decoded:
    """The records of values that can be read, and where each of them stood; and the others."""

    table: pa.Table
    places: Ints
    refused: Refused


@dataclass(frozen=True)
class Decoding:
    """What makes records of values."""

    schema: pa.Schema
    """The columns of the stream."""
    framing: Framing
    schemas: Schemas
    absent: pa.Table
    """One record: what a column is that a value was written without."""

    def read(self, values: pa.Array) -> Decoded:
        raw = values.to_pylist()
        opened: dict[SchemaKey, tuple[list[int], list[bytes]]] = defaultdict(lambda: ([], []))
        left: dict[str, list[int]] = defaultdict(list)
        for place, value in enumerate(raw):
            found = None if value is None else self.framing.opened(value)
            if found is None:
                left[MISSING if value is None else NO_FRAME].append(place)
            else:
                places, payloads = opened[found[0]]
                places.append(place)
                payloads.append(found[1])
        parts = [self._part(key, *each, left) for key, each in opened.items()]
        refused = [(reason, _shown([raw[place] for place in places])) for reason, places in left.items()]
        return Decoded(*self._in_order(parts), refused)

    def _part(
        self, key: SchemaKey, places: list[int], payloads: Sequence[bytes], left: dict[str, list[int]]
    ) -> tuple[pa.Table, Ints]:
        """The records of one schema."""
        reader = self.schemas.reader(key, frozenset(self.schema.names))
        table, good = reader.read(payloads)
        at = np.asarray(places)
        if not good.all():
            left[reader.refusal].extend(at[~good].tolist())
        return self._resolved(table, int(good.sum())), at[good]

    def _resolved(self, table: pa.Table, count: int) -> pa.Table:
        """So many records: a table without a column does not know it."""
        return pa.table([self._column(table, each, count) for each in self.schema], self.schema)

    def _column(self, table: pa.Table, wanted: pa.Field, count: int) -> pa.Array:
        if wanted.name in table.column_names:
            return fitted(table.column(wanted.name).combine_chunks(), wanted.type)
        return pa.repeat(self.absent.column(wanted.name)[0], count)

    def _in_order(self, parts: list[tuple[pa.Table, Ints]]) -> tuple[pa.Table, Ints]:
        """As they came."""
        tables = [self.schema.empty_table(), *(table for table, _ in parts)]
        places = np.concatenate([np.zeros(0, np.int64), *(each for _, each in parts)])
        table = pa.concat_tables(tables).combine_chunks()
        if len(parts) < 2:
            return table, places
        order = np.argsort(places)
        return table.take(pa.array(order)), places[order]


def absent_record(schema: pa.Schema, reader: ValueReader | None) -> pa.Table:
    """What the newest schema says of columns that a value was written without; NULL where it says nothing."""
    said = None if reader is None else reader.absent()
    columns = [_said(said, each) for each in schema]
    return pa.table(columns, schema)


def _said(said: pa.Table | None, wanted: pa.Field) -> pa.Array:
    if said is None or wanted.name not in said.column_names:
        return pa.nulls(1, wanted.type)
    return fitted(said.column(wanted.name).combine_chunks(), wanted.type)


def _shown(values: Sequence[bytes | None]) -> pa.Table:
    return pa.table({"value": pa.array(map(_hex, values), pa.string())})


def _hex(value: bytes | None) -> str | None:
    if value is None or len(value) <= SHOWN_BYTES:
        return None if value is None else value.hex()
    return f"{value[:SHOWN_BYTES].hex()}... ({len(value)} bytes)"
