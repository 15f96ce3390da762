"""Batch = stream = Monitor = oracle, row for row, on awkward workloads and streams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import skyband as sb
from skyband.runtime.hashing import hash_rows
from tests import support

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.smoke,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
FEW = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
MILLI = 1_000
"""Spark's watermark counts milliseconds, so the streams here do too."""


def in_stream_order(table: pa.Table, key: str | None) -> pa.Table:
    """What Spark promises for positions: by time, then key; then the hash, as everywhere."""
    hashed = table.append_column("hash", pa.array(hash_rows(table)))
    order = [("ts", "ascending"), *([(key, "ascending")] if key else []), ("hash", "ascending")]
    return hashed.sort_by(order).drop_columns(["hash"])


def ordered(rows: pa.Table) -> list[support.Expected]:
    return sorted(support.actual_rows(rows), key=lambda row: (row.query, row.end, row.group, row.rank))


def oracle(workload: sb.Workload, tables: Sequence[pa.Table], reached: int | None = None) -> list[support.Expected]:
    """In the order of `ordered`; only windows that the watermark `reached`, if it is given."""
    rows = support.expected_rows(workload, tables)
    in_rows = {query.name: query.window.kind == "rows" for query in workload.queries}
    kept = [row for row in rows if reached is None or in_rows[row.query] or row.end <= reached]
    return sorted(kept, key=lambda row: (row.query, row.end, row.group, row.rank))


@FEW
@given(workload=support.workloads(most=12, unit=MILLI), tables=support.tables(unit=MILLI), parts=st.integers(1, 3))
def test_a_batch_is_the_oracle(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    workload: sb.Workload,
    tables: list[pa.Table],
    parts: int,
) -> None:
    table, path = pa.concat_tables(tables), str(tmp_path_factory.mktemp("batch") / "in.parquet")
    pq.write_table(table, path)
    df = spark.read.parquet(path).repartition(parts)
    expected = oracle(workload, [in_stream_order(table, workload.streams[0].key)])
    assert ordered(workload.over(df).toArrow()) == expected


@settings(FEW, max_examples=4)
@given(workload=support.workloads(most=8, unit=MILLI), tables=support.tables(unit=MILLI))
def test_a_stream_is_the_oracle_that_is_told_the_micro_batches(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, workload: sb.Workload, tables: list[pa.Table]
) -> None:
    pushes = [table for table in tables if len(table)]
    if not pushes:
        return
    rows = _streamed(spark, tmp_path_factory.mktemp("stream"), workload, pushes)
    key, lateness = workload.streams[0].key, workload.streams[0].lateness
    latest = max(pa.compute.max(table.column("ts")).cast(pa.int64()).as_py() for table in pushes)
    # ROWS windows are reported as far as they are full.
    told = [in_stream_order(table, key) for table in pushes]
    expected = [row for row in oracle(workload, told, latest - lateness) if full(workload, row, told)]
    assert ordered(rows) == expected


def full(workload: sb.Workload, row: support.Expected, tables: Sequence[pa.Table]) -> bool:
    query = next(query for query in workload.queries if query.name == row.query)
    if query.window.kind == "range":
        return True
    colors = [color for table in tables for color in table.column("color").to_pylist()]
    seen = sum((r"\N" if color is None else color) == row.group for color in colors) if query.per else len(colors)
    return row.end <= seen


def _streamed(spark: SparkSession, folder: Path, workload: sb.Workload, pushes: Sequence[pa.Table]) -> pa.Table:
    """One file, one micro-batch."""
    source = folder / "in"
    source.mkdir()
    for number, table in enumerate(pushes):
        path = source / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    schema = spark.read.parquet(str(source)).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    name = f"out_{folder.name}".replace("-", "_")
    stream = workload.over(df).writeStream.format("memory").queryName(name)
    query = stream.option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    return spark.table(name).toArrow()
