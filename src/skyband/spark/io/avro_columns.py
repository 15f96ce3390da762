"""Which fields of an Avro record are columns, of which type, and how they are made of what fastavro reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.model import Flags
from skyband.spark.io.value_reader import Made, SchemaColumn, is_given

MOST_DIGITS = 38
NO_SYMBOL = "\0"
"""What stands for a symbol that an enum has not."""
_INT, _MOST = np.iinfo(np.int32), 2**63 - 1
_WIDER = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}
"""Branches of a union that make one column."""
Maker = Callable[[list[Any]], Made]


def avro_column(name: str, written: Any, named: Mapping[str, Any]) -> SchemaColumn | str:
    """The column of a field; or, if it is none, what it is."""
    schema = _one_branch(written)
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    full: Mapping[str, Any] = schema if isinstance(schema, dict) else {"type": schema}
    found = _logical(full) or _PLAIN.get(str(full.get("type")))
    if found is None:
        return "a union of several types" if isinstance(schema, list) else f"of type {full.get('type')}"
    kind, make = found
    return SchemaColumn(name, kind, make)


def _one_branch(written: Any) -> Any:
    """Without NULL, which every column takes."""
    if not isinstance(written, list):
        return written
    branches = [each for each in written if each != "null"]
    if len(branches) == 1:
        return branches[0]
    plain = frozenset(each for each in branches if isinstance(each, str))
    return _WIDER.get(plain, branches) if len(plain) == len(branches) else branches


def _logical(schema: Mapping[str, Any]) -> tuple[pa.DataType, Maker] | None:
    """None where it has no logical type that we know, or one that does not belong there: Avro says to ignore those."""
    said, kind = schema.get("logicalType"), schema["type"]
    if said == "date" and kind == "int":
        return pa.date32(), _dates
    if said == "decimal" and kind in ("bytes", "fixed"):
        digits, scale = schema.get("precision", 0), schema.get("scale", 0)
        fits = 0 < digits <= MOST_DIGITS and 0 <= scale <= digits
        return (pa.decimal128(digits, scale), partial(_decimals, digits, scale)) if fits else None
    unit = _UNITS.get(str(said).rpartition("-")[2])
    if unit is None or kind != "long" or str(said).rpartition("-")[0] not in _ZONES:
        return None
    moment = pa.timestamp("us", _ZONES[str(said).rpartition("-")[0]])
    return moment, partial(_times, moment, *unit)


def _as_it_is(kind: pa.DataType, values: list[Any]) -> Made:
    return Made(pa.array(values, kind))


def _booleans(values: list[Any]) -> Made:
    """Of the byte that is there, or a default: 1 is true, and nothing else, as in Java."""
    return Made(pa.array([None if value is None else value in (b"\1", True) for value in values], pa.bool_()))


def _ints(values: list[Any]) -> Made:
    """fastavro reads longer ones as well."""
    number, given = _numbers(values)
    wrong = (number < _INT.min) | (number > _INT.max)
    return Made(pa.array(np.where(wrong, 0, number).astype(np.int32), mask=~given), wrong)


def _dates(values: list[Any]) -> Made:
    days, wrong = _ints(values)
    return Made(days.cast(pa.date32()), wrong)


def _times(kind: pa.DataType, up: int, down: int, values: list[Any]) -> Made:
    """In microseconds, rounded down."""
    number, given = _numbers(values)
    wrong = (number > _MOST // up) | (number < -(_MOST // up))
    micros = np.where(wrong, 0, number) * up // down
    return Made(pa.array(micros, mask=~given).cast(kind), wrong)


def _numbers(values: list[Any]) -> tuple[np.ndarray, Flags]:
    given = is_given(values)
    return np.fromiter((value or 0 for value in values), np.int64, len(values)), given


def _symbols(values: list[Any]) -> Made:
    wrong = np.fromiter((value == NO_SYMBOL for value in values), bool, len(values))
    return Made(pa.array(values, pa.string()), wrong)


def _decimals(digits: int, scale: int, values: list[Any]) -> Made:
    """Of the bytes of a whole number, the highest first: the same number, as Arrow keeps it."""
    numbers = [int.from_bytes(value or b"", "big", signed=True) for value in values]
    wrong = np.fromiter((abs(number) >= 10**digits for number in numbers), bool, len(numbers))
    kept = b"".join(
        (0 if none else each).to_bytes(16, "little", signed=True) for each, none in zip(numbers, wrong, strict=True)
    )
    valid = pa.array(is_given(values)).buffers()[1]
    column = pa.Array.from_buffers(pa.decimal128(digits, scale), len(values), [valid, pa.py_buffer(kept)])
    return Made(column, wrong)


_ZONES = {"timestamp": "UTC", "local-timestamp": None}
_UNITS = {"millis": (1_000, 1), "micros": (1, 1), "nanos": (1, 1_000)}
"""By what a number is multiplied, and divided, for microseconds."""
_PLAIN: dict[str, tuple[pa.DataType, Maker]] = {
    "boolean": (pa.bool_(), _booleans),
    "int": (pa.int32(), _ints),
    "long": (pa.int64(), partial(_as_it_is, pa.int64())),
    "float": (pa.float32(), partial(_as_it_is, pa.float32())),
    "double": (pa.float64(), partial(_as_it_is, pa.float64())),
    "string": (pa.string(), partial(_as_it_is, pa.string())),
    "bytes": (pa.binary(), partial(_as_it_is, pa.binary())),
    "fixed": (pa.binary(), partial(_as_it_is, pa.binary())),
    "enum": (pa.string(), _symbols),
}
