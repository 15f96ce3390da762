"""The columns of candidates: packed rows by id, forgotten soon after their record can no longer be reported."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Ints

SLACK = 1024
CHUNKS = 32


class Payload:
    """Rows of live ids. Ids come in rising order; dead rows are swept out once they outnumber the live ones."""

    def __init__(self) -> None:
        self.ids = np.empty(0, np.int64)
        self.rows: pa.Table | None = None
        self.next_id = 0

    def number(self, count: int) -> Ints:
        """New ids for rows that will be stored or dropped by `keep`."""
        ids = np.arange(self.next_id, self.next_id + count)
        self.next_id += count
        return ids

    def take(self, wanted: Ints, fresh: Ints, table: pa.Table | None) -> pa.Table:
        """Rows of the wanted ids, stored ones or `table`'s, whose ids are `fresh`."""
        ids = np.concatenate((self.ids, fresh))
        both = [part for part in (self.rows, table) if part is not None]
        return pa.concat_tables(both).take(pa.array(np.searchsorted(ids, wanted)))

    def keep(self, live: Ints, fresh: Ints, table: pa.Table | None) -> None:
        """Of the fresh rows store the live ones; of the stored ones forget the dead, when it pays."""
        if table is not None and len(fresh):
            chosen = np.flatnonzero(np.isin(fresh, live, assume_unique=True))
            added = table.take(pa.array(chosen))
            self.rows = added if self.rows is None else pa.concat_tables([self.rows, added])
            self.ids = np.concatenate((self.ids, fresh[chosen]))
        if self.rows is not None and len(self.ids) > 2 * len(live) + SLACK:
            self.sweep(live)
        elif self.rows is not None and self.rows.column(0).num_chunks > CHUNKS:
            self.rows = self.rows.combine_chunks()

    def sweep(self, live: Ints) -> None:
        if self.rows is None:
            return
        alive = np.flatnonzero(np.isin(self.ids, live, assume_unique=True))
        self.rows = self.rows.take(pa.array(alive)).combine_chunks()
        self.ids = self.ids[alive]
