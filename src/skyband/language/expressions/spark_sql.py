"""A bound expression as Spark SQL text: no session setting changes its meaning, and it never throws."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from skyband.language.expressions.expression import EPOCH
from skyband.language.expressions.tree import Bound, Field, Value
from skyband.language.expressions.types import Type


def sql(node: Bound) -> str:
    if isinstance(node, Field):
        return _column(node)
    if isinstance(node, Value):
        return _constant(node)
    return node.overload.sql([sql(arg) for arg in node.args])


def column_sql(node: Field) -> str:
    """The column as it stands."""
    return "`" + node.name.replace("`", "``") + "`"


def _column(node: Field) -> str:
    name, arrow = column_sql(node), node.arrow
    plain = pa.types.is_int64(arrow) if node.type is Type.BIGINT else pa.types.is_float64(arrow)
    return name if plain or node.type not in (Type.BIGINT, Type.DOUBLE) else f"CAST({name} AS {node.type})"


def _constant(node: Value) -> str:
    value = node.value
    if value is None:
        return "NULL" if node.type is Type.VOID else f"CAST(NULL AS {node.type})"
    if isinstance(value, str):
        return _string(value)
    match node.type:
        case Type.BIGINT:
            return f"{value}L"
        case Type.DOUBLE:
            return f"{value!r}D"
        case Type.TIMESTAMP:
            return f"timestamp_micros({value}L)"
        case Type.TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{(EPOCH + timedelta(microseconds=value)).replace(tzinfo=None).isoformat(' ')}'"
        case Type.DATE:
            return f"DATE '{(EPOCH + timedelta(days=value)).date().isoformat()}'"
    return str(value).lower()


def _string(value: str) -> str:
    """Everything that is not a plain character goes in as an escape, so that no parser setting can misread it."""
    return "'" + "".join(_escaped(sign) for sign in value) + "'"


def _escaped(sign: str) -> str:
    if sign in "\\'":
        return "\\" + sign
    return sign if sign.isprintable() else "".join(f"\\u{unit:04x}" for unit in _utf16(sign))


def _utf16(sign: str) -> list[int]:
    data = sign.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
