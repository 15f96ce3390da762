"""Scores that are no DOUBLE, on Spark: ranked exactly and shown as what they are, as a Monitor does."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark.test_parity import _streamed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
FAR = 2**53
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id);"
WINDOW = "FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]"
PUSHED_DOWN = f"""{STREAM}
CREATE QUERY big AS SELECT TOP 5 id {WINDOW} ORDER BY big;
CREATE QUERY small AS SELECT TOP 5 id {WINDOW} ORDER BY big ASC;
CREATE QUERY over AS SELECT ABOVE {FAR + 4_990} id {WINDOW} ORDER BY big;
CREATE QUERY cents AS SELECT TOP 5 id {WINDOW} ORDER BY cents;
"""
OTHERS = f"""{STREAM}
CREATE QUERY low AS SELECT TOP 5 id {WINDOW} ORDER BY cents ASC;
CREATE QUERY dear AS SELECT ABOVE 1234567890123504.97 id {WINDOW} ORDER BY cents;
CREATE QUERY late AS SELECT TOP 3 id {WINDOW} ORDER BY seen;
CREATE QUERY early AS SELECT TOP 3 id {WINDOW} ORDER BY seen ASC;
CREATE QUERY day AS SELECT TOP 3 PER color id {WINDOW} ORDER BY day;
CREATE QUERY grouped AS SELECT TOP 2 PER color id FROM s [ROWS 30 SLIDE 20] ORDER BY big;
CREATE QUERY counted AS SELECT TOP 2 id FROM s [ROWS 100 SLIDE 50] WHERE color <> 'red' ORDER BY big;
CREATE QUERY moves AS SELECT TOP 2 id {WINDOW} ORDER BY big EMIT CHANGES;
CREATE QUERY plain AS SELECT TOP 2 id {WINDOW} ORDER BY x;
"""


def records(count: int) -> pa.Table:
    """Scores of which doubles would take neighbours for equals."""
    draw = np.random.default_rng(3)
    small = draw.integers(0, 5_000, count).tolist()
    cents = [Decimal(123_456_789_012_345_600 + number).scaleb(-2) for number in small]
    return pa.table(
        {
            "ts": pa.array(np.sort(draw.integers(0, 20_000, count)), pa.timestamp("ms", "UTC")),
            "id": np.arange(count),
            "big": pa.array([None if number == 7 else FAR + number for number in small]),
            "cents": pa.array(cents, pa.decimal128(18, 2)),
            "seen": pa.array([10 * FAR // 9 + number for number in small], pa.timestamp("us", "UTC")),
            "day": pa.array([date(2026, 1, 1) + timedelta(days=number) for number in small]),
            "x": draw.random(count),
            "color": draw.choice(["red", "blue"], count),
        }
    )


def told(rows: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.to_pylist()
    return sorted(found, key=lambda row: str(sorted(row.items(), key=lambda item: item[0])))


def monitored(workload: sb.Workload, table: pa.Table) -> list[dict[str, Any]]:
    monitor = sb.Monitor(workload)
    return told(pa.concat_tables([monitor.push(table), monitor.close()]))


@pytest.mark.parametrize("text", [PUSHED_DOWN, OTHERS], ids=["pushed down", "others"])
def test_a_batch_says_what_a_monitor_says(spark: SparkSession, tmp_path: Path, text: str) -> None:
    workload, table = sb.Workload.from_sql(text), records(20_000)
    pq.write_table(table, tmp_path / "in.parquet")
    rows = workload.over(spark.read.parquet(str(tmp_path / "in.parquet")))
    bounded = "skyband_bound" in rows._jdf.queryExecution().toString()
    assert bounded == (text == PUSHED_DOWN)
    assert told(rows.toArrow()) == monitored(workload, table)


def test_a_stream_says_what_a_monitor_says(spark: SparkSession, tmp_path: Path) -> None:
    workload, table = sb.Workload.from_sql(OTHERS), records(3_000)
    halves = [table.slice(0, 1_500), table.slice(1_500)]
    rows = _streamed(spark, tmp_path, workload, halves)
    monitor = sb.Monitor(workload)
    expected = pa.concat_tables([monitor.push(half) for half in halves])
    assert told(rows) == told(expected)
