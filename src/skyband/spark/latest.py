"""The last report of every list, found in the tasks: what is shown on a terminal is all that reaches the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

MOST_LISTS = 1_000
MOST_ROWS = 100
"""Of each list. Nobody reads more on a terminal."""
_LIST = ["query", "group_key"]
_END, _PLACE = "#end", "#place"


def last_reports(rows: DataFrame) -> pa.Table:
    """The last report of each list: of the first lists by name, and of each the first rows."""
    found = rows.mapInArrow(LastReports(), rows.schema).repartition(1)
    return found.mapInArrow(LastReports(), rows.schema).toArrow()


@dataclass(frozen=True)
class LastReports:
    """What `mapInArrow` calls on every partition of result rows."""

    lists: int = MOST_LISTS
    rows: int = MOST_ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept: pa.Table | None = None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            kept = self._last(table if kept is None else pa.concat_tables([kept, table]))
        if kept is not None:
            yield from kept.combine_chunks().to_batches()

    def _last(self, rows: pa.Table) -> pa.Table:
        end = pc.coalesce(rows.column("window_end").cast(pa.int64()), rows.column("row_end"))
        shown = pc.fill_null(pc.less_equal(rows.column("rank"), self.rows), True)
        index = rows.select(_LIST).append_column(_END, end).append_column(_PLACE, pa.array(range(len(rows))))
        newest = index.group_by(_LIST).aggregate([(_END, "max")]).rename_columns([*_LIST, _END])
        newest = newest.sort_by([(name, "ascending") for name in _LIST]).slice(0, self.lists)
        mine = index.filter(shown).join(newest, [*_LIST, _END], join_type="inner")
        return rows.take(mine.sort_by(_PLACE).column(_PLACE))
