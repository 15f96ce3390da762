"""Encoded rows by id: of records held back, of candidates, and of what changes mode may have to name as gone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Ints

SLACK = 1024
CHUNKS = 32


class RowStore:
    """Rows by id. Ids rise; dead rows are swept out once they outnumber the live ones."""

    def __init__(self) -> None:
        self.ids = np.empty(0, np.int64)
        self.rows: pa.Table | None = None
        self.next_id = 0

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, rows: pa.Table) -> Ints:
        """Store rows; their new ids."""
        ids = np.arange(self.next_id, self.next_id + len(rows))
        self.next_id += len(rows)
        self.ids = np.concatenate((self.ids, ids))
        self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows], promote_options="default")
        if self.rows.column(0).num_chunks > CHUNKS:
            self.rows = self.rows.combine_chunks()
        return ids

    def take(self, ids: Ints, without: tuple[str, ...] = ()) -> pa.Table:
        """The rows of these ids, in their order. There must have been rows."""
        assert self.rows is not None
        rows = self.rows.select([name for name in self.rows.column_names if name not in without])
        return rows.take(pa.array(self._places(ids)))

    def _places(self, ids: Ints) -> Ints:
        first = int(self.ids[0]) if len(self.ids) else 0
        if len(self.ids) and int(self.ids[-1]) - first == len(self.ids) - 1:
            return ids - first
        return np.searchsorted(self.ids, ids)

    def is_crowded(self, live: int) -> bool:
        """There are more dead rows than so many live ones: sweeping them out pays."""
        return len(self.ids) > 2 * live + SLACK

    def sweep(self, live: Ints) -> None:
        """Forget the rows of all other ids."""
        if self.rows is not None:
            self.rows = self.take(live).combine_chunks()
            self.ids = live
