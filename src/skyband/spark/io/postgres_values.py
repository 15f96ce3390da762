"""Values as PostgreSQL takes them. It has no character NUL, and its times begin in the year 4714 before Christ: such a
value is replaced, and counted, so that it costs nothing but itself."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband.model.readable import moment_text, python_values

NUL, SIGN = "\0", "\ufffd"
FIRST_MOMENT = -210_866_803_200_000_000
"""Julian day 0, in microseconds."""
LAST_DAY = 2_145_031_948
"""The last day of the year 5874897, since 1970."""
_DAY = 86_400_000_000
_KINDS = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_date, "date"),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "timestamptz"),
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_nested, "jsonb"),
)


def postgres_kind(kind: pa.DataType) -> str:
    return next((name for test, name in _KINDS if test(kind)), "text")


def postgres_values(column: pa.Array) -> list[Any]:
    """One for each row, and never one that PostgreSQL refuses."""
    values = python_values(column, _far)
    if pa.types.is_nested(column.type):
        from psycopg.types.json import Jsonb

        return [None if value is None else Jsonb(_plain(value), dumps=_written) for value in values]
    return [_text(value) for value in values] if replaced(column) and _is_text(column.type) else values


def replaced(column: pa.Array) -> int:
    """How many values are written otherwise than they are."""
    kind = column.type
    if _is_text(kind):
        return pc.sum(pc.match_substring(column.cast(pa.large_binary()), NUL)).as_py() or 0
    if pa.types.is_timestamp(kind):
        return pc.sum(pc.less(column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), FIRST_MOMENT)).as_py() or 0
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32())
        return pc.sum(pc.or_(pc.less(days, FIRST_MOMENT // _DAY), pc.greater(days, LAST_DAY))).as_py() or 0
    return 0


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _far(micros: int, kind: pa.DataType) -> str:
    if micros < FIRST_MOMENT:
        return "-infinity"
    if micros > LAST_DAY * _DAY:
        return "infinity"
    text = moment_text(micros)
    year, rest = text[: text.index("-", 1)], text[text.index("-", 1) :]
    rest = rest.partition(" ")[0] if pa.types.is_date(kind) else f"{rest}+00" if kind.tz else rest
    return f"{int(year):04}{rest}" if int(year) > 0 else f"{1 - int(year):04}{rest} BC"


def _text(value: str | None) -> str | None:
    return None if value is None else value.replace(NUL, SIGN)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, str):
        return value.replace(NUL, SIGN)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _written(value: Any) -> str:
    return json.dumps(value, default=str)
