"""Positions of records in a stream, or in their group: what ROWS windows are cut by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Ints


class Positions:
    """Counts the records of every group ('' in all without PER), before any filter."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def place(self, count: int, group: pa.Array | None) -> tuple[Ints, dict[str, int]]:
        """The position of each record, and how many records each of these groups has seen with them."""
        if group is None:
            first = self.seen.get("", 0)
            self.seen[""] = first + count
            return np.arange(first, first + count), {"": first + count}
        coded = group.dictionary_encode()
        code, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
        before = np.array([self.seen.get(name, 0) for name in names], np.int64)
        size = np.bincount(code, minlength=len(names))
        order = np.argsort(code, kind="stable")
        nth = np.empty(count, np.int64)
        nth[order] = np.arange(count) - np.repeat(np.cumsum(size) - size, size)
        now = dict(zip(names, (before + size).tolist(), strict=True))
        self.seen.update(now)
        return before[code] + nth, now
