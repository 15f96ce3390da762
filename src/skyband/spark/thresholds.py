"""A batch only: scores too low for any window, proven by a sample and dropped before they leave the JVM.

Time is cut into cells, and a sample of the rows gives every cell a bound (`runtime.bounds`). The sample decides how
much is dropped, never what is right. Sample, bound and join are part of one lazy query, written in SQL: a column object
costs the driver a dozen calls into the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f

from skyband.model import MetaQuery
from skyband.runtime.board_intake import Intake
from skyband.runtime.bounds import bounds
from skyband.runtime.intake import FamilyIntake, StreamIntake
from skyband.spark.clock import micros_sql

FRACTION = 0.01
CELLS_PER_WINDOW = 64
MOST_FAMILIES = 4
SEED = 2011


def drop_hopeless(df: DataFrame, stream: StreamIntake, everyone: list[Intake]) -> DataFrame:
    """The rows that some family may need, and those without a score or a time, which are to be counted. Columns of ours
    may come along."""
    families = [intake for intake in everyone if isinstance(intake, FamilyIntake) and _can_be_bounded(intake)]
    if len(families) < len(everyone) or len(families) > MOST_FAMILIES:
        return df
    at = micros_sql(stream.stream.time, df.schema[stream.stream.time].dataType)
    marked, wanted = df, [f"{at} IS NULL"]
    for number, intake in enumerate(families):
        score, here = _score(intake), _passes(intake)
        if intake.planned.family.thresholds:
            hopeful = f"{_raw_score(intake)} > {_literal(intake.planned.family.lowest_threshold)}"
        else:
            cell, bound = f"skyband_cell_{number}", f"skyband_bound_{number}"
            found = f.broadcast(_bounds(df, intake, at, (cell, bound)))
            marked = marked.join(found, f.expr(f"shiftright({at}, {_bits(intake.planned.meta)}) = {cell}"), "left")
            hopeful = f"{bound} IS NULL OR {score} >= {bound}"
        wanted.append(f"({here}) AND ({score} IS NULL OR isnan({score}) OR {hopeful})")
    return marked.where(" OR ".join(f"({each})" for each in wanted))


def _can_be_bounded(intake: FamilyIntake) -> bool:
    """ROWS counts every record, PER groups are too small for a sample, and uncertain records may not exist."""
    family = intake.planned.family
    return family.kind == "range" and not family.per and not family.uncertain


def _raw_score(intake: FamilyIntake) -> str:
    return f"({intake.score.spark_sql()})"


def _score(intake: FamilyIntake) -> str:
    """Higher is better."""
    return f"(-{_raw_score(intake)})" if intake.planned.family.ascending else _raw_score(intake)


def _passes(intake: FamilyIntake) -> str:
    return "true" if intake.filter is None else f"coalesce({intake.filter.spark_sql()}, false)"


def _literal(number: float) -> str:
    return f"double('{number!r}')"


def _bits(meta: MetaQuery) -> int:
    """A cell is a power of two long: a shift is cheap, and rounds times before 1970 down as well."""
    return max(meta.shortest // CELLS_PER_WINDOW, 1).bit_length() - 1


def _bounds(df: DataFrame, intake: FamilyIntake, at: str, names: tuple[str, str]) -> DataFrame:
    meta, score = intake.planned.meta, _score(intake)
    ddl = f"{names[0]} BIGINT, {names[1]} DOUBLE"
    ranked = df.where(_passes(intake)).selectExpr(f"{at} AS at", f"{score} AS score")
    # Spark drops no column below a sample, so it comes last.
    sample = ranked.where("at IS NOT NULL AND score IS NOT NULL AND NOT isnan(score)").sample(FRACTION, SEED)
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
