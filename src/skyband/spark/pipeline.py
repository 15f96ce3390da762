"""`Workload.over(df)`: prune → maintain → unpack over a batch or streaming DataFrame, lazily."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from skyband.model import Stream
from skyband.planner import Plan, PlannedFamily
from skyband.planner.words import some
from skyband.runtime.lateness import Lateness
from skyband.runtime.reader import StreamReader
from skyband.runtime.results import Results
from skyband.runtime.time_ranges import EVERY_END, TimeRanges, why_one
from skyband.spark.columns import arrow_schema
from skyband.spark.event_time import with_watermark
from skyband.spark.inputs import OBSERVED, Given, Input, Inputs, by_stream
from skyband.spark.settings import cores, use_this_python, warn_about_settings
from skyband.spark.stages.batch import AnswerBatch, MaintainBatch
from skyband.spark.stages.maintain import MAINTAINED_DDL
from skyband.spark.stages.processor import Maintain
from skyband.spark.stages.prune import Bound, Prune
from skyband.spark.stages.spill import ANSWERS_DDL
from skyband.spark.stages.unpack import unpacked
from skyband.spark.state.joining import NOTHING_NOTED, Joining
from skyband.spark.state.keys import LATE, BatchPart, by_range_key, by_state_key, merges


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
    warn_about_settings(records.frame)
    use_this_python(records.frame)
    seen = left_out.get(reader.stream.name)
    if not records.frame.isStreaming:
        prune = batch_prune(records, reader, families, Lateness.of(families) if lines else None)
        parts = batch_parts(prune)
        # A bound would keep records from being counted.
        encoded = by_key_partition(encoded_rows(records, prune, seen, sampled=not lines), parts, lines)
        if lines or any(map(merges, families)):
            served = {key: part.planned for key, part in parts.items()}
            return unpacked(encoded.mapInArrow(AnswerBatch(parts), ANSWERS_DDL), served, results)
        return encoded.mapInArrow(MaintainBatch(parts, results), results_schema(results.schema))
    bound = [Bound.of(planned, reader.joined).in_stream() for planned in families]
    prune = Prune(reader, bound, Lateness.of(families), called=joining.forgotten | joining.woken)
    known = by_state_key(families)
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


def cuts(plan: Plan, records: Given) -> dict[str, list[str]]:
    """For every stream of a batch in how many ranges of time the reports of its families are answered, and why not in
    more than one."""
    inputs = by_stream(plan.streams, records)
    readers = [each for each in stream_readers(plan, inputs) if not inputs[each.stream.name].frame.isStreaming]
    return {each.stream.name: _cuts(inputs[each.stream.name], _prune(plan, each)) for each in readers}


def _cuts(records: Input, prune: Prune) -> list[str]:
    reach, tasks = records.reach(prune), cores(records.frame.sparkSession)
    models = [each.model for each in prune.families]
    told = Counter((TimeRanges.of(model, reach, tasks).count, why_one(model, reach, tasks)) for model in models)
    return [
        f"reports of {some(families, 'family', 'families')} are answered in {some(ranges, 'range', 'ranges')} of time"
        + ("" if why is None else f": {why}")
        for (ranges, why), families in told.items()
    ]


def _prune(plan: Plan, reader: StreamReader) -> Prune:
    return Prune(reader, [Bound.of(planned, reader.joined) for planned in _families(plan, reader.stream)])


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
    fates = f.flatten(f.collect_list("fates")).alias("fates")
    return sent.observe(f"{OBSERVED}:{stream.name}:kept", *late, kept, reports, fates)


def encoded_rows(records: Input, prune: Prune, left_out: Observation | None = None, sampled: bool = False) -> DataFrame:
    """Encoded rows, and for each partition one with what was counted, under the key `LATE`."""
    # A batch is told nothing of records that were never looked at. Who of a stream has no score is told later, where
    # it is known who was dropped before that.
    counted = ["bad", "future", "records" if records.frame.isStreaming else "unranked"]
    sums = [f.expr(f"sum({name}) AS {name}") for name in counted]
    name = f"{OBSERVED}:{prune.reader.stream.name}:left out"
    return records.encoded(prune, sampled).observe(left_out or name, *sums)


def batch_prune(
    records: Input, reader: StreamReader, families: Iterable[PlannedFamily], lateness: Lateness | None = None
) -> Prune:
    """Of a batch: what each task does, and how the reports of every family are cut by time."""
    whole = Prune(reader, [Bound.of(planned, reader.joined) for planned in families], lateness)
    reach, tasks = records.reach(whole), cores(records.frame.sparkSession)
    return replace(whole, families=[each.in_batch(TimeRanges.of(each.model, reach, tasks)) for each in whole.families])


def batch_parts(prune: Prune) -> dict[str, BatchPart]:
    """What each key of a batch serves."""
    return by_range_key((each.model, each.ranges) for each in prune.families)


def by_key_partition(encoded: DataFrame, parts: Mapping[str, BatchPart], lines: bool = False) -> DataFrame:
    """Of a batch: all rows of one key in one partition; what is known of the stream alone only with `lines`."""
    wanted = encoded if lines else encoded.where(f"state_key <> '{LATE}'")
    if all(part.ends == EVERY_END for part in parts.values()):
        return wanted.repartition("state_key")
    # Ranges of one family on different tasks: by a hash two of them often meet, and Spark would join small partitions.
    place = f.expr("coalesce(try_cast(split_part(state_key, '/', 3) AS INT), hash(state_key))")
    return wanted.repartitionById(min(cores(encoded.sparkSession), len(parts)), place)


def schemas_of(inputs: Inputs) -> dict[str, pa.Schema]:
    """The columns of every stream."""
    return {name: arrow_schema(each.frame) for name, each in inputs.items()}


def _families(plan: Plan, stream: Stream) -> list[PlannedFamily]:
    return [planned for planned in plan.families if planned.family.stream == stream]


def stream_readers(plan: Plan, inputs: Inputs) -> list[StreamReader]:
    return [StreamReader(stream, arrow_schema(inputs[stream.name].frame)) for stream in plan.streams]
