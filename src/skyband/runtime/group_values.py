"""Values of groups' arguments: columns in the type in which they are summed up, and as integers in their order.

A DECIMAL of up to 18 digits counts in units of its last digit. What is only counted once is told apart in the column's
own type.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.language import compile_score, unscaled
from skyband.language.expressions.group_types import argument_name, is_exact_decimal, plain_type
from skyband.model import Flags, Ints
from skyband.runtime.hashing import hash_rows
from skyband.runtime.score_columns import typed

TOP = np.int64(2**63 - 1)


def argument_column(text: str, table: pa.Table, schema: pa.Schema, stream: str) -> pa.Array:
    """The values of an argument: a column of any type, or an expression that is a number or a time."""
    if (name := argument_name(text, schema)) is not None:
        return plain_column(table.column(name))
    score = compile_score(text, schema, stream=stream)
    if score.type.whole:
        numbers, null = score.integers(table)
        return typed(np.asarray(numbers), score.arrow, null)
    values = score.attribute(table)
    return pa.array(values, mask=np.isnan(values) & np.signbit(values))


def plain_column(column: pa.ChunkedArray) -> pa.Array:
    kind = plain_type(column.type)
    if pa.types.is_decimal(column.type) and not is_exact_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own cast is off by an ulp now and then.
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond")  # A cast rounds times before 1970 up.
    if column.type != kind:
        column = column.cast(kind, safe=False)
    return one_array(column)


def value_hashes(text: str, table: pa.Table, schema: pa.Schema, plain: pa.Array) -> Ints:
    """A word for each value of an argument, of which `plain` are the values as they are summed up: other numbers that
    are equal as DOUBLE have other words."""
    name = argument_name(text, schema)
    column = plain if name is None else one_array(table.column(name))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal128(column.type) or column.type == pa.uint64():
        low, high = _halves(column.cast(pa.decimal128(20, 0)) if column.type == pa.uint64() else column)
        return hash_rows(pa.table({"high": high, "low": low}))
    return hash_rows(pa.table({"x": column if pa.types.is_decimal(column.type) else plain}))


def _halves(column: pa.Array) -> tuple[Ints, Ints]:
    """Of decimals: 16 bytes each, the lower half first."""
    both = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    return both[:, 0], both[:, 1]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """In one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


# -------------------------------------------------------------------------------------------------- values as integers


def order_keys(column: pa.Array) -> Ints:
    """64-bit integers in the order of the values, NaN above all; 0 for NULL."""
    if is_exact_decimal(column.type):
        return unscaled(column)[0]
    filled = pc.fill_null(column, _zero(column.type)) if column.null_count else column
    if pa.types.is_floating(column.type):
        values = np.asarray(filled).astype(np.float64) + 0.0
        bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
        return bits ^ ((bits >> 63) & TOP)
    if pa.types.is_timestamp(column.type):
        return np.array(filled.view(pa.int64()))
    if pa.types.is_date32(column.type):
        return np.asarray(filled.view(pa.int32())).astype(np.int64)
    return np.asarray(filled.cast(pa.int64())).astype(np.int64)


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date32(kind):
        return pa.scalar(0, pa.int32()).cast(kind)
    return pa.scalar(0, pa.int64()).cast(kind)


def keyed(keys: Ints, kind: pa.DataType, some: Flags) -> pa.Array:
    """The values of order keys; NULL where there is none."""
    keys = np.where(some, keys, 0)
    if is_exact_decimal(kind):
        return typed(keys, kind, ~some)
    if pa.types.is_floating(kind):
        return pa.array((keys ^ ((keys >> 63) & TOP)).view(np.float64), mask=~some)
    numbers = pa.array(keys, mask=~some)
    return numbers.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else numbers.cast(kind)
