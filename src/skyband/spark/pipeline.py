"""`Workload.over(df)`: prune → maintain → unpack over a batch or streaming DataFrame, lazily."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType

from pyspark.sql import DataFrame, Observation, functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.planner import Plan, PlannedFamily
from skyband.runtime.board_intake import bind
from skyband.runtime.intake import StreamIntake
from skyband.runtime.results import Results
from skyband.spark.batch import AnswerBatch, MaintainBatch
from skyband.spark.clock import quoted, with_watermark
from skyband.spark.columns import arrow_schema
from skyband.spark.joining import Joining
from skyband.spark.keys import by_state_key
from skyband.spark.lateness import KEY as LATE, Lateness
from skyband.spark.processor import Maintain
from skyband.spark.prune import CHUNK, PACKED_DDL, Prune
from skyband.spark.saved import NOBODY
from skyband.spark.settings import use_this_python, warn_about_settings
from skyband.spark.spill import ANSWERS_DDL
from skyband.spark.spread import is_spread
from skyband.spark.stream import TOLD
from skyband.spark.thresholds import drop_hopeless
from skyband.spark.unpack import unpacked

OBSERVED = "skyband"


def over(
    plan: Plan,
    frames: DataFrame | Mapping[str, DataFrame],
    joining: Joining = NOBODY,
    left_out: Mapping[str, Observation] = MappingProxyType({}),
) -> DataFrame:
    """Result rows of a plan over the DataFrame of each stream. `joining`: since when the checkpoint knows the queries;
    `left_out`: who wants to know of each stream how many records were left out, instead of a listener."""
    by_stream = _by_stream(plan, frames)
    intakes = stream_intakes(plan, by_stream)
    results = Results(plan, intakes)
    parts = [
        _stream_over(by_stream[intake.stream.name], intake, _families(plan, intake.stream), results, joining, left_out)
        for intake in intakes
    ]
    return reduce(lambda one, other: one.unionByName(other), parts)


def _stream_over(
    df: DataFrame,
    intake: StreamIntake,
    families: list[PlannedFamily],
    results: Results,
    joining: Joining,
    left_out: Mapping[str, Observation],
) -> DataFrame:
    bound = [bind(planned, intake.schema) for planned in families]
    known = by_state_key(families)
    warn_about_settings(df)
    use_this_python(df)
    if not df.isStreaming:
        hopeful = drop_hopeless(df, intake, bound)
        packed = by_family(packed_rows(hopeful, Prune(intake, bound), left_out.get(intake.stream.name)))
        if any(is_spread(planned.family) for planned in families):
            return unpacked(packed.mapInArrow(AnswerBatch(known), ANSWERS_DDL), known, results)
        return packed.mapInArrow(MaintainBatch(known, results), results_schema(results))
    prune = Prune(intake, bound, Lateness.of(families))
    packed = with_watermark(packed_rows(df, prune, left_out.get(intake.stream.name)), intake.stream)
    told = packed.groupBy("family").transformWithState(Maintain(known, joining), TOLD, "append", "EventTime")
    sent = "answers is not null or spilled is not null"
    answers = _observed(told, intake.stream).where(sent).select("family", "answers", "spilled")
    return unpacked(answers, known, results)


def state_keys(plan: Plan) -> int:
    """How many keys with work of their own the state of these streams has."""
    return len(by_state_key(plan.families))


def results_schema(results: Results) -> StructType:
    return from_arrow_schema(results.schema, prefer_timestamp_ntz=True)


def _observed(told: DataFrame, stream: Stream) -> DataFrame:
    """What came late, and how much is kept by each key of the state that was looked at."""
    late = [f.sum(name).alias(name) for name in ("late", "dropped")]
    kept = f.collect_list(
        f.when(f.col("candidates").isNotNull(), f.struct("family", "candidates", "precision_ppm"))
    ).alias("kept")
    return told.observe(f"{OBSERVED}:{stream.name}:kept", *late, kept)


def packed_rows(df: DataFrame, prune: Prune, left_out: Observation | None = None) -> DataFrame:
    """Packed rows, and for each partition one with what was counted, under the key `LATE`."""
    columns = [quoted(name) for name in prune.stream.schema.names]
    if any(each.planned.family.kind == "rows" for each in prune.families):
        # Partitions become stretches of the stream, in its order: positions can be counted through.
        order = [f.col(quoted(name)) for name in (prune.stream.stream.time, prune.stream.stream.key) if name]
        df = df.repartitionByRange(*order)
        columns.append(f"cast(spark_partition_id() as bigint) AS {quoted(CHUNK)}")
    if df.isStreaming:
        # Behind the repartitioning: Spark 4.1 would count twice what it samples for it. A batch is not counted: the
        # look at every row would cost a third of the job.
        df = df.observe(f"{OBSERVED}:{prune.stream.stream.name}", f.count(f.lit(1)).alias("records"))
    packed = df.selectExpr(*columns).mapInArrow(prune, PACKED_DDL)
    sums = [f.expr(f"sum({name}) AS {name}") for name in ("unranked", "bad")]
    name = f"{OBSERVED}:{prune.stream.stream.name}:left out"
    return packed.observe(left_out or name, *sums)


def by_family(packed: DataFrame) -> DataFrame:
    """Of a batch: all rows of one key in one partition, and nothing else."""
    return packed.where(f"family <> '{LATE}'").repartition("family")


def _by_stream(plan: Plan, frames: DataFrame | Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    names = [stream.name for stream in plan.streams]
    if not isinstance(frames, Mapping):
        if len(names) > 1:
            raise SkybandError(
                f"one DataFrame for {len(names)} streams",
                expected="a mapping of " + ", ".join(names) + " to DataFrames",
            )
        return {names[0]: frames}
    missing = [name for name in names if name not in frames]
    if missing:
        raise SkybandError(f"no DataFrame for stream {missing[0]}", expected="one each for " + ", ".join(names))
    return dict(frames)


def _families(plan: Plan, stream: Stream) -> list[PlannedFamily]:
    return [planned for planned in plan.families if planned.family.stream == stream]


def stream_intakes(plan: Plan, frames: Mapping[str, DataFrame]) -> list[StreamIntake]:
    return [StreamIntake(stream, arrow_schema(frames[stream.name])) for stream in plan.streams]
