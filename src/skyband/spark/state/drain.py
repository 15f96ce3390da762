"""The windows that a stream's last watermark did not reach, from the state in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as f

from skyband.model import NEVER
from skyband.planner import Plan, PlannedFamily
from skyband.runtime import steps
from skyband.runtime.results import Results
from skyband.spark.inputs import Given, by_stream
from skyband.spark.pipeline import stream_readers
from skyband.spark.stages.spill import ANSWERS_DDL
from skyband.spark.stages.stream_reports import REPORTS, StreamReports, packed_stretches
from skyband.spark.stages.unpack import packed_answers, unpacked
from skyband.spark.state.checkpoint import operators, state_variable
from skyband.spark.state.joining import NOTHING_NOTED, Joining
from skyband.spark.state.keys import LATE, by_state_key
from skyband.spark.state.store import FamilyStateStore, read_clock, read_stored

CLOCK = -1
"""Stands for the clock among the numbers of segments."""


def drain(
    spark: SparkSession,
    plan: Plan,
    records: Given,
    checkpoint: str,
    joining: Joining = NOTHING_NOTED,
    lines: bool = False,
) -> DataFrame:
    """Result rows of every window still open; `records` only for their columns. The checkpoint is not touched.
    `lines` as for `over`."""
    known = by_state_key(plan.families)
    saved = reduce(DataFrame.union, [_saved(spark, checkpoint, each) for each in operators(spark, checkpoint)])
    # Where windows have no start, what is known of the stream says where reports end.
    endless = any(each.family.unbounded for each in plan.families)
    results = Results(plan, stream_readers(plan, by_stream(plan.streams, records)))
    # Each stream has one key with what is known of it alone.
    there = saved if lines or endless else saved.where(f"state_key <> '{LATE}'")
    together = there.repartition("operator" if endless else "state_key").drop("operator")
    return unpacked(together.mapInArrow(_Rest(known, joining, lines), ANSWERS_DDL), known, results)


def _saved(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """(state_key, number, value, operator): the clock and the segments of every key."""

    clock = state_variable(spark, checkpoint, operator, "clock")
    segments = state_variable(spark, checkpoint, operator, "segments")
    clock = clock.select("key.state_key", f.lit(CLOCK).alias("number"), "value.value")
    segments = segments.select("key.state_key", "user_map_key.number", "user_map_value.value")
    return clock.union(segments).withColumn("operator", f.lit(operator))


@dataclass(frozen=True)
class _Rest:
    """What `mapInArrow` calls on every partition of the state; a key is in one partition, and where windows have no
    start all keys of a stream are."""

    families: dict[str, PlannedFamily]
    joining: Joining
    lines: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        states: dict[str, dict[int, bytes]] = {}
        newest: dict[str, int] = {}
        for batch in batches:
            for row in batch.to_pylist():
                if row["state_key"] == LATE:
                    known = read_clock(_ReadState({CLOCK: row["value"]}))
                    newest[known["stream"]] = known.get("newest", int(NEVER))
                    if self.lines:
                        yield packed_answers(REPORTS, self._reports(known))
                else:
                    states.setdefault(row["state_key"], {})[row["number"]] = row["value"]
        for key, values in states.items():
            planned = self.families.get(key)
            if planned is None:
                continue
            last = newest.get(planned.family.stream.name, int(NEVER))
            for answers in _rest(planned, values, self.joining, last):
                yield packed_answers(key, answers)

    def _reports(self, known: dict[str, Any]) -> pa.Table:
        mine = [each for each in self.families.values() if each.family.stream.name == known["stream"]]
        return packed_stretches(StreamReports(mine).still_open(known))


def _rest(planned: PlannedFamily, values: dict[int, bytes], joining: Joining, newest: int) -> Iterator[pa.Table]:
    state = _ReadState(values)
    store = FamilyStateStore(state, state)
    operator = store.load(planned, read_stored(state), joining)
    store.mark_warming(operator, operator.clock.of(""), joining)
    return steps.close(operator, store.positions.seen, newest)


@dataclass(frozen=True)
class _ReadState:
    """State variables as the processor sees them, from rows that were read."""

    values: dict[int, bytes]

    def get(self) -> tuple[bytes] | None:
        return (self.values[CLOCK],) if CLOCK in self.values else None

    def removeKey(self, key: tuple[int]) -> None:  # noqa: N802
        """Nothing is written here."""

    def getValue(self, key: tuple[int]) -> tuple[bytes]:  # noqa: N802
        return (self.values[key[0]],)
