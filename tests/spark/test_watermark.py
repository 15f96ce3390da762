"""The watermark stands behind prune: a record that was left out moves nothing."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
BEGIN = datetime(2026, 1, 1)
FAR = datetime(9999, 12, 1)
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "id": pa.int64(), "x": pa.float64(), "p": pa.float64()})


def streamed(
    spark: SparkSession, workload: sb.Workload, tables: list[pa.Table], folder: Path
) -> list[dict[str, object]]:
    """Rows of a stream that reads a file in each micro-batch."""
    (folder / "in").mkdir()
    for number, table in enumerate(tables):
        path = folder / "in" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    schema = spark.read.parquet(str(folder / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found: list[pa.Table] = []
    writer = workload.over(df).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    return [row for table in found for row in table.to_pylist()]


def rows_of(first: int, count: int) -> list[dict[str, object]]:
    due = [BEGIN + timedelta(seconds=number) for number in range(first, first + count)]
    return [{"ts": at, "id": number, "x": number * 37 % 101, "p": 0.5} for number, at in enumerate(due, first)]


@pytest.mark.smoke
def test_a_rejected_record_moves_no_watermark(spark: SparkSession, tmp_path: Path) -> None:
    stream = sb.Stream("s", time="ts", key="id", probability="p")
    workload = sb.Workload([sb.TopK("best", 2, "x", "10 seconds", "5 seconds")], stream=stream)
    wrong: list[dict[str, object]] = [{"ts": FAR, "id": 1_000, "x": 1.0, "p": 0.0}]
    parts = [rows_of(0, 20), rows_of(20, 20) + wrong, rows_of(40, 20)]
    tables = [pa.Table.from_pylist(rows, SCHEMA) for rows in parts]
    found = streamed(spark, workload, tables, tmp_path)
    monitor = sb.Monitor(workload)
    expected = [row for table in tables for row in monitor.push(table).to_pylist()]
    assert expected
    assert jobs.bag(found) == jobs.bag(expected)
