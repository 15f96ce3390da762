"""Avro and Protobuf values, made to the columns of a stream: each with the schema that it was written with."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.spark.io import value_schemas
from skyband.spark.io.avro_values import avro_reader
from skyband.spark.io.fitting import fitted, takes
from skyband.spark.io.frames import AvroFrame
from skyband.spark.io.registered_values import Opened, by_one_schema, by_registry
from skyband.spark.io.registry import Registry
from skyband.spark.io.value_schemas import AVRO, PROTOBUF, OneSchema
from tests.drawn import examples
from tests.spark.registry_server import RegistryServer, registry_server
from tests.spark.written_values import MICROS, MILLIS, TRADE, avro, framed, message_class, moment, proto, record

UTC = dt.UTC
STREAM = Stream("trades", time="ts", columns=(("ts", "TIMESTAMP"), ("id", "BIGINT"), ("price", "DOUBLE")))
FREE = Stream("trades", time="ts")


@pytest.fixture(scope="module")
def shared() -> Iterator[RegistryServer]:
    """A registry that any number of tests may add to."""
    with registry_server() as server:
        yield server


def read(opened: Opened, *values: bytes | None) -> tuple[list[dict[str, Any]], dict[str, list[str | None]]]:
    """The records, and by reason what is shown of values that are none."""
    found = opened.decoding.read(pa.array(values, pa.binary()))
    assert found.table.schema == opened.decoding.schema
    refused = {reason: table.column("value").to_pylist() for reason, table in found.refused}
    assert sorted(found.places.tolist()) == found.places.tolist()
    assert len(found.places) == len(found.table) == len(values) - sum(map(len, refused.values()))
    return found.table.to_pylist(), refused


def with_file(schema: dict[str, Any], stream: Stream = FREE) -> Opened:
    return by_one_schema(OneSchema(AVRO, (json.dumps(schema).encode(),)), AvroFrame(), stream, "a file", "values")


def asked(
    server: RegistryServer,
    stream: Stream = STREAM,
    format: Any = AVRO,
    subject: str = "trades-value",
    message: str | None = None,
) -> Opened:
    return by_registry(format, Registry.at(server.address, 1), subject, message, stream)


# ---------------------------------------------------------------------------------------------------------------- Avro

EVERY = record(
    ("ts", ["null", MILLIS]),
    ("micros", MICROS),
    ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
    ("nanos", {"type": "long", "logicalType": "timestamp-nanos"}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("cents", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}),
    ("wide", {"type": "fixed", "size": 16, "name": "W", "logicalType": "decimal", "precision": 38, "scale": 0}),
    ("flag", "boolean"),
    ("small", "int"),
    ("large", "long"),
    ("single", "float"),
    ("either", ["int", "long", "null"]),
    ("text", "string"),
    ("raw", "bytes"),
    ("side", {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}),
    ("other", ["null", "Side"]),
    (
        "nested",
        {"type": "record", "name": "N", "fields": [{"name": "deep", "type": {"type": "array", "items": "Side"}}]},
    ),
    ("mixed", ["string", "long"]),
    ("maybe", ["null", {"type": "boolean"}]),
    ("last", "double"),
)
ROW = {
    "ts": moment(1.5),
    "micros": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    "local": 1,
    "nanos": -1,
    "day": dt.date(2024, 2, 29),
    "cents": Decimal("-12.34"),
    "wide": Decimal(-(10**37)),
    "flag": True,
    "small": -(2**31),
    "large": 2**63 - 1,
    "single": 0.5,
    "either": 2**40,
    "text": "né",
    "raw": b"\xff\0",
    "side": "SELL",
    "other": None,
    "nested": {"deep": ["BUY", "SELL"]},
    "mixed": "x",
    "maybe": False,
    "last": 1e300,
}


def test_every_type_of_avro() -> None:
    opened = with_file(EVERY)
    rows, refused = read(opened, framed(9, avro(EVERY, ROW)))
    assert not refused
    expected = ROW | {
        "local": dt.datetime(1970, 1, 1, 0, 0, 0, 1_000),
        "nanos": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    }
    assert rows == [{name: value for name, value in expected.items() if name not in ("nested", "mixed")}]
    kinds = {each.name: str(each.type) for each in opened.decoding.schema}
    assert kinds["ts"] == kinds["micros"] == kinds["nanos"] == "timestamp[us, tz=UTC]"
    assert (kinds["local"], kinds["day"], kinds["cents"]) == ("timestamp[us]", "date32[day]", "decimal128(6, 2)")
    assert (kinds["small"], kinds["either"], kinds["single"]) == ("int32", "int64", "float")


def test_what_is_no_such_avro_costs_itself() -> None:
    schema = record(
        ("ts", ["null", MILLIS]),
        ("side", {"type": "enum", "name": "Side", "symbols": ["A", "B"]}),
        ("n", "int"),
        ("text", "string"),
    )
    good = avro(schema, {"ts": 5, "side": "B", "n": 7, "text": "abc"})
    assert good == b"\2\x0a\2\x0e\6abc"
    wrong = {
        "cut": good[:-1],
        "empty": b"",
        "a branch that there is not": b"\4" + good[1:],
        "a negative branch": b"\1" + good[1:],
        "a negative symbol": good[:2] + b"\1" + good[3:],
        "a symbol that there is not": good[:2] + b"\4" + good[3:],
        "too large for an int": good[:3] + b"\xfe\xff\xff\xff\xff\1" + good[4:],
        "a negative length": good[:4] + b"\1abc",
        "no UTF-8": good[:-3] + b"\xffbc",
        "milliseconds without end": b"\2" + b"\xfe" + b"\xff" * 8 + b"\1" + good[2:],
    }
    for name, value in wrong.items():
        rows, refused = read(with_file(schema), framed(1, good), framed(1, value), framed(1, good))
        assert (len(rows), [*refused]) == (2, ["undecodable value"]), name
        assert refused["undecodable value"] == [framed(1, value).hex()]


def test_a_long_value_is_shown_in_part_and_none_as_none() -> None:
    _, refused = read(with_file(record(("n", "long"))), None, b"\1" * 100)
    assert refused == {
        "no value": [None],
        "a value without the frame of a schema registry": ["01" * 32 + "... (100 bytes)"],
    }


WHOLE = st.integers(-(2**31), 2**31 - 1)
COLUMNS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "boolean": ("boolean", st.booleans()),
    "int": ("int", WHOLE),
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "double": ("double", st.floats(allow_nan=False)),
    "string": ("string", st.text(st.characters(codec="utf-8"), max_size=5)),
    "bytes": ("bytes", st.binary(max_size=5)),
    "moment": (MICROS, st.integers(-(2**60), 2**60)),
}


@examples(100)
@given(st.data())
def test_written_and_read(shared: RegistryServer, data: st.DataObject) -> None:
    """Records of two random schemas, and bytes that are neither, in any order, resolved to some columns of both."""
    kinds = st.dictionaries(
        st.sampled_from("abcdef"), st.tuples(st.sampled_from([*COLUMNS]), st.booleans()), min_size=1
    )
    schemas = [data.draw(kinds), data.draw(kinds)]
    written = [
        record(
            *((name, ["null", COLUMNS[kind][0]] if null else COLUMNS[kind][0]) for name, (kind, null) in each.items())
        )
        for each in schemas
    ]
    numbers = [shared.add("trades-value", each) for each in written]
    opened = asked(shared, FREE)
    assert opened.decoding.schema.names == [*schemas[1]]
    expected, values = [], []
    for which in data.draw(st.lists(st.integers(0, 2), max_size=12)):
        if which == 2:
            values.append(framed(2**30, b"?"))
            continue
        row = {
            name: data.draw(st.none() | COLUMNS[kind][1] if null else COLUMNS[kind][1])
            for name, (kind, null) in schemas[which].items()
        }
        values.append(framed(numbers[which], avro(written[which], row)))
        expected.append({name: _resolved(row, schemas[which], name, schemas[1][name][0]) for name in schemas[1]})
    found = opened.decoding.read(pa.array(values, pa.binary()))
    assert _plain(found.table) == expected
    assert sum(len(table) for _, table in found.refused) == len(values) - len(expected)


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    kinds = [each.with_type(pa.int64()) if pa.types.is_timestamp(each.type) else each for each in table.schema]
    rows: list[dict[str, Any]] = table.cast(pa.schema(kinds)).to_pylist()
    return rows


def _resolved(row: dict[str, Any], schema: dict[str, tuple[str, bool]], name: str, wanted: str) -> Any:
    """What a value is in a column that the newest schema has in another type."""
    value = row.get(name)
    if value is None or schema[name][0] == wanted:
        return value
    match schema[name][0], wanted:
        case "long", "int":
            return value if -(2**31) <= value < 2**31 else None
        case "int", "long":
            return value
        case (("int" | "long"), "double"):
            return float(value)
        case (("int" | "long"), "string"):
            return str(value)
        case "boolean", "string":
            return str(value).lower()
        case "string", "bytes":
            return value.encode()
        case "bytes", "string":
            try:
                return value.decode()
            except UnicodeDecodeError:
                return None
    return None


# ------------------------------------------------------------------------------------------------ schemas of a registry

OLD = record(("ts", MILLIS), ("id", "int"), ("price", "float"))
NEW = record(
    ("note", "string"),
    ("price", "double", 9.0),
    ("id", "long"),
    ("ts", MILLIS),
    ("venue", "string", "?"),
    ("open", ["boolean", "null"], True),
)


def test_a_schema_that_evolves() -> None:
    """Each value is read with its own schema; a registry is asked once for each."""
    row = {"ts": moment(1), "id": 5, "price": 0.5}
    with registry_server() as server:
        old = server.add("trades-value", OLD)
        new = server.add("trades-value", NEW)
        other = server.add("quotes-value", record(("ts", MILLIS)))
        opened = asked(server)
        values = [
            framed(old, avro(OLD, row)),
            framed(new, avro(NEW, row | {"id": 2**40, "note": "n", "venue": "v", "open": None})),
            framed(77, b"..."),
            framed(other, avro(record(("ts", MILLIS)), row)),
            framed(2**31 + 7, b"..."),
        ]
        for _ in range(3):
            rows, refused = read(opened, *values)
            assert rows == [row, row | {"id": 2**40}, row | {"id": None, "price": 9.0}]
            assert refused == {"unknown schema id": [values[2].hex(), values[4].hex()]}
        asked_for = [path for path in server.asked if path.startswith("/schemas/ids/")]
        assert sorted(asked_for) == [f"/schemas/ids/{number}" for number in (old, new, other, 77)]
        free = asked(server, FREE).decoding
        assert free.schema.names == ["note", "price", "id", "ts", "venue", "open"]
        (resolved,) = free.read(pa.array([values[0]])).table.to_pylist()
        assert resolved == row | {"note": None, "venue": "?", "open": True}


def test_a_task_knows_the_newest_schema_without_asking() -> None:
    """It is sent along; an older one is missed when the registry is away by then."""
    row = {"ts": moment(1), "id": 5, "price": 0.5}
    with registry_server() as server:
        old, new = server.add("trades-value", OLD), server.add("trades-value", NEW)
        here = asked(server)
    value_schemas._known.clear()
    there = pickle.loads(pickle.dumps(here.decoding))
    rest = {"note": "n", "venue": "v", "open": None}
    assert there.read(pa.array([framed(new, avro(NEW, row | rest))])).table.to_pylist() == [row]
    with pytest.raises(SkybandError, match="does not answer"):
        there.read(pa.array([framed(old, avro(OLD, row))]))


def test_schemas_that_import_others() -> None:
    side = {"type": "enum", "name": "Side", "namespace": "market", "symbols": ["BUY", "SELL"]}
    trade = record(("ts", MILLIS), ("side", "market.Side"))
    near, file = (
        proto(("near", "int64"), name="Near", file="n"),
        proto(("ts", "google.protobuf.Timestamp"), ("id", "int32"), ("n", "Near"), name="Far"),
    )
    del near.enum_type[:]
    file.dependency.append("near.proto")
    with registry_server() as server:
        server.add("side", side)
        number = server.add("trades-value", trade, [{"name": "market.Side", "subject": "side", "version": 1}])
        rows, _ = read(
            asked(server, FREE), framed(number, avro(record(("ts", MILLIS), ("side", side)), {"ts": 5, "side": "SELL"}))
        )
        assert rows == [{"ts": moment(0.005), "side": "SELL"}]
        server.add("near", near.SerializeToString())
        number = server.add(
            "far-value", file.SerializeToString(), [{"name": "near.proto", "subject": "near", "version": 1}]
        )
        near.name = "near.proto"
        far = message_class(file, "market.Far", near)(id=3, n={"near": 4})
        rows, _ = read(asked(server, FREE, PROTOBUF, "far-value"), framed(number, far.SerializeToString(), b"\0"))
        assert rows == [{"ts": None, "id": 3}]


def test_columns_that_do_not_fit() -> None:
    with registry_server() as server:
        server.add("trades-value", EVERY)
        server.add("proto-value", TRADE.SerializeToString())
        for columns, said in (
            (
                (("ts", "TIMESTAMP"), ("text", "BIGINT")),
                "'text' is declared BIGINT, and in the newest schema of subject trades-value it is STRING",
            ),
            (
                (("ts", "TIMESTAMP"), ("nested", "STRING")),
                "'nested' is declared STRING, and in .* it is of type record",
            ),
            ((("ts", "TIMESTAMP"), ("mixed", "STRING")), "it is a union of several types"),
            ((("ts", "TIMESTAMP"), ("text", "ARRAY<INT>")), "nothing nested is read"),
            ((("large", "TIMESTAMP"),), "'large' is declared TIMESTAMP"),
        ):
            with pytest.raises(SkybandError, match=said):
                asked(server, Stream("trades", time="ts", columns=columns))
        with pytest.raises(SkybandError, match="has no subject nobody-value"):
            asked(server, FREE, subject="nobody-value")
        with pytest.raises(SkybandError, match="cannot be used: a schema that is no Avro"):
            asked(server, subject="proto-value")
        assert asked(server, subject="nobody-value").decoding.schema.names == ["ts", "id", "price"]
        assert "has no column 'id'" in asked(server).how
        written = Stream("t", time="large", columns=(("large", "TIMESTAMP FROM UNIX_MILLIS"), ("text", "STRING")))
        assert asked(server, written).decoding.schema.types == [pa.int64(), pa.string()]


# -------------------------------------------------------------------------------------------------------------- fitting


def test_what_fits_and_what_does_not() -> None:
    decimals = pa.array([Decimal("1.235"), Decimal("-1.235"), Decimal("99999.999")])
    assert fitted(decimals, pa.decimal128(6, 2)).to_pylist() == [Decimal("1.24"), Decimal("-1.24"), None]
    assert fitted(pa.array([12, 2**40]), pa.decimal128(5, 2)).to_pylist() == [Decimal("12.00"), None]
    assert fitted(pa.array([Decimal("123456789012345678901.5")]), pa.float64()).to_pylist() == [123456789012345678901.5]
    assert fitted(pa.array([2**53 + 1]), pa.float64()).to_pylist() == [2.0**53]
    days = pa.array([1, 2**31 - 1], pa.int32()).cast(pa.date32())
    assert fitted(days, pa.timestamp("us", "UTC")).to_pylist() == [moment(86_400), None]
    assert not takes(pa.float64(), pa.int64())
    assert fitted(pa.array([1.0]), pa.int64()).to_pylist() == [None]


def test_a_schema_that_is_no_record() -> None:
    reader = avro_reader((b'"string"',), None)
    assert (reader.refusal, reader.read([b"\2a"])[1].tolist()) == ("a schema that is no record", [False])
    assert "does not read" in avro_reader((b'{"type": "recrod"}',), None).refusal
    assert np.asarray(avro_reader((b"?",), None).read([])[1]).tolist() == []
