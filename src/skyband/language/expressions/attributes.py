"""Scores of objects as expressions over their attributes, proven not to fall when one of these rises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.expressions.bind import Binder
from skyband.language.expressions.evaluate import evaluate
from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.moves import move
from skyband.language.expressions.nodes import Name, Node, names as column_names
from skyband.language.expressions.ranking import never_negative
from skyband.language.expressions.tree import NEVER_NEGATIVE, Apply, Bound, Value, fields
from skyband.language.expressions.types import NUMBERS
from skyband.model import Across, Floats, Query
from skyband.model.apart import COMBINATIONS

_KEEPING = (
    "+", "-", "*", "negative", "double", "abs", "sign", "sqrt", "cbrt", "exp", "expm1", "ln", "log10", "log2", "log1p",
    "tanh", "degrees", "radians", "floor", "ceil", "round", "least", "greatest",
)  # fmt: skip
"""Functions that have a value for all larger arguments where they have one, if nothing is infinite."""
_BY_A_CONSTANT = ("/", "power")
_ALIKE = {"SUM": " + ", "MAX": "greatest", "MIN": "least", "PRODUCT": " * "}


@dataclass(frozen=True)
class AttributeScore:
    """What the attributes of these names make together; `floors` says which are never below zero.

    >>> score = AttributeScore("2 * b + sqrt(t)", ("b", "t"), (False, True))
    >>> score(np.array([[1.0, 2.0], [9.0, -1.0]]))
    array([ 5., nan])
    """

    text: str
    names: tuple[str, ...]
    floors: tuple[bool, ...]

    def __reduce__(self) -> tuple[type[AttributeScore], tuple[object, ...]]:
        """Travels as text and is compiled again on arrival."""
        return AttributeScore, (self.text, self.names, self.floors)

    def __call__(self, attributes: Floats) -> Floats:
        return self._of(self._root, attributes)

    def steady(self, highest: Floats) -> bool:
        """By its form, and because no step of it is infinite or missing at the highest attributes: all steps that rise
        are below that elsewhere."""
        return _is_steady(self, tuple(highest.tolist()))

    def steps(self, attributes: Floats) -> list[Floats]:
        """What it comes to, and all that it is made of."""
        return [self._of(step, attributes) for step in _steps(self._root)]

    @cached_property
    def keeps(self) -> bool:
        """It is made of functions that have a value for all larger arguments where they have one."""
        return all(map(_keeps, _steps(self._root)))

    def _of(self, node: Bound, attributes: Floats) -> Floats:
        # Columns lie side by side: over others NumPy may take another way, with another last bit.
        columns = [pa.array(np.ascontiguousarray(row)) for row in attributes]
        found = evaluate(node, pa.RecordBatch.from_arrays(columns, schema=self._schema))
        scores = np.where(found.null, np.nan, found.values.astype(np.float64))
        return np.broadcast_to(scores, attributes.shape[1]) + 0.0

    @cached_property
    def _schema(self) -> pa.Schema:
        return _schema(self.names, self.floors)

    @cached_property
    def _root(self) -> Bound:
        return Binder(self._schema, self.text).bind(read(self.text))


def attribute_score(query: Query, source: str | None = None, offset: int = 0) -> AttributeScore:
    """What the objects of a query are ranked by, proven to be monotone; `source` and `offset` say where it stands in a
    longer text."""
    assert query.across is not None
    across, text = query.across, query.by
    floors = tuple(_floors(across, query.value, query.where))
    return _proven(text, across.names, floors, text if source is None else source, offset)


def _floors(across: Across, value: str, where: str | None) -> Iterator[bool]:
    """Whether each attribute is never below zero: a missing one is 0, or the lowest value that is declared."""
    by_form = across.counts or never_negative(value, where)
    for feed in across.resolved().streams:
        yield feed.between[0] >= 0 if feed.between is not None else by_form


@lru_cache(REMEMBERED)
def _proven(text: str, names: tuple[str, ...], floors: tuple[bool, ...], source: str, offset: int) -> AttributeScore:
    span = Span(source, offset, offset + len(text))
    _refuse_a_combination(text, names, span)
    node = read(text, source, offset)
    for column in _qualified(node):
        raise SkybandError(
            f"`{column.qualifier}.{column.name}` is a column of a stream, and this is an expression over attributes",
            expected=f"one of {', '.join(names)}",
            span=Span(source, offset + column.place.start, offset + column.place.end),
        )
    root = Binder(_schema(names, floors), source, offset).bind(node)
    if root.type not in NUMBERS:
        raise SkybandError(
            f"a score must be a number, and this is a {root.type}", expected="a BIGINT or DOUBLE", span=span
        )
    used = list(dict.fromkeys(field.name for field in fields(root)))
    if not used:
        raise SkybandError(
            f"every object has the same score, {text}", expected=f"an expression over {', '.join(names)}", span=span
        )
    for name in used:
        _check_rises(root, name, floors[names.index(name)], span)
    return AttributeScore(text, names, floors)


def _qualified(node: Node) -> Iterator[Name]:
    """Names with another before a dot."""
    return (each for each in column_names(node) if each.qualifier is not None)


@lru_cache(REMEMBERED)
def _is_steady(score: AttributeScore, highest: tuple[float, ...]) -> bool:
    """Asked for every group of PER."""
    top = np.array(highest)[:, None]
    return score.keeps and all(bool(np.isfinite(step).all()) for step in score.steps(top))


def _check_rises(root: Bound, name: str, floor: bool, span: Span) -> None:
    how = move(root, name)
    if how == "rising":
        return
    raise SkybandError(
        f"the score falls when attribute `{name}` rises"
        if how == "falling"
        else f"nothing proves that the score does not fall when attribute `{name}` rises",
        expected="an expression that rises, or stays, with every attribute",
        hint=None
        if how == "falling"
        else "what can be proven is in docs/language.md under Monotonicity; "
        "that factors are not negative is known from BETWEEN 0 AND ... of their streams",
        span=span,
    )


def _refuse_a_combination(text: str, names: tuple[str, ...], span: Span) -> None:
    """The other spelling, SUM(bytes), over streams that have names."""
    word = text.partition("(")[0].strip().upper()
    if word in COMBINATIONS:
        how = _ALIKE[word]
        same = f"{how}({', '.join(names)})" if how.isalpha() else how.join(names)
        raise SkybandError(
            f"objects are ranked by {text}, and their streams have names",
            expected=f"an expression over the names: {same}",
            hint="without names ORDER BY takes SUM(...), MAX(...), MIN(...) and PRODUCT(...) of what is collected",
            span=span,
        )


def _schema(names: tuple[str, ...], floors: tuple[bool, ...]) -> pa.Schema:
    pairs = zip(names, floors, strict=True)
    return pa.schema(
        [pa.field(name, pa.float64(), metadata=NEVER_NEGATIVE if floor else None) for name, floor in pairs]
    )


def _steps(node: Bound) -> Iterator[Bound]:
    """The expression and all that it is made of."""
    yield node
    if isinstance(node, Apply):
        for arg in node.args:
            yield from _steps(arg)


def _keeps(node: Bound) -> bool:
    if not isinstance(node, Apply) or node.function.name in _KEEPING:
        return True
    return node.function.name in _BY_A_CONSTANT and isinstance(node.args[1], Value)
