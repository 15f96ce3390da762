"""Avro and Protobuf values as producers write them, with and without the frame of a schema registry."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any

from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP
from google.protobuf.wrappers_pb2 import DESCRIPTOR as WRAPPERS

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
_TYPES = {name.removeprefix("TYPE_").lower(): number for name, number in FieldDescriptorProto.Type.items()}


def record(*fields: tuple[str, Any] | tuple[str, Any, Any], name: str = "Trade") -> dict[str, Any]:
    """An Avro schema: name, type and, if there is one, default of each field."""
    found = [{"name": each[0], "type": each[1]} | ({"default": each[2]} if len(each) == 3 else {}) for each in fields]
    return {"type": "record", "name": name, "namespace": "market", "fields": found}


def avro(schema: dict[str, Any], row: Mapping[str, Any]) -> bytes:
    written = io.BytesIO()
    schemaless_writer(written, parse_schema(json.loads(json.dumps(schema))), row)
    return written.getvalue()


EVERY = record(
    ("ts", ["null", MILLIS]),
    ("micros", MICROS),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("cents", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}),
    (
        "wide",
        ["null", {"type": "fixed", "size": 16, "name": "W", "logicalType": "decimal", "precision": 38, "scale": 4}],
    ),
    ("flag", "boolean"),
    ("small", "int"),
    ("large", ["long", "null"]),
    ("single", "float"),
    ("either", ["int", "long", "null"]),
    ("half", ["null", "float", "double"]),
    ("text", "string"),
    ("raw", "bytes"),
    ("fixed", {"type": "fixed", "size": 3, "name": "F"}),
    ("side", {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}),
    ("other", ["null", "Side"]),
    ("unscaled", {"type": "bytes", "logicalType": "decimal"}),
    ("last", "double"),
)
"""Every type that is a column to Spark too."""


def every(draw: Random) -> dict[str, Any]:
    """A record of it. Whole numbers of four bytes at most where five would be too many for Java, but not for us."""
    far, near = 2**62, 2**26
    return {
        "ts": draw.choice([None, moment(draw.randrange(-(10**10), 10**10))]),
        "micros": draw.randrange(-far, far),
        "local": draw.randrange(-far, far),
        "day": draw.randrange(-near, near),
        "cents": Decimal(draw.randrange(-999_999, 999_999)) / 100,
        "wide": draw.choice([None, Decimal(draw.randrange(-(10**15), 10**15)) / 10_000]),
        "flag": draw.random() < 0.5,
        "small": draw.randrange(-near, near),
        "large": draw.choice([None, draw.randrange(-(2**63), 2**63)]),
        "single": draw.choice([0.5, -1.25, 3.0e30]),
        "either": draw.choice([None, 5, 2**50]),
        "half": draw.choice([None, 0.5, 1.1]),
        "text": draw.choice(["", "abc", "a longer one"]),
        "raw": draw.randbytes(draw.randrange(4)),
        "fixed": b"abc",
        "side": draw.choice(["BUY", "SELL"]),
        "other": draw.choice([None, "BUY"]),
        "unscaled": b"\1",
        "last": draw.choice([float("inf"), 1e300, -0.0]),
    }


def moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def framed(number: int, payload: bytes, message: bytes = b"") -> bytes:
    """`message`: which one it is, of Protobuf."""
    return b"\0" + number.to_bytes(4, "big") + message + payload


def proto(
    *fields: tuple[str, str], name: str = "Trade", before: int = 0, file: str = "trade.proto"
) -> FileDescriptorProto:
    """A file with a message, behind others that are empty. Types: those of Protobuf, `?double` for one that can be
    missing, `*double` for a repeated one, or the name of a message or an enum (`Side`, which is there)."""
    found = FileDescriptorProto(name=file, package="market", syntax="proto3")
    found.dependency.extend([TIMESTAMP.name, WRAPPERS.name])
    for number in range(before):
        found.message_type.add(name=f"Other{number}")
    message = found.message_type.add(name=name)
    for number, (field, kind) in enumerate(fields, 1):
        _add(message, field, number, kind)
    side = found.enum_type.add(name="Side")
    side.value.add(name="BUY", number=0)
    side.value.add(name="SELL", number=1)
    return found


def _add(message: Any, name: str, number: int, kind: str) -> None:
    plain = kind.lstrip("?*")
    made = message.field.add(name=name, number=number, label=3 if kind[0] == "*" else 1)
    if plain in _TYPES:
        made.type = _TYPES[plain]
    else:
        made.type = _TYPES["enum"] if plain == "Side" else _TYPES["message"]
        made.type_name = f".market.{plain}" if "." not in plain else f".{plain}"
    if kind[0] == "?":
        made.proto3_optional = True
        made.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def message_class(file: FileDescriptorProto, name: str = "market.Trade", *imported: FileDescriptorProto) -> Any:
    pool = DescriptorPool()
    for each in (TIMESTAMP.serialized_pb, WRAPPERS.serialized_pb, *(each.SerializeToString() for each in imported)):
        pool.AddSerializedFile(each)
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(name))


def descriptors(*files: FileDescriptorProto) -> bytes:
    return bytes(FileDescriptorSet(file=files).SerializeToString())


TRADE = proto(
    ("ts", "google.protobuf.Timestamp"),
    ("id", "int64"),
    ("price", "?double"),
    ("size", "google.protobuf.Int64Value"),
    ("side", "Side"),
    ("count", "uint64"),
    ("tags", "*string"),
    ("inner", "Other0"),
    before=1,
)
"""A message with every kind of field."""
