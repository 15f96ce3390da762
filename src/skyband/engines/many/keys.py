"""Which records of a stream with deletes have which key, and which were deleted; the loops are a kernel's."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.keys import FREE, NOBODY, follow, new_table, place_of, refitted
from skyband.engines.many.sliding_column import SlidingColumn
from skyband.model import Flags, Ints

Words = tuple[Ints, Ints]
"""Two words per key, equal where keys are."""


class Keys:
    """Records are numbered as the engine numbers them."""

    def __init__(self) -> None:
        self._table = new_table(64)
        self._used = 0
        self._before = SlidingColumn(np.int64)
        self._dead = SlidingColumn(np.bool_)

    def follow(self, words: Words, gone: Flags, first: int) -> tuple[Ints, Ints]:
        """Take in rows in feed order; numbers of the records that their deletes took out of the window that begins at
        number `first`, and of each delete how many those were."""
        more, number = int((~gone).sum()), self._before.end
        self._before.append(np.full(more, NOBODY))
        self._dead.append(np.zeros(more, np.bool_))
        if 2 * (self._used + more) > len(self._table.one):
            self._table = refitted(self._table, first, more)
            self._used = int((self._table.newest >= first).sum())
        before, dead = self._before.now, self._dead.now
        fresh, died, killed = follow(self._table, before, self._before.base, first, number, *words, gone, dead)
        self._used += fresh
        return died, killed[gone]

    def alive(self, first: int) -> Flags:
        """From number `first` on: who was not deleted."""
        return ~self._dead.now[first - self._dead.base :]

    def forget(self, before: int) -> None:
        """Numbers below `before` will not be asked for."""
        self._before.forget(before)
        self._dead.forget(before)

    def check(self) -> None:
        """Assert that every key is where it is looked for, and that its records lead from the newest to older ones."""
        table, base, end = self._table, self._before.base, self._before.end
        taken = np.flatnonzero(table.newest != FREE)
        assert len(taken) == self._used, "keys: other keys than were counted"
        assert 2 * self._used <= len(table.newest), "keys: the table is too full"
        for place in taken.tolist():
            assert place_of(table, int(table.one[place]), int(table.two[place])) == place, "keys: one is not found"
        met = set[int]()
        for newest in table.newest[taken].tolist():
            number, limit = newest, end
            while number >= base:
                assert number < limit, "keys: a record leads to a newer one"
                assert number not in met, "keys: a record has two keys"
                assert not self._dead.now[number - base], "keys: a deleted record is still its key's"
                met.add(number)
                number, limit = int(self._before.now[number - base]), number
