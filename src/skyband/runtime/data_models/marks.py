"""What a stream says of its records beside time and key: whether they exist, and whether they take others back."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.model import Flags, Floats, Ints, Stream
from skyband.runtime.columns import column_field

INSERT, DELETE, UPDATE = range(3)
OPS = {"i": INSERT, "insert": INSERT, "+": INSERT, "c": INSERT, "create": INSERT, "r": INSERT}
OPS |= {"d": DELETE, "delete": DELETE, "-": DELETE, "u": UPDATE, "update": UPDATE}
"""What an OP column may say, in any letter case: also the letters of change-data capture."""


class Mark(Protocol):
    """A column that marks records; a record without a mark that can be read is bad."""

    reason: str

    def wrong(self, table: pa.Table) -> Flags: ...


def marks_of(stream: Stream, schema: pa.Schema) -> list[Mark]:
    """The marks there are; columns that do not fit are refused."""
    found: list[Mark] = []
    if stream.probability is not None:
        found.append(_Probability(stream, schema))
    for word, name in (("RULE", stream.rule), ("SOURCE", stream.source)):
        if name is not None:
            column_field(schema, name, f"stream {stream.name}, {word}")
    if stream.op is not None:
        found.append(_Operation(stream, schema, stream.op))
    return found


class _Probability:
    reason = "probability outside (0, 1]"

    def __init__(self, stream: Stream, schema: pa.Schema) -> None:
        assert stream.probability is not None
        kind = column_field(schema, stream.probability, f"stream {stream.name}, PROBABILITY").type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
            raise SkybandError(
                f"stream {stream.name}: the probability column {stream.probability!r} is of type {kind}",
                expected="a number",
            )
        self._stream = stream

    def wrong(self, table: pa.Table) -> Flags:
        p = probabilities(table, self._stream)
        return ~((p > 0) & (p <= 1))


class _Operation:
    reason = "unknown operation"

    def __init__(self, stream: Stream, schema: pa.Schema, op: str) -> None:
        kind = column_field(schema, op, f"stream {stream.name}, OP").type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise SkybandError(
                f"stream {stream.name}: {op!r}, which tells inserts from deletes, is of type {kind}",
                expected="text: " + ", ".join(sorted(OPS)),
            )
        self._op = op

    def wrong(self, table: pa.Table) -> Flags:
        return operations(table, self._op) < 0


def probabilities(table: pa.Table, stream: Stream) -> Floats:
    """Membership probabilities; NaN where there is none. All are 1 where the stream knows none."""
    if stream.probability is None:
        return np.ones(len(table))
    column = pc.fill_null(table.column(stream.probability).cast(pa.float64()), float("nan"))
    return np.array(column.to_numpy(), np.float64)


def operations(table: pa.Table, op: str) -> Ints:
    """For every row one of INSERT, DELETE and UPDATE; -1 where the text says something else. NULL is an insert."""
    coded = pa.chunked_array([table.column(op).combine_chunks()]).combine_chunks().dictionary_encode()
    words = [OPS.get(str(word).strip().lower(), -1) for word in coded.dictionary.to_pylist()]
    place = np.asarray(pc.fill_null(coded.indices, len(words)))
    meant: Ints = np.array([*words, INSERT], np.int64)[place]
    return meant


def record_positions(stream: Stream, table: pa.Table) -> tuple[Ints, int]:
    """The positions of records, from 0 on, and how many have one: a delete has none, and stands where the next record
    will."""
    if stream.op is None:
        return np.arange(len(table)), len(table)
    record = operations(table, stream.op) != DELETE
    return np.cumsum(record) - record, int(record.sum())
