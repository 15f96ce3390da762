"""Binding: nodes meet a schema. Columns are found, overloads chosen, and every mistake gets its place in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.expressions.foreign import AGGREGATES, COLUMNS, many_records, unknown_function
from skyband.language.expressions.functions import CONVERSIONS, FUNCTIONS
from skyband.language.expressions.nodes import ALIASES, Call, Literal, Name, Node, Place
from skyband.language.expressions.signature import Overload
from skyband.language.expressions.tree import NEVER_NEGATIVE, Apply, Bound, Field, Function, Value
from skyband.language.expressions.types import TIMES, Type, type_of
from skyband.model.names import nearest

OPERATORS = ("and", "or", "not", "in", "like", "div")


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, as a hint."""
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else None


def find_column(name: str, known: Iterable[str]) -> str | None:
    """The column of that name; where no case matches exactly, the only one that matches in any case."""
    columns = list(known)
    if name in columns:
        return name
    similar = [column for column in columns if column.lower() == name.lower()]
    return similar[0] if len(similar) == 1 else None


CALLED = tuple(name for name in (*FUNCTIONS, *ALIASES) if name.isidentifier() and name not in OPERATORS)
"""Functions that are written with parentheses."""


@dataclass(frozen=True)
class Binder:
    """`source` and `offset` say where the expression stands; `stream` is the only name allowed before a dot."""

    schema: pa.Schema
    source: str
    offset: int = 0
    stream: str | None = None
    _bound: dict[int, Apply] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By node: what stands in two places is bound, and later evaluated, once."""

    def bind(self, node: Node) -> Bound:
        if isinstance(node, Name):
            return self.field(node)
        if isinstance(node, Literal):
            return Value(node.value, node.type)
        if id(node) not in self._bound:
            self._bound[id(node)] = self.call(node)
        return self._bound[id(node)]

    def field(self, node: Name) -> Field:
        check_qualifier(node.name, node.qualifier, self.stream, self.span(node.place))
        name = find_column(node.name, self.schema.names)
        if name is None:
            raise unknown_column(node.name, self.schema.names, self.span(node.place))
        column = self.schema.field(name)
        arrow, kind = column.type, type_of(column.type)
        if kind is None:
            raise SkybandError(
                f"column `{name}` is of type {arrow}, which expressions cannot use",
                expected="a column of numbers, strings, booleans, dates or timestamps",
                span=self.span(node.place),
            )
        return Field(name, kind, arrow, 1 if column.metadata == NEVER_NEGATIVE else 0)

    def call(self, node: Call) -> Apply:
        function = self.function(node)
        args = tuple(self.bind(arg) for arg in node.args)
        types, literal = [arg.type for arg in args], [isinstance(arg, Value) for arg in args]
        chosen = _chosen(function.name, tuple(types), tuple(literal))
        if chosen is None:
            raise self.misfit(function, types, node)
        overload, exact = chosen
        bound = tuple(convert(arg, kind) for arg, kind in zip(args, exact, strict=True))
        result = exact[-1] if overload.result is Type.SAME else overload.result
        self.check(function, bound, node)
        return Apply(function, overload, bound, result)

    def function(self, node: Call) -> Function:
        name = ALIASES.get(node.function, node.function)
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        span = self.span(Place(node.place.start, node.place.start + len(node.function)))
        if name in AGGREGATES:
            raise many_records(name, span)
        raise unknown_function(node.function, CALLED, span)

    def check(self, function: Function, args: tuple[Bound, ...], node: Call) -> None:
        wrong = function.check(args) if function.check else None
        if wrong:
            raise SkybandError(wrong, span=self.span(node.args[-1].place))

    def misfit(self, function: Function, types: list[Type], node: Call) -> SkybandError:
        what = f"`{function.name}`" if _is_operator(function.name) else f"{node.function}()"
        wanted = [parameters for o in function.overloads if (parameters := o.parameters(len(types)))]
        if not wanted:
            counts = [str(n) for n in range(1, 6) if any(o.parameters(n) for o in function.overloads)]
            message, expected = f"{what} does not take {_counted(len(types))}", " or ".join(counts)
        else:
            message = f"{what} does not take {' and '.join(map(_described, types))}"
            expected = " or ".join(dict.fromkeys(" and ".join(dict.fromkeys(map(_described, w))) for w in wanted))
        return SkybandError(message, expected=expected, hint=_type_hint(types), span=self.span(node.place))

    def span(self, place: Place) -> Span:
        return Span(self.source, self.offset + place.start, self.offset + place.end)


@lru_cache(4096)
def _chosen(
    function: str, types: tuple[Type, ...], literal: tuple[bool, ...]
) -> tuple[Overload, tuple[Type, ...]] | None:
    """The first way to call it that fits, and the types that it wants; None if there is none."""
    for overload in FUNCTIONS[function].overloads:
        exact = overload.match(types, literal)
        if exact is not None:
            return overload, exact
    return None


def _is_operator(name: str) -> bool:
    return not name.isidentifier() or name in OPERATORS


def _described(kind: Type) -> str:
    return {Type.SAME: "values of one type", Type.VOID: "NULL"}.get(kind, f"a {kind}")


def _counted(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _type_hint(types: list[Type]) -> str | None:
    times = [kind for kind in types if kind in TIMES]
    if times and Type.STRING in types:
        return f"a constant time is written {'DATE' if Type.DATE in times else 'TIMESTAMP'} '2026-01-31'"
    if times:
        return "unix_micros(x) makes a number of a time"
    return "a condition such as `x > 0` is a BOOLEAN" if Type.BOOLEAN in types else None


def check_qualifier(name: str, qualifier: str | None, stream: str | None, span: Span) -> None:
    """Before the dot only the query's own stream may stand."""
    if qualifier is None or stream is None or qualifier.lower() == stream.lower():
        return
    raise SkybandError(
        f"`{qualifier}` is not the stream of this query",
        expected=f"`{stream}.{name}` or just `{name}`",
        span=span,
    )


class UnknownColumnError(SkybandError):
    """There is no column of that name."""

    column = ""


def unknown_column(name: str, known: Iterable[str], span: Span | None) -> UnknownColumnError:
    columns = list(known)
    error = UnknownColumnError(
        f"there is no column `{name}`",
        expected="one of " + ", ".join(columns) if columns else None,
        hint=did_you_mean(name, columns) or COLUMNS.get(name.lower()),
        span=span,
    )
    error.column = name
    return error


def convert(node: Bound, wanted: Type) -> Bound:
    """`node` as the wider type `wanted`; constants are converted on the spot."""
    if node.type is wanted:
        return node
    if isinstance(node, Value):
        return Value(_wider(node, wanted), wanted)
    if node.type is Type.VOID:
        return Value(None, wanted)
    function = CONVERSIONS[node.type, wanted]
    return Apply(function, function.overloads[0], (node,), wanted)


def _wider(node: Value, wanted: Type) -> bool | int | float | str | None:
    if node.value is None or isinstance(node.value, str):
        return node.value
    if wanted is Type.DOUBLE:
        return float(node.value)
    return node.value * 86_400_000_000 if node.type is Type.DATE else node.value
