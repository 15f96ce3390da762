"""Which records of a board have which key, and which were deleted; the loops are a kernel's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.kernels.common.keys import NOBODY, follow, new_table, refitted
from skyband.model import Flags, Ints
from skyband.runtime.hashing import hash_column
from skyband.runtime.tail import Tail

Words = tuple[Ints, Ints]


def key_words(column: pa.ChunkedArray) -> Words:
    """Two words per key, equal where keys are: whole numbers and times as they are, other keys hashed twice."""
    kind = column.type
    missing = np.asarray(column.is_null())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        one = np.array(pc.fill_null(column.cast(pa.int64()), 0), np.int64)
        return one, np.where(missing, 1, 0)
    plain = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    one, two = (hash_column(plain, seed) for seed in (42, 2006))
    return np.where(missing, 0, one), np.where(missing, 1, two)


class Keys:
    """Records are numbered as the engine numbers them."""

    def __init__(self) -> None:
        self._table = new_table(64)
        self._used = 0
        self._before = Tail(np.int64)
        self._dead = Tail(np.bool_)

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
