"""Static tables joined by key on Spark: looked up by the tasks, with the rows of a Monitor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.monitor.test_tables import joined, records, write
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
NAMES = ["ann", "bob", "dan", "eve", "fay", "zoe", None]


def some_records() -> pa.Table:
    draw = np.random.default_rng(7)
    size = [None if each == 9 else int(each) for each in draw.integers(0, 10, 300)]
    return records([(100 * n, NAMES[draw.integers(7)], size[n]) for n in range(300)])


def ranged(workload: sb.Workload) -> sb.Workload:
    queries = [query for query in workload.queries if query.window.kind == "range"]
    return sb.Workload(queries, streams=workload.streams, tables=workload.tables)


def monitored(workload: sb.Workload, tables: list[pa.Table], close: bool = True) -> list[str]:
    monitor = sb.Monitor(workload)
    rows = [row for table in tables for row in monitor.push(table).to_pylist()]
    return jobs.bag(rows + (monitor.close().to_pylist() if close else []))


def test_a_batch_gives_the_rows_and_counts_of_a_monitor(spark: SparkSession, tmp_path: Path) -> None:
    """Windows of rows with PER among them: there every record is sent on, whether it has a partner or not."""
    workload, table = joined(write(tmp_path)), some_records()
    pq.write_table(table, tmp_path / "in.parquet")
    frame = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    assert jobs.bag(workload.over(frame).toArrow().to_pylist()) == monitored(workload, [table])


def test_tasks_that_scan_files_look_up_as_well(spark: SparkSession, tmp_path: Path) -> None:
    """What tells that a record is needed is read first, and the key of the table is a part of that."""
    from pyspark.sql import Observation

    from skyband.spark.inputs import by_stream
    from skyband.spark.pipeline import over, schemas_of

    workload, table = ranged(joined(write(tmp_path))), some_records()
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet", row_group_size=40)
    given = sb.scan(str(tmp_path / "in"), spark=spark)
    told = workload.explain(records=given)
    assert "tasks read the files with Arrow" in told
    assert "ts, client, bytes first, and id where some record is needed" in told
    assert "table clients: 5 rows of" in told
    known, seen = by_stream(workload.streams, given), Observation()
    rows = over(workload.plan(None, schemas_of(known)), known, left_out={"requests": seen}).toArrow().to_pylist()
    assert jobs.bag(rows) == monitored(workload, [table])
    monitor = sb.Monitor(workload)
    monitor.push(table)
    assert seen.get["unranked"] == monitor.counters["unranked"] > 0


def test_a_stream_gives_the_rows_of_a_monitor(spark: SparkSession, tmp_path: Path) -> None:
    workload, table = ranged(joined(write(tmp_path))), some_records()
    parts = [table.slice(0, 120), table.slice(120)]
    (tmp_path / "in").mkdir()
    for number, part in enumerate(parts):
        pq.write_table(part, tmp_path / "in" / f"{number}.parquet")
        os.utime(tmp_path / "in" / f"{number}.parquet", (1e9 + number, 1e9 + number))
    found: list[pa.Table] = []
    given = sb.scan(str(tmp_path / "in"), spark=spark, streaming=True, maxFilesPerTrigger="1")
    writer = workload.over(given).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    told = monitored(workload, parts, close=False)
    assert told
    assert jobs.bag([row for each in found for row in each.to_pylist()]) == told
