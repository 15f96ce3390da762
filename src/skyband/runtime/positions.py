"""Positions of records in a stream, or in their group: what ROWS windows are cut by."""

from __future__ import annotations

from math import lcm

import numpy as np
import pyarrow as pa

from skyband.model import Ints

FARTHEST = 2**40
"""Slides whose common multiple is larger are not all kept: nobody would live to see the first window."""


def first_position(records: int, *slides: int) -> int:
    """Where a group begins whose earlier records were not counted, in a stream of so many records.

    It has no more records than the stream, so from there on no position, and no end of a report, comes twice. Rounded
    up to a multiple of every slide its first record is the first of a window, for each of those who ask.
    """
    step = lcm(*slides)
    step = step if step <= FARTHEST else max(slides)
    return -(-records // step) * step


class Positions:
    """Counts the records of every group ('' in all without PER), before any filter. A group that was not seen yet
    begins at `first`: 0, unless there may have been records of it that were not counted."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.seen: dict[str, int] = {}

    def count(self, records: int) -> dict[str, int]:
        """So many records more, of one group; how many it has seen with them."""
        self.seen[""] = self.seen.get("", self.first) + records
        return {"": self.seen[""]}

    def place(self, count: int, group: pa.Array) -> tuple[Ints, dict[str, int]]:
        """The position of each record, and how many records each of these groups has seen with them."""
        coded = group.dictionary_encode()
        code, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
        before = np.array([self.seen.get(name, self.first) for name in names], np.int64)
        size = np.bincount(code, minlength=len(names))
        order = np.argsort(code, kind="stable")
        nth = np.empty(count, np.int64)
        nth[order] = np.arange(count) - np.repeat(np.cumsum(size) - size, size)
        now = dict(zip(names, (before + size).tolist(), strict=True))
        self.seen.update(now)
        return before[code] + nth, now
