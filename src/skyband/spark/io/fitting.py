"""Columns as a schema has them, made to those that are declared: what a value cannot be there is NULL, as of JSON."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

Test = Callable[[pa.DataType], bool]
Cast = Callable[[pa.Array, pa.DataType], pa.Array]


def takes(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column of one type can be made of another one."""
    return found == wanted or _cast(found, wanted) is not None


def fitted(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column in that type; NULL where a value does not fit, everywhere if none can."""
    if column.type == wanted:
        return column
    cast = _cast(column.type, wanted)
    return pa.nulls(len(column), wanted) if cast is None else cast(column, wanted)


def _cast(found: pa.DataType, wanted: pa.DataType) -> Cast | None:
    return next((cast for given, made, cast in _CASTS if given(found) and made(wanted)), None)


def _each(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """What can be cast."""
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid:
        return pa.concat_arrays([_one(column.slice(place, 1), wanted) for place in range(len(column))])


def _one(value: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        return value.cast(wanted)
    except pa.ArrowInvalid:
        return pa.nulls(1, wanted)


def _whole(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    room = np.iinfo(wanted.to_pandas_dtype())
    inside = pc.and_(pc.greater_equal(column, int(room.min)), pc.less_equal(column, int(room.max)))
    return pc.if_else(inside, column, None).cast(wanted)


def _nearest(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    return column.cast(wanted, safe=False)


def _nearest_of_decimal(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Arrow's own cast does not always give the nearest."""
    return column.cast(pa.string()).cast(pa.float64()).cast(wanted, safe=False)


def _rounded(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """As Spark rounds a decimal: half away from zero."""
    if column.type.scale > wanted.scale:
        wide = column.cast(pa.decimal256(76, column.type.scale))
        column = pc.round(wide, wanted.scale, "half_towards_infinity")
    return _each(column, wanted)


def _exact(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """By way of a decimal that has room for every integer: Arrow asks for that."""
    return _each(column.cast(pa.decimal128(19, 0)), wanted)


def _same_number(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Times with and without a zone: both in UTC."""
    return column.cast(pa.int64()).cast(wanted)


def _is_whole_decimal(kind: pa.DataType) -> bool:
    return bool(types.is_decimal(kind) and kind.scale == 0)


_CASTS: tuple[tuple[Test, Test, Cast], ...] = (
    (types.is_signed_integer, types.is_signed_integer, _whole),
    (types.is_signed_integer, types.is_floating, _nearest),
    (types.is_signed_integer, types.is_decimal, _exact),
    (types.is_signed_integer, types.is_string, _each),
    (types.is_floating, types.is_floating, _nearest),
    (types.is_decimal, types.is_floating, _nearest_of_decimal),
    (types.is_decimal, types.is_decimal, _rounded),
    (_is_whole_decimal, types.is_signed_integer, _each),
    (_is_whole_decimal, types.is_string, _each),
    (types.is_boolean, types.is_string, _each),
    (types.is_string, types.is_binary, _each),
    (types.is_binary, types.is_string, _each),
    (types.is_date32, types.is_timestamp, _each),
    (types.is_timestamp, types.is_timestamp, _same_number),
)
"""From which types, to which, how. Text is made of whole numbers as JSON writes them; of others each language makes
another text."""
