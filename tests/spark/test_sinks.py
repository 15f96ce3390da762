"""Identities, and sinks that a replayed micro-batch overwrites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb
from tests.spark import jobs
from tests.spark.test_crash import table_rows

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
    from skyband.spark.sinks import with_identity

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
    from skyband.spark.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    files = sink(str(tmp_path / "out"), known)
    for number in (0, 1, 1):
        files.write_batch(rows.where(f"pmod(rank, 2) = {number}"), number)
    ranked = [row for row in rows.toArrow().to_pylist() if row["rank"] is not None]
    assert len(jobs.listed(tmp_path / "out")) == len(ranked)


def test_postgres_upserts(rows: DataFrame, postgres: str) -> None:
    from skyband.planner import Plan
    from skyband.spark.sinks import sink

    known = plan()
    assert isinstance(known, Plan)
    table = sink(f"{postgres}?table=public.twice", known)
    table.check()
    for number in (0, 0, 1):
        table.write_batch(rows, number)
    assert jobs.bag(table_rows(postgres, "twice")) == jobs.bag(pa.table(rows.toArrow()).to_pylist())
