"""A batch only: scores too low for any window, proven by a sample and dropped before they leave the JVM.

Cut time into cells. A window that touches a cell holds, whole, `length` cells in a row that touch it too (the shortest
window decides how many). So the K-th best *sampled* score of such a run is beaten K times in the window, and the
smallest of these over all runs around a cell is a bound: no record of the cell with a lower score is ever reported.
The sample decides how much is dropped, never what is right. All of it is part of one lazy query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as f

from skyband.model import Floats, Ints, MetaQuery
from skyband.runtime.board_intake import BoardIntake
from skyband.runtime.intake import FamilyIntake, StreamIntake
from skyband.spark.clock import micros

FRACTION = 0.02
CELLS_PER_WINDOW = 64
MOST_CELLS = 200_000
MOST_FAMILIES = 4
SEED = 2011
BOUNDS_DDL = "cell BIGINT, bound DOUBLE"


def drop_hopeless(df: DataFrame, stream: StreamIntake, bound: list[FamilyIntake | BoardIntake]) -> DataFrame:
    """The rows that some family may need, and those without a score or a time, which are to be counted."""
    families = [intake for intake in bound if isinstance(intake, FamilyIntake) and _can_be_bounded(intake)]
    if len(families) < len(bound) or len(families) > MOST_FAMILIES:
        return df
    at = micros(stream.stream.time, df.schema[stream.stream.time].dataType)
    wanted = at.isNull()
    marked = df
    for number, intake in enumerate(families):
        score = _score(intake)
        here = _passes(intake)
        if intake.planned.family.thresholds:
            hopeful = _raw_score(intake) > f.lit(intake.planned.family.lowest_threshold)
        else:
            bounds = _bounds(df, intake, at, score, here).withColumnsRenamed(
                {"cell": f"skyband_cell_{number}", "bound": f"skyband_bound_{number}"}
            )
            cell = _cell(at, _width(intake.planned.meta))
            marked = marked.join(f.broadcast(bounds), cell == f.col(f"skyband_cell_{number}"), "left")
            hopeful = f.col(f"skyband_bound_{number}").isNull() | (score >= f.col(f"skyband_bound_{number}"))
        wanted = wanted | (here & (score.isNull() | f.isnan(score) | hopeful))
    return marked.where(wanted).select(*df.columns)


def _can_be_bounded(intake: FamilyIntake) -> bool:
    """ROWS counts every record, and PER groups are too small for a sample."""
    family = intake.planned.family
    return family.kind == "range" and not family.per


def _raw_score(intake: FamilyIntake) -> Column:
    return f.expr(intake.score.spark_sql())


def _score(intake: FamilyIntake) -> Column:
    """Higher is better."""
    return -_raw_score(intake) if intake.planned.family.ascending else _raw_score(intake)


def _passes(intake: FamilyIntake) -> Column:
    return f.lit(True) if intake.filter is None else f.coalesce(f.expr(intake.filter.spark_sql()), f.lit(False))


def _width(meta: MetaQuery) -> int:
    return max(meta.shortest // CELLS_PER_WINDOW, 1)


def _cell(at: Column, width: int) -> Column:
    """Rounded down, in whole numbers: a record in the wrong cell would be held to the wrong bound."""
    return f.call_function("div", at - f.pmod(at, f.lit(width)), f.lit(width))


def _bounds(df: DataFrame, intake: FamilyIntake, at: Column, score: Column, here: Column) -> DataFrame:
    meta = intake.planned.meta
    ranked = df.where(here).select(at.alias("at"), score.alias("score")).where("score IS NOT NULL AND NOT isnan(score)")
    sample = ranked.where("at IS NOT NULL").sample(fraction=FRACTION, seed=SEED)
    return sample.repartition(1).mapInArrow(Bounds(_width(meta), meta.shortest, meta.most), BOUNDS_DDL)


@dataclass(frozen=True)
class Bounds:
    """What `mapInArrow` calls on the sample."""

    width: int
    shortest: int
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        sample = pa.concat_tables(tables)
        cell, bound = bounds(
            sample.column("at").to_numpy(), sample.column("score").to_numpy(), self.width, self.shortest, self.k
        )
        yield pa.record_batch({"cell": cell, "bound": bound})


def bounds(at: Ints, score: Floats, width: int, shortest: int, k: int) -> tuple[Ints, Floats]:
    """Cells with a proven bound, and the bound."""
    length = shortest // width - 1
    none: tuple[Ints, Floats] = (np.empty(0, np.int64), np.empty(0))
    if length < 1 or len(at) < k:
        return none
    cell = at // width
    first, last = int(cell.min()), int(cell.max())
    if last - first >= MOST_CELLS:
        return none
    order = np.argsort(cell, kind="stable")
    cell, score = cell[order] - first, score[order]
    begin = np.searchsorted(cell, np.arange(last - first + 2))
    kth = np.full(last - first + 1 + 2 * length + 2, -np.inf)
    # Run r covers the cells r - length .. r - 1; those beyond the ends of the sample are empty.
    cells = last - first + 1
    for run in range(1, cells + length):
        low, high = begin[max(run - length, 0)], begin[min(run, cells)]
        if high - low >= k:
            kth[run] = np.partition(score[low:high], high - low - k)[high - low - k]
    return first + np.arange(cells), _lowest_around(kth, cells, length)


def _lowest_around(kth: Floats, cells: int, length: int) -> Floats:
    """For every cell the smallest over the runs that hold it or end or begin next to it."""
    around = np.lib.stride_tricks.sliding_window_view(kth[: cells + length + 2], length + 2)
    lowest: Floats = around.min(axis=1)[:cells]
    return lowest
