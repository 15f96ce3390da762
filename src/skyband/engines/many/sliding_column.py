"""Values by number, of which new ones come at the end and old ones are forgotten at the beginning."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)
SLACK = 1024


class SlidingColumn(Generic[T]):
    """`now` holds the values from number `base` on. Appending does not copy what is there, but now and then.

    >>> column = SlidingColumn(np.int64)
    >>> column.append(np.array([5, 6, 7]))
    >>> column.forget(2)
    >>> column.append(np.array([8]))
    >>> column.base, column.now.tolist(), column.end
    (0, [5, 6, 7, 8], 4)
    """

    def __init__(self, dtype: type[T]) -> None:
        self._room: NDArray[T] = np.empty(SLACK, dtype)
        self._size = 0
        self.base = 0

    @property
    def now(self) -> NDArray[T]:
        return self._room[: self._size]

    @property
    def end(self) -> int:
        """The number that comes next."""
        return self.base + self._size

    def append(self, values: NDArray[T]) -> None:
        wanted = self._size + len(values)
        if wanted > len(self._room):
            bigger = np.empty(2 * wanted, self._room.dtype)
            bigger[: self._size] = self.now
            self._room = bigger
        self._room[self._size : wanted] = values
        self._size = wanted

    def forget(self, before: int) -> None:
        """Numbers below `before` will not be asked for; they go when they are more than half."""
        gone = before - self.base
        if gone > self._size // 2 + SLACK:
            kept = self.now[gone:].copy()
            self._size, self.base = len(kept), before
            self._room[: len(kept)] = kept
