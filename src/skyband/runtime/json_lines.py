"""Lines of JSON in which times are written as numbers or text: a value that is neither makes a bad record later on, and
must not keep the others from being read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json

from skyband.language import WrittenColumn
from skyband.runtime.loose_values import json_record, of_lines


def read_json(
    path: str, declared: pa.Schema, written: Mapping[str, WrittenColumn], block: int
) -> Iterator[pa.RecordBatch]:
    """The declared columns of a file, those of `written` as they come; in one type each, though values may differ."""
    usual = pa.schema([(each.name, _type(each, written)) for each in declared])
    others = pa.schema([each for each in declared if each.name not in written])
    text = pa.schema([(each.name, pa.string() if each.name in written else each.type) for each in declared])
    for lines in blocks(path, block):
        try:
            table = _read(lines, usual)
        except pa.ArrowInvalid:
            table = _texts(lines, written)
            read = _read_loosely(lines, others) if len(others) else table
            for name in others.names:
                table = table.append_column(name, read.column(name))
        # Batches of one file are put together: in each the columns have the same types.
        yield from table.select(declared.names).cast(text).to_batches()


def _type(field: pa.Field, written: Mapping[str, WrittenColumn]) -> pa.DataType:
    return written[field.name].written.json if field.name in written else field.type


def blocks(path: str, block: int) -> Iterator[bytes]:
    """Whole lines."""
    with pa.input_stream(path) as file:
        rest = b""
        while more := file.read(block):
            lines, end, rest = (rest + more).rpartition(b"\n")
            if end:
                yield lines + end
        if rest.strip():
            yield rest


def _read(lines: bytes, schema: pa.Schema) -> pa.Table:
    parsing = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return arrow_json.read_json(pa.BufferReader(lines), arrow_json.ReadOptions(block_size=len(lines) + 1), parsing)


def _read_loosely(lines: bytes, schema: pa.Schema) -> pa.Table:
    try:
        return _read(lines, schema)
    except pa.ArrowInvalid:
        return pa.Table.from_batches([of_lines(lines.splitlines(), schema, None)])


def _texts(lines: bytes, written: Mapping[str, WrittenColumn]) -> pa.Table:
    """What is written there, whatever it is: numbers with their digits."""
    records = [json_record(line, parse_int=str, parse_float=str) for line in lines.splitlines() if line.strip()]
    return pa.table({name: pa.array([_text(each.get(name)) for each in records], pa.string()) for name in written})


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
