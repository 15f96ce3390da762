"""The last report of every list, found in the tasks: what is shown on a terminal is all that reaches the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window, functions as f

from skyband.spark.event_time import micros

MOST_LISTS = 1_000
MOST_ROWS = 100
"""Of each list. Nobody reads more on a terminal."""
_LIST = ["query", "group_key"]
_END, _PLACE, _REACHED, _CHOSEN = "#end", "#place", "#reached", "#chosen"


def last_reports(rows: DataFrame) -> pa.Table:
    """The last report of each list: of the first lists by name, and of each the first rows."""
    found = rows.mapInArrow(LastReports(), rows.schema).repartition(1)
    return found.mapInArrow(LastReports(), rows.schema).toArrow()


def in_the_data(rows: DataFrame) -> DataFrame:
    """Of every list the last report that ends where its query's last window begins, or before: the data goes on that
    far at least. A list without one keeps its first."""
    kind = rows.schema["window_end"].dataType
    end = f.coalesce(micros("window_end", kind), f.col("row_end"))
    start = f.coalesce(micros("window_start", kind), f.col("row_start"), end)  # Without a start it is the last.
    mine = Window.partitionBy(*_LIST)
    # Positions count the records of a group, time is everybody's.
    everyone = Window.partitionBy("query", f.when(f.col("row_end").isNotNull(), f.col("group_key")))
    reached = rows.withColumn(_END, end).withColumn(_REACHED, f.max(start).over(everyone))
    inside = f.max(f.when(f.col(_END) <= f.col(_REACHED), f.col(_END))).over(mine)
    chosen = reached.withColumn(_CHOSEN, f.coalesce(inside, f.min(_END).over(mine)))
    return chosen.where(f.col(_END) == f.col(_CHOSEN)).drop(_END, _REACHED, _CHOSEN)


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
