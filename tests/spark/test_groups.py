"""Top groups on Spark: batch = stream = Monitor = oracle, in tasks, over buckets, from a checkpoint, and drained."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.groups import Told, actual, expected, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]

WORKLOAD = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, LATENESS = 5 MILLISECONDS);
CREATE QUERY heavy AS SELECT TOP 4 client, SUM(bytes) AS total, COUNT(*) AS n, MAX(ts) AS last_seen
  FROM s [RANGE 100 MILLISECONDS SLIDE 20 MILLISECONDS] GROUP BY client ORDER BY total DESC;
CREATE QUERY heavier AS SELECT TOP 9 client, SUM(bytes) AS total, COUNT(*) AS n, MAX(ts) AS last_seen
  FROM s [RANGE 60 MILLISECONDS SLIDE 30 MILLISECONDS] GROUP BY client HAVING COUNT(*) > 1 ORDER BY SUM(bytes) DESC;
CREATE QUERY means AS SELECT TOP 3 client, host, AVG(weight) AS mean, SUM(weight) AS sum, MIN(weight) AS least
  FROM s [RANGE 100 MILLISECONDS SLIDE 50 MILLISECONDS] WHERE bytes > 0
  GROUP BY client, host ORDER BY mean ASC WITH REST;
CREATE QUERY hosts AS SELECT TOP 3 client, COUNT(DISTINCT host) AS hosts, LAST(color) AS word
  FROM s [ROWS 90 SLIDE 40] GROUP BY client ORDER BY hosts DESC;
CREATE QUERY each AS SELECT TOP 2 PER color client, COUNT(*) AS n, COUNT(DISTINCT host) AS hosts
  FROM s [ROWS 50 SLIDE 25] WHERE bytes > 0 GROUP BY client ORDER BY n DESC;
CREATE QUERY colors AS SELECT ABOVE 2 PER color client, SUM(weight) AS sum
  FROM s [RANGE 80 MILLISECONDS SLIDE 40 MILLISECONDS] GROUP BY client ORDER BY COUNT(*) DESC;
CREATE QUERY ever AS SELECT TOP 4 client, SUM(bytes) AS total, COUNT(*) AS n, MAX(ts) AS last_seen
  FROM s [UNBOUNDED SLIDE 30 MILLISECONDS] GROUP BY client ORDER BY total DESC;
CREATE QUERY seldom AS SELECT TOP 2 PER color client, SUM(weight) AS sum, COUNT(DISTINCT host) AS hosts
  FROM s [UNBOUNDED SLIDE 2 SECONDS OFFSET 7 MILLISECONDS] WHERE bytes > 0
  GROUP BY client ORDER BY hosts DESC WITH REST;
CREATE QUERY log AS SELECT TOP 3 client, COUNT(*) AS n, SUM(bytes) AS total
  FROM s [RANGE 100 MILLISECONDS SLIDE 50 MILLISECONDS] GROUP BY client ORDER BY n DESC EMIT CHANGES;
""")
LISTED = sb.Workload(WORKLOAD.queries[:-1], streams=WORKLOAD.streams)


def records() -> pa.Table:
    """600 records of forty clients, one a millisecond, with sums that no order of adding doubles gets right."""
    draw = np.random.default_rng(6)
    clients = [None if n == 7 else f"c{n}" for n in draw.zipf(1.3, 600) % 40]
    weight = draw.choice([0.1, 0.2, 0.3, 1e16, -1e16, 1e-9, 3.0], 600)
    rows = [
        (
            1_000 * at,
            clients[at],
            int(draw.integers(0, 4)) or None,
            int(draw.integers(-3, 99)),
            None if at % 11 == 0 else float(weight[at]),
            str(draw.choice(["red", "blue"])),
        )
        for at in range(600)
    ]
    return table_of(rows)


def monitored(table: pa.Table) -> pa.Table:
    monitor = sb.Monitor(WORKLOAD)
    return pa.concat_tables([monitor.push(table), monitor.close()])


def told(rows: pa.Table) -> list[Told]:
    return actual(LISTED, rows)


def changes(rows: pa.Table) -> list[dict[str, object]]:
    mine = rows.filter(pc.equal(rows["query"], "log"))
    names = ["window_end", "change", "client", "rank", "n", "total"]
    order = [(name, "ascending") for name in names]
    moments = mine.select(names).set_column(
        0, "window_end", mine["window_end"].cast(pa.timestamp("us")).cast(pa.int64())
    )
    found: list[dict[str, object]] = moments.sort_by(order).to_pylist()
    return found


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_a_batch_is_the_monitor_is_the_oracle(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    pq.write_table(records(), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(partitions)
    rows = WORKLOAD.over(df).toArrow()
    assert told(rows) == expected(LISTED, [records()])
    assert changes(rows) == changes(monitored(records()))
    assert {row["change"] for row in changes(rows)} == {"enter", "leave", "move", "update"}


def test_files_that_tasks_read_themselves_say_the_same(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(records(), tmp_path / "in.parquet", row_group_size=100)
    rows = WORKLOAD.over(sb.scan(str(tmp_path / "in.parquet"))).toArrow()
    assert told(rows) == expected(LISTED, [records()])


def test_a_stream_that_is_started_again_and_drained_is_the_monitor(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.state.drain import drain

    plan = WORKLOAD.plan()
    table, source, state, out = records(), tmp_path / "in", str(tmp_path / "state"), str(tmp_path / "out")
    source.mkdir()
    cuts = [0, 200, 400, len(table)]
    for number, (low, high) in enumerate(pairwise(cuts)):
        path = source / f"{number}.parquet"
        pq.write_table(table.slice(low, high - low), path)
        os.utime(path, (1e9 + number, 1e9 + number))
        if number == 0:
            continue
        # The second start goes on from the first one's state.
        schema = spark.read.parquet(str(source)).schema
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = WORKLOAD.over(df).writeStream.format("parquet").option("path", out).outputMode("append")
        query = writer.option("checkpointLocation", state).trigger(availableNow=True).start()
        query.awaitTermination()
    rows = spark.read.parquet(out).toArrow()
    kept = spark.read.format("statestore").option("stateVarName", "clock").load(state).select("key.state_key").toArrow()
    spread = plan.families[0].family.fingerprint
    assert sum(name.startswith(spread) for name in kept["state_key"].to_pylist()) == 8
    rest = drain(spark, plan, {"s": spark.read.parquet(str(source))}, state).toArrow()
    assert min(len(rows), len(rest)) > 20
    both = pa.concat_tables([rows, rest])
    assert told(both) == told(monitored(table))
    assert changes(both) == changes(monitored(table))
