"""A schema, a folder, a table for each query."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb
from tests.spark import jobs
from tests.spark.servers import table_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
QUERIES = [query.name for query in jobs.workload().queries]


@pytest.fixture(scope="module")
def monitor() -> sb.Monitor:
    return sb.Monitor(jobs.workload())


@pytest.fixture(scope="module")
def rows(spark: SparkSession, monitor: sb.Monitor) -> DataFrame:
    """Result rows of every kind: time, positions, groups, changes."""
    told = [monitor.push(table) for table in jobs.trades(files=3)]
    return spark.createDataFrame(pa.concat_tables([*told, monitor.close()])).cache()


def own(monitor: sb.Monitor, rows: DataFrame, query: str) -> pa.Table:
    """By Arrow alone."""
    return monitor.results.of(query).rows(pa.table(rows.toArrow()))


def test_rows_of_a_query_out_of_a_dataframe(spark: SparkSession) -> None:
    """In a zone with summer time: of two streams one has instants, the other times as they stand."""
    workload = sb.Workload.from_sql("""
        CREATE STREAM near WITH (TIME = ts);
        CREATE STREAM far WITH (TIME = ts);
        CREATE QUERY here AS SELECT TOP 1 x FROM near [RANGE 1 HOUR] ORDER BY x;
        CREATE QUERY there AS SELECT TOP 1 ts, x FROM far [RANGE 1 HOUR] ORDER BY x;""")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        near = spark.sql("SELECT TIMESTAMP_NTZ'2024-03-10 02:30:00' AS ts, 'a' AS x, 1 AS y").selectExpr("ts", "y AS x")
        far = spark.sql("SELECT timestamp_micros(1710039600000000) AS ts, 2.5D AS x")
        frames = {"near": near, "far": far}
        rows, results = workload.over(frames), workload.results(frames)
        assert rows.columns[-3:] == ["x", "ts", "far_x"]
        here, there = (results.of(name).rows(rows).toArrow() for name in ("here", "there"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
    assert here.schema.field("window_end").type == pa.timestamp("us")
    assert [str(here.column(name)[0]) for name in ("window_end", "x")] == ["2024-03-10 03:00:00", "1"]
    assert there.column_names[-2:] == ["ts", "x"]
    assert there.column("window_end").cast(pa.int64()).to_pylist() == [1_710_043_200_000_000]
    assert there.column("x").to_pylist() == [2.5]


def test_files_of_each_query(rows: DataFrame, monitor: sb.Monitor, tmp_path: Path) -> None:
    """Micro-batches that are written again take their own place; every query has its own columns."""
    from skyband.spark.io.sinks import sink
    from skyband.spark.ownership.owner import Owner

    target = sink(f"{tmp_path / 'out.parquet'}?per=query", monitor.workload.plan())
    target.check(empty=True)
    with pytest.raises(sb.SkybandError, match="was not told of their columns"):
        target.write_batch(rows, 0)
    target.bind(monitor.results)
    target.prepare(rows.sparkSession, Owner())
    for number in (0, 1, 1):
        target.write_batch(rows.where(f"pmod(crc32(query), 2) = {number} or query = 'biggest'"), number)
    assert sorted(os.listdir(tmp_path / "out.parquet")) == sorted(["_skyband.lease", *QUERIES])
    for name in QUERIES:
        mine = jobs.listed(tmp_path / "out.parquet" / name)
        expected = own(monitor, rows, name)
        assert mine.column_names == expected.column_names
        # Spark's Parquet says nanoseconds and no zone.
        found = mine.cast(expected.schema).to_pylist()
        assert jobs.bag(found) == jobs.bag(expected.to_pylist() * (1 + (name == "biggest")))
    with pytest.raises(sb.SkybandError, match="is the sink of another job"):
        target.prepare(rows.sparkSession, Owner())


def test_tables_of_each_query(rows: DataFrame, monitor: sb.Monitor, postgres: str) -> None:
    from skyband.spark.io.sinks import sink

    target = sink(f"{postgres}?table=public.each&per=query", monitor.workload.plan())
    target.check()
    target.bind(monitor.results)
    for number in (0, 0):
        target.write_batch(rows, number)
    for name in QUERIES:
        found = table_rows(postgres, f"each_{name}")
        expected = own(monitor, rows, name)
        assert jobs.bag(found) == jobs.bag(expected.to_pylist())


def test_what_is_counted_while_rows_are_written_is_counted_here_too(
    rows: DataFrame, monitor: sb.Monitor, tmp_path: Path
) -> None:
    from skyband.spark.io.sinks import sink
    from skyband.spark.metrics import Measures, Reports

    plan = monitor.workload.plan()
    target, measures = sink(f"{tmp_path / 'out'}?per=query", plan), Measures.of(plan)
    target.bind(monitor.results)
    reports = Reports(plan, measures)
    watched, seen = reports.watch(rows)
    target.write_batch(watched, 0)
    reports.count(seen)
    assert sum(family.rows for family in measures.families.values()) == rows.count()


@pytest.mark.parametrize(
    ("query", "folder"),
    [
        ("plain", "plain"),
        ("a/b=c", "a%2Fb%3Dc"),
        ("_mine", "%5Fmine"),
        ("..", "%2E."),
        ("50%", "50%25"),
        ("ö", "%C3%B6"),
    ],
)
def test_names_of_folders(query: str, folder: str) -> None:
    from skyband.spark.io.sinks import folder_name

    assert folder_name(query) == folder
