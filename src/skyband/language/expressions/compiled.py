"""Scores and filters, ready to use: over Arrow tables in NumPy, or as Spark SQL text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import Binder, check_qualifier, find_column
from skyband.language.expressions.evaluate import evaluate
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.moves import move
from skyband.language.expressions.nodes import Call, Name, Node, calls, names
from skyband.language.expressions.order_key import arrow_type, score_type, unscaled
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.spark_sql import column_sql, sql
from skyband.language.expressions.tree import Bound, Field, Move, fields
from skyband.language.expressions.types import NUMBERS, TIMES, Type
from skyband.model import DOUBLE, Flags, Floats, Ints, ScoreType
from skyband.model.plain import plain_floats

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class _Compiled:
    text: str
    schema: pa.Schema = field(repr=False)
    """What it was compiled for."""
    stream: str | None = field(repr=False)
    _root: Bound = field(repr=False, compare=False)

    @cached_property
    def canonical(self) -> str:
        """The normal form, with the columns spelled as in the schema."""
        return canonical_text(_resolved(read(self.text), self.schema))

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset(column.name for column in fields(self._root))


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

    @property
    def arrow(self) -> pa.DataType:
        """How a score is shown: a DECIMAL that is a column, and nothing computed, as what it is."""
        return arrow_type(self._root)

    @property
    def type(self) -> ScoreType:
        return score_type(self._root)

    @property
    def column(self) -> str | None:
        """The column that it is, if it is nothing more."""
        return self._root.name if isinstance(self._root, Field) else None

    @property
    def is_time(self) -> bool:
        return self._root.type in TIMES

    def evaluate(self, table: pa.Table | pa.RecordBatch) -> Floats:
        """The score of every row as a DOUBLE; NULL becomes NaN."""
        result = evaluate(self._root, table)
        scores = np.where(result.null, np.nan, result.values.astype(np.float64))
        return _spread(scores, table)

    def read(self, table: pa.Table | pa.RecordBatch) -> Floats:
        """As `evaluate`, to be read only: a column of doubles without NULLs is not copied."""
        plain = None
        if isinstance(self._root, Field) and self._root.name in table.schema.names:
            plain = plain_floats(table.column(self._root.name))
        return self.evaluate(table) if plain is None else plain

    def integers(self, table: pa.Table | pa.RecordBatch) -> tuple[Ints, Flags]:
        """Of a type that integers rank: the one of every row, and which rows have none."""
        if isinstance(self._root, Field) and pa.types.is_decimal(self._root.arrow):
            return unscaled(table.column(self._root.name))
        result = evaluate(self._root, table)
        return _spread(result.values.astype(np.int64), table), _spread(result.null, table)

    def attribute(self, table: pa.Table | pa.RecordBatch) -> Floats:
        """As `evaluate`, but NULL can be told from NaN: it is a NaN with its sign set."""
        result = evaluate(self._root, table)
        values = result.values.astype(np.float64)
        values = np.where(np.isnan(values), np.nan, values)
        values = np.where(result.null, np.copysign(np.nan, -1.0), values)
        return _spread(values, table)

    def spark_sql(self) -> str:
        """A DOUBLE, NULL where there is no score. Not for times."""
        text = sql(self._root)
        return text if self._root.type is Type.DOUBLE else f"CAST({text} AS DOUBLE)"

    def key_sql(self) -> str | None:
        """The double or the integer that ranks it; None where Spark SQL has no good way to say that."""
        if self._root.type in TIMES:
            return None
        if self._root.type is Type.BIGINT and self.type.whole:
            return sql(self._root)
        if self.type.whole and isinstance(self._root, Field):
            return f"CAST({column_sql(self._root)} * CAST({10**self.type.scale} AS DECIMAL(19, 0)) AS BIGINT)"
        return self.spark_sql()

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
        return _spread(passed, table)

    def spark_sql(self) -> str:
        """A BOOLEAN, NULL where the condition is neither true nor false."""
        return sql(self._root)


def _spread(values: NDArray[T], table: pa.Table | pa.RecordBatch) -> NDArray[T]:
    """A value for every row: a constant is one."""
    return values if len(values) == table.num_rows else np.broadcast_to(values, table.num_rows).copy()


@lru_cache(REMEMBERED)
def compile_score(text: str, schema: pa.Schema, *, stream: str | None = None) -> Score:
    """The score `text` over columns of `schema`; `stream` is the name that may stand before a dot."""
    return _score(text, schema, stream, text, 0)


@lru_cache(REMEMBERED)
def compile_number(text: str, schema: pa.Schema, *, stream: str | None = None) -> Score:
    """The same where something is computed with it, so that a time will not do."""
    return _number(text, schema, stream, text, 0)


def score_types(schemas: Mapping[str, pa.Schema]) -> Callable[[str, str], ScoreType]:
    """What a score over the stream of that name is. What cannot be known, or is wrong, counts as a DOUBLE: whoever
    compiles it says so."""

    @lru_cache(REMEMBERED)
    def of(stream: str, text: str) -> ScoreType:
        try:
            return compile_score(text, schemas[stream], stream=stream).type if stream in schemas else DOUBLE
        except SkybandError:
            return DOUBLE

    return of


@lru_cache(REMEMBERED)
def compile_filter(text: str, schema: pa.Schema, *, stream: str | None = None) -> Filter:
    """The condition `text` over columns of `schema`."""
    return _filter(text, schema, stream, text, 0)


@lru_cache(REMEMBERED)
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
    _check(compile_score, _score, text, schema, stream, source, offset)


def check_number(text: str, schema: pa.Schema | None, stream: str, source: str, offset: int) -> None:
    _check(compile_number, _number, text, schema, stream, source, offset)


def check_filter(text: str, schema: pa.Schema | None, stream: str, source: str, offset: int) -> None:
    _check(compile_filter, _filter, text, schema, stream, source, offset)


def _check(
    known: Callable[..., Score | Filter],
    compiled: Callable[[str, pa.Schema, str, str, int], Score | Filter],
    text: str,
    schema: pa.Schema | None,
    stream: str,
    source: str,
    offset: int,
) -> None:
    """What is right is so wherever it stands; what is wrong is compiled again in its place, which the error tells."""
    if schema is None:
        check_words(read(text, source, offset), stream, source, offset)
        return
    try:
        known(text, schema, stream=stream)
    except SkybandError:
        compiled(text, schema, stream, source, offset)


def check_words(node: Node, stream: str, source: str, offset: int) -> None:
    binder = Binder(pa.schema([]), source, offset, stream)
    for name in names(node):
        if name.qualifier is not None:
            check_qualifier(name.name, name.qualifier, stream, binder.span(name.place))
    for call in calls(node):
        binder.function(call)


def _score(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Score:
    node = read(text, source, offset)
    root = Binder(schema, source, offset, stream).bind(node)
    if root.type not in (*NUMBERS, *TIMES):
        raise SkybandError(
            f"a score must be a number or a time, and this is a {root.type}",
            expected="a BIGINT, DOUBLE, DECIMAL, DATE or TIMESTAMP",
            span=Span(source, offset, offset + len(text)),
        )
    return Score(text, schema, stream, root)


def _number(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Score:
    found = _score(text, schema, stream, source, offset)
    if found.is_time:
        raise SkybandError(
            f"this must be a number, and is a {found.type.name}",
            expected="a BIGINT or DOUBLE",
            hint="unix_micros(x) makes a number of a time",
            span=Span(source, offset, offset + len(text)),
        )
    return found


def _filter(text: str, schema: pa.Schema, stream: str | None, source: str, offset: int) -> Filter:
    node = read(text, source, offset)
    root = Binder(schema, source, offset, stream).bind(node)
    if root.type is not Type.BOOLEAN:
        raise SkybandError(
            f"a condition must be true or false, and this is a {root.type}",
            expected="a comparison such as `price > 10`, or a BOOLEAN column",
            span=Span(source, offset, offset + len(text)),
        )
    return Filter(text, schema, stream, root)


def _resolved(node: Node, schema: pa.Schema) -> Node:
    """The same expression with every column spelled as in the schema."""
    if isinstance(node, Name):
        return replace(node, name=find_column(node.name, schema.names) or node.name)
    return replace(node, args=tuple(_resolved(arg, schema) for arg in node.args)) if isinstance(node, Call) else node
