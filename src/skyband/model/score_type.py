"""What a score is, and what ranks it: doubles, or 64-bit integers where doubles would not tell all scores apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf, nextafter
from typing import Any

import numpy as np

from skyband.errors import SkybandError
from skyband.model.types import Keys

LEAST, GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class ScoreType:
    """Of the queries of a family. `whole` scores are ranked as 64-bit integers: a BIGINT as it stands, a DECIMAL in
    units of its last digit, a TIMESTAMP in microseconds. An INT, a DATE or a DECIMAL of 15 digits fits a double."""

    name: str = "DOUBLE"
    whole: bool = False
    scale: int = 0

    @property
    def key(self) -> np.dtype[Any]:
        """What ranks it, as an array has it."""
        return np.dtype(np.int64) if self.whole else np.dtype(np.float64)

    def thresholds(self, above: Sequence[tuple[str, float]]) -> Keys:
        """Of ABOVE queries, by name: keys above these are scores above their thresholds, exactly."""
        return np.array([self._whole(*each) if self.whole else double_below(each[1]) for each in above], self.key)

    def _whole(self, query: str, threshold: float) -> int:
        level: int = floor(Fraction(threshold) * 10**self.scale)
        if level < LEAST and not self.scale:
            raise SkybandError(
                f"query {query}: its scores are of type {self.name}, and every one is above {threshold}",
                expected=f"ABOVE {LEAST} or more",
            )
        return min(max(level, LEAST), GREATEST)


DOUBLE = ScoreType()
WHOLE = ScoreType("BIGINT", whole=True)


def double_below(threshold: float) -> float:
    """The greatest double that is not above: scores above it are above the threshold, which may lie between two."""
    nearest = float(threshold)
    return nearest if nearest <= threshold else nextafter(nearest, -inf)
