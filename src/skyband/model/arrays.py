"""What engines see: arrays of records, report moments and answers. No columns, no names, no Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEVER = np.int64(-(2**62))
"""Before every time and position: no record was fed, no moment was reported."""


@dataclass(frozen=True)
class Records:
    """Records of one family in feed order: by time (or position), and of equal times the worse of a tie first.

    So of two records with equal scores the one fed later ranks higher, and engines need no other tie rule. Higher
    scores rank first (the runtime turns the sign for ASC); NaN never gets here. The n-th record ever fed has id n.
    """

    at: Ints
    score: Floats

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, part: slice) -> Records:
        return Records(self.at[part], self.score[part])


@dataclass(frozen=True)
class Moments:
    """Reports due, in time order: row i asks for the best `k[i]` records with `start[i] <= at < end[i]`.

    Every report up to and including `until` is in this batch or an earlier one: what only those need may be dropped.
    """

    start: Ints
    end: Ints
    k: Ints
    query: Ints
    until: int

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, part: slice) -> Moments:
        return Moments(self.start[part], self.end[part], self.k[part], self.query[part], self.until)


@dataclass(frozen=True)
class Answers:
    """Row i of the Moments is answered by `id` and `score` at `offset[i] : offset[i + 1]`, best first."""

    offset: Ints
    id: Ints
    score: Floats

    def __len__(self) -> int:
        return len(self.offset) - 1

    def sizes(self) -> Ints:
        return np.diff(self.offset)

    @staticmethod
    def none(reports: int = 0) -> Answers:
        return Answers(np.zeros(reports + 1, np.int64), np.empty(0, np.int64), np.empty(0))
