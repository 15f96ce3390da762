"""A batch only: scores too low for any window, proven by a sample and dropped before they leave the JVM.

Time is cut into cells, and a sample of the rows gives every cell a bound (`engines.bounds`). The sample decides how
much is dropped, never what is right. Sample, bound and join are part of one lazy query, written in SQL: a column object
costs the driver a dozen calls into the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f

from skyband.engines.bounds import bounds
from skyband.model import MetaQuery
from skyband.runtime.encoder import PushDown
from skyband.runtime.reader import StreamReader
from skyband.spark.event_time import micros_sql
from skyband.spark.stages.prune import Bound

FRACTION = 0.01
CELLS_PER_WINDOW = 64
MOST_FAMILIES = 4
SEED = 2011


def push_down_bounds(df: DataFrame, reader: StreamReader, families: Sequence[Bound]) -> DataFrame:
    """The rows that some family may need, and those without a score or a time, which are to be counted. Columns of ours
    may come along."""
    wanted = [found for each in families if (found := each.encoder.push_down()) is not None]
    if len(wanted) < len(families) or len(wanted) > MOST_FAMILIES:
        return df
    at = micros_sql(reader.stream.time, df.schema[reader.stream.time].dataType)
    marked, needed = df, [f"{at} IS NULL"]
    for number, each in enumerate(wanted):
        hopeful = each.hopeful
        if hopeful is None:
            cell, bound = f"skyband_cell_{number}", f"skyband_bound_{number}"
            bounded = f.broadcast(_bounds(df, each, at, (cell, bound)))
            marked = marked.join(bounded, f.expr(f"shiftright({at}, {_bits(each.meta)}) = {cell}"), "left")
            hopeful = f"{bound} IS NULL OR {each.score} >= {bound}"
        unranked = f"{each.score} IS NULL" + ("" if each.whole else f" OR isnan({each.score})")
        needed.append(f"({each.passes}) AND ({unranked} OR {hopeful})")
    return marked.where(" OR ".join(f"({each})" for each in needed))


def _bits(meta: MetaQuery) -> int:
    """A cell is a power of two long: a shift is cheap, and rounds times before 1970 down as well."""
    return max(meta.shortest // CELLS_PER_WINDOW, 1).bit_length() - 1


def _bounds(df: DataFrame, each: PushDown, at: str, names: tuple[str, str]) -> DataFrame:
    meta = each.meta
    ddl = f"{names[0]} BIGINT, {names[1]} {'BIGINT' if each.whole else 'DOUBLE'}"
    ranked = df.where(each.passes).selectExpr(f"{at} AS at", f"{each.score} AS score")
    # Spark drops no column below a sample, so it comes last.
    number = "" if each.whole else " AND NOT isnan(score)"
    sample = ranked.where(f"at IS NOT NULL AND score IS NOT NULL{number}").sample(FRACTION, SEED)
    return sample.repartition(1).mapInArrow(Bounds(1 << _bits(meta), meta.shortest, meta.most, names), ddl)


@dataclass(frozen=True)
class Bounds:
    """What `mapInArrow` calls on the sample."""

    width: int
    shortest: int
    k: int
    names: tuple[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        sample = pa.concat_tables(tables)
        found = bounds(
            sample.column("at").to_numpy(), sample.column("score").to_numpy(), self.width, self.shortest, self.k
        )
        yield pa.record_batch(dict(zip(self.names, found, strict=True)))
