"""Values with their NULLs next to them, and the arithmetic of SQL on them.

A Vector of one value stands for a constant and is stretched by NumPy's broadcasting. Strings are positions in `words`,
a list of different strings, so that comparing, choosing and searching them is integer work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skyband.model import Flags, Floats, Ints

Values = NDArray[Any]
SMALLEST = np.int64(-(2**63))
LARGEST = np.int64(2**63 - 1)


@dataclass(frozen=True)
class Vector:
    values: Values
    null: Flags
    words: pa.Array | None = None


Form = Callable[..., Vector]
"""The NumPy form of a function: Vectors in, a Vector out."""


def _any_null(*vectors: Vector) -> Flags:
    return reduce(np.logical_or, (v.null for v in vectors))


def strict(function: Callable[..., Values]) -> Form:
    """NULL if any argument is NULL."""
    return lambda *args: Vector(function(*(a.values for a in args)), _any_null(*args))


def partial(function: Callable[..., tuple[Values, Flags]]) -> Form:
    """NULL if any argument is NULL, and also where `function` says that there is no result."""

    def form(*args: Vector) -> Vector:
        values, undefined = function(*(a.values for a in args))
        return Vector(values, _any_null(*args) | undefined)

    return form


# --------------------------------------------------------------------------------------------------------- integers


def add(a: Ints, b: Ints) -> tuple[Ints, Flags]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def subtract(a: Ints, b: Ints) -> tuple[Ints, Flags]:
    rest = a - b
    return rest, ((a ^ b) & (a ^ rest)) < 0


def negate(a: Ints) -> tuple[Ints, Flags]:
    return -a, a == SMALLEST


def absolute(a: Ints) -> tuple[Ints, Flags]:
    return np.abs(a), a == SMALLEST


def multiply(a: Ints, b: Ints) -> tuple[Ints, Flags]:
    """A product in doubles tells all but the close calls, which are few; those are divided back."""
    a, b = np.broadcast_arrays(a, b)
    product = a * b
    rough = np.abs(a.astype(np.float64) * b)
    overflow = rough > 2.0**64
    close = np.flatnonzero((rough >= 2.0**62) & ~overflow)
    x, y, p = a[close], b[close], product[close]
    turned = (x == -1) & (y == SMALLEST)
    divisor = np.where((x == 0) | turned, 1, x)
    overflow[close] = turned | ((x != 0) & (p // divisor != y)) | ((x == SMALLEST) & (y == -1))
    return product, overflow


def quotient(a: Ints, b: Ints) -> tuple[Ints, Flags]:
    """Towards zero, as in Java; NumPy rounds down."""
    undefined = (b == 0) | ((a == SMALLEST) & (b == -1))
    divisor = np.where(undefined, 1, b)
    down = a // divisor
    return down + ((down < 0) & (down * divisor != a)), undefined


def remainder(a: Ints, b: Ints) -> tuple[Ints, Flags]:
    divisor = np.where((b == 0) | (b == -1), 1, b)
    return np.fmod(a, divisor), b == 0


def whole(a: Values) -> tuple[Ints, Flags]:
    """CAST(a AS BIGINT): towards zero; 2^63 itself passes and becomes the largest BIGINT, as in Spark."""
    if a.dtype.kind != "f":
        return a.astype(np.int64), np.zeros(a.shape, np.bool_)
    outside = ~((np.floor(a) <= 2.0**63) & (np.ceil(a) >= -(2.0**63)))
    values = np.where(outside | (a == 2.0**63), 0.0, a).astype(np.int64)
    return np.where(a == 2.0**63, LARGEST, values), outside


# ---------------------------------------------------------------------------------------------------------- doubles


def real(a: Values) -> Floats:
    return a.astype(np.float64)


def divide(a: Floats, b: Floats) -> tuple[Floats, Flags]:
    return a / b, b == 0


def modulo(a: Floats, b: Floats) -> tuple[Floats, Flags]:
    return np.fmod(a, b), b == 0


def above(limit: float, function: Callable[[Floats], Floats]) -> Callable[[Floats], tuple[Floats, Flags]]:
    """Logarithms: NULL at and below `limit`."""
    return lambda a: (function(a), a <= limit)


def power(a: Floats, b: Floats) -> Floats:
    """Java's pow: 1 to an infinite or unknown power is NaN, where C says 1."""
    return np.where((np.abs(a) == 1) & ~np.isfinite(b), np.nan, np.power(a, b))


def arctan2(a: Floats, b: Floats) -> Floats:
    return np.arctan2(a + 0.0, b + 0.0)  # Spark, too, does away with -0.0 here


def round_half_up(a: Floats, places: int) -> Floats:
    """Half away from zero, judged by the decimal digits that a double prints, as Spark does."""
    scaled = np.abs(a) * 10.0**places
    low = np.floor(scaled)
    rest = scaled - low
    values = np.copysign((low + (rest >= 0.5)) / 10.0**places, a)
    unclear = (np.abs(rest - 0.5) <= scaled * 2.0**-50) | (scaled >= 2.0**50)
    unclear &= np.isfinite(a) & (np.abs(a) < 2.0**53) & (places > 0)
    values = np.where(np.isfinite(a) & (np.abs(a) < 2.0**53), values, a)
    for i in np.flatnonzero(unclear):
        values[i] = _round_printed(float(a[i]), places)
    return values


def round_whole(a: Vector) -> Vector:
    return Vector(round_half_up(a.values, 0), a.null)


def round_places(a: Vector, places: Vector) -> Vector:
    return Vector(round_half_up(a.values, int(places.values[0])), a.null)


def _round_printed(value: float, places: int) -> float:
    step = Decimal(1).scaleb(-places)
    return float(Decimal(repr(value)).quantize(step, ROUND_HALF_UP, Context(prec=60)))


# ------------------------------------------------------------------------------------------------------ comparisons


def _is_nan(a: Values) -> Flags:
    return np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, np.bool_)


def equal(a: Values, b: Values) -> Flags:
    same: Flags = (a == b) | (_is_nan(a) & _is_nan(b)) if a.dtype.kind == "f" else a == b
    return same


def less(a: Values, b: Values) -> Flags:
    """NaN is larger than everything else."""
    smaller: Flags = (a < b) | (_is_nan(b) & ~_is_nan(a)) if a.dtype.kind == "f" else a < b
    return smaller


def unequal(a: Values, b: Values) -> Flags:
    return ~equal(a, b)


def greater(a: Values, b: Values) -> Flags:
    return less(b, a)


def at_most(a: Values, b: Values) -> Flags:
    return ~less(b, a)


def at_least(a: Values, b: Values) -> Flags:
    return ~less(a, b)


def null_safe_equal(a: Vector, b: Vector) -> Vector:
    same = np.where(a.null | b.null, a.null & b.null, equal(a.values, b.values))
    return Vector(same, np.zeros(same.shape, np.bool_))


# ---------------------------------------------------------------------------------------------------- three values


def negation(a: Vector) -> Vector:
    return Vector(~a.values, a.null)


def conjunction(a: Vector, b: Vector) -> Vector:
    false = (~a.null & ~a.values) | (~b.null & ~b.values)
    return Vector(~false, ~false & (a.null | b.null))


def disjunction(a: Vector, b: Vector) -> Vector:
    true = (~a.null & a.values) | (~b.null & b.values)
    return Vector(true, ~true & (a.null | b.null))


def among(a: Vector, *others: Vector) -> Vector:
    return reduce(disjunction, (Vector(equal(a.values, b.values), a.null | b.null) for b in others))


def is_null(a: Vector) -> Vector:
    return Vector(a.null, np.zeros(a.null.shape, np.bool_))


def is_not_null(a: Vector) -> Vector:
    return Vector(~a.null, np.zeros(a.null.shape, np.bool_))


def is_nan(a: Vector) -> Vector:
    return Vector(np.isnan(a.values) & ~a.null, np.zeros(a.null.shape, np.bool_))


# ---------------------------------------------------------------------------------------------------------- choices


def choose(take: Flags, a: Vector, b: Vector) -> Vector:
    return Vector(np.where(take, a.values, b.values), np.where(take, a.null, b.null), a.words)


def case(*args: Vector) -> Vector:
    result = args[-1]
    for i in range(len(args) - 3, -1, -2):
        result = choose(args[i].values & ~args[i].null, args[i + 1], result)
    return result


def coalesce(*args: Vector) -> Vector:
    return reduce(lambda a, b: choose(~a.null, a, b), args)


def null_if(a: Vector, b: Vector) -> Vector:
    same = equal(a.values, b.values) & ~b.null
    return Vector(np.broadcast_to(a.values, same.shape), a.null | same, a.words)


def least(*args: Vector) -> Vector:
    return reduce(lambda a, b: choose(b.null | (~a.null & ~less(b.values, a.values)), a, b), args)


def greatest(*args: Vector) -> Vector:
    return reduce(lambda a, b: choose(b.null | (~a.null & ~less(a.values, b.values)), a, b), args)


# ---------------------------------------------------------------------------------------------------------- strings


def length(a: Vector) -> Vector:
    sizes = pc.utf8_length(a.words).to_numpy().astype(np.int64)
    return Vector(sizes[np.where(a.null, 0, a.values)], a.null)


def like(a: Vector, pattern: Vector) -> Vector:
    text = "" if pattern.words is None else pattern.words[int(pattern.values[0])].as_py()
    matches = pc.match_substring_regex(a.words, like_regex(text)).to_numpy(zero_copy_only=False)
    return Vector(matches[np.where(a.null, 0, a.values)], a.null | pattern.null)


def like_regex(pattern: str) -> str:
    """`%` any characters, `_` one character, `\\` takes the next one as it is."""
    parts, escaped = [], False
    for sign in pattern:
        if sign == "\\" and not escaped:
            escaped = True
            continue
        special = {"%": ".*", "_": "."}.get(sign)
        parts.append(special if special and not escaped else re.escape(sign))
        escaped = False
    return rf"(?s)\A{''.join(parts)}\z"
