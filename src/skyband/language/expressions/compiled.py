"""Scores and filters, ready to use: over Arrow tables in NumPy, or as Spark SQL text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import Binder, check_qualifier, find_column
from skyband.language.expressions.evaluate import evaluate
from skyband.language.expressions.expression import read
from skyband.language.expressions.moves import move
from skyband.language.expressions.nodes import Call, Name, Node, calls, names
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.spark_sql import sql
from skyband.language.expressions.tree import Bound, Move, fields
from skyband.language.expressions.types import NUMBERS, TIMES, Type
from skyband.model import Flags, Floats


@dataclass(frozen=True)
class _Compiled:
    text: str
    canonical: str
    """The normal form, with the columns spelled as in the schema."""
    columns: frozenset[str]
    schema: pa.Schema = field(repr=False)
    """What it was compiled for."""
    stream: str | None = field(repr=False)
    _root: Bound = field(repr=False, compare=False)


@dataclass(frozen=True)
class Score(_Compiled):
    """What a query ranks by.

    >>> score = compile_score("price * size", pa.schema({"price": pa.float64(), "size": pa.int64()}))
    >>> score.evaluate(pa.table({"price": [1.5, None], "size": [2, 3]}))
    array([ 3., nan])
    >>> score.spark_sql()
    '(`price` * CAST(`size` AS DOUBLE))'
    """

    def __reduce__(self) -> tuple[Callable[..., Score], tuple[object, ...]]:
        """Travels as text and is compiled again on arrival."""
        return _score, (self.text, self.schema, self.stream, self.text, 0)

    def evaluate(self, table: pa.Table | pa.RecordBatch) -> Floats:
        """The score of every row; NULL becomes NaN."""
        result = evaluate(self._root, table)
        scores = np.where(result.null, np.nan, result.values.astype(np.float64))
        return np.broadcast_to(scores, table.num_rows).copy() if len(scores) != table.num_rows else scores

    def attribute(self, table: pa.Table | pa.RecordBatch) -> Floats:
        """As `evaluate`, but NULL can be told from NaN: it is a NaN with its sign set."""
        result = evaluate(self._root, table)
        values = result.values.astype(np.float64)
        values = np.where(np.isnan(values), np.nan, values)
        values = np.where(result.null, np.copysign(np.nan, -1.0), values)
        return np.broadcast_to(values, table.num_rows).copy() if len(values) != table.num_rows else values

    def spark_sql(self) -> str:
        """A DOUBLE, NULL where there is no score."""
        text = sql(self._root)
        return text if self._root.type is Type.DOUBLE else f"CAST({text} AS DOUBLE)"

    def monotonicity(self) -> dict[str, Move]:
        """For every column: how the score moves when it rises and the others stay (see `moves.py`)."""
        return {name: move(self._root, name) or "unknown" for name in sorted(self.columns)}


@dataclass(frozen=True)
class Filter(_Compiled):
    """Which records a query looks at.

    >>> keep = compile_filter("side = 'buy' AND size > 10", pa.schema({"side": pa.string(), "size": pa.int64()}))
    >>> keep.evaluate(pa.table({"side": ["buy", "sell", None], "size": [11, 12, 13]}))
    array([ True, False, False])
    """

    def __reduce__(self) -> tuple[Callable[..., Filter], tuple[object, ...]]:
        return _filter, (self.text, self.schema, self.stream, self.text, 0)

    def evaluate(self, table: pa.Table | pa.RecordBatch) -> Flags:
        """Whether each row passes; NULL does not."""
        result = evaluate(self._root, table)
        passed = result.values.astype(np.bool_) & ~result.null
        return np.broadcast_to(passed, table.num_rows).copy() if len(passed) != table.num_rows else passed

    def spark_sql(self) -> str:
        """A BOOLEAN, NULL where the condition is neither true nor false."""
        return sql(self._root)


def compile_score(text: str, schema: pa.Schema, *, stream: str | None = None) -> Score:
    """The score `text` over columns of `schema`; `stream` is the name that may stand before a dot."""
    return _score(text, schema, stream, text, 0)


def compile_filter(text: str, schema: pa.Schema, *, stream: str | None = None) -> Filter:
    """The condition `text` over columns of `schema`."""
    return _filter(text, schema, stream, text, 0)


def canonical(text: str) -> str:
    """The normal form of an expression: equal for spellings that differ in spaces, parentheses or letter case of words.

    >>> canonical("( PRICE*size ) + ABS(trades.change)")
    'PRICE * size + abs(change)'
    """
    return canonical_text(read(text))


def columns(text: str) -> frozenset[str]:
    """The columns an expression mentions, as they are written there."""
    return frozenset(name.name for name in names(read(text)))


def check_score(text: str, schema: pa.Schema | None, stream: str, source: str, offset: int) -> None:
    """Checks an expression where it stands in a workload; without a schema, only what can be known without one."""
    if schema is not None:
        _score(text, schema, stream, source, offset)
    else:
        _check_words(read(text, source, offset), stream, source, offset)


def check_filter(text: str, schema: pa.Schema | None, stream: str, source: str, offset: int) -> None:
    if schema is not None:
        _filter(text, schema, stream, source, offset)
    else:
        _check_words(read(text, source, offset), stream, source, offset)


def _check_words(node: Node, stream: str, source: str, offset: int) -> None:
    binder = Binder(pa.schema([]), source, offset, stream)
    for name in names(node):
        check_qualifier(name.name, name.qualifier, stream, binder.span(name.place))
    for call in calls(node):
        binder.function(call)


def _score(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Score:
    node = read(text, source, offset)
    root = Binder(schema, source, offset, stream).bind(node)
    if root.type not in NUMBERS:
        raise SkybandError(
            f"a score must be a number, and this is a {root.type}",
            expected="a BIGINT or DOUBLE",
            hint="unix_micros(x) makes a number of a time" if root.type in TIMES else None,
            span=Span(source, offset, offset + len(text)),
        )
    return Score(text, *_facts(node, root, schema), schema, stream, root)


def _filter(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Filter:
    node = read(text, source, offset)
    root = Binder(schema, source, offset, stream).bind(node)
    if root.type is not Type.BOOLEAN:
        raise SkybandError(
            f"a condition must be true or false, and this is a {root.type}",
            expected="a comparison such as `price > 10`, or a BOOLEAN column",
            span=Span(source, offset, offset + len(text)),
        )
    return Filter(text, *_facts(node, root, schema), schema, stream, root)


def _facts(node: Node, root: Bound, schema: pa.Schema) -> tuple[str, frozenset[str]]:
    return canonical_text(_resolved(node, schema)), frozenset(column.name for column in fields(root))


def _resolved(node: Node, schema: pa.Schema) -> Node:
    """The same expression with every column spelled as in the schema."""
    if isinstance(node, Name):
        return replace(node, name=find_column(node.name, schema.names) or node.name)
    return replace(node, args=tuple(_resolved(arg, schema) for arg in node.args)) if isinstance(node, Call) else node
