"""The smallest (or largest) key of every group over a window that moves on, by two stacks.

What came in since the stacks were turned is summed up in `front`; of what was in then, `back` has the best of what is
left: each remembers what is best without it and all before it, so that leaving means to look that up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skyband.engines.groups.held import Held
from skyband.model import Ints


class Order(NamedTuple):
    better: np.ufunc
    none: int
    """Worse than every key, or equal."""


LEAST = Order(np.minimum, 2**63 - 1)
LARGEST = Order(np.maximum, -(2**63))
Span = tuple[int, int]


class Extremes:
    def __init__(self, order: Order, first: int) -> None:
        self._order = order
        self._turned = first
        """What is older is in the back."""
        self._front = np.empty(0, np.int64)
        self._back = np.empty(0, np.int64)
        self._left = np.empty(0, np.int64)
        """Of those in the back, from `_left_from` on: what is best when they have gone."""
        self._left_from = first

    def of(self, slots: Ints) -> Ints:
        found: Ints = self._order.better(self._front[slots], self._back[slots])
        return found

    def move(self, held: Held, keys: Ints, old: Span, new: Span, edges: Callable[[Ints], Ints]) -> None:
        """`old` and `new` say what was in and is in now, counted from the first ever held."""
        self._grow(held.groups.room)
        came = slice(max(old[1], new[0]) - held.first, new[1] - held.first)
        self._order.better.at(self._front, held.slot[came], keys[came])
        if new[0] > self._turned:
            self._turn(held, keys, new, edges)
        elif new[0] > old[0]:
            went = slice(old[0] - held.first, new[0] - held.first)
            self._back[held.slot[went]] = self._left[old[0] - self._left_from : new[0] - self._left_from]

    def _turn(self, held: Held, keys: Ints, now: Span, edges: Callable[[Ints], Ints]) -> None:
        """Everything goes to the back, newest first. Those that leave together remember the same."""
        self._front[:] = self._back[:] = self._order.none
        low, high = now[0] - held.first, now[1] - held.first
        self._left, self._left_from, self._turned = np.empty(high - low, np.int64), now[0], now[1]
        cuts = edges(held.at[low:high])
        for begin, end in zip(cuts[-2::-1].tolist(), cuts[:0:-1].tolist(), strict=True):
            slots = held.slot[low + begin : low + end]
            self._left[begin:end] = self._back[slots]
            self._order.better.at(self._back, slots, keys[low + begin : low + end])

    def _grow(self, room: int) -> None:
        more = room - len(self._front)
        if more > 0:
            none = np.full(more, self._order.none)
            self._front, self._back = np.append(self._front, none), np.append(self._back, none)
