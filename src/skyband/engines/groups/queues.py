"""Arrays that grow at the end and are cut at the beginning, without copying what stays each time."""

from __future__ import annotations

import numpy as np

LEAST = 64


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
        self.extended(len(more))[:] = more

    def extended(self, more: int) -> np.ndarray:
        """Room for so many at the end, to be filled. What is left of the old room is used again: new memory costs more
        than what is written there."""
        if self._high + more > len(self._room):
            live = self.values
            fits = len(live) <= self._low and 3 * (len(live) + more) <= 2 * len(self._room)
            room = self._room if fits else self._room_for(max(3 * (len(live) + more), LEAST))
            room[: len(live)] = live
            self._room, self._low, self._high = room, 0, len(live)
        self._high += more
        return self._room[self._high - more : self._high]

    def _room_for(self, size: int) -> np.ndarray:
        return np.empty((size, *self._room.shape[1:]), self._room.dtype)

    def widen(self, columns: int) -> None:
        """Rows have so many numbers from now on, those before zeros in the new places."""
        more = columns - self._room.shape[1]
        if more:
            self._room, self._low, self._high = np.pad(self.values, ((0, 0), (0, more))), 0, len(self)

    def cut(self, count: int) -> None:
        self._low += count
