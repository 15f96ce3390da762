"""Columns of static tables beside those of a stream: looked up by key when records come in, in a Monitor and in Spark's
tasks alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.json as arrow_json

from skyband.errors import SkybandError
from skyband.model import Flags, Ints, Join, LookedUp, Stream, Table
from skyband.model.names import did_you_mean
from skyband.model.readable import python_rows
from skyband.runtime.hashing import hash_rows
from skyband.runtime.locations import SUFFIXES, local

TABLES = b"skyband tables"
"""Of a schema: by table the columns that are looked up in it, the first saying whether there is a row."""


@dataclass(frozen=True)
class Lookup:
    """The rows of a table by key."""

    used: LookedUp
    rows: pa.Table
    keys: pa.Table
    hashes: Ints
    """Of the keys, rising; `rows` and `keys` are in the same order."""

    @property
    def names(self) -> list[str]:
        """The columns that it adds, the first saying whether there is a row."""
        return [self.used.flag, *self.rows.column_names]

    def check(self, stream: Stream, schema: pa.Schema) -> None:
        """Refuse columns of a stream that do not go with it."""
        name = self.used.table.name
        for each in self.keys.schema:
            if each.name not in schema.names:
                raise SkybandError(
                    f"stream {stream.name} has no column {each.name!r}, the key of table {name}",
                    expected="one of " + ", ".join(schema.names),
                    hint=did_you_mean(each.name, schema.names),
                )
            if (kind := _key_type(schema.field(each.name).type)) != each.type:
                raise SkybandError(
                    f"column {each.name!r} is {kind} in stream {stream.name}, and {each.type} in table {name}",
                    expected="the same type in both",
                )
        for column in self.rows.column_names:
            if column in schema.names:
                raise SkybandError(
                    f"both stream {stream.name} and table {name} have a column {column!r}",
                    expected="another name for one of them",
                )

    def beside(self, table: pa.Table) -> pa.Table:
        """Records with the columns of their rows, NULL where there is none."""
        place, found = self._find(_keys(table, self.keys.column_names))
        index = pa.array(place, mask=~found)
        table = table.append_column(self.used.flag, pa.array(found))
        for name in self.rows.column_names:
            table = table.append_column(name, self.rows.column(name).take(index))
        return table

    def _find(self, keys: pa.Table) -> tuple[Ints, Flags]:
        """The row of each record, and whether there is one. NULL is no key."""
        hashed, found = hash_rows(keys), np.zeros(len(keys), bool)
        place = np.searchsorted(self.hashes, hashed)
        some = np.flatnonzero(_all_valid(keys) & (place < len(self.hashes)))
        while len(some := some[self.hashes[place[some]] == hashed[some]]):
            alike = _equal(keys.take(pa.array(some)), self.keys.take(pa.array(place[some])))
            found[some[alike]] = True
            # Another key with the same hash is the next.
            some = some[~alike]
            place[some] += 1
            some = some[place[some] < len(self.hashes)]
        return place, found


def lookups(stream: Stream) -> list[Lookup]:
    """Of the tables that its queries join, read now."""
    return [_lookup(used, *_version(used.table)) for used in stream.tables]


def table_text(table: Table) -> str:
    """What is told of it."""
    rows = len(_lookup(LookedUp(table, frozenset()), *_version(table)).keys)
    return f"table {table.name}: {rows:,} rows of {table.where} by {', '.join(table.key)}, read at the start"


def extended(stream: Stream, schema: pa.Schema) -> pa.Schema:
    """The columns of a stream with those that are looked up behind them."""
    known = lookups(stream)
    for each in known:
        each.check(stream, schema)
        added = pa.schema([pa.field(each.used.flag, pa.bool_()), *each.rows.schema])
        schema = pa.schema([*schema, *added])
    return (
        schema.with_metadata({TABLES: json.dumps({each.used.flag: each.names for each in known})}) if known else schema
    )


def joined_schema(schema: pa.Schema, join: Join | None) -> pa.Schema:
    """Of extended columns those that a query may use."""
    tables = _tables(schema)
    if not tables:
        return schema
    others = {name for flag, names in tables.items() if join is None or flag != join.flag for name in names}
    kept = pa.schema([each for each in schema if each.name not in others])
    return kept if join is None else kept.with_metadata({TABLES: json.dumps({join.flag: tables[join.flag]})})


def own_columns(schema: pa.Schema) -> list[str]:
    """Of extended columns those of the stream."""
    others = {name for names in _tables(schema).values() for name in names}
    return [name for name in schema.names if name not in others]


def only(rows: pa.Table, names: list[str]) -> pa.Table:
    """These columns."""
    return rows if rows.num_columns == len(names) else rows.select(names)


def _tables(schema: pa.Schema) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((schema.metadata or {}).get(TABLES, b"{}"))
    return found


# -------------------------------------------------------------------------------------------------------------- reading


def _version(table: Table) -> tuple[int, int]:
    """Another if the file is another."""
    path = _path(table)
    found = [each.stat() for each in (path, *(path.rglob("*") if path.is_dir() else ()))]
    return max(each.st_mtime_ns for each in found), sum(each.st_size for each in found)


def _path(table: Table) -> Path:
    path = local(table.where)
    if path is None or not path.exists():
        raise SkybandError(
            f"table {table.name}: there is no {table.where}", expected="a file or folder on this machine"
        )
    return path


@lru_cache(16)
def _lookup(used: LookedUp, *version: int) -> Lookup:
    table, rows = used.table, _read(used.table)
    for name in table.key:
        if name not in rows.column_names:
            raise SkybandError(
                f"table {table.name} has no column {name!r}, its KEY",
                expected="one of " + ", ".join(rows.column_names),
                hint=did_you_mean(name, rows.column_names),
            )
    keys = _keys(rows, table.key)
    there = pa.array(_all_valid(keys))
    rows, keys = rows.filter(there), keys.filter(there)
    hashed = hash_rows(keys)
    order = pa.array(np.argsort(hashed, kind="stable"))
    keys, hashed = keys.take(order), np.sort(hashed)
    _refuse_twice(table, keys, hashed)
    shown = [name for name in rows.column_names if name not in table.key]
    wanted = [name for name in shown if used.columns is None or name in used.columns]
    return Lookup(used, rows.select(wanted).take(order).combine_chunks(), keys, hashed)


def _read(table: Table) -> pa.Table:
    path = _path(table)
    suffix = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    kind = SUFFIXES.get(suffix, "parquet")
    try:
        if kind == "json":
            found = arrow_json.read_json(pa.input_stream(str(path)))
        else:
            found = ds.dataset(str(path), format=kind).to_table()
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise SkybandError(f"table {table.name}: {table.where} cannot be read: {said}") from error
    return found.replace_schema_metadata(None)


def _refuse_twice(table: Table, keys: pa.Table, hashed: Ints) -> None:
    first, reach = np.flatnonzero(hashed[1:] == hashed[:-1]), 1
    while len(first):
        alike = _equal(keys.take(pa.array(first)), keys.take(pa.array(first + reach)))
        if alike.any():
            key = python_rows(keys.slice(int(first[alike][0]), 1))[0]
            said = ", ".join(f"{name} = {value!r}" for name, value in key.items())
            raise SkybandError(
                f"table {table.name} has two rows with {said}",
                expected=f"one row for each {', '.join(table.key)}",
            )
        reach += 1
        first = first[first + reach < len(hashed)]
        first = first[hashed[first + reach] == hashed[first]]


def _keys(table: pa.Table, names: Sequence[str]) -> pa.Table:
    columns = [table.column(name) for name in names]
    return pa.table([column.cast(_key_type(column.type)) for column in columns], list(names))


def _key_type(kind: pa.DataType) -> pa.DataType:
    """Integers of any width are as good as each other, and so is text of any kind."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _all_valid(keys: pa.Table) -> Flags:
    found = np.ones(len(keys), bool)
    for column in keys.columns:
        if column.null_count:
            found &= np.asarray(column.is_valid())
    return found


def _equal(some: pa.Table, others: pa.Table) -> Flags:
    found = np.ones(len(some), bool)
    for one, other in zip(some.columns, others.columns, strict=True):
        found &= np.asarray(pc.equal(one, other).combine_chunks())
    return found
