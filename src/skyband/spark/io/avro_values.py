"""Avro values, read by fastavro with the schema that they were written with.

Logical types are not left to fastavro: its times are Python's, which end at the year 9999, and cost more than the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError
from skyband.model import Flags
from skyband.spark.io.avro_columns import NO_SYMBOL, avro_column
from skyband.spark.io.value_reader import UNDECODABLE, SchemaColumn, Unread, ValueReader, made_table

MISSING = "fastavro is not installed (pip install 'skyband[avro]')"

GUARDS = 64
"""As many negative numbers as one byte can say."""
_NOTHING_READS = {"type": "fixed", "name": "skyband.no_branch", "size": 2**40}
_ONE_BYTE = {"type": "fixed", "name": "skyband.boolean", "size": 1}


def has_fastavro() -> bool:
    return find_spec("fastavro") is not None


@lru_cache(maxsize=1_000)
def avro_reader(sources: tuple[bytes, ...], names: frozenset[str] | None) -> ValueReader:
    """Of a schema that comes last, behind those that it refers to. `names`: the columns that are wanted, None: all."""
    try:
        schema, named = _parsed(sources)
    except Exception as error:  # whatever fastavro does not like about it
        return Unread(f"a schema that fastavro does not read ({' '.join(str(error).split())[:100]})")
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return Unread("a schema that is no record")
    return AvroReader(schema, named, names)


def _parsed(sources: Sequence[bytes]) -> tuple[Any, dict[str, Any]]:
    from fastavro import parse_schema

    named: dict[str, Any] = {}
    for source in sources:
        schema = parse_schema(json.loads(source), named_schemas=named)
    return schema, named


class AvroReader:
    """Reads whole records: to skip what is not wanted costs fastavro more."""

    refusal = UNDECODABLE

    def __init__(self, schema: dict[str, Any], named: Mapping[str, Any], names: frozenset[str] | None) -> None:
        self._fields = {each["name"]: each for each in schema["fields"]}
        found = {name: avro_column(name, each["type"], named) for name, each in self._fields.items()}
        self._columns = [each for each in found.values() if isinstance(each, SchemaColumn) and _in(each.name, names)]
        self.nested = {name: each for name, each in found.items() if isinstance(each, str)}
        self._schema = guarded(schema)

    @cached_property
    def columns(self) -> pa.Schema:
        return pa.schema([(each.name, each.type) for each in self._columns])

    def read(self, payloads: Sequence[bytes]) -> tuple[pa.Table, Flags]:
        read = list(self._records(payloads))
        records = [each for each in read if each is not None]
        values = [[each[column.name] for each in records] for column in self._columns]
        table, whole = made_table(self._columns, values, len(records))
        good = np.fromiter((each is not None for each in read), bool, len(read))
        good[good] = whole
        return table, good

    def _records(self, payloads: Sequence[bytes]) -> Iterator[dict[str, Any] | None]:
        from fastavro import schemaless_reader

        for payload in payloads:
            try:
                yield schemaless_reader(BytesIO(payload), self._schema, None)  # type: ignore[misc]
            except Exception:  # bytes that are no such record make it stumble in many ways
                yield None

    def absent(self) -> pa.Table:
        """The defaults of the schema, as Avro resolves a record that was written without a field."""
        values = [[_default(self._fields[each.name])] for each in self._columns]
        table, good = made_table(self._columns, values, 1)
        return table if good.all() else pa.table([pa.nulls(1, each.type) for each in self._columns], self.columns)


def _in(name: str, names: frozenset[str] | None) -> bool:
    return names is None or name in names


def _default(field: Mapping[str, Any]) -> Any:
    """As fastavro would have read it: bytes are written as text."""
    default = field.get("default")
    first = field["type"][0] if isinstance(field["type"], list) else field["type"]
    kind = first.get("type") if isinstance(first, dict) else first
    return default.encode("latin-1") if kind in ("bytes", "fixed") and isinstance(default, str) else default


def guarded(schema: Any) -> Any:
    """Without logical types, and so that what is wrong is seen: Python counts branches and symbols with a negative
    number from the end, and fastavro lets it; and any byte is true to it."""
    if isinstance(schema, list):
        return [guarded(each) for each in schema] + [_NOTHING_READS] * GUARDS
    if "boolean" in (schema, schema["type"] if isinstance(schema, dict) else None):
        return _ONE_BYTE
    if not isinstance(schema, dict):
        return schema
    found = {name: each for name, each in schema.items() if name != "logicalType"}
    if "symbols" in found:
        found["symbols"] = [*found["symbols"], *[NO_SYMBOL] * GUARDS]
    if "fields" in found:
        found["fields"] = [{"name": each["name"], "type": guarded(each["type"])} for each in found["fields"]]
    for inner in ("items", "values"):
        if inner in found:
            found[inner] = guarded(found[inner])
    if "__named_schemas" in found:
        found["__named_schemas"] = {name: guarded(each) for name, each in found["__named_schemas"].items()}
    return found


def need_fastavro() -> None:
    if not has_fastavro():
        raise SkybandError(f"Avro with a frame: {MISSING}", expected="fastavro, here and where tasks run")
