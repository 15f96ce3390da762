"""Expressions after binding: every column found, every type known, every overload chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from skyband.language.expressions.nodes import Scalar
from skyband.language.expressions.signature import Overload
from skyband.language.expressions.types import Type

Move = Literal["rising", "falling", "unknown"]
NEVER_NEGATIVE = {b"skyband.sign": b"+"}
"""Metadata of a column in a schema."""


@dataclass(frozen=True)
class Field:
    """A column of the input."""

    name: str
    type: Type
    arrow: pa.DataType
    sign: int = 0
    """1 where it is known never to be below zero."""


@dataclass(frozen=True)
class Value:
    """A constant; None is NULL."""

    value: Scalar
    type: Type


@dataclass(frozen=True)
class Apply:
    """A function applied to arguments of exactly the types that its overload wants."""

    function: Function
    overload: Overload
    args: tuple[Bound, ...]
    type: Type


Bound = Field | Value | Apply


@dataclass(frozen=True)
class Function:
    """A row of the function table."""

    name: str
    overloads: tuple[Overload, ...]
    moves: Callable[[tuple[Bound, ...]], tuple[Move, ...]]
    """How the result moves when one argument rises and the others stay, wherever it is neither NULL nor NaN."""
    skips_missing: bool = False
    """Looks past a NULL or NaN argument to another one."""
    check: Callable[[tuple[Bound, ...]], str | None] | None = None
    """What is wrong with the arguments, beyond their types."""


def parts(root: Bound, inside: Callable[[Apply], bool] = lambda apply: True) -> Iterator[Bound]:
    """The expression and all its parts, each once, in order of appearance; `inside` says whose parts are asked for."""
    seen, ask = set[int](), [root]
    while ask:
        node = ask.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Apply) and inside(node):
            ask += reversed(node.args)


def fields(node: Bound) -> Iterator[Field]:
    """Every column used, in order of appearance."""
    return (each for each in parts(node) if isinstance(each, Field))


def strings(node: Bound) -> Iterator[str]:
    """Every string constant used."""
    return (each.value for each in parts(node) if isinstance(each, Value) and isinstance(each.value, str))
