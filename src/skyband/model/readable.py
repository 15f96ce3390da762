"""Values of columns for Python and for people: whatever is in them there is one, and it is plain text on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

DAY = 86_400_000_000
ERA = 146_097 * DAY
"""400 years, after which the calendar is the same again."""
LONGEST = 200
"""Characters of a text that people are shown."""
_EPOCH = datetime(1970, 1, 1)
_SCALE = {"s": 1_000_000, "ms": 1_000, "us": 1}
Far = Callable[[int, pa.DataType], Any]
"""What stands for a time, in microseconds, that Python has none for."""


def moment_text(micros: int, between: str = " ") -> str:
    """A time of any year to the microsecond, as ISO writes it; years from 10000 on and before 0 with their sign."""
    eras, rest = divmod(micros, ERA)
    moment = _EPOCH + timedelta(microseconds=rest)
    year, text = moment.year + 400 * eras, moment.isoformat(between, "microseconds")
    return f"{year:+05}{text[4:]}" if not 0 <= year <= 9_999 else f"{year:04}{text[4:]}"


def far_text(micros: int, kind: pa.DataType) -> str:
    text = moment_text(micros)
    if pa.types.is_date(kind):
        return text.partition(" ")[0]
    return f"{text}+00:00" if kind.tz else text


def python_rows(table: pa.Table, far: Far = far_text) -> list[dict[str, Any]]:
    """Rows as dicts."""
    columns = [python_values(column, far) for column in table.columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def python_values(column: pa.Array | pa.ChunkedArray, far: Far = far_text) -> list[Any]:
    """Python's values. Its times end with the year 9999 and begin with 1: `far` says what stands for others. Text that
    is no UTF-8 has a sign in place of what cannot be read."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (ValueError, OverflowError):
        return [_value(each, far) for each in column]


def _value(scalar: pa.Scalar, far: Far) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return _odd_value(scalar, far)


def _odd_value(scalar: pa.Scalar, far: Far) -> Any:
    kind = scalar.type
    if pa.types.is_timestamp(kind) and kind.unit in _SCALE:
        return far(scalar.value * _SCALE[kind.unit], kind)
    if pa.types.is_date32(kind):
        return far(scalar.value * DAY, kind)
    if pa.types.is_date64(kind):
        return far(scalar.value * 1_000, kind)
    if hasattr(scalar, "as_buffer"):
        return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")
    if isinstance(scalar, pa.StructScalar):
        return {name: _value(scalar[name], far) for name in scalar}
    if isinstance(scalar, pa.MapScalar):
        return [(_value(each["key"], far), _value(each["value"], far)) for each in scalar.values]
    if isinstance(scalar, pa.ListScalar):
        return [_value(each, far) for each in scalar.values]
    return str(scalar)


def valid_text(text: pa.Array, errors: str = "replace") -> pa.Array:
    """Text that Python and all of Arrow can read: what is no UTF-8 is replaced, or written as escapes."""
    try:
        text.validate(full=True)
        return text
    except pa.ArrowInvalid:
        raw = text.cast(pa.large_binary()).to_pylist()
        return pa.array([None if each is None else each.decode("utf-8", errors) for each in raw], text.type)


def visible(text: str, most: int = LONGEST) -> str:
    """Plain text: signs that a terminal would obey, or not show, as escapes; what is too long cut off."""
    said = text if len(text) <= most else text[:most]
    if not said.isprintable():
        said = "".join(sign if sign.isprintable() else _escaped(sign) for sign in said)
    return said if len(text) <= most else f"{said}… ({len(text):,} characters)"


def visible_lines(text: str) -> str:
    """The same of text that has lines, and tabs in them; nothing is cut off."""
    return "\n".join("\t".join(visible(part, len(part)) for part in line.split("\t")) for line in text.split("\n"))


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def shown_rows(table: pa.Table) -> list[str]:
    """Rows for a log: names and values as Python writes them, none too long."""
    return [
        "{" + ", ".join(f"{name!r}: {_shown(value)}" for name, value in row.items()) + "}" for row in python_rows(table)
    ]


def _shown(value: Any) -> str:
    if isinstance(value, str | bytes) and len(value) > LONGEST:
        return f"{value[:LONGEST]!r}… ({len(value):,} {'characters' if isinstance(value, str) else 'bytes'})"
    return visible(str(value) if isinstance(value, datetime) else repr(value), 2 * LONGEST)
