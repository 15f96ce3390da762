"""What arrays that come from a stored state have to be before a kernel sees them: kernels look nothing up twice, and
where a number leads outside an array they read, or write, what is not theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from skyband.engines.codec import damaged

FARTHEST = 2**61
"""Times and positions are within this; what is added to them still fits into 64 bits."""
MOST_SEEN = 1e100
"""Of what is counted and added up: squares of it are numbers."""
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Limits:
    """From `low` to `high`, both included."""

    low: float | None = None
    high: float | None = None
    nan: bool = False
    """It may be none."""
    null: bool = False
    """Of a column: it may be missing."""

    def wrong(self, values: np.ndarray) -> str | None:
        """What is wrong with these; None if nothing is."""
        if not values.size or values.dtype.kind not in "iufb":
            return None
        # Of numbers with one that is none among them both are none.
        least, most = values.min(), values.max()
        if least != least:
            if not self.nan:
                return "has a value that is no number"
            least, most = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        if (self.low is not None and least < self.low) or (self.high is not None and most > self.high):
            return f"has values from {least} to {most}"
        return None


@dataclass(frozen=True)
class ArrayLimits:
    """One array of a state: its name, type, shape (-1: any length), and what its values are."""

    name: str
    dtype: type[np.generic]
    shape: tuple[int, ...] = (-1,)
    values: Limits = Limits()
    rising: bool = False

    def wrong(self, array: np.ndarray) -> str | None:
        if array.dtype != self.dtype:
            return f"is of type {array.dtype}"
        if len(array.shape) != len(self.shape) or any(
            want not in (-1, have) for want, have in zip(self.shape, array.shape, strict=True)
        ):
            return f"has the shape {array.shape}"
        if self.rising and bool((array[1:] < array[:-1]).any()):
            return "does not rise"
        return self.values.wrong(array)


def check_arrays(kind: str, pairs: Iterable[tuple[np.ndarray, ArrayLimits]]) -> None:
    """Refuse a state in which one of these is not what it has to be."""
    for array, limits in pairs:
        if why := limits.wrong(array):
            raise damaged(kind, f"{limits.name} {why}")


def check_number(kind: str, name: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise damaged(kind, f"{name} is {number}")
