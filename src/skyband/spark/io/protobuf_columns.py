"""Which fields of a Protobuf message are columns, of which type, and how they are made of messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from skyband.spark.io.value_reader import Made, SchemaColumn

TIMESTAMP = "google.protobuf.Timestamp"
WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
"""Messages that hold one value, so that it can be missing."""
_MOMENT = pa.timestamp("us", "UTC")
_MOST = 2**63 - 1
_KINDS = {
    FieldDescriptor.TYPE_DOUBLE: pa.float64(),
    FieldDescriptor.TYPE_FLOAT: pa.float32(),
    FieldDescriptor.TYPE_INT32: pa.int32(),
    FieldDescriptor.TYPE_SINT32: pa.int32(),
    FieldDescriptor.TYPE_SFIXED32: pa.int32(),
    FieldDescriptor.TYPE_INT64: pa.int64(),
    FieldDescriptor.TYPE_SINT64: pa.int64(),
    FieldDescriptor.TYPE_SFIXED64: pa.int64(),
    FieldDescriptor.TYPE_UINT32: pa.int64(),
    FieldDescriptor.TYPE_FIXED32: pa.int64(),
    FieldDescriptor.TYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.TYPE_FIXED64: pa.decimal128(20, 0),
    FieldDescriptor.TYPE_BOOL: pa.bool_(),
    FieldDescriptor.TYPE_STRING: pa.string(),
    FieldDescriptor.TYPE_BYTES: pa.binary(),
}
"""There is no type without a sign in Spark: one that has room is taken."""


def protobuf_column(field: FieldDescriptor) -> SchemaColumn | str:
    """The column of a field; or, if it is none, what it is."""
    if field.is_repeated:
        return "repeated"
    if field.type == FieldDescriptor.TYPE_ENUM:
        return SchemaColumn(field.name, pa.string(), partial(_symbols, field.enum_type, _getter(field)))
    message = field.message_type
    if message is None:
        kind = _KINDS[field.type]
        return SchemaColumn(field.name, kind, partial(_values, kind, _getter(field)))
    if message.full_name == TIMESTAMP:
        return SchemaColumn(field.name, _MOMENT, partial(_moments, field.name))
    if message.full_name in WRAPPERS:
        kind = _KINDS[message.fields_by_name["value"].type]
        return SchemaColumn(field.name, kind, partial(_values, kind, _wrapped(field.name)))
    return f"a {message.full_name}"


def _getter(field: FieldDescriptor) -> Callable[[Any], Any]:
    """A field that can be missing, and has no default of its own, is NULL where it is."""
    name = field.name
    if not field.has_presence or field.has_default_value:
        return attrgetter(name)
    return lambda message: getattr(message, name) if message.HasField(name) else None


def _wrapped(name: str) -> Callable[[Any], Any]:
    return lambda message: getattr(message, name).value if message.HasField(name) else None


def _values(kind: pa.DataType, value: Callable[[Any], Any], messages: list[Any]) -> Made:
    return Made(pa.array(map(value, messages), kind))


def _symbols(enum: EnumDescriptor, value: Callable[[Any], Any], messages: list[Any]) -> Made:
    """The names; a number that has none, as proto3 allows, is itself as text."""
    names = {number: each.name for number, each in enum.values_by_number.items()}
    numbers = map(value, messages)
    return Made(pa.array([None if each is None else names.get(each, str(each)) for each in numbers], pa.string()))


def _moments(name: str, messages: list[Any]) -> Made:
    """In microseconds, rounded down; NULL where there are too many."""
    micros = [_micros(getattr(each, name)) if each.HasField(name) else None for each in messages]
    return Made(pa.array([each if each is None or abs(each) <= _MOST else None for each in micros], _MOMENT))


def _micros(moment: Any) -> int:
    seconds: int = moment.seconds
    nanos: int = moment.nanos
    return seconds * 1_000_000 + nanos // 1_000
