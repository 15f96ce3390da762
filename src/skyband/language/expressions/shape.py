"""Scores taken apart, so that one index over their columns serves many of them.

Only steps that are surely made in doubles are taken apart: `0.3 * a` is, `3 * a` may be a product of whole numbers,
which follows other rules. What is not taken apart is an attribute of its own, computed like any expression: so the
score that an engine works out is bit for bit the one of the whole expression.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite, nextafter

from skyband.language.expressions.expression import REMEMBERED, read
from skyband.language.expressions.nodes import Call, Literal, Name, Node
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.types import Type
from skyband.model.many import (
    ABSOLUTE,
    ADD,
    CONSTANT,
    DIVIDE,
    LARGEST,
    MOST_COLUMNS,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
    Attribute,
    Shape,
)

Steps = list[tuple[int, float | Attribute]]
_BINARY = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY}
_UNARY = {"negative": NEGATE, "abs": ABSOLUTE}
_DOUBLES = ("sqrt", "ln", "exp", "double")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
LONGEST = 24
"""Steps of a program; a longer one is an attribute instead."""
EXACT = 2**53


@lru_cache(REMEMBERED)
def shape(by: str, where: str | None) -> Shape:
    """What ORDER BY and WHERE ask for.

    >>> shape("0.3 * a + 0.7 * b", "a BETWEEN 1 AND 5").terms
    ((0.3, Attribute(text='a', condition=False)), (0.7, Attribute(text='b', condition=False)))
    """
    node = read(by)
    ranges = _ranges(read(where)) if where else ()
    terms = _terms(node)
    found = Shape(terms, (), ranges) if terms is not None else Shape((), tuple(_steps(node)), ranges)
    if len(found.attributes) <= MOST_COLUMNS and not _unwieldy(found):
        return found
    whole = ((Attribute(canonical_text(read(where)), condition=True), 1.0, 1.0),) if where else ()
    return Shape(((1.0, _attribute(node)),), (), whole)


def _unwieldy(found: Shape) -> bool:
    """Long, or with products that may overflow: better computed as a whole."""
    products = sum(step == MULTIPLY for step, _ in found.steps)
    huge = any(isinstance(value, float) and abs(value) > LARGEST for _, value in found.steps)
    return len(found.steps) > LONGEST or products > 8 or huge


def _attribute(node: Node) -> Attribute:
    return Attribute(canonical_text(node))


def _is_double(node: Node) -> bool:
    """Whether it is a DOUBLE whatever the types of the columns are."""
    if isinstance(node, Literal):
        return node.type is Type.DOUBLE
    if isinstance(node, Name):
        return False
    if node.function == "/":
        return True
    if node.function in _BINARY:
        return any(map(_is_double, node.args))
    return node.function in _DOUBLES or (node.function in _UNARY and _is_double(node.args[0]))


def _number(node: Node) -> float | None:
    if isinstance(node, Literal) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value) if abs(node.value) <= EXACT or node.type is Type.DOUBLE else None
    return None


def _terms(node: Node) -> tuple[tuple[float, Attribute], ...] | None:
    """The terms of a weighted sum, added from the left; None if it is something else."""
    if isinstance(node, Call) and node.function in ("+", "-") and _is_double(node):
        left, right = _terms(node.args[0]), _term(node.args[1])
        if left is None or right is None:
            return None
        return (*left, (-right[0], right[1]) if node.function == "-" else right)
    only = _term(node)
    return None if only is None else (only,)


def _term(node: Node) -> tuple[float, Attribute] | None:
    if not _is_double(node) or (isinstance(node, Call) and node.function in _DOUBLES):
        return None if isinstance(node, Literal) else (1.0, _attribute(node))
    if not isinstance(node, Call):
        return None
    if node.function == "negative":
        inner = _term(node.args[0])
        return None if inner is None else (-inner[0], inner[1])
    if node.function != "*":
        return None
    for weight, rest in (node.args, node.args[::-1]):
        factor = _number(weight)
        plain = not _is_double(rest) or (isinstance(rest, Call) and rest.function in _DOUBLES)
        if factor is not None and abs(factor) <= LARGEST and plain and not isinstance(rest, Literal):
            return factor, _attribute(rest)
    return None


def _steps(node: Node) -> Steps:
    number = _number(node)
    if number is not None:
        return [(CONSTANT, number)]
    if isinstance(node, Call) and _is_double(node):
        if node.function in _BINARY:
            return [*_steps(node.args[0]), *_steps(node.args[1]), (_BINARY[node.function], 0.0)]
        if node.function in _UNARY:
            return [*_steps(node.args[0]), (_UNARY[node.function], 0.0)]
        divisor = _number(node.args[1]) if node.function == "/" else None
        if divisor:
            return [*_steps(node.args[0]), (CONSTANT, divisor), (DIVIDE, 0.0)]
    return [(CONSTANT, _attribute(node))]


def _ranges(node: Node) -> tuple[tuple[Attribute, float, float], ...]:
    """Comparisons of a column with a number, joined by AND, as ranges; all the rest as one condition."""
    found, rest = [], []
    for part in _conjuncts(node):
        limits = _range(part)
        if limits is None:
            rest.append(part)
        else:
            found.append(limits)
    if rest:
        text = " AND ".join(f"({canonical_text(part)})" for part in rest)
        found.append((Attribute(text, condition=True), 1.0, 1.0))
    return tuple(found)


def _conjuncts(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "and":
        return [part for arg in node.args for part in _conjuncts(arg)]
    return [node]


def _range(node: Node) -> tuple[Attribute, float, float] | None:
    if not isinstance(node, Call) or node.function not in _TURNED:
        return None
    (left, right), how = node.args, node.function
    if isinstance(left, Literal):
        left, right, how = right, left, _TURNED[how]
    limit = _number(right)
    if not isinstance(left, Name) or limit is None or not isfinite(limit):
        return None
    least = limit if how in (">=", "=") else nextafter(limit, inf) if how == ">" else -inf
    most = limit if how in ("<=", "=") else nextafter(limit, -inf) if how == "<" else inf
    return _attribute(left), least, most
