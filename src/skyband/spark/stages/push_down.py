"""A batch only: records that no family can report are dropped before they leave the JVM.

Filters and thresholds say it of some. Of others a sample does: time is cut into cells, and a sample of the rows gives
every cell a bound (`engines.bounds`) for each family. The sample decides how much is dropped, never what is right.
Sample, bounds and joins are part of one lazy query, written in SQL: a column object costs the driver a dozen calls into
the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions as f

from skyband.engines.bounds import bounds
from skyband.model import MetaQuery
from skyband.runtime.clock import FOREVER
from skyband.runtime.encoder import PushDown, RankSql
from skyband.runtime.reader import StreamReader
from skyband.spark.event_time import in_bounds_sql, micros_sql, quoted
from skyband.spark.stages.prune import Bound

FRACTION = 0.01
CELLS_PER_WINDOW = 64
MOST_JOINS = 4
"""Cells of so many lengths: each costs a look-up for every row. Families whose windows are about as long share one."""
SEED = 2011


@dataclass(frozen=True)
class Bounded:
    """A family with a bound for each cell, in a column of its own."""

    number: int
    wanted: PushDown
    ranked: RankSql

    @property
    def name(self) -> str:
        return f"skyband_bound_{self.number}"

    @property
    def hopeful(self) -> str:
        return f"{self.ranked.missing} OR {self.name} IS NULL OR {self.ranked.key} >= {self.name}"

    @property
    def sampled(self) -> str:
        """The score of a record that counts, otherwise NULL."""
        counts = f"({self.wanted.passes or 'true'}) AND NOT ({self.ranked.missing})"
        return f"CASE WHEN {counts} THEN {self.ranked.key} END AS {self.name}"


def push_down_bounds(df: DataFrame, reader: StreamReader, families: Sequence[Bound]) -> DataFrame:
    """The rows that some family may need, and those that are to be counted: without a score or a time, bad or of the
    future. Columns of ours may come along. Where times are still to be read by the tasks, all rows."""
    wanted = [each.encoder.push_down() for each in families]
    known = [each for each in wanted if each is not None]
    cells = _cells(known)
    bounded = {each.number: each for members in cells.values() for each in members}
    needed = [_needed(each, bounded.get(number)) for number, each in enumerate(known)]
    if len(known) < len(wanted) or None in needed or reader.stream.op is not None or reader.unread or reader.looks_up:
        return df
    at = micros_sql(reader.stream.time, df.schema[reader.stream.time].dataType)
    for bits, members in cells.items():
        cell = f"skyband_cell_{bits}"
        # Nobody is ruled out by a record that does not count.
        true = df.where(in_bounds_sql(reader.stream, at))
        found = f.broadcast(_bounds(true, members, at, bits, cell))
        df = df.join(found, f.expr(f"shiftright({at}, {bits}) = {cell}"), "left")
    return df.where(" OR ".join(f"({each})" for each in (*_bad(reader, at), *needed)))


def _needed(each: PushDown, bounded: Bounded | None) -> str | None:
    """Which records a family needs; None for all."""
    conditions = [each.passes, each.hopeful, None if bounded is None else bounded.hopeful]
    return " AND ".join(f"({said})" for said in conditions if said is not None) or None


def _bad(reader: StreamReader, at: str) -> list[str]:
    """Records that are counted as bad or of the future, whatever a filter says of them."""
    name = reader.stream.probability
    found = [f"{at} IS NULL", f"{at} NOT BETWEEN -{FOREVER} AND {FOREVER}", f"NOT ({in_bounds_sql(reader.stream, at)})"]
    return found if name is None else [*found, f"NOT coalesce({quoted(name)} > 0 AND {quoted(name)} <= 1, false)"]


def _cells(wanted: Sequence[PushDown]) -> dict[int, list[Bounded]]:
    """Families with a bound by the length of their cells, in bits; the lengths that most need."""
    found: dict[int, list[Bounded]] = {}
    for number, each in enumerate(wanted):
        if each.bounded is not None:
            found.setdefault(_bits(each.meta), []).append(Bounded(number, each, each.bounded))
    # A family without a filter lets everything through if it gets no bound.
    often = sorted(found, key=lambda bits: -sum(each.wanted.passes is None for each in found[bits]))
    return {bits: found[bits] for bits in often[:MOST_JOINS]}


def _bits(meta: MetaQuery) -> int:
    """A cell is a power of two long: a shift is cheap, and rounds times before 1970 down as well."""
    return max(meta.shortest // CELLS_PER_WINDOW, 1).bit_length() - 1


def _bounds(df: DataFrame, members: Sequence[Bounded], at: str, bits: int, cell: str) -> DataFrame:
    columns = [f"{each.name} {'BIGINT' if each.ranked.whole else 'DOUBLE'}" for each in members]
    ranked = df.selectExpr(f"{at} AS at", *(each.sampled for each in members))
    counts = " OR ".join(f"{each.name} IS NOT NULL" for each in members)
    # Spark drops no column below a sample, so it comes last.
    sample = ranked.where(f"at IS NOT NULL AND ({counts})").sample(FRACTION, SEED)
    lengths = {each.name: (each.wanted.meta.shortest, each.wanted.meta.most) for each in members}
    return sample.repartition(1).mapInArrow(Bounds(bits, lengths, cell), f"{cell} BIGINT, {', '.join(columns)}")


@dataclass(frozen=True)
class Bounds:
    """What `mapInArrow` calls on the sample."""

    bits: int
    families: dict[str, tuple[int, int]]
    """By column of scores: the shortest window and the largest k."""
    cell: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        sample = pa.concat_tables(tables)
        found = {name: self._of(sample, name) for name in self.families}
        cells = np.unique(np.concatenate([each for each, _ in found.values()]))
        columns = {name: self._spread(cells, *each) for name, each in found.items()}
        yield pa.record_batch({self.cell: cells} | columns)

    def _of(self, sample: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray]:
        mine = sample.select(["at", name]).drop_null()
        shortest, k = self.families[name]
        return bounds(mine.column("at").to_numpy(), mine.column(name).to_numpy(), 1 << self.bits, shortest, k)

    @staticmethod
    def _spread(cells: np.ndarray, mine: np.ndarray, bound: np.ndarray) -> pa.Array:
        """A bound for every cell, NULL where there is none."""
        place = np.minimum(np.searchsorted(mine, cells), max(len(mine) - 1, 0))
        told = mine[place] == cells if len(mine) else np.zeros(len(cells), bool)
        values = bound[place] if len(mine) else np.zeros(len(cells), bound.dtype)
        return pa.array(values, mask=~told)
