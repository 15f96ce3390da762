"""Streams with deletes, and boards of many scores, on Spark itself: batch, stream, restart and drain are the oracle."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import skyband as sb
from tests import support
from tests.monitor import test_boards as boards
from tests.spark import jobs
from tests.spark.test_boards import WINDOWS, ordered
from tests.spark.test_parity import MILLI, in_stream_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@FEW
@given(workload=boards.workloads("op", windows=WINDOWS, unit=MILLI), tables=boards.tables(deletes=True, unit=MILLI))
def test_a_batch_is_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, workload: sb.Workload, tables: list[pa.Table]
) -> None:
    table, path = pa.concat_tables(tables), str(tmp_path_factory.mktemp("batch") / "in.parquet")
    pq.write_table(table, path)
    df = spark.read.parquet(path).repartition(2)
    found = support.actual_rows(workload.over(df).toArrow())
    assert ordered(found) == ordered(boards.expected_rows(workload, [in_stream_order(table, "id")]))


def records(count: int, deletes: bool) -> list[pa.Table]:
    """Four micro-batches with ties and late records; keys are deleted and updated in later ones than they came in."""
    draw, rows, at = random.Random(5), list[tuple[Any, ...]](), 0
    for number in range(count):
        at += draw.choice([0, 0, 1, 1, 2, -4, 3])
        key, kind = (draw.randrange(15), draw.choice(["I", "I", "u", "D"])) if deletes else (number, "I")
        rows.append((MILLI * at, key, draw.choice([None, 0.0, 1.0, draw.uniform(-1, 3)]), draw.randint(-2, 3), kind))
    return [boards.table_of(rows[low : low + count // 4]) for low in range(0, count, count // 4)]


def workload(op: str | None) -> sb.Workload:
    """Twelve scores over the same windows, some with filters or thresholds, and some over positions."""
    queries: list[sb.TopK | sb.Above] = []
    for number in range(12):
        frame = {"window": "14 rows", "slide": 4} if number % 6 == 5 else boards.frames(MILLI)[0]
        by, where = sorted(boards.SCORES)[number % 7], sorted(boards.FILTERS)[number % 3] if number % 4 == 3 else None
        if number % 7 == 6:
            queries.append(sb.Above(f"q{number}", threshold=1.0, by=by, where=where, **frame))
        else:
            queries.append(sb.TopK(f"q{number}", k=1 + number % 4, by=by, where=where, **frame))
    return sb.Workload(queries, stream=sb.Stream("s", time="ts", key="id", op=op, lateness="2 ms"))


@pytest.mark.parametrize(("op", "engine"), [(None, "sma"), ("op", None)])
def test_a_stream_that_is_stopped_and_started_is_the_oracle(
    spark: SparkSession, tmp_path: Path, op: str | None, engine: str | None
) -> None:
    from skyband.spark.io.sinks import Memory
    from skyband.spark.state.drain import drain

    asked, tables = workload(op), records(120, deletes=op is not None)
    files, checkpoint, memory = tmp_path / "in", str(tmp_path / "ck"), Memory()
    jobs.write_files(files, tables)
    schema = spark.read.parquet(str(files)).schema
    for number in (3, 2):
        # The first start sees two files, the second goes on with the others.
        hidden = [path.rename(tmp_path / path.name) for path in sorted(files.iterdir())[2:] if number == 3]
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))
        writer = asked.over(df, engine).writeStream.foreachBatch(memory.write_batch)
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
        for path in hidden:
            path.rename(files / path.name)
    rest = drain(spark, asked.plan(engine), {"s": df}, checkpoint).toArrow()
    found = pa.concat_tables([*memory.tables.values(), rest])
    told = [in_stream_order(table, "id") for table in tables]
    assert ordered(support.actual_rows(found)) == ordered(boards.expected_rows(asked, told))
