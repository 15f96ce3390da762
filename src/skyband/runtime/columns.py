"""Columns: found by name, as names of groups, and filled with names."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language.expressions.types import GROUPABLE, names_groups
from skyband.model import Ints
from skyband.model.names import did_you_mean
from skyband.model.readable import valid_text


def column_field(schema: pa.Schema, name: str, where: str) -> pa.Field:
    """The column called `name`; an unknown one is refused with the nearest there is."""
    if name in schema.names:
        return schema.field(name)
    raise SkybandError(
        f"{where}: there is no column {name!r}",
        expected="one of " + ", ".join(schema.names),
        hint=did_you_mean(name, schema.names),
    )


def groupable(field: pa.Field, query: str, word: str) -> None:
    """Refuse columns whose values name nothing."""
    if not names_groups(field.type):
        raise SkybandError(
            f"query {query}: {word} {field.name}, which is of type {field.type}",
            expected=GROUPABLE,
        )


def spread(names: Sequence[str], which: Ints) -> pa.Array:
    """One of the names for every row."""
    if len(names) == 1:
        return pa.repeat(pa.scalar(names[0], pa.string()), len(which))
    return pa.array(names, pa.string()).take(pa.array(which))


def group_text(table: pa.Table, per: tuple[str, ...]) -> pa.Array:
    """One text per row: values joined by `|`, NULL as `\\N`, backslashes and bars in values escaped."""
    parts = [_escaped(table.column(name)) for name in per]
    joined = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "|")
    joined = joined.combine_chunks()
    whole = pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
    # Backslashes in values were doubled, so no two groups get one name.
    return valid_text(whole, "backslashreplace")


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), "|", "\\|")
    return pc.fill_null(text, "\\N")
