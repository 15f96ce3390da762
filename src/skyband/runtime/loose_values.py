"""Files in which some value is not of its column's type, or some line no record: that costs one record, not the run.

Arrow reads a file as long as it can; from there on texts are read and made values of one by one. What is none becomes
NULL, as in Spark; a line that is no record, or whose key is of another type, becomes a record of NULLs, which has no
time and is counted as bad."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Batches = Iterator[pa.RecordBatch]
DIGITS = Context(prec=200)
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


def going_on(strictly: Callable[[], Iterable[pa.RecordBatch]], loosely: Callable[[], Batches]) -> Batches:
    """The batches of the first; where it fails, what is left by the second, which has the same rows."""
    done = 0
    try:
        for batch in strictly():
            done += len(batch)
            yield batch
        return
    except pa.ArrowInvalid:
        pass
    for batch in loosely():
        if len(batch) > done:
            yield batch.slice(done)
        done = max(done - len(batch), 0)


def of_texts(batch: pa.RecordBatch, declared: pa.Schema, key: str | None) -> pa.RecordBatch:
    """Columns of texts in their types."""
    columns, wrong = {}, None
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in declared.names and not column.type.equals(declared.field(name).type):
            columns[name] = _made(column, declared.field(name).type)
            if name == key:
                wrong = pc.and_(column.is_valid(), columns[name].is_null())
        else:
            columns[name] = column
    if wrong is not None and pc.any(wrong).as_py():
        columns = {name: pc.if_else(wrong, None, column) for name, column in columns.items()}
    return pa.record_batch(columns)


def _made(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    coded = texts.dictionary_encode()
    values = [_of_text(each, kind) for each in coded.dictionary]
    return pa.array(values, kind).take(coded.indices)


def is_instant(kind: pa.DataType) -> bool:
    """Times without a zone are in UTC where instants are wanted, as in Spark (whose session's zone that is)."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


def _of_text(text: pa.Scalar, kind: pa.DataType) -> pa.Scalar | None:
    if pa.types.is_decimal(kind):
        said = text.as_py() or ""
        return _decimal(_exact(said), kind) if NUMBER.fullmatch(said) else None
    try:
        return text.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found = _of_text(text, pa.timestamp(kind.unit)) if is_instant(kind) else None
        return None if found is None else found.cast(kind)


def _exact(text: str) -> Decimal:
    """With all its digits; the nearest DOUBLE where Python has no room for the exponent."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(float(text))


def _decimal(number: Decimal, kind: pa.DataType) -> pa.Scalar | None:
    """Rounded to its digits, as in Spark; NULL where there are too many before the point."""
    if not number.is_finite():
        return None
    try:
        return pa.scalar(number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, DIGITS), kind)
    except (InvalidOperation, pa.ArrowInvalid):
        return None


def of_lines(lines: Iterable[bytes], declared: pa.Schema, key: str | None) -> pa.RecordBatch:
    """Records of JSON, one in a line; blank ones are none."""
    # Of a DECIMAL every digit counts.
    decimals = any(pa.types.is_decimal(kind) for kind in declared.types)
    reading: dict[str, Any] = {"parse_float": _exact} if decimals else {}
    records = [json_record(line, **reading) for line in lines if line.strip()]
    if key is not None and key in declared.names:
        _clear_other_keys(records, key, declared.field(key).type)
    columns = [
        pa.array([_value(each.get(field.name), field.type) for each in records], field.type) for field in declared
    ]
    return pa.record_batch(columns, schema=declared)


def _clear_other_keys(records: list[dict[str, Any]], key: str, kind: pa.DataType) -> None:
    for record in records:
        if (said := record.get(key)) is not None and _value(said, kind) is None:
            record.clear()


def json_record(line: bytes, **reading: Any) -> dict[str, Any]:
    """What a line says; nothing, if it is no object."""
    try:
        found = json.loads(line, **reading)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _moment(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    """Of a text; to Spark a whole number is an instant as well, in seconds."""
    if isinstance(value, str):
        return _of_text(pa.scalar(value), kind)
    instant = is_instant(kind) and type(value) is int and abs(value) < 2**43
    return pa.scalar(value * 1_000_000, pa.timestamp("us", kind.tz)).cast(kind) if instant else None


def _value(value: Any, kind: pa.DataType) -> Any:
    """NULL where it is of another type; as text whatever it is."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else json.dumps(value, default=float)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _moment(value, kind)
    if isinstance(value, str) or isinstance(value, bool) != pa.types.is_boolean(kind):
        return None
    if pa.types.is_decimal(kind):
        return _decimal(Decimal(value), kind) if isinstance(value, int | float | Decimal) else None
    if pa.types.is_integer(kind) and not isinstance(value, int):
        return None  # Arrow would cut a fraction off.
    try:
        return pa.scalar(float(value) if isinstance(value, Decimal) else value, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
