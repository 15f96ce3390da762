"""What every engine for many scores counts, from the numbers its kernels keep."""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.kernels.grid.state import (
    COMPARED,
    COMPUTED,
    FIRST,
    INSERTED,
    NEXT,
    NUMBERS,
    REFRESHED,
    SCORED,
)


class Numbered:
    """Points are numbered as they come; those from FIRST to NEXT are in the window."""

    def __init__(self) -> None:
        self._numbers = np.zeros(NUMBERS, np.int64)
        self._peak = 0

    def __len__(self) -> int:
        """Points in the window."""
        return int(self._numbers[NEXT] - self._numbers[FIRST])

    @property
    def first(self) -> int:
        """The number of the oldest point."""
        return int(self._numbers[FIRST])

    @property
    def counters(self) -> Counters:
        numbers = self._numbers
        return {
            "records": int(numbers[NEXT]),
            "comparisons": int(numbers[COMPARED]),
            "insertions": int(numbers[INSERTED]),
            "recomputations": int(numbers[COMPUTED]),
            "refreshes": int(numbers[REFRESHED]),
            "points_scored": int(numbers[SCORED]),
            "candidates": len(self),
            "candidates_peak": self._peak,
        }
