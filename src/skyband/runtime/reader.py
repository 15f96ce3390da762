"""The tables of a stream: checked against it, the time taken out, bad records counted."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.model import Flags, Floats, Ints, Stream
from skyband.model.names import did_you_mean
from skyband.runtime.clock import FOREVER

SHOWN = 3
INSERT, DELETE, UPDATE = range(3)
OPS = {"i": INSERT, "insert": INSERT, "+": INSERT, "c": INSERT, "create": INSERT, "r": INSERT}
OPS |= {"d": DELETE, "delete": DELETE, "-": DELETE, "u": UPDATE, "update": UPDATE}
"""What an OP column may say, in any letter case: also the letters of change-data capture."""
log = logging.getLogger("skyband")


def column_field(schema: pa.Schema, name: str, where: str) -> pa.Field:
    """The column called `name`; an unknown one is refused with the nearest there is."""
    if name in schema.names:
        return schema.field(name)
    raise SkybandError(
        f"{where}: there is no column {name!r}",
        expected="one of " + ", ".join(schema.names),
        hint=did_you_mean(name, schema.names),
    )


class StreamReader:
    """Checks tables against the stream, takes the time out, counts bad records."""

    def __init__(self, stream: Stream, schema: pa.Schema) -> None:
        self.stream = stream
        self.schema = schema
        self.bad: Counter[str] = Counter()
        time = column_field(schema, stream.time, f"stream {stream.name}, TIME")
        if not (pa.types.is_timestamp(time.type) or pa.types.is_date(time.type)):
            raise SkybandError(
                f"stream {stream.name}: the time column {stream.time!r} is of type {time.type}",
                expected="a timestamp",
                hint="a number does not say whether it counts seconds or microseconds: cast it to timestamp first",
            )
        if stream.key is not None:
            column_field(schema, stream.key, f"stream {stream.name}, KEY")
        if stream.probability is not None:
            _numeric(column_field(schema, stream.probability, f"stream {stream.name}, PROBABILITY"), stream)
        for word, name in (("RULE", stream.rule), ("SOURCE", stream.source)):
            if name is not None:
                column_field(schema, name, f"stream {stream.name}, {word}")
        if stream.op is not None:
            op = column_field(schema, stream.op, f"stream {stream.name}, OP")
            if not (pa.types.is_string(op.type) or pa.types.is_large_string(op.type)):
                raise SkybandError(
                    f"stream {stream.name}: {stream.op!r}, which tells inserts from deletes, is of type {op.type}",
                    expected="text: " + ", ".join(sorted(OPS)),
                )

    @property
    def zone(self) -> str | None:
        """UTC where the stream's times are instants; None where they are taken as they stand."""
        kind = self.schema.field(self.stream.time).type
        return "UTC" if pa.types.is_timestamp(kind) and kind.tz else None

    def clean(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        """The good records and their times in microseconds."""
        table = self._checked(table)
        column = table.column(self.stream.time)
        missing = np.asarray(column.is_null())
        at, far = _microseconds(column)
        table = self._without(table, missing, "null time")
        far, at = far[~missing], at[~missing]
        table, at = self._likely(self._without(table, far, "time out of range"), at[~far])
        if self.stream.op is None:
            return table, at
        wrong = operations(table, self.stream.op) < 0
        return self._without(table, wrong, "unknown operation"), at[~wrong]

    def positions(self, table: pa.Table) -> tuple[Ints, int]:
        """The positions of clean records, from 0 on, and how many have one: a delete has none, and stands where the
        next record will."""
        if self.stream.op is None:
            return np.arange(len(table)), len(table)
        record = operations(table, self.stream.op) != DELETE
        return np.cumsum(record) - record, int(record.sum())

    def _likely(self, table: pa.Table, at: Ints) -> tuple[pa.Table, Ints]:
        """Of an uncertain stream: the records with a probability in (0, 1]."""
        if self.stream.probability is None:
            return table, at
        p = probabilities(table, self.stream)
        wrong = ~((p > 0) & (p <= 1))
        return self._without(table, wrong, "probability outside (0, 1]"), at[~wrong]

    def _checked(self, table: pa.Table) -> pa.Table:
        for field in self.schema:
            found = column_field(table.schema, field.name, f"stream {self.stream.name}")
            if found.type != field.type:
                raise SkybandError(
                    f"stream {self.stream.name}: column {field.name!r} came as {found.type}",
                    expected=f"{field.type}, as before",
                    hint="cast the table to one schema before pushing it",
                )
        return table.select(self.schema.names)

    def _without(self, table: pa.Table, wrong: Flags, reason: str) -> pa.Table:
        if not wrong.any():
            return table
        self.reject(reason, table.filter(pa.array(wrong)))
        return table.filter(pa.array(~wrong))

    def reject(self, reason: str, rejected: pa.Table) -> None:
        """Count bad records; the first few of each reason are shown."""
        for row in _readable(rejected.slice(0, max(0, SHOWN - self.bad[reason]))):
            log.warning("stream %s: %s, record left out: %s", self.stream.name, reason, row)
        self.bad[reason] += len(rejected)


def _numeric(field: pa.Field, stream: Stream) -> None:
    kind = field.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise SkybandError(
            f"stream {stream.name}: the probability column {field.name!r} is of type {kind}", expected="a number"
        )


def probabilities(table: pa.Table, stream: Stream) -> Floats:
    """Membership probabilities; NaN where there is none. All are 1 where the stream knows none."""
    if stream.probability is None:
        return np.ones(len(table))
    column = pc.fill_null(table.column(stream.probability).cast(pa.float64()), float("nan"))
    return np.array(column.to_numpy(), np.float64)


def _readable(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values; times as text, for Python's end at the year 9999."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.string()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _microseconds(column: pa.ChunkedArray) -> tuple[Ints, Flags]:
    """Times, rounded down, and which are too far away to be windowed; null counts as zero."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s") if pa.types.is_date32(kind) else pa.timestamp("ms"))
        kind = column.type
    number = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[kind.unit]
    if kind.unit == "ns":
        number = number // 1_000
    most = FOREVER // scale
    far = (number > most) | (number < -most)
    return np.where(far, 0, number) * scale, far


def operations(table: pa.Table, op: str) -> Ints:
    """For every row one of INSERT, DELETE and UPDATE; -1 where the text says something else. NULL is an insert."""
    coded = pa.chunked_array([table.column(op).combine_chunks()]).combine_chunks().dictionary_encode()
    words = [OPS.get(str(word).strip().lower(), -1) for word in coded.dictionary.to_pylist()]
    place = np.asarray(pc.fill_null(coded.indices, len(words)))
    meant: Ints = np.array([*words, INSERT], np.int64)[place]
    return meant


def group_text(table: pa.Table, per: tuple[str, ...]) -> pa.Array:
    """One text per row: values joined by `|`, NULL as `\\N`, backslashes and bars in values escaped."""
    parts = [_escaped(table.column(name)) for name in per]
    joined = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "|")
    joined = joined.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), "|", "\\|")
    return pc.fill_null(text, "\\N")
