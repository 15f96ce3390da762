"""Binding: nodes meet a schema. Columns are found, overloads chosen, and every mistake gets its place in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.functions import AGGREGATES, ALIASES, CONVERSIONS, FUNCTIONS
from skyband.language.nodes import Call, Literal, Name, Node, Place
from skyband.language.tree import Apply, Bound, Field, Function, Value
from skyband.language.types import TIMES, Type, type_of


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, as a hint."""
    by_case = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_case, n=1, cutoff=0.6)
    return f"did you mean `{by_case[close[0]]}`?" if close else None


def find_column(name: str, known: Iterable[str]) -> str | None:
    """The column of that name; where no case matches exactly, the only one that matches in any case."""
    columns = list(known)
    if name in columns:
        return name
    similar = [column for column in columns if column.lower() == name.lower()]
    return similar[0] if len(similar) == 1 else None


@dataclass(frozen=True)
class Binder:
    """`source` and `offset` say where the expression stands; `stream` is the only name allowed before a dot."""

    schema: pa.Schema
    source: str
    offset: int = 0
    stream: str | None = None

    def bind(self, node: Node) -> Bound:
        if isinstance(node, Name):
            return self.field(node)
        if isinstance(node, Literal):
            return Value(node.value, node.type)
        return self.call(node)

    def field(self, node: Name) -> Field:
        check_qualifier(node.name, node.qualifier, self.stream, self.span(node.place))
        name = find_column(node.name, self.schema.names)
        if name is None:
            raise unknown_column(node.name, self.schema.names, self.span(node.place))
        arrow = self.schema.field(name).type
        kind = type_of(arrow)
        if kind is None:
            raise SkybandError(
                f"column `{name}` is of type {arrow}, which expressions cannot use",
                expected="a column of numbers, strings, booleans, dates or timestamps",
                span=self.span(node.place),
            )
        return Field(name, kind, arrow)

    def call(self, node: Call) -> Apply:
        function = self.function(node)
        args = tuple(self.bind(arg) for arg in node.args)
        types, literal = [arg.type for arg in args], [isinstance(arg, Value) for arg in args]
        for overload in function.overloads:
            exact = overload.match(types, literal)
            if exact is not None:
                bound = tuple(convert(arg, kind) for arg, kind in zip(args, exact, strict=True))
                result = exact[-1] if overload.result is Type.SAME else overload.result
                self.check(function, bound, node)
                return Apply(function, overload, bound, result)
        raise self.misfit(function, types, node)

    def function(self, node: Call) -> Function:
        name = ALIASES.get(node.function, node.function)
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        span = self.span(Place(node.place.start, node.place.start + len(node.function)))
        if name in AGGREGATES:
            hint = {"max": "of several columns the largest is greatest(a, b)", "min": "... the smallest is least(a, b)"}
            raise SkybandError(
                f"{name}() looks at many records, an expression at one",
                expected="a function of one record's columns",
                hint=hint.get(name),
                span=span,
            )
        words = [known for known in (*FUNCTIONS, *ALIASES) if known.isidentifier()]
        raise SkybandError(f"there is no function `{node.function}`", hint=did_you_mean(name, words), span=span)

    def check(self, function: Function, args: tuple[Bound, ...], node: Call) -> None:
        wrong = function.check(args) if function.check else None
        if wrong:
            raise SkybandError(wrong, span=self.span(node.args[-1].place))

    def misfit(self, function: Function, types: list[Type], node: Call) -> SkybandError:
        counts = [o.parameters(len(types)) for o in function.overloads]
        fitting = [" and ".join(map(_described, c)) for c in counts if c]
        given = " and ".join(map(_described, types)) or "nothing"
        what = f"`{function.name}`" if not function.name.isidentifier() or function.name in _OPERATORS else None
        return SkybandError(
            f"{what or node.function + '()'} does not take {given}"
            if fitting
            else f"{what or node.function + '()'} does not take {_counted(len(types))}",
            expected=" or ".join(dict.fromkeys(fitting)) or None,
            hint=_type_hint(types),
            span=self.span(node.place),
        )

    def span(self, place: Place) -> Span:
        return Span(self.source, self.offset + place.start, self.offset + place.end)


_OPERATORS = ("and", "or", "not", "in", "like", "div")


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


def unknown_column(name: str, known: Iterable[str], span: Span | None) -> SkybandError:
    columns = list(known)
    return SkybandError(
        f"there is no column `{name}`",
        expected="one of " + ", ".join(columns),
        hint=did_you_mean(name, columns),
        span=span,
    )


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
