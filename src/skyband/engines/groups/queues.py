"""Arrays that grow at the end and are cut at the beginning, without copying what stays each time."""

from __future__ import annotations

import numpy as np

LEAST = 1024


class Queue:
    """Numbers, or rows of numbers."""

    def __init__(self, like: np.ndarray) -> None:
        """Empty; what will be put in is like this."""
        self._room = np.zeros((LEAST, *like.shape[1:]), like.dtype)
        self._low = self._high = 0

    def __len__(self) -> int:
        return self._high - self._low

    @property
    def values(self) -> np.ndarray:
        """What is in it, to be looked at until something is put in."""
        return self._room[self._low : self._high]

    def put(self, more: np.ndarray) -> None:
        if self._high + len(more) > len(self._room):
            live = self.values
            size = max(2 * (len(live) + len(more)), LEAST)
            room = np.empty((size, *live.shape[1:]), live.dtype)
            room[: len(live)] = live
            self._room, self._low, self._high = room, 0, len(live)
        self._room[self._high : self._high + len(more)] = more
        self._high += len(more)

    def cut(self, count: int) -> None:
        self._low += count
