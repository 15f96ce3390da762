"""Encoded rows by id: of records held back, of candidates, and of what changes mode may have to name as gone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.model.plain import taken

SLACK, PUSHES = 1024, 4
"""So many dead rows are no reason to look for them; nor are those of the last few pushes."""
CHUNKS = 32


class RowStore:
    """Rows by id. Ids rise; dead rows are swept out once they outnumber the live ones."""

    def __init__(self) -> None:
        self.ids = np.empty(0, np.int64)
        self.rows: pa.Table | None = None
        self.next_id = self.first_id = 0
        """Rows with ids before `first_id` were put together with others, and must not come back."""
        self._room, self._added = SLACK, 0

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, rows: pa.Table) -> Ints:
        """Store rows; their new ids."""
        ids = np.arange(self.next_id, self.next_id + len(rows))
        self.next_id += len(rows)
        self._added = len(rows)
        self.ids = np.concatenate((self.ids, ids))
        self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows], promote_options="default")
        if self.rows.column(0).num_chunks > CHUNKS:
            self.rows = self.rows.combine_chunks()
        return ids

    def replace(self, rows: pa.Table) -> Ints:
        """These instead of all there are; their new ids."""
        self.ids, self.rows, self.first_id = self.ids[:0], None, self.next_id
        return self.add(rows)

    def take(self, ids: Ints, without: tuple[str, ...] = ()) -> pa.Table:
        """The rows of these ids, in their order. There must have been rows."""
        assert self.rows is not None
        rows = self.rows.select([name for name in self.rows.column_names if name not in without])
        places = self._places(ids)
        if len(places) and places[-1] - places[0] == len(places) - 1 and bool((np.diff(places) == 1).all()):
            return rows.slice(int(places[0]), len(places))
        return taken(rows, places)

    def _places(self, ids: Ints) -> Ints:
        first = int(self.ids[0]) if len(self.ids) else 0
        span = int(self.ids[-1]) - first + 1 if len(self.ids) else 0
        if span and span == len(self.ids):
            return ids - first
        if len(ids) > span:
            # The same rows are asked for many times: looked up, and not searched for each time.
            place = np.empty(span, np.int64)
            place[self.ids - first] = np.arange(len(self.ids))
            return place[ids - first]
        return np.searchsorted(self.ids, ids)

    @property
    def may_be_crowded(self) -> bool:
        """It is worth finding out how many rows are alive."""
        return len(self.ids) > self._room

    def is_crowded(self, live: int) -> bool:
        """There are more dead rows than so many live ones: sweeping them out pays."""
        self._room = 2 * live + max(SLACK, PUSHES * self._added)
        return len(self.ids) > self._room

    def sweep(self, live: Ints) -> None:
        """Forget the rows of all other ids."""
        if self.rows is not None:
            self.rows = self.take(live).combine_chunks()
            self.ids = live
