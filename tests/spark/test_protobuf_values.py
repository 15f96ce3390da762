"""Protobuf values: their frame, their types, and schemas that change."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.spark.io.frames import AvroFrame, ProtobufFrame, SchemaKey
from skyband.spark.io.protobuf_values import described, protobuf_reader
from skyband.spark.io.registered_values import Opened, by_one_schema
from skyband.spark.io.value_schemas import BARE, PROTOBUF, OneSchema
from tests.spark.registry_server import registry_server
from tests.spark.test_decoding import FREE, UTC, asked, read
from tests.spark.written_values import TRADE, descriptors, framed, message_class, proto


@pytest.mark.parametrize(
    ("value", "message", "payload"),
    [
        (b"\0\0\0\0\7\0abc", (0,), b"abc"),
        (b"\0\0\0\0\7\2\0abc", (0,), b"abc"),
        (b"\0\0\0\0\7\2\4abc", (2,), b"abc"),
        (b"\0\0\0\0\7\6\2\0\4abc", (1, 0, 2), b"abc"),
        (b"\0\0\0\0\7\2\x80\x01abc", (64,), b"abc"),
    ],
)
def test_the_frame_of_protobuf(value: bytes, message: tuple[int, ...], payload: bytes) -> None:
    assert ProtobufFrame().opened(value) == (SchemaKey(7, message), payload)


@pytest.mark.parametrize("value", [b"", b"\0\0\0\0", b"\1\0\0\0\7\0abc", b'{"id":1}'])
def test_no_frame(value: bytes) -> None:
    assert AvroFrame().opened(value) is None
    assert ProtobufFrame().opened(value) is None


@pytest.mark.parametrize("indexes", [b"", b"\1", b"\2", b"\2\1", b"\x80", b"\x80\x80\x80\x80\x80\x80", b"\x7e\0\0"])
def test_no_message(indexes: bytes) -> None:
    """Missing, negative, without an end, more than there can be."""
    assert ProtobufFrame().opened(b"\0\0\0\0\7" + indexes) is None


def protobuf(stream: Stream = FREE) -> Opened:
    schemas = OneSchema(PROTOBUF, *described(descriptors(TRADE), "market.Trade", "trade.desc"))
    return by_one_schema(schemas, BARE, stream, "trade.desc", "values")


def test_every_type_of_protobuf() -> None:
    trade = message_class(TRADE)
    full = trade(id=-3, price=0.0, side=1, count=2**64 - 1, tags=["x"], inner={})
    full.ts.seconds, full.ts.nanos, full.size.value = -1, 1_999, 0
    far = trade(side=7, price=1.5)
    far.ts.seconds = 2**60
    rows, refused = read(protobuf(), full.SerializeToString(), b"\xff", far.SerializeToString(), b"")
    assert [*refused] == ["undecodable value"]
    nothing = {"ts": None, "id": 0, "price": None, "size": None, "side": "BUY", "count": 0}
    assert rows == [
        {
            "ts": dt.datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
            "id": -3,
            "price": 0.0,
            "size": 0,
            "side": "SELL",
            "count": Decimal(2**64 - 1),
        },
        nothing | {"price": 1.5, "side": "7"},
        nothing,
    ]


def test_a_descriptor_that_does_not_fit() -> None:
    for content, name, said in (
        (b"no descriptor", "market.Trade", "is no set of Protobuf descriptors"),
        (descriptors(TRADE), "market.Trad", "has no message 'market.Trad'"),
    ):
        with pytest.raises(SkybandError, match=said):
            described(content, name, "trade.desc")
    lacking = proto(("x", "elsewhere.X"))
    lacking.dependency.append("elsewhere.proto")
    with pytest.raises(SkybandError, match=r"elsewhere\.proto"):
        described(descriptors(lacking), "market.Trade", "trade.desc")


def test_a_message_inside_a_message() -> None:
    """What Protobuf makes for a map is not counted."""
    file = proto(("x", "int64"), before=1)
    outer = file.message_type[1]
    entry = outer.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=3, label=1)
    outer.field.add(name="counts", number=2, type=11, label=3, type_name=".market.Trade.CountsEntry")
    outer.nested_type.add(name="Inner").field.add(name="y", number=1, type=3, label=1)
    source = (file.SerializeToString(),)
    assert protobuf_reader(source, (1, 0), None).columns.names == ["y"]
    assert protobuf_reader(source, (1,), None).columns.names == ["x"]
    assert protobuf_reader(source, (1, 1), None).refusal == "a message that its schema has not"
    assert described(descriptors(file), "market.Trade.Inner", "f")[1] == (1, 0)


def test_protobuf_that_evolves() -> None:
    """A field added, one widened, and another message of the same file."""
    old = proto(("ts", "google.protobuf.Timestamp"), ("id", "int32"))
    new = proto(("ts", "google.protobuf.Timestamp"), ("id", "int64"), ("price", "double"), before=1)
    with registry_server() as server:
        numbers = [server.add("trades-value", each.SerializeToString()) for each in (old, new)]
        values = [
            framed(numbers[0], message_class(old)(id=-1).SerializeToString(), b"\0"),
            framed(numbers[1], message_class(new)(id=2**40, price=2.5).SerializeToString(), b"\2\2"),
            framed(numbers[1], b"", b"\2\6"),
        ]
        opened = asked(server, format=PROTOBUF)
        assert opened.how == asked(server, format=PROTOBUF, message="market.Trade").how
        assert asked(server, FREE, PROTOBUF, message="market.Trade").decoding.schema.names == ["ts", "id", "price"]
        with pytest.raises(SkybandError, match="has several messages"):
            asked(server, FREE, PROTOBUF)
        with pytest.raises(SkybandError, match=r"has no message 'market\.Trad'"):
            asked(server, FREE, PROTOBUF, message="market.Trad")
        rows, refused = read(opened, *values)
        assert rows == [{"ts": None, "id": -1, "price": None}, {"ts": None, "id": 2**40, "price": 2.5}]
        assert refused == {"a message that its schema has not": [values[2].hex()]}


def test_a_registry_that_gives_protobuf_as_text() -> None:
    with registry_server() as server:
        server.add("trades-value", TRADE.SerializeToString())
        server.schemas[1].serialized = b""
        with pytest.raises(SkybandError, match="gives Protobuf schema 1 as text"):
            asked(server, format=PROTOBUF)
