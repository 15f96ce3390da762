"""ORDER BY a, b on Spark: few scores, so that many records equal every bound; as a Monitor says it, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark.test_parity import _streamed
from tests.spark.test_score_types import monitored, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 1 SECOND);"
WINDOW = "FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]"
PUSHED_DOWN = f"""{STREAM}
CREATE QUERY cheap AS SELECT TOP 5 id, b {WINDOW} ORDER BY a DESC, b ASC;
CREATE QUERY dear AS SELECT TOP 3 id {WINDOW} ORDER BY a ASC, b DESC;
CREATE QUERY over AS SELECT ABOVE 2 id FROM s [RANGE 1 SECOND] ORDER BY a DESC, x ASC;
"""
OTHERS = f"""{STREAM}
CREATE QUERY groups AS SELECT TOP 3 PER color id {WINDOW} ORDER BY a DESC, b ASC;
CREATE QUERY above AS SELECT ABOVE 2 PER color id FROM s [RANGE 1 SECOND] ORDER BY a DESC, b;
CREATE QUERY counted AS SELECT TOP 4 id FROM s [ROWS 100 SLIDE 50] WHERE color <> 'red' ORDER BY a DESC, x ASC;
CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [ROWS 30 SLIDE 20] ORDER BY a DESC, b ASC;
CREATE QUERY moves AS SELECT TOP 4 id {WINDOW} ORDER BY a DESC, b ASC EMIT CHANGES;
CREATE QUERY same AS SELECT TOP 7 id {WINDOW} ORDER BY a DESC, b ASC;
"""


def records(count: int) -> pa.Table:
    """Four scores; the best has a quarter of all records."""
    draw = np.random.default_rng(5)
    far = draw.integers(0, 900, count).tolist()
    return pa.table(
        {
            "ts": pa.array(np.sort(draw.integers(0, 20_000, count)), pa.timestamp("ms", "UTC")),
            "id": np.arange(count),
            "a": pa.array([None if number == 7 else number % 4 for number in draw.integers(0, 99, count).tolist()]),
            "b": pa.array([None if number < 90 else 2**53 + number for number in far]),
            "x": pa.array([np.nan if number < 90 else number / 8 for number in far]),
            "color": draw.choice(["red", "blue"], count),
        }
    )


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_batch_says_what_a_monitor_says(spark: SparkSession, tmp_path: Path, parts: int) -> None:
    """Over a DataFrame with bounds that are pushed down, and over files that the tasks read."""
    table = records(20_000)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2_000)
    workload = sb.Workload.from_sql(PUSHED_DOWN)
    rows = workload.over(spark.read.parquet(str(tmp_path / "in.parquet")).repartition(parts))
    assert "skyband_bound" in rows._jdf.queryExecution().toString()
    expected = monitored(workload, table)
    assert told(rows.toArrow()) == expected
    if parts == 1:
        assert told(workload.over(sb.scan(str(tmp_path / "in.parquet"))).toArrow()) == expected
        others = sb.Workload.from_sql(OTHERS)
        rows = others.over(spark.read.parquet(str(tmp_path / "in.parquet")))
        assert told(rows.toArrow()) == monitored(others, table)


def test_a_stream_that_was_stopped_says_what_a_monitor_says(spark: SparkSession, tmp_path: Path) -> None:
    workload = sb.Workload.from_sql(PUSHED_DOWN + OTHERS.removeprefix(STREAM))
    table = records(3_000)
    thirds = [table.slice(low, 1_000) for low in (0, 1_000, 2_000)]
    rows = _streamed(spark, tmp_path, workload, thirds[:2])
    monitor = sb.Monitor(workload)
    before = [monitor.push(each) for each in thirds[:2]]
    assert told(rows) == told(pa.concat_tables(before))
    pq.write_table(thirds[2], tmp_path / "in" / "0002.parquet")
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    df = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    again = workload.over(df).writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = again.option("checkpointLocation", str(tmp_path / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    rows = pq.read_table(tmp_path / "out").select(before[0].column_names)
    assert told(rows.cast(before[0].schema)) == told(monitor.push(thirds[2]))
