"""Encoded rows by id: of records held back, of candidates, and of what changes mode may have to name as gone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.model.plain import taken

SLACK, PUSHES = 1024, 4
"""So many dead rows are no reason to look for them; nor are those of the last few pushes."""
CHUNKS, BLOCK = 4, 8_192
"""Rows may lie in so many pieces, and in one more for so many rows."""


class RowStore:
    """Rows by id. Ids rise; dead rows are swept out once they outnumber the live ones."""

    def __init__(self) -> None:
        self._more = [np.empty(0, np.int64)]
        self.rows: pa.Table | None = None
        self.next_id = 0
        self._room, self._added = SLACK, 0

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def add(self, rows: pa.Table) -> Ints:
        """Store rows; their new ids."""
        ids = np.arange(self.next_id, self.next_id + len(rows))
        self.next_id += len(rows)
        self._added = len(rows)
        self._more.append(ids)
        self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows], promote_options="default")
        if self.rows.column(0).num_chunks > CHUNKS + len(self.rows) // BLOCK:
            self.rows = self.rows.combine_chunks()
        return ids

    @property
    def ids(self) -> Ints:
        """Of all rows, in their order."""
        if len(self._more) > 1:
            self._more = [np.concatenate(self._more)]
        return self._more[0]

    @ids.setter
    def ids(self, ids: Ints) -> None:
        self._more = [ids]

    def take(self, ids: Ints, without: tuple[str, ...] = ()) -> pa.Table:
        """The rows of these ids, in their order. There must have been rows."""
        assert self.rows is not None
        rows = self.rows.select([name for name in self.rows.column_names if name not in without])
        places = self._places(ids)
        if len(places) and places[-1] - places[0] == len(places) - 1 and bool((np.diff(places) == 1).all()):
            return rows.slice(int(places[0]), len(places))
        return taken(rows, places)

    def _places(self, ids: Ints) -> Ints:
        first, span = self._span
        if span and span == len(self):
            return ids - first
        if len(ids) > span:
            # The same rows are asked for many times: looked up, and not searched for each time.
            place = np.empty(span, np.int64)
            place[self.ids - first] = np.arange(len(self.ids))
            return place[ids - first]
        return np.searchsorted(self.ids, ids)

    @property
    def _span(self) -> tuple[int, int]:
        """The first id, and how many there are from it to the last."""
        some = [ids for ids in self._more if len(ids)]
        return (int(some[0][0]), int(some[-1][-1]) - int(some[0][0]) + 1) if some else (0, 0)

    @property
    def may_be_crowded(self) -> bool:
        """It is worth finding out how many rows are alive."""
        return len(self) > self._room

    def is_crowded(self, live: int) -> bool:
        """There are more dead rows than so many live ones: sweeping them out pays."""
        self._room = 2 * live + max(SLACK, PUSHES * self._added)
        return len(self) > self._room

    def sweep(self, live: Ints) -> None:
        """Forget the rows of all other ids."""
        if self.rows is not None:
            self.rows = _in_few_pieces(self.take(live))
            self.ids = live


def _in_few_pieces(rows: pa.Table) -> pa.Table:
    """Large pieces stay where they are, but for the first: of that, little may be left."""
    first = len(rows.column(0).chunk(0)) if rows.column(0).num_chunks else 0
    if rows.column(0).num_chunks > len(rows) // BLOCK:
        return rows.combine_chunks()
    return pa.concat_tables([_copied(rows.slice(0, first)), rows.slice(first)])


def _copied(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(np.arange(len(rows))))
