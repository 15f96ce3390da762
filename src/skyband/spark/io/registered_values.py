"""The columns of a stream whose values have schemas: those that it declares, or those of the newest schema."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from skyband.errors import SkybandError
from skyband.language import written_columns
from skyband.language.expressions.types import declared_type
from skyband.model import Stream
from skyband.model.names import nearest
from skyband.spark.io.decoding import Decoding, absent_record
from skyband.spark.io.fitting import takes
from skyband.spark.io.frames import Framing, SchemaKey
from skyband.spark.io.registry import Registry
from skyband.spark.io.value_reader import Unread, ValueReader
from skyband.spark.io.value_schemas import RegisteredSchemas, Schemas, Sources, ValueFormat


@dataclass(frozen=True)
class Opened:
    """How values are read, and what is to be told of that."""

    decoding: Decoding
    how: str


@dataclass(frozen=True)
class Newest:
    """The schema that says which columns there are, and where it comes from."""

    reader: ValueReader | None
    where: str


def by_one_schema(schemas: Schemas, framing: Framing, stream: Stream, where: str, how: str) -> Opened:
    """All values with the schema of a file."""
    reader = schemas.reader(SchemaKey(0), None)
    if isinstance(reader, Unread):
        raise SkybandError(f"{where}: {reader.refusal}")
    return _opened(schemas, framing, stream, Newest(reader, where), how)


def by_registry(format: ValueFormat, registry: Registry, subject: str, message: str | None, stream: Stream) -> Opened:
    """Each value with its own schema. `message`: that of the newest schema with the columns, where it has several."""
    schemas, where = RegisteredSchemas(format, registry), f"the newest schema of subject {subject}"
    number = registry.newest(subject)
    if number is None and not stream.columns:
        raise SkybandError(
            f"stream {stream.name} does not declare its columns, and the schema registry at {registry.address} has no "
            f"subject {subject}",
            expected=f"CREATE STREAM {stream.name} (column TYPE, ...) WITH (...), or subject=NAME behind the topic",
        )
    how = f"the {format.name} values, each with its schema in the registry at {registry.address}"
    if number is None:
        return _opened(schemas, format.frame, stream, Newest(None, where), how)
    sources = _newest_sources(schemas, number, where)
    reader = _newest_reader(format, sources, message, stream, where)
    return _opened(replace(schemas, sent={number: sources}), format.frame, stream, Newest(reader, where), how)


def _newest_sources(schemas: RegisteredSchemas, number: int, where: str) -> Sources:
    found = schemas.found(number)
    if isinstance(found, Unread):
        raise _unusable(where, found, schemas.format)
    return found


def _newest_reader(
    format: ValueFormat, sources: Sources, message: str | None, stream: Stream, where: str
) -> ValueReader | None:
    """None where it says nothing of the columns."""
    place = format.message(sources, message, where)
    if place is None:
        if stream.columns:
            return None
        raise SkybandError(f"{where} has several messages", expected="message=NAME, that of the one with the columns")
    reader = format.reader(sources, place, None)
    if isinstance(reader, Unread):
        raise _unusable(where, reader, format)
    return reader


def _unusable(where: str, why: Unread, format: ValueFormat) -> SkybandError:
    return SkybandError(f"{where} cannot be used: {why.refusal}", expected=f"a schema of {format.name} records")


def _opened(schemas: Schemas, framing: Framing, stream: Stream, newest: Newest, how: str) -> Opened:
    schema = _columns(stream, newest)
    return Opened(
        Decoding(schema, framing, schemas, absent_record(schema, newest.reader)), how + _lacking(schema, newest)
    )


def _columns(stream: Stream, newest: Newest) -> pa.Schema:
    if not stream.columns:
        assert newest.reader is not None
        return newest.reader.columns
    return pa.schema([(name, _type(name, kind, stream, newest)) for name, kind in stream.columns])


def _type(name: str, declared: str, stream: Stream, newest: Newest) -> pa.DataType:
    wanted = declared_type(declared)
    if wanted is None:
        raise SkybandError(
            f"stream {stream.name}: column {name!r} is declared {declared}, and nothing nested is read of such values",
            expected="a plain type",
        )
    found = _found(name, newest)
    if name in written_columns(stream.columns):
        # Read as they are, by those who know how they are written.
        return pa.string() if found is None else found
    if (found is not None and not takes(found, wanted)) or _is_nested(name, newest):
        is_ = _shown(found) if found is not None else newest.reader.nested[name] if newest.reader else ""
        raise SkybandError(
            f"stream {stream.name}: column {name!r} is declared {declared.upper()}, and in {newest.where} it is {is_}",
            expected="a type that the schema's fits into",
            hint=_written_hint(name, found, wanted),
        )
    return wanted


def _found(name: str, newest: Newest) -> pa.DataType | None:
    reader = newest.reader
    return reader.columns.field(name).type if reader is not None and name in reader.columns.names else None


def _is_nested(name: str, newest: Newest) -> bool:
    return newest.reader is not None and name in newest.reader.nested


def _shown(found: pa.DataType) -> str:
    return str(found).upper()


def _written_hint(name: str, found: pa.DataType | None, wanted: pa.DataType) -> str | None:
    is_time = pa.types.is_timestamp(wanted) or pa.types.is_date(wanted)
    if found is None or not is_time or pa.types.is_timestamp(found):
        return None
    return f"say how it is written: {name} TIMESTAMP FROM UNIX_MILLIS, or FORMAT 'yyyy-MM-dd HH:mm:ss'"


def _lacking(schema: pa.Schema, newest: Newest) -> str:
    """Declared columns that the newest schema has not: older ones may have them, and somebody may have mistyped."""
    if newest.reader is None:
        return ""
    there = newest.reader.columns.names
    lacking = [each for each in schema.names if each not in there]
    return "".join(
        f"; {newest.where} has no column {name!r}" + (f" (it has {near!r})" if (near := nearest(name, there)) else "")
        for name in lacking
    )
