"""Which arguments a function takes, and what it gives for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from skyband.language.expressions.types import TIMES, Type
from skyband.language.expressions.vector import Form

Solid = Literal["always", "never", "beside a constant"]
Parameters = Callable[[int], tuple[Type, ...] | None]
"""Parameter types for a number of arguments; None when the function does not take so many."""


def exactly(*types: Type) -> Parameters:
    return lambda count: types if count == len(types) else None


def some(kind: Type, least: int) -> Parameters:
    return lambda count: (kind,) * count if count >= least else None


def branches(count: int) -> tuple[Type, ...] | None:
    """condition, value, condition, value ... and the value for all the rest."""
    return (Type.BOOLEAN, Type.SAME) * (count // 2) + (Type.SAME,) if count % 2 and count >= 3 else None


@dataclass(frozen=True)
class TextForm:
    """The form of a function that makes strings: of Arrow's strings, and constant numbers as Python has them, Arrow's
    strings. What it made is to the rest of the expression like a column."""

    make: Callable[..., pa.Array]


@dataclass(frozen=True)
class Overload:
    """One way to call a function: parameters, result, and its two forms."""

    parameters: Parameters
    result: Type
    numpy: Form | TextForm
    spark: str | Callable[[Sequence[str]], str]
    """A template over the arguments' SQL texts, or a function of them."""
    solid: Solid = "never"
    """When the result is neither NULL nor NaN as long as no argument is."""

    def sql(self, args: Sequence[str]) -> str:
        return self.spark.format(*args) if isinstance(self.spark, str) else self.spark(args)

    def match(self, found: Sequence[Type], literal: Sequence[bool]) -> tuple[Type, ...] | None:
        """The exact types to turn the arguments into; None when they do not fit."""
        wanted = self.parameters(len(found))
        if wanted is None:
            return None
        same = common([(f, b) for f, w, b in zip(found, wanted, literal, strict=True) if w is Type.SAME])
        exact = tuple(same if w is Type.SAME else w for w in wanted)
        fits = all(can_become(f, w, b) for f, w, b in zip(found, exact, literal, strict=True))
        return exact if fits else None


def can_become(found: Type, wanted: Type, literal: bool) -> bool:
    """Whether a value fits without a CAST. A TIMESTAMP constant has no zone of its own: it takes the other side's."""
    if found in (wanted, Type.VOID):
        return True
    if wanted is Type.DOUBLE:
        return found is Type.BIGINT
    if wanted is Type.TIMESTAMP:
        return found in TIMES
    return wanted is Type.TIMESTAMP_NTZ and (found is Type.DATE or (literal and found is Type.TIMESTAMP))


def common(types: Sequence[tuple[Type, bool]]) -> Type:
    """The one type that all of them fit; the first one where they do not agree. NULLs alone count as BIGINT."""
    found = [kind for kind, _ in types if kind is not Type.VOID] or [Type.BIGINT]
    # TIMESTAMP comes last: next to a column without a zone, a TIMESTAMP constant has none either.
    for wanted in (*(kind for kind in found if kind is not Type.TIMESTAMP), Type.DOUBLE, Type.TIMESTAMP):
        if all(can_become(kind, wanted, literal) for kind, literal in types):
            return wanted
    return found[0]
