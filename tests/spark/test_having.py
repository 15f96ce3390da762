"""HAVING on columns of the group, and names and types of SELECT, on Spark: batch = stream = Monitor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark.test_groups import records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]

WORKLOAD = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts);
SELECT TOP 4 client AS who, upper(client) AS name, COUNT(*) > 2 AS many FROM s [RANGE 100 MILLISECONDS]
  GROUP BY client HAVING who LIKE 'c1%' OR COUNT(*) > 3 ORDER BY SUM(bytes) DESC WITH REST;
SELECT TOP 3 host, COUNT(*) AS n FROM s [RANGE 60 MILLISECONDS SLIDE 20 MILLISECONDS]
  GROUP BY host HAVING host IS NULL OR n > host + 1 ORDER BY n DESC;
SELECT TOP 3 client, bytes * 2 AS twice FROM s [RANGE 60 MILLISECONDS] ORDER BY twice - host DESC;
""")


def shown(rows: pa.Table) -> list[Any]:
    names = ["query", "window_end", "rank", "score", "who", "name", "many", "host", "n", "client", "twice"]
    moments = rows.set_column(
        rows.column_names.index("window_end"),
        "window_end",
        rows.column("window_end").cast(pa.timestamp("us")).cast(pa.int64()),
    )
    return sorted(map(repr, moments.select(names).to_pylist()))


def monitored() -> list[Any]:
    monitor = sb.Monitor(WORKLOAD)
    return shown(pa.concat_tables([monitor.push(records()), monitor.close()]))


@pytest.mark.parametrize("partitions", [1, 7])
def test_a_batch_is_the_monitor(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    pq.write_table(records(), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(partitions)
    assert shown(WORKLOAD.over(df).toArrow()) == monitored()
    assert shown(WORKLOAD.over(sb.scan(str(tmp_path / "in.parquet"))).toArrow()) == monitored()


def test_a_stream_that_is_drained_is_the_monitor(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.state.drain import drain

    source, out, state = tmp_path / "in", str(tmp_path / "out"), str(tmp_path / "state")
    source.mkdir()
    for number in range(3):
        path = source / f"{number}.parquet"
        pq.write_table(records().slice(200 * number, 200), path)
        os.utime(path, (1e9 + number, 1e9 + number))
    schema = spark.read.parquet(str(source)).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = WORKLOAD.over(df).writeStream.format("parquet").option("path", out).outputMode("append")
    writer.option("checkpointLocation", state).trigger(availableNow=True).start().awaitTermination()
    rows = spark.read.parquet(out).toArrow()
    rest = drain(
        spark, WORKLOAD.plan(schemas={"s": records().schema}), {"s": spark.read.parquet(str(source))}, state
    ).toArrow()
    assert len(rows) > 10
    assert shown(pa.concat_tables([rows, rest])) == monitored()
