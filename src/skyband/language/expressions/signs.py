"""Signs: which expressions are never below zero and which never above, wherever they have a value."""

from __future__ import annotations

from collections.abc import Sequence, Set

from skyband.language.expressions.nodes import ALIASES, Call, Literal, Name, Node
from skyband.language.expressions.printing import canonical_text
from skyband.language.expressions.tree import Bound, Field, Value

_NEVER_NEGATIVE = ("abs", "sqrt", "exp", "hypot", "length")
_AS_THE_FIRST = (
    "double", "bigint", "floor", "ceil", "round", "cbrt", "sign", "degrees", "radians", "tanh", "expm1", "log1p",
    "nullif", "%",
)  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def sign(node: Node | Bound, known: Set[str] = frozenset()) -> int:
    """1: never below zero; -1: never above; 0: who knows. `known` are texts of expressions that are not negative."""
    if known and isinstance(node, Name | Call) and canonical_text(node) in known:
        return 1
    if isinstance(node, Name | Field):
        return node.sign if isinstance(node, Field) else 0
    if isinstance(node, Literal | Value):
        number = _number(node)
        return 0 if number is None else -1 if number < 0 else 1
    name = ALIASES.get(node.function, node.function) if isinstance(node, Call) else node.function.name
    if name in _NEVER_NEGATIVE:
        return 1
    signs = [sign(arg, known) for arg in node.args]
    match name, signs:
        case "greatest" | "least", [_, *_]:
            return _extreme(1 if name == "greatest" else -1, node.args, signs)
        case "power", [base, exponent]:
            return 1 if _is_even(node.args[1]) else _power(base, exponent)
        case "*", [_, _] if node.args[0] == node.args[1]:
            return 1
    return _combined(name, signs)


def _combined(name: str, signs: list[int]) -> int:
    """Of a call with any number of arguments: nobody has counted them yet."""
    match name, signs:
        case "negative", [only]:
            return -only
        case "*" | "/" | "div", [left, right]:
            return left * right
        case "-", [left, right]:
            return left if left == -right else 0
        case "case", [_, *_]:
            return _common([*signs[1::2], signs[-1]])
        case "+" | "coalesce", [_, *_]:
            return _common(signs)
        case _, [first, *_] if name in _AS_THE_FIRST:
            return first
    return 0


def _extreme(wanted: int, args: Sequence[Node | Bound], signs: list[int]) -> int:
    """A number next to the others is enough, but nothing that may be NULL: that would be skipped."""
    sure = any(found == wanted and isinstance(arg, Literal | Value) for arg, found in zip(args, signs, strict=True))
    return wanted if sure else _common(signs)


def _common(signs: list[int]) -> int:
    return signs[0] if min(signs) == max(signs) else 0


def _power(base: int, exponent: int) -> int:
    """Of a base that is not negative only while the exponent is not, for (-0.0) ^ -1 is -infinity."""
    return 1 if base > 0 and exponent > 0 else 0


def _is_even(exponent: Node | Bound) -> bool:
    number = _number(exponent) if isinstance(exponent, Literal | Value) else None
    return number is not None and number % 2 == 0


def _number(node: Literal | Value) -> float | None:
    return float(node.value) if isinstance(node.value, int | float) else None


def floors(condition: Node) -> set[str]:
    """Expressions that are not negative in any record that passes: `x >= 0 AND y BETWEEN 1 AND 5` says so of x and y.

    A NaN passes too, as the largest of numbers; but it is no score.
    """
    if not isinstance(condition, Call):
        return set()
    if condition.function == "and":
        return {text for part in condition.args for text in floors(part)}
    if condition.function not in _TURNED:
        return set()
    (left, right), how = condition.args, condition.function
    if isinstance(left, Literal):
        left, right, how = right, left, _TURNED[how]
    proven = how in (">", ">=", "=") and isinstance(right, Literal) and sign(right) > 0
    return {canonical_text(left)} if proven else set()
