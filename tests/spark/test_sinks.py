"""Identities, and sinks that a replayed micro-batch overwrites."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Result rows of every kind: time, positions, groups, changes."""
    return spark.createDataFrame(jobs.monitored(jobs.trades(files=3))).cache()


def plan() -> object:
    return sb.Workload.from_sql(jobs.WORKLOAD).plan()


def test_identities_differ_and_do_not_depend_on_the_session(spark: SparkSession, rows: DataFrame) -> None:
    from skyband.spark.io.sinks import with_identity

    def identities() -> list[str]:
        return sorted(row.identity for row in with_identity(rows, True).select("identity").collect())

    here, zone = identities(), spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert identities() == here
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
    assert len(set(here)) == len(here) == rows.count()
    first = json.loads(next(text for text in here if '"biggest"' in text))
    assert list(first) == ["query", "report", "group_key", "rank"]


def test_a_batch_written_again_takes_its_own_place(rows: DataFrame, tmp_path: Path) -> None:
    from skyband.planner import Plan
    from skyband.spark.io.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    files = sink(str(tmp_path / "out"), known)
    for number in (0, 1, 1):
        files.write_batch(rows.where(f"pmod(rank, 2) = {number}"), number)
    ranked = [row for row in rows.toArrow().to_pylist() if row["rank"] is not None]
    assert len(jobs.listed(tmp_path / "out")) == len(ranked)


@pytest.mark.smoke
def test_postgres_upserts(rows: DataFrame, postgres: str) -> None:
    from skyband.planner import Plan
    from skyband.spark.io.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    table = sink(f"{postgres}?table=public.twice", known)
    table.check()
    for number in (0, 0, 1):
        table.write_batch(rows, number)
    assert jobs.bag(table_rows(postgres, "twice")) == jobs.bag(pa.table(rows.toArrow()).to_pylist())


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call brought to the driver."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[int] = []

    def counting(name: str) -> None:
        before = getattr(DataFrame, name)

        def after(self: DataFrame) -> object:
            found = before(self)
            seen.append(len(found))
            return found

        monkeypatch.setattr(DataFrame, name, after)

    for name in ("toArrow", "collect", "toPandas"):
        counting(name)
    return seen


def test_postgres_takes_rows_from_the_tasks(rows: DataFrame, postgres: str, gathered: list[int]) -> None:
    from skyband.planner import Plan
    from skyband.spark.io.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    sink(f"{postgres}?table=apart", known).write_batch(rows.repartition(3), 0)
    assert gathered
    assert max(gathered) <= 3, "a count for each partition"
    assert len(table_rows(postgres, "apart")) == rows.count()
    assert not table_rows(postgres, "apart_skyband_staging")


def test_a_task_that_was_done_twice_leaves_its_rows_once(rows: DataFrame, postgres: str) -> None:
    from pyspark.sql import functions as f

    from skyband.spark.io.postgres import Table, upsert
    from skyband.spark.io.sinks import with_identity

    named = with_identity(rows, True).select("identity", "query", f.col("rank"))
    upsert(named.unionAll(named), Table(postgres, "doubled"))
    assert len(table_rows(postgres, "doubled")) == rows.count()


def test_the_console_gathers_what_it_shows(spark: SparkSession, gathered: list[int]) -> None:
    from skyband.planner import Plan
    from skyband.spark.io.last_reports import MOST_LISTS, MOST_ROWS
    from skyband.spark.io.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    made = spark.range(0, 600_000, 1, 4).selectExpr(
        "'biggest' AS query",
        "cast(null AS TIMESTAMP) AS window_end",
        "id DIV 300000 AS row_end",
        "cast(id % 1500 AS STRING) AS group_key",
        "id DIV 1500 % 200 + 1 AS rank",
    )
    shown: list[pa.Table] = []
    sink("console", known, shown.append).write_batch(made, 0)
    lists = {row["group_key"] for row in shown[0].to_pylist()}
    assert lists == set(sorted(map(str, range(1_500)))[:MOST_LISTS]), "the first by name"
    assert {row["row_end"] for row in shown[0].to_pylist()} == {1}, "their last report"
    assert max(row["rank"] for row in shown[0].to_pylist()) == MOST_ROWS
    assert max(gathered) == MOST_LISTS * MOST_ROWS


def test_the_console_of_a_batch_shows_windows_that_lie_in_the_data(rows: DataFrame) -> None:
    from skyband.planner import Plan
    from skyband.spark.io.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    shown: list[pa.Table] = []
    sink("console", known, shown.append).write(rows)
    newest = max(row["ts"] for table in jobs.trades(files=3) for row in table.select(["ts"]).to_pylist())
    told = jobs.monitored(jobs.trades(files=3)).to_pylist()
    for query in ("biggest", "largest", "lots"):
        inside = {row["window_end"] for row in told if row["query"] == query and row["window_end"] <= newest}
        assert {row["window_end"] for row in shown[0].to_pylist() if row["query"] == query} == {max(inside)}
    sizes = {row["symbol"]: 0 for table in jobs.trades(files=3) for row in table.to_pylist()}
    for table in jobs.trades(files=3):
        for symbol in table.column("symbol").to_pylist():
            sizes[symbol] += 1
    ends = {row["group_key"]: row["row_end"] for row in shown[0].to_pylist() if row["query"] == "leaders"}
    assert ends == {symbol: (size - 1) // 20 * 20 - 10 for symbol, size in sizes.items()}, "before the last that begins"
