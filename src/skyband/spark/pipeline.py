"""`Workload.over(df)`: prune → maintain → unpack over a batch or streaming DataFrame, lazily."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from skyband.model import Stream
from skyband.planner import Plan, PlannedFamily
from skyband.runtime.lateness import Lateness
from skyband.runtime.reader import StreamReader
from skyband.runtime.results import Results
from skyband.spark.columns import arrow_schema
from skyband.spark.event_time import with_watermark
from skyband.spark.inputs import OBSERVED, Given, Input, Inputs, by_stream
from skyband.spark.settings import use_this_python, warn_about_settings
from skyband.spark.stages.batch import AnswerBatch, MaintainBatch
from skyband.spark.stages.maintain import MAINTAINED_DDL
from skyband.spark.stages.processor import Maintain
from skyband.spark.stages.prune import Bound, Prune
from skyband.spark.stages.spill import ANSWERS_DDL
from skyband.spark.stages.unpack import unpacked
from skyband.spark.state.joining import NOTHING_NOTED, Joining
from skyband.spark.state.keys import LATE, by_state_key, merges


def over(
    plan: Plan,
    records: Given,
    joining: Joining = NOTHING_NOTED,
    left_out: Mapping[str, Observation] = MappingProxyType({}),
    lines: bool = False,
) -> DataFrame:
    """Result rows of a plan over the records of each stream. `joining`: since when the checkpoint knows the queries;
    `left_out`: who wants to know of each stream how many records were left out, instead of a listener. With `lines`
    there is among the rows what lines of reports are made of: `skyband.spark.reports` takes them apart."""
    inputs = by_stream(plan.streams, records)
    readers = stream_readers(plan, inputs)
    results = Results(plan, readers)
    parts = [
        _stream_over(
            inputs[reader.stream.name], reader, _families(plan, reader.stream), results, joining, left_out, lines
        )
        for reader in readers
    ]
    return reduce(lambda one, other: one.unionByName(other), parts)


def _stream_over(
    records: Input,
    reader: StreamReader,
    families: list[PlannedFamily],
    results: Results,
    joining: Joining,
    left_out: Mapping[str, Observation],
    lines: bool,
) -> DataFrame:
    bound = [Bound.of(planned, reader.schema) for planned in families]
    known = by_state_key(families)
    warn_about_settings(records.frame)
    use_this_python(records.frame)
    seen = left_out.get(reader.stream.name)
    if not records.frame.isStreaming:
        prune = Prune(reader, bound, Lateness.of(families) if lines else None)
        # A bound would keep records from being counted.
        encoded = by_state_key_partition(encoded_rows(records, prune, seen, sampled=not lines), lines)
        if lines or any(map(merges, families)):
            return unpacked(encoded.mapInArrow(AnswerBatch(known), ANSWERS_DDL), known, results)
        return encoded.mapInArrow(MaintainBatch(known, results), results_schema(results.schema))
    prune = Prune(reader, bound, Lateness.of(families))
    encoded = with_watermark(encoded_rows(records, prune, seen), reader.stream)
    processor = Maintain(known, joining, lines)
    sent = encoded.groupBy("state_key").transformWithState(processor, MAINTAINED_DDL, "append", "EventTime")
    answered = _observed(sent, reader.stream).where("answers is not null or spilled is not null")
    answers = answered.select("state_key", "answers", "spilled")
    return unpacked(answers, known, results)


def ways(plan: Plan, records: Given) -> dict[str, str]:
    """For every stream who reads its records, and why."""
    inputs = by_stream(plan.streams, records)
    return {each.stream.name: inputs[each.stream.name].way(_prune(plan, each)) for each in stream_readers(plan, inputs)}


def _prune(plan: Plan, reader: StreamReader) -> Prune:
    return Prune(reader, [Bound.of(planned, reader.schema) for planned in _families(plan, reader.stream)])


def state_keys(plan: Plan) -> int:
    """How many keys with work of their own the state of these streams has."""
    return len(by_state_key(plan.families))


def results_schema(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _observed(sent: DataFrame, stream: Stream) -> DataFrame:
    """What came late, how much is kept by each key of the state that was looked at, and which reports were made."""
    late = [f.sum(name).alias(name) for name in ("late", "dropped")]
    kept = f.collect_list(
        f.when(f.col("candidates").isNotNull(), f.struct("state_key", "candidates", "precision_ppm"))
    ).alias("kept")
    reports = f.flatten(f.collect_list("reports")).alias("reports")
    return sent.observe(f"{OBSERVED}:{stream.name}:kept", *late, kept, reports)


def encoded_rows(records: Input, prune: Prune, left_out: Observation | None = None, sampled: bool = False) -> DataFrame:
    """Encoded rows, and for each partition one with what was counted, under the key `LATE`."""
    counted = ["unranked", "bad"]
    if records.frame.isStreaming:
        # A batch is told nothing of records that were never looked at.
        counted.append("records")
    sums = [f.expr(f"sum({name}) AS {name}") for name in counted]
    name = f"{OBSERVED}:{prune.reader.stream.name}:left out"
    return records.encoded(prune, sampled).observe(left_out or name, *sums)


def by_state_key_partition(encoded: DataFrame, lines: bool = False) -> DataFrame:
    """Of a batch: all rows of one key in one partition; what is known of the stream alone only with `lines`."""
    return (encoded if lines else encoded.where(f"state_key <> '{LATE}'")).repartition("state_key")


def schemas_of(inputs: Inputs) -> dict[str, pa.Schema]:
    """The columns of every stream."""
    return {name: arrow_schema(each.frame) for name, each in inputs.items()}


def _families(plan: Plan, stream: Stream) -> list[PlannedFamily]:
    return [planned for planned in plan.families if planned.family.stream == stream]


def stream_readers(plan: Plan, inputs: Inputs) -> list[StreamReader]:
    return [StreamReader(stream, arrow_schema(inputs[stream.name].frame)) for stream in plan.streams]
