"""A bound expression over Arrow columns, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language.expressions.bind import unknown_column
from skyband.language.expressions.signature import TextForm
from skyband.language.expressions.text_functions import READING
from skyband.language.expressions.tree import Apply, Bound, Field, Value, parts, strings
from skyband.language.expressions.types import Type
from skyband.language.expressions.vector import Vector
from skyband.model import Flags
from skyband.model.readable import valid_text

_DTYPES = {Type.DOUBLE: np.float64, Type.BOOLEAN: np.bool_}
_ORDERING = ("<", "<=", ">", ">=", "least", "greatest")
_READING = ("like", "length", *READING)
Leaf = Field | Apply
"""A column, or a function that makes strings, whose values stand in for one."""


def evaluate(root: Bound, table: pa.Table | pa.RecordBatch) -> Vector:
    """The value of `root` for every row; a constant stays one value long. A string is told in full."""
    arrays = {leaf: _array(leaf, table) for leaf in dict.fromkeys(_leaves(root))}
    words = _words(root, [array for leaf, array in arrays.items() if leaf.type is Type.STRING])
    leaves = {leaf: _leaf(leaf, array, words) for leaf, array in arrays.items()}
    with np.errstate(all="ignore"):
        return _value(root, leaves, words, {})


def _value(node: Bound, leaves: Mapping[Leaf, Vector], words: pa.Array, known: dict[int, Vector]) -> Vector:
    """`known`: what stands in two places is computed once."""
    if isinstance(node, Value):
        return _constant(node, words)
    if isinstance(node, Field) or isinstance(node.overload.numpy, TextForm):
        return leaves[node]
    if id(node) not in known:
        known[id(node)] = node.overload.numpy(*(_value(arg, leaves, words, known) for arg in node.args))
    return known[id(node)]


def _leaves(node: Bound) -> Iterator[Leaf]:
    for each in parts(node, inside=lambda apply: not isinstance(apply.overload.numpy, TextForm)):
        if isinstance(each, Field) or (isinstance(each, Apply) and isinstance(each.overload.numpy, TextForm)):
            yield each


def _array(leaf: Leaf, table: pa.Table | pa.RecordBatch) -> pa.Array:
    return _column(leaf, table) if isinstance(leaf, Field) else _made(leaf, table)


def _made(node: Apply, table: pa.Table | pa.RecordBatch) -> pa.Array:
    form, first = node.overload.numpy, node.args[0]
    assert isinstance(form, TextForm)
    args = [_argument(arg, table) for arg in node.args]
    if isinstance(first, Value) and all(isinstance(arg, Value) for arg in node.args):
        args[0] = pa.array([first.value], pa.string())
    return form.make(*args)


def _argument(node: Bound, table: pa.Table | pa.RecordBatch) -> object:
    """Strings as Arrow has them, numbers as they are."""
    if isinstance(node, Value):
        return pa.scalar(node.value, pa.string()) if node.type is Type.STRING else node.value
    if isinstance(node, Field):
        return _column(node, table)
    if isinstance(node.overload.numpy, TextForm):
        return _made(node, table)
    chosen = evaluate(node, table)
    assert chosen.words is not None
    return chosen.words.take(pa.array(chosen.values, mask=chosen.null))


def _column(field: Field, table: pa.Table | pa.RecordBatch) -> pa.Array:
    """The column in one piece, and not as a dictionary."""
    if table.schema.get_field_index(field.name) < 0:
        error = unknown_column(field.name, table.schema.names, None)
        error.hint = "the expression was compiled for a schema that has it"
        raise error
    column = table.column(field.name)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return valid_text(whole.cast(pa.string())) if field.type is Type.STRING else whole


def _words(root: Bound, texts: Sequence[pa.Array]) -> pa.Array:
    """The strings that matter, each once; never none, so that a NULL can point somewhere.

    One column that only asks "is it this constant?" needs the constants alone: all other strings count as the same.
    Order needs them sorted, in UTF-8 byte order.
    """
    constants = pa.array(["", *strings(root)], pa.string())
    looks_inside = root.type is Type.STRING or _uses(root, _ORDERING + _READING)
    if len(texts) <= 1 and not looks_inside:
        return pc.unique(constants)
    distinct = pc.unique(pa.concat_arrays([*(pc.unique(text).drop_null() for text in texts), constants]))
    return distinct.take(pc.sort_indices(distinct)) if _uses(root, _ORDERING) else distinct


def _uses(node: Bound, names: tuple[str, ...]) -> bool:
    """Whether one of these functions is applied to strings."""
    applied = (each for each in parts(node) if isinstance(each, Apply))
    return any(each.function.name in names and each.args[0].type is Type.STRING for each in applied)


def _constant(node: Value, words: pa.Array) -> Vector:
    null = np.array([node.value is None])
    if node.type is Type.STRING:
        at = 0 if node.value is None else pc.index(words, pa.scalar(node.value, pa.string())).as_py()
        return Vector(np.array([at], np.int64), null, words)
    return Vector(np.array([node.value or 0], _DTYPES.get(node.type, np.int64)), null)


def _leaf(field: Leaf, column: pa.Array, words: pa.Array) -> Vector:
    if field.type is Type.STRING or isinstance(field, Apply):
        places = pc.index_in(column, words).fill_null(len(words))
        return Vector(places.to_numpy().astype(np.int64), _nulls(column), words)
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
