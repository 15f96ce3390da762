"""Small numbers for large ones, as long as somebody needs them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skyband.engines.kernels.groups.numbers import NOBODY, Links, add_at, enter_words, fill_table, places_of_pairs
from skyband.model import Ints
from skyband.model.plain import readable

LEAST = 64


class Numbers:
    """Words are counted as they come, and those from `first` on are needed. Each of them has a number; the others keep
    theirs until the table is full, and then those are given away."""

    def __init__(self) -> None:
        self.first = self._next = 1
        self._table = np.full(2 * LEAST, NOBODY, np.int32)
        self._free, self._spare = np.empty(LEAST, np.int32), 0
        self._used = 0
        self._known = np.zeros((LEAST, 2), np.int64)
        """By number: its word, and which came with it last."""

    def __len__(self) -> int:
        """How many different words are needed."""
        return int(np.count_nonzero(self._known[:, 1] >= self.first))

    @property
    def room(self) -> int:
        """All numbers are below."""
        return len(self._known)

    def words(self, numbers: Ints) -> Ints:
        found: Ints = self._known[numbers, 0]
        return found

    def has(self, number: int, word: int) -> bool:
        """Whether that is the word of a number which is needed."""
        known, last = self._known[number].tolist()
        return bool(last >= self.first and known == word)

    def enter(self, words: Ints) -> Ints:
        """Their numbers."""
        if self._used - self._spare + len(words) > self.room:
            self._make_room(len(words))
        number = np.empty(len(words), np.int64)
        self._spare, self._used = enter_words(
            words, self._next, self._table, self._known, self._free, self._spare, self._used, number
        )
        self._next += len(words)
        return number

    def cut(self, count: int) -> None:
        """The first so many are needed no more."""
        self.first += count

    def _make_room(self, more: int) -> None:
        """For so many new words at the most: what is needed no more is given away, or there are more numbers."""
        live = len(self)
        room = self.room
        while room < 2 * live + more:
            room *= 2
        if room > self.room:
            known, self._known = self._known, np.zeros((room, 2), np.int64)
            self._known[: len(known)] = known
        self._table = np.full(2 * room, NOBODY, np.int32)
        self._free = np.empty(room, np.int32)
        self._spare = fill_table(self._table, self._known, self.first, self._used, self._free)


class Places(NamedTuple):
    """Of pairs: the place of each, from 0 on, and by place the last that has it."""

    of: Links
    last: Ints


def pair_places(words: Ints, panes: Ints) -> Places:
    """Equal words of one pane have one place, if panes come in order; places are in the order of the last in each."""
    size = 2 * LEAST
    while size < 2 * len(words):
        size *= 2
    of = np.empty(len(words), np.int32)
    known, last = np.empty((len(words), 2), np.int64), np.empty(len(words), np.int64)
    count = places_of_pairs(readable(words), readable(panes), np.full(size, NOBODY, np.int32), known, last, of)
    return Places(of, last[:count])


def added_up(places: Places, values: Ints) -> Ints:
    """Sums by place."""
    total = np.zeros(len(places.last), np.int64)
    add_at(total, places.of, readable(values))
    return total
