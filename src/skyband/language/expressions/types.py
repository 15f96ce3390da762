"""The few types an expression knows, and how Arrow's and Spark's many types map to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import pyarrow as pa


class Type(StrEnum):
    """Every integer is a BIGINT, every other number a DOUBLE; that is what makes NumPy and Spark agree."""

    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    DATE = "DATE"
    VOID = "VOID"
    """The type of a bare NULL: fits everywhere."""
    SAME = "SAME"
    """Only in signatures: any one type, the same wherever it stands."""


NUMBERS = (Type.BIGINT, Type.DOUBLE)
TIMES = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.DATE)


def type_of(arrow: pa.DataType) -> Type | None:
    """The type of a column as expressions see it; None for columns they cannot use (lists, structs, binary ...)."""
    kind = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    for test, result in _ARROW:
        if test(kind):
            return result
    return None


def names_groups(arrow: pa.DataType) -> bool:
    """Whether values of that type name something: records can be put together by them."""
    return not (pa.types.is_floating(arrow) or pa.types.is_nested(arrow) or pa.types.is_null(arrow))


GROUPABLE = "whole numbers, text, booleans, decimals, dates or times"


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


_ARROW = (
    (pa.types.is_uint64, Type.DOUBLE),  # does not fit a BIGINT; Spark reads it as DECIMAL(20, 0)
    (pa.types.is_integer, Type.BIGINT),
    (pa.types.is_floating, Type.DOUBLE),
    (pa.types.is_decimal, Type.DOUBLE),
    (pa.types.is_boolean, Type.BOOLEAN),
    (_is_text, Type.STRING),
    (lambda t: pa.types.is_timestamp(t) and t.tz is not None, Type.TIMESTAMP),
    (pa.types.is_timestamp, Type.TIMESTAMP_NTZ),
    (pa.types.is_date, Type.DATE),
    (pa.types.is_null, Type.VOID),
)

_DECLARED = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "BYTE": pa.int8(),
    "SMALLINT": pa.int16(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "REAL": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_LTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "BINARY": pa.binary(),
    "DECIMAL": pa.decimal128(10, 0),
    "DEC": pa.decimal128(10, 0),
    "NUMERIC": pa.decimal128(10, 0),
}
DECLARED_NAMES = tuple(_DECLARED)
_WRITTEN = re.compile(r"\s*(.*?)\s+(FROM|FORMAT)\b\s*(.*?)\s*", re.IGNORECASE | re.DOTALL)
_SIZED = re.compile(r"\s*(\w+)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*")


def split_type(text: str) -> tuple[str, str, str]:
    """A type's name, then FROM or FORMAT and what follows, both empty where it does not say how times are written."""
    said = _WRITTEN.fullmatch(text)
    return (said[1], said[2].upper(), said[3]) if said else (text, "", "")


def declared_type(text: str) -> pa.DataType | None:
    """The Arrow type of a Spark SQL type name such as `BIGINT` or `DECIMAL(10, 2)`, however its times are written; None
    when it is no such name."""
    text = split_type(text)[0]
    sized = _SIZED.fullmatch(text)
    if not sized:
        return _DECLARED.get(text.strip().upper())
    name, size, scale = sized[1].upper(), int(sized[2]), int(sized[3] or 0)
    if name in ("VARCHAR", "CHAR") and sized[3] is None:
        return pa.string()
    if name in ("DECIMAL", "DEC", "NUMERIC") and 1 <= size <= 38 and scale <= size:
        return pa.decimal128(size, scale)
    return None


def declared_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema | None:
    """The Arrow schema of a stream's declared columns; None when it declares none, or one with an unknown type."""
    fields = [(name, declared_type(kind)) for name, kind in columns]
    if not fields or any(kind is None for _, kind in fields):
        return None
    return pa.schema(fields)
