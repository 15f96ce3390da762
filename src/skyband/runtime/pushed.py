"""What a Monitor may be pushed, as a table: Arrow's own, a frame of pandas or Polars, or records as dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError

Record: TypeAlias = Mapping[str, Any]
EXPECTED = "a table or frame (pyarrow, pandas, Polars, whatever gives Arrow data), a dict, or a list of dicts"
NO_TABLE = pa.table({})
_REFUSED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class GivesArrow(Protocol):
    """Arrow's PyCapsule interface: pandas, Polars, DuckDB and others speak it."""

    def __arrow_c_stream__(self, requested_schema: Any = None, /) -> Any: ...


Pushed: TypeAlias = pa.Table | pa.RecordBatch | GivesArrow | Record | Sequence[Record]


def as_table(value: Pushed, known: pa.Schema | None) -> pa.Table:
    """The records in columns. `known`: the types of the columns, as far as they were declared or seen before; what
    has types of its own keeps them, and in a column of type NULL there may be all sorts. Nothing at all is a table
    without columns."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, Mapping):
        lists = bool(value) and all(isinstance(each, list | tuple | np.ndarray | pa.Array) for each in value.values())
        return _columns(value, known) if lists else _rows([value], known)
    if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value):
        return _rows(value, known)
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        try:
            return _plain(pa.table(value))
        except _REFUSED as error:
            message = f"a {type(value).__name__} was pushed that Arrow makes no table of: {_first_line(error)}"
            raise SkybandError(message, expected="columns of one type each") from None
    lazy = hasattr(value, "collect") and hasattr(value, "collect_schema")
    raise SkybandError(
        f"a {type(value).__name__} was pushed",
        expected=EXPECTED,
        hint="it has no rows yet: push(frame.collect())" if lazy else None,
    )


def _rows(rows: Sequence[Record], known: pa.Schema | None) -> pa.Table:
    """A name that a record does not have is NULL there."""
    if not rows:
        return NO_TABLE if known is None else known.empty_table()
    names = dict.fromkeys(name for row in rows for name in row)
    return _columns({name: [row.get(name) for row in rows] for name in _all_of(names, known)}, known)


def _all_of(names: Iterable[str], known: pa.Schema | None) -> list[str]:
    return list(dict.fromkeys([*(() if known is None else known.names), *names]))


def _columns(columns: Mapping[str, Any], known: pa.Schema | None) -> pa.Table:
    for name in columns:
        if not isinstance(name, str):
            raise SkybandError(f"a name that is no text: {name!r}", expected="names of columns")
    found = {name: _column(name, values, known) for name, values in columns.items()}
    if len(lengths := {len(column) for column in found.values()}) > 1:
        raise SkybandError(
            f"columns of several lengths: {sorted(lengths)}", expected="a value for every record in each"
        )
    return pa.table(found)


def _column(name: str, values: Any, known: pa.Schema | None) -> pa.Array:
    kind = known.field(name).type if known is not None and name in known.names else None
    try:
        return _typed(values, kind) if kind != pa.null() else _any(values)
    except _REFUSED as error:
        raise SkybandError(
            f"column {name!r}: {_first_line(error)}",
            expected="values of one type" if kind is None else f"values of type {kind}",
            hint="the columns of the stream may be declared; otherwise the first records tell their types",
        ) from None


def _typed(values: Any, kind: pa.DataType | None) -> pa.Array:
    """Whole numbers only where these are wanted: Arrow cuts off what is behind the point."""
    if kind is None or not pa.types.is_integer(kind):
        return pa.array(values, kind)
    found = pa.array(values)
    if pa.types.is_floating(found.type) or pa.types.is_decimal(found.type):
        return found.cast(kind)
    return found if found.type == kind else pa.array(values, kind)


def _any(values: Any) -> pa.Array:
    """Of values that are not of one type the text."""
    try:
        return pa.array(values)
    except _REFUSED:
        return pa.array([None if value is None else str(value) for value in values])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _plain(table: pa.Table) -> pa.Table:
    """Without what pandas adds, and with text as it usually is: Polars gives views of it."""
    table = table.select([name for name in table.column_names if not name.startswith("__index_level_")])
    for number, field in enumerate(table.schema):
        if (usual := _usual(field.type)) != field.type:
            chunks = [_cast(chunk, usual) for chunk in table.column(number).chunks]
            table = table.set_column(number, field.name, pa.chunked_array(chunks, usual))
    return table.replace_schema_metadata(None)


def _usual(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _usual(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def _cast(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return chunk.cast(kind)
    return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind.value_type), ordered=kind.ordered)
