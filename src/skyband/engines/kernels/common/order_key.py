"""The order key of a record: a double, or a 64-bit integer, by the type of the array it comes in.

Kernels are written once. What is not the same for both types is here, and which form is meant is settled when a kernel
is compiled for the arrays that came: neither form pays for the other, and that of integers is compiled only where there
are some.

Every integer is a score, so none can say "no score". An inclusive bound needs no more: nothing is below `least`. A
*floor* is what a score has to exceed. For doubles it is a double that is out itself, NaN for no floor, because nothing
is less than or equal to NaN. For integers it is the first that is in, so that the least of all says no floor; there is
none behind the greatest, which therefore always passes. Floors only save work, so one that is too low is right too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import floor
from typing import TypeVar

import numpy as np
from numba.core import types
from numba.extending import overload

from skyband.model.types import Keys

F = TypeVar("F", bound=Callable[..., object])
LEAST, GREATEST = -(2**63), 2**63 - 1
BEYOND = 2.0**63
"""The first double that is greater than every integer here; its negative is the least of them."""
LOWEST = -1e308
"""Below it a double may have none that is just below."""


def either(of_double: F, of_integer: F) -> F:
    """What a kernel calls with a key, or an array of keys, as the first argument: one of these two."""

    def typed(*given: object) -> F:
        return of_integer if isinstance(getattr(given[0], "dtype", given[0]), types.Integer) else of_double

    @wraps(of_double)
    def chosen(*given: object) -> object:
        """This is what runs without the JIT."""
        return (of_integer if np.asarray(given[0]).dtype.kind == "i" else of_double)(*given)

    # Made part of its caller by LLVM, so inner loops are what they would be without it. Numba's own `inline="always"`
    # must not be used: with `least` inlined so into `advance_list`, the compiled loop left out all reports.
    overload(chosen, strict=False, jit_options={"forceinline": True, "error_model": "numpy"})(typed)
    return chosen  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------------- bounds


def _least_double(keys: Keys) -> float:
    """No key of the type of this array is less."""
    return -np.inf


def _least_integer(keys: Keys) -> float:
    return LEAST


def _greatest_double(keys: Keys) -> float:
    """No key of the type of this array is greater."""
    return np.inf


def _greatest_integer(keys: Keys) -> float:
    return GREATEST


def _nearest_double(keys: Keys, value: float) -> float:
    """A key of the type of this array near a number that was computed; the least one if there is none."""
    return value


def _nearest_integer(keys: Keys, value: float) -> float:
    return int(value) if -BEYOND < value < BEYOND else LEAST


least = either(_least_double, _least_integer)
greatest = either(_greatest_double, _greatest_integer)
nearest = either(_nearest_double, _nearest_integer)


# ------------------------------------------------------------------------------------------------------------- floors


def _no_double_floor(keys: Keys) -> float:
    """The floor that every score of the type of this array passes."""
    return np.nan


def _double_floor(score: float) -> float:
    """The floor that scores above this one pass."""
    return score


def _integer_floor(score: float) -> float:
    return score + 1 if score < GREATEST else score


def _double_below(score: float) -> float:
    """The floor that lets this score itself pass, and none below it."""
    return np.nextafter(score, -np.inf) if score >= LOWEST else np.nan


def _integer_below(score: float) -> float:
    return score


def _double_passes(score: float, floor: float) -> bool:
    """Whether a score is above the floor."""
    return not (score <= floor)


def _integer_passes(score: float, floor: float) -> bool:
    return score >= floor


def _double_reaches(score: float, floor: float) -> bool:
    """Whether a score is above the floor, or the one it was made of."""
    return not (score < floor)


def _integer_reaches(score: float, floor: float) -> bool:
    return score >= floor or score == floor - 1


def _from_double_floor(floor: float) -> float:
    """An inclusive bound that lets pass whatever passes the floor, if not more."""
    return -np.inf if np.isnan(floor) else floor


no_floor = either(_no_double_floor, _least_integer)
floor_at = either(_double_floor, _integer_floor)
just_below = either(_double_below, _integer_below)
passes = either(_double_passes, _integer_passes)
reaches = either(_double_reaches, _integer_reaches)
bound_of = either(_from_double_floor, _integer_below)


# --------------------------------------------------------------------------------------------------------- thresholds


def _beyond_double(threshold: float, score: float) -> bool:
    """Whether an integer is greater than a threshold, exactly: the nearest double of the integer would not tell."""
    if not threshold < BEYOND:
        return False
    return threshold < -BEYOND or score > floor(threshold)


def _beyond_integer(threshold: float, score: float) -> bool:
    return score > threshold


_beyond = either(_beyond_double, _beyond_integer)


def _double_exceeds(score: float, threshold: float, sign: float) -> bool:
    """Whether a score, as the user wrote it, is above a threshold. For ASC the sign is -1: doubles came negated, and
    integers with all their bits turned, for the least of them has no negative."""
    return sign * score > threshold


def _integer_exceeds(score: int, threshold: float, sign: float) -> bool:
    return _beyond(threshold, score if sign > 0 else ~score)


exceeds = either(_double_exceeds, _integer_exceeds)
