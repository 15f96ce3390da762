"""A bound expression over Arrow columns, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language.bind import unknown_column
from skyband.language.tree import Bound, Field, Value, fields, strings
from skyband.language.types import Type
from skyband.language.vector import Vector
from skyband.model import Flags

_DTYPES = {Type.DOUBLE: np.float64, Type.BOOLEAN: np.bool_}
_MICROS = pa.timestamp("us")


def evaluate(root: Bound, table: pa.Table | pa.RecordBatch) -> Vector:
    """The value of `root` for every row; a constant stays one value long."""
    columns = {field.name: _array(field.name, table) for field in fields(root)}
    texts = [columns[field.name] for field in fields(root) if field.type is Type.STRING]
    words = _words(texts, list(strings(root)))
    leaves = {field.name: _leaf(field, columns[field.name], words) for field in fields(root)}
    with np.errstate(all="ignore"):
        return _value(root, leaves, words)


def _value(node: Bound, leaves: Mapping[str, Vector], words: pa.Array) -> Vector:
    if isinstance(node, Field):
        return leaves[node.name]
    if isinstance(node, Value):
        return _constant(node, words)
    return node.overload.numpy(*(_value(arg, leaves, words) for arg in node.args))


def _array(name: str, table: pa.Table | pa.RecordBatch) -> pa.Array:
    if table.schema.get_field_index(name) < 0:
        error = unknown_column(name, table.schema.names, None)
        error.hint = "the expression was compiled for a schema that has it"
        raise error
    column = table.column(name)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _words(texts: list[pa.Array], constants: list[str]) -> pa.Array:
    """Every string there is, once, in UTF-8 byte order; never empty, so that a NULL has somewhere to point."""
    parts = [pc.unique(text.cast(pa.string())).drop_null() for text in texts]
    together = pa.concat_arrays([*parts, pa.array(["", *constants], pa.string())])
    distinct = pc.unique(together)
    return distinct.take(pc.sort_indices(distinct))


def _constant(node: Value, words: pa.Array) -> Vector:
    null = np.array([node.value is None])
    if node.type is Type.STRING:
        at = 0 if node.value is None else pc.index(words, pa.scalar(node.value, pa.string())).as_py()
        return Vector(np.array([at], np.int64), null, words)
    return Vector(np.array([node.value or 0], _DTYPES.get(node.type, np.int64)), null)


def _leaf(field: Field, column: pa.Array, words: pa.Array) -> Vector:
    if field.type is Type.STRING:
        places = pc.index_in(column.cast(pa.string()), words)
        return Vector(_filled(places).astype(np.int64), _nulls(places), words)
    try:
        plain = _plain(field, column)
    except pa.ArrowInvalid as error:
        raise SkybandError(f"column `{field.name}` holds {column.type}: {error}", expected=str(field.type)) from error
    return Vector(_filled(plain), _nulls(plain))


def _plain(field: Field, column: pa.Array) -> pa.Array:
    """The column as int64, float64 or bool: what the type's values are made of."""
    match field.type:
        case Type.DOUBLE if pa.types.is_decimal(column.type):
            return column.cast(pa.string()).cast(pa.float64())  # the direct cast is off by an ulp now and then
        case Type.DOUBLE:
            return column.cast(pa.float64(), safe=False)
        case Type.BOOLEAN:
            return column.cast(pa.bool_())
        case Type.DATE:
            return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        case Type.TIMESTAMP | Type.TIMESTAMP_NTZ:
            return _micros(column)
    return column.cast(pa.int64())


def _micros(column: pa.Array) -> pa.Array:
    if column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())


def _filled(column: pa.Array) -> np.ndarray[Any, Any]:
    filled = column.fill_null(pa.scalar(0).cast(column.type)) if column.null_count else column
    values: np.ndarray[Any, Any] = filled.to_numpy(zero_copy_only=False)
    return values


def _nulls(column: pa.Array) -> Flags:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    flags: Flags = column.is_null().to_numpy(zero_copy_only=False)
    return flags
