"""Two hundred queries of every kind at once: batch = stream and drain = Monitor = oracle, row for row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import skyband as sb
from skyband.model import Query
from tests import support
from tests.spark import jobs
from tests.spark.test_parity import MILLI, in_stream_order, oracle, ordered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
STREAM = sb.Stream("s", time="ts", key="id", lateness="3 milliseconds")


def query(number: int, draw: random.Random) -> Query:
    """Any window, slide, k or threshold; twelve families between them all."""
    family = draw.randrange(12)
    by = ("score", "score - bonus")[family % 2]
    options: dict[str, Any] = {"per": "color" if family in (2, 3) else (), "ascending": family in (4, 5)}
    options["where"] = "bonus > 0" if family in (6, 7) else None
    width = draw.randint(1, 60)
    slide = draw.randint(1, width)
    if family in (8, 9):
        frame: dict[str, Any] = {"window": f"{width} rows", "slide": slide}
    else:
        every = "frequency" if draw.random() < 0.1 else "slide"
        frame = {"window": f"{width * MILLI} microseconds", every: support.micros(slide * MILLI)}
        if every == "slide" and draw.random() < 0.2:
            frame["offset"] = support.micros(draw.randint(0, 40) * MILLI)
    if family in (10, 11):
        return sb.Above(f"q{number}", threshold=draw.randint(2, 4), by=by, **frame, **options)
    return sb.TopK(f"q{number}", k=draw.randint(1, 12), by=by, **frame, **options)


def records(count: int, draw: random.Random) -> pa.Table:
    """In time order, with ties, gaps and scores that are none."""
    rows, at = [], -30
    for number in range(count):
        at += draw.choice([0, 0, 1, 1, 2, 30 if number % 50 == 0 else 1])
        score = draw.choice([None, float("nan"), float("inf"), 0.0, 1.0, 3.0, draw.uniform(-5, 5)])
        rows.append((MILLI * at, number, score, draw.randint(-1, 2), draw.choice(["red", "blue", None])))
    return support.table_of(rows)


def test_all_ways_agree(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.io.sinks import Memory
    from skyband.spark.state.drain import drain

    draw = random.Random(200)
    workload = sb.Workload([query(number, draw) for number in range(200)], stream=STREAM)
    table = in_stream_order(records(240, draw), "id")
    parts = [table.slice(80 * part, 80) for part in range(3)]
    jobs.write_files(tmp_path / "in", parts)
    files = str(tmp_path / "in")
    expected = oracle(workload, parts)
    assert len({row.query for row in expected}) == 200

    batch = spark.read.parquet(files)
    assert ordered(workload.over(batch.repartition(3)).toArrow()) == expected

    monitor = sb.Monitor(workload)
    assert ordered(pa.concat_tables([*map(monitor.push, parts), monitor.close()])) == expected

    memory, checkpoint = Memory(), str(tmp_path / "ck")
    df = spark.readStream.schema(batch.schema).option("maxFilesPerTrigger", 1).parquet(files)
    writer = workload.over(df).writeStream.foreachBatch(memory.write_batch).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    rest = drain(spark, workload.plan(), {"s": df}, checkpoint).toArrow()
    assert len(rest) > 0
    assert ordered(pa.concat_tables([*memory.tables.values(), rest])) == expected
