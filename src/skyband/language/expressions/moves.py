"""Monotonicity: how a score moves when one column rises and all others stay.

"rising" means: of two records that differ in that column only, both with a value there (neither NULL nor NaN) and
both ranked, the one with the larger value never has the smaller score. What cannot be proven is "unknown".
"""

from __future__ import annotations

from math import isfinite

from skyband.language.expressions.signs import sign
from skyband.language.expressions.tree import Apply, Bound, Field, Move, Value

TURNED: dict[Move, Move] = {"rising": "falling", "falling": "rising", "unknown": "unknown"}


def rising(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return tuple("rising" for _ in args)


def falling(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return tuple("falling" for _ in args)


def unknown(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return tuple("unknown" for _ in args)


def first_only(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return ("rising", *unknown(args[1:]))


def difference(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return ("rising", "falling")


def product(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    a, b = args
    return by_sign(sign(b)), by_sign(sign(a))


def quotient(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    """a / b falls in b where a is not negative, on each side of zero; so b must not change its side."""
    a, b = args
    return by_sign(sign(b)), by_sign(-sign(a) * abs(sign(b)))


def whole_quotient(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    return by_sign(sign(args[1])), "unknown"


def power(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    base, exponent = args
    return _in_base(base, _number(exponent)), _in_exponent(_number(base))


def branches(args: tuple[Bound, ...]) -> tuple[Move, ...]:
    """CASE: the conditions decide, the values pass through."""
    return ("unknown", "rising") * (len(args) // 2) + ("rising",)


def _in_base(base: Bound, exponent: float | None) -> Move:
    """Below zero only odd whole powers keep the order: even ones fold it, and (-inf) ^ 0.5 is +inf.

    Negative powers tear it at zero, even for a base that is never negative: 0.0 ^ -1 is +inf and -0.0 ^ -1 is -inf.
    """
    if exponent is None or exponent <= 0:
        return "unknown"
    return "rising" if sign(base) > 0 or exponent % 2 == 1 else "unknown"


def _in_exponent(base: float | None) -> Move:
    if base is None or base <= 0 or base == 1:
        return "unknown"
    return "rising" if base > 1 else "falling"


def _number(node: Bound) -> float | None:
    return float(node.value) if isinstance(node, Value) and isinstance(node.value, int | float) else None


def by_sign(value: int) -> Move:
    return "rising" if value > 0 else "falling" if value < 0 else "unknown"


def solid(node: Bound) -> bool:
    """Whether a node is neither NULL nor NaN as long as no column is."""
    if isinstance(node, Value):
        return node.value is not None
    if isinstance(node, Field):
        return True
    if node.overload.solid == "never" or not all(map(solid, node.args)):
        return False
    return node.overload.solid == "always" or any(_harmless(arg) for arg in node.args)


def _harmless(node: Bound) -> bool:
    """Infinity next to infinity or zero may give NaN; next to another constant it does not."""
    number = _number(node)
    return number is not None and isfinite(number) and number != 0


def move(node: Bound, column: str) -> Move | None:
    """How `node` moves when `column` rises; None when it does not depend on it."""
    if isinstance(node, Field):
        return "rising" if node.name == column else None
    if isinstance(node, Value):
        return None
    found = {
        _through(node, arg, how, column) for arg, how in zip(node.args, node.function.moves(node.args), strict=True)
    }
    found.discard(None)
    if not found:
        return None
    return found.pop() if len(found) == 1 else "unknown"


def _through(node: Apply, arg: Bound, how: Move, column: str) -> Move | None:
    inner = move(arg, column)
    if inner is None:
        return None
    if node.function.skips_missing and not solid(arg):
        return "unknown"
    return inner if how == "rising" else TURNED[inner] if how == "falling" else "unknown"
