"""Streams with deletes on Spark: in a batch they travel whole, and the rows are the oracle's; elsewhere refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import skyband as sb
from tests import support
from tests.monitor import test_boards as boards
from tests.spark.test_parity import MILLI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
WORK = boards.workloads("op", windows=boards.frames(MILLI), unit=MILLI)


def ordered(rows: list[support.Expected]) -> list[support.Expected]:
    return sorted(rows, key=lambda row: (row.query, row.end, row.rank))


@FEW
@given(workload=WORK, tables=boards.tables(deletes=True, unit=MILLI))
def test_a_batch_is_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, workload: sb.Workload, tables: list[pa.Table]
) -> None:
    table, path = pa.concat_tables(tables), str(tmp_path_factory.mktemp("batch") / "in.parquet")
    pq.write_table(table, path)
    df = spark.read.parquet(path).repartition(2)
    found = support.actual_rows(workload.over(df).toArrow())
    assert ordered(found) == ordered(boards.expected_rows(workload, [table]))


def test_positions_are_refused(spark: SparkSession) -> None:
    stream = sb.Stream("s", time="ts", key="id", op="op")
    workload = sb.Workload([sb.TopK("q", k=1, by="a", window="5 rows")], stream=stream)
    df = spark.createDataFrame([], "ts TIMESTAMP, id BIGINT, a DOUBLE, op STRING")
    with pytest.raises(sb.SkybandError, match="ROWS window over stream s, which has deletes"):
        workload.over(df)


def test_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = sb.Stream("s", time="ts", key="id", op="op")
    workload = sb.Workload([sb.TopK("q", k=1, by="a", window="5 seconds")], stream=stream)
    columns = "ts TIMESTAMP, id BIGINT, a DOUBLE, op STRING"
    df = spark.readStream.schema(columns).parquet(str(tmp_path))
    with pytest.raises(sb.SkybandError, match="Spark streams take none yet"):
        workload.over(df)
