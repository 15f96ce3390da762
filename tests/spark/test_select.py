"""Expressions in SELECT on Spark: as a Monitor says them, row for row and type for type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark.test_parity import _streamed
from tests.spark.test_score_types import monitored, told
from tests.spark.test_second_key import STREAM, WINDOW, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
TEXT = f"""{STREAM}
CREATE QUERY a AS SELECT TOP 5 id, b + b AS twice, upper(color) AS color, x > 50 AS high, ts AS at {WINDOW} ORDER BY x;
CREATE QUERY b AS SELECT TOP 3 color, date_trunc('minute', ts) AS minute, x / a AS ratio {WINDOW} ORDER BY x;
CREATE QUERY c AS SELECT ABOVE 112 PER color concat(color, '!') AS color, a AS stars {WINDOW} ORDER BY x;
CREATE QUERY d AS SELECT TOP 2 id, coalesce(b, -1) AS b FROM s [ROWS 100 SLIDE 50] ORDER BY a DESC, b ASC EMIT CHANGES;
"""


def test_a_batch_and_a_stream_say_what_a_monitor_says(spark: SparkSession, tmp_path: Path) -> None:
    workload, table = sb.Workload.from_sql(TEXT), records(3_000)
    pq.write_table(table, tmp_path / "in.parquet")
    rows = workload.over(spark.read.parquet(str(tmp_path / "in.parquet"))).toArrow()
    assert told(rows) == monitored(workload, table)
    monitor = sb.Monitor(workload)
    halves = [table.slice(0, 1_500), table.slice(1_500)]
    expected = pa.concat_tables([monitor.push(half) for half in halves])
    assert rows.column_names == expected.column_names
    assert told(_streamed(spark, tmp_path, workload, halves)) == told(expected)
    own = workload.results(spark.read.parquet(str(tmp_path / "in.parquet"))).of("a")
    assert told(own.rows(rows)) == told(monitor.results.of("a").rows(rows))
