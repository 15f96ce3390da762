"""Expressions that result rows show, of any type: computed in NumPy, of the rows that are reported and no others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import Binder, check_qualifier, find_column, unknown_column
from skyband.language.expressions.compiled import check_words
from skyband.language.expressions.evaluate import evaluate
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.nodes import Name
from skyband.language.expressions.tree import Bound, fields
from skyband.language.expressions.types import Type

_ARROW = {
    Type.BIGINT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.TIMESTAMP_NTZ: pa.timestamp("us"),
}


@dataclass(frozen=True)
class Shown:
    """An expression over columns, and the type of its values; a column alone is of its own type."""

    arrow: pa.DataType
    columns: tuple[str, ...]
    _root: Bound | None = field(repr=False)
    """None for a column alone."""

    def evaluate(self, table: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The value for every row; a column that the table does not have is NULL."""
        if self._root is None:
            (name,) = self.columns
            return table.column(name) if name in table.column_names else pa.nulls(len(table), self.arrow)
        for column in fields(self._root):
            if column.name not in table.column_names:
                table = table.append_column(column.name, pa.nulls(len(table), column.arrow))
        found = evaluate(self._root, table)
        null = np.broadcast_to(found.null, len(table))
        values = np.broadcast_to(found.values, len(table))
        if found.words is not None:
            return found.words.take(pa.array(values, mask=null))
        plain = pa.array(np.where(null, np.zeros(1, values.dtype), values), mask=null)
        return plain.cast(pa.int32()).cast(self.arrow) if self.arrow == pa.date32() else plain.cast(self.arrow)


@lru_cache(REMEMBERED)
def compile_shown(text: str, schema: pa.Schema, *, stream: str | None = None) -> Shown:
    """The expression `text` over columns of `schema`."""
    return _shown(text, schema, stream, text, 0)


def check_shown(text: str, schema: pa.Schema | None, stream: str, source: str, offset: int) -> None:
    """Checks an expression where it stands in a workload; without a schema, only what can be known without one."""
    if schema is None:
        check_words(read(text, source, offset), stream, source, offset)
    else:
        _shown(text, schema, stream, source, offset)


def _shown(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Shown:
    node, span = read(text, source, offset), Span(source, offset, offset + len(text))
    if isinstance(node, Name):
        if node.qualifier is not None:
            check_qualifier(node.name, node.qualifier, stream, span)
        name = find_column(node.name, schema.names)
        if name is None:
            raise unknown_column(node.name, schema.names, span)
        return Shown(schema.field(name).type, (name,), None)
    root = Binder(schema, source, offset, stream).bind(node)
    if root.type not in _ARROW:
        raise SkybandError(f"this is a {root.type}", expected="an expression with a type", span=span)
    return Shown(_ARROW[root.type], tuple(dict.fromkeys(column.name for column in fields(root))), root)
