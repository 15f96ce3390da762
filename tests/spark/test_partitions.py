"""A stream of groups and other lists on 1, 2 and 7 partitions, with late records and a second start: as a Monitor."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests import groups, heavy_groups
from tests.spark import jobs
from tests.spark.test_parity import in_stream_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
RANGE = "FROM s [RANGE 80 MILLISECONDS SLIDE 40 MILLISECONDS]"
GROUPS = f"""
CREATE QUERY heavy AS SELECT TOP 4 client, SUM(bytes) AS total, SUM(weight) AS weights, LAST(color) AS word {RANGE}
  GROUP BY client ORDER BY total DESC;
CREATE QUERY exact AS SELECT TOP 3 host, SUM(price) AS paid, COUNT(DISTINCT price) AS prices, LAST(price) AS recent
  {RANGE} GROUP BY host ORDER BY MAX(price) DESC WITH REST;
CREATE QUERY paid AS SELECT ABOVE 99.99 client, AVG(price) AS mean, MIN(ts) AS since {RANGE}
  GROUP BY client ORDER BY SUM(price) ASC;
CREATE QUERY counted AS SELECT TOP 3 client, COUNT(DISTINCT host) AS hosts, MAX(ts) AS latest
  FROM s [ROWS 70 SLIDE 35] WHERE bytes > 0 GROUP BY client ORDER BY SUM(weight) DESC;
CREATE QUERY each AS SELECT TOP 2 PER color client, COUNT(*) AS n FROM s [ROWS 30 SLIDE 20] GROUP BY client ORDER BY n;
CREATE QUERY log AS SELECT TOP 3 client, COUNT(*) AS n {RANGE} GROUP BY client HAVING COUNT(*) > 3 ORDER BY n
  EMIT CHANGES;
CREATE QUERY logged AS SELECT TOP 2 host, SUM(price) AS paid FROM s [ROWS 60] GROUP BY host ORDER BY paid DESC
  EMIT CHANGES;
CREATE QUERY ever AS SELECT TOP 3 client, COUNT(*) AS n FROM s [UNBOUNDED SLIDE 60 MILLISECONDS] GROUP BY client
  ORDER BY n DESC;
CREATE QUERY joined AS SELECT TOP 2 team, SUM(bytes * factor) AS total {RANGE} JOIN clients USING (client)
  GROUP BY team ORDER BY total DESC;
"""
OTHERS = f"""
CREATE QUERY objects AS SELECT TOP 3 client {RANGE} OBJECT client ACROSS color (SUM) ORDER BY SUM(bytes) DESC;
CREATE QUERY lasts AS SELECT TOP 3 client FROM s [ROWS 60 SLIDE 30] OBJECT client ACROSS color (LAST)
  ORDER BY SUM(bytes) ASC;
CREATE QUERY second AS SELECT TOP 4 client, weight {RANGE} ORDER BY host DESC, price ASC;
CREATE QUERY seconds AS SELECT TOP 3 PER color client FROM s [ROWS 40 SLIDE 20] ORDER BY host ASC, weight DESC;
"""
ROUGH = """
CREATE QUERY rough AS SELECT TOP 3 client, COUNT(*) AS total FROM s [RANGE 80 MILLISECONDS SLIDE 40 MILLISECONDS]
  GROUP BY client ORDER BY total DESC APPROXIMATE KEEPING 5 GROUPS;
CREATE QUERY distinct AS SELECT TOP 2 client, COUNT(DISTINCT ts) AS total {RANGE} GROUP BY client ORDER BY total DESC
  APPROXIMATE;
""".replace("{RANGE}", RANGE)


def workload(folder: Path, queries: str = GROUPS + OTHERS + ROUGH) -> sb.Workload:
    clients = pa.table({"client": ["c1", "c2", "c3", "c5"], "team": ["x", "y", "x", None], "factor": [1, 2, 3, 4]})
    pq.write_table(clients, folder / "clients.parquet")
    return sb.Workload.from_sql(f"""CREATE TABLE clients FROM '{folder / "clients.parquet"}' KEY client;
    CREATE STREAM s WITH (TIME = ts, LATENESS = 10 MILLISECONDS); {queries}""")


def records(seed: int, count: int = 400) -> pa.Table:
    """About one a millisecond, some of them later than any lateness."""
    draw = np.random.default_rng(seed)
    behind = draw.choice([0, 3, 9, 60, 200], count, p=[0.7, 0.1, 0.1, 0.05, 0.05])
    clients = draw.zipf(1.4, count) % 20
    rows = [
        (
            1_000 * int(at - behind[at]),
            f"c{clients[at]}" if clients[at] else None,
            int(draw.integers(0, 4)) or None,
            int(draw.integers(-3, 99)),
            float(draw.choice([0.1, 0.2, 0.3, 1e16, -1e16, 3.0])),
            str(draw.choice(["red", "blue"])),
        )
        for at in range(count)
    ]
    cents = draw.choice([10, 20, 10**15 + 1, 10**15 + 2, -(10**15)], count).tolist()
    price = [None if at % 9 == 0 else Decimal(each).scaleb(-2) for at, each in enumerate(cents)]
    return groups.table_of(rows).append_column("price", pa.array(price, pa.decimal128(18, 2)))


def streamed(
    spark: SparkSession, folder: Path, asked: sb.Workload, pushes: list[pa.Table], partitions: int
) -> list[pa.Table]:
    """One push, one start: each goes on from the checkpoint of the one before."""
    found: list[pa.Table] = []
    (folder / "in").mkdir()
    for number, push in enumerate(pushes):
        pq.write_table(push, folder / "in" / f"{number}.parquet")
        schema = spark.read.parquet(str(folder / "in")).schema
        df = spark.readStream.schema(schema).parquet(str(folder / "in"))
        rows = asked.over(df.repartition(partitions)).writeStream.foreachBatch(
            lambda rows, _: found.append(rows.toArrow())
        )
        rows.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True).start().awaitTermination()
    return found


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_a_stream_says_what_a_monitor_says(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    asked, table = workload(tmp_path), in_stream_order_of_parts(records(partitions))
    shuffled = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        found = pa.concat_tables(streamed(spark, tmp_path, asked, table, partitions))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", shuffled)
    monitor = sb.Monitor(asked)
    told = pa.concat_tables([monitor.push(part) for part in table])
    assert set(told["query"].to_pylist()) == {query.name for query in asked.queries}
    assert monitor.counters["queries"]["heavy"]["dropped"] > 0
    assert {"enter", "leave", "move", "update"} <= set(told["change"].to_pylist())
    assert jobs.bag(surely(found).to_pylist()) == jobs.bag(surely(told).to_pylist())
    rough = sb.Workload([query for query in asked.queries if query.name == "rough"], streams=asked.streams)
    newest = max(pc.max(part["ts"].cast(pa.int64())).as_py() for part in table)
    heavy_groups.check(rough, table, found, newest - 10_000)


def in_stream_order_of_parts(table: pa.Table) -> list[pa.Table]:
    return [in_stream_order(table.slice(low, 200), None) for low in range(0, len(table), 200)]


def surely(rows: pa.Table) -> pa.Table:
    """Without estimates that depend on the cut."""
    return rows.filter(pc.not_equal(rows["query"], "rough"))


@pytest.mark.parametrize("partitions", [2])
def test_a_batch_says_the_same(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    asked, table = workload(tmp_path, GROUPS), in_stream_order(records(5), None)
    pq.write_table(table, tmp_path / "in.parquet")
    rows = asked.over(spark.read.parquet(str(tmp_path / "in.parquet")).repartition(partitions)).toArrow()
    monitor = sb.Monitor(asked)
    told = pa.concat_tables([monitor.push(table), monitor.close()])
    assert jobs.bag(rows.to_pylist()) == jobs.bag(told.to_pylist())
