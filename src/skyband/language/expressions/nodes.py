"""Expressions as people write them: three kinds of node, whatever sqlglot makes of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skyband.language.expressions.types import Type

Scalar = bool | int | float | str | None


class Place(NamedTuple):
    """Characters [start, end) of the expression's text."""

    start: int
    end: int


@dataclass(frozen=True)
class Name:
    """A column, perhaps with the stream's name in front."""

    name: str
    qualifier: str | None
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True)
class Literal:
    """A constant. Times are microseconds since the epoch, dates are days."""

    value: Scalar
    type: Type
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True)
class Call:
    """A function, operator, CASE or CAST; `function` is a name of the function table or one the user made up."""

    function: str
    args: tuple[Node, ...]
    place: Place = field(compare=False, repr=False)


Node = Name | Literal | Call

ALIASES = {
    "ceiling": "ceil",
    "char_length": "length",
    "dayofmonth": "day",
    "ends_with": "endswith",
    "if": "case",
    "lcase": "lower",
    "ifnull": "coalesce",
    "log": "ln",
    "long": "bigint",
    "mod": "%",
    "nvl": "coalesce",
    "pow": "power",
    "signum": "sign",
    "starts_with": "startswith",
    "substring": "substr",
    "ucase": "upper",
}
"""Other names of functions."""


def names(node: Node) -> Iterator[Name]:
    """Every column mentioned, in order of appearance."""
    if isinstance(node, Name):
        yield node
    elif isinstance(node, Call):
        for arg in node.args:
            yield from names(arg)


def calls(node: Node) -> Iterator[Call]:
    """Every function and operator used, from the outside in."""
    if isinstance(node, Call):
        yield node
        for arg in node.args:
            yield from calls(arg)


class Measure(NamedTuple):
    """How large an expression is: its levels, its parts, and those when each part that is needed twice, or that Spark
    SQL says several times, stands there as often."""

    depth: int
    parts: int
    written_out: int


REPEATED = {"floor": 3, "ceil": 3, "ceiling": 3, "div": 2}
"""How often Spark SQL says their operands."""


def measured(root: Node) -> Measure:
    """Each part is looked at once, and nobody calls himself: it may be as deep as it likes."""
    found: dict[int, tuple[int, int]] = {}
    ask = [root]
    while ask:
        node = ask[-1]
        args = node.args if isinstance(node, Call) else ()
        missing = [arg for arg in args if id(arg) not in found]
        if missing and id(node) not in found:
            ask += missing
            continue
        ask.pop()
        known = [found[id(arg)] for arg in args]
        times = REPEATED.get(node.function.lower(), 1) if isinstance(node, Call) else 1
        depth = 1 + max((depth for depth, _ in known), default=0)
        found[id(node)] = depth, min(1 + times * sum(size for _, size in known), 2**62)
    return Measure(found[id(root)][0], len(found), found[id(root)][1])
