"""Objects on Spark: batch = stream = Monitor, spread over buckets, started again from a checkpoint, and drained."""

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
from tests.objects import expected, reported, table_of
from tests.spark.test_metrics import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]

WORKLOAD = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 5 MILLISECONDS);
CREATE QUERY heavy AS SELECT TOP 4 id, client FROM s [RANGE 100 MILLISECONDS SLIDE 20 MILLISECONDS]
  OBJECT client ACROSS server IN ('a', 'b' WEIGHT 2, 'c') (SUM) EACH BETWEEN 0 AND 9 AT MOST 60 TIMES
  ORDER BY SUM(x);
CREATE QUERY heavier AS SELECT TOP 2 id FROM s [RANGE 60 MILLISECONDS SLIDE 30 MILLISECONDS]
  OBJECT client ACROSS server IN ('a', 'b' WEIGHT 2, 'c') (SUM) EACH BETWEEN 0 AND 9 AT MOST 60 TIMES
  ORDER BY SUM(x);
CREATE QUERY last AS SELECT TOP 3 id FROM s [ROWS 90 SLIDE 40]
  OBJECT client, port ACROSS server (LAST) ORDER BY SUM(x) ASC;
CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [ROWS 50 SLIDE 25]
  OBJECT client ACROSS server IN ('a', 'b') (MAX) EACH BETWEEN 0 AND 9 ORDER BY MIN(x);
CREATE QUERY frequent AS SELECT TOP 3 id FROM s [RANGE 60 MILLISECONDS SLIDE 30 MILLISECONDS]
  OBJECT client ACROSS server IN ('a', 'b' WEIGHT 2, 'c') (COUNT) EACH AT MOST 60 TIMES ORDER BY SUM(x);
CREATE QUERY loud AS SELECT ABOVE 25 id FROM s [RANGE 100 MILLISECONDS SLIDE 20 MILLISECONDS]
  OBJECT client ACROSS server IN ('a', 'b' WEIGHT 2, 'c') (SUM) EACH BETWEEN 0 AND 9 AT MOST 60 TIMES ORDER BY SUM(x);
CREATE QUERY weighed AS SELECT TOP 4 id FROM s [RANGE 60 MILLISECONDS SLIDE 20 MILLISECONDS]
  OBJECT client ACROSS server IN ('a' AS a, 'b' AS b, 'c' AS c) (SUM x) EACH BETWEEN 0 AND 9 AT MOST 60 TIMES
  ORDER BY 2 * a + sqrt(b) + least(c, 2) DESC;
CREATE QUERY partial AS SELECT ABOVE 1 PER color id FROM s [ROWS 50 SLIDE 25]
  OBJECT client ACROSS server IN ('a' AS a, 'b' AS b, 'c' AS c) (AVG x) ORDER BY sqrt(a - 1) + b ASC;
CREATE QUERY told AS SELECT ABOVE 30 id, client FROM s [RANGE 100 MILLISECONDS SLIDE 50 MILLISECONDS]
  OBJECT client ACROSS server (SUM) ORDER BY SUM(x) EMIT CHANGES;
CREATE QUERY log AS SELECT TOP 3 id, client FROM s [RANGE 100 MILLISECONDS SLIDE 50 MILLISECONDS]
  OBJECT client ACROSS server (MAX) ORDER BY MAX(abs(x)) EMIT CHANGES;
CREATE QUERY rough AS SELECT TOP 3 id, client FROM s [RANGE 100 MILLISECONDS SLIDE 50 MILLISECONDS]
  OBJECT client ACROSS server (MAX) ORDER BY SUM(x) APPROXIMATE KEEPING 20 OBJECTS;
""")
LISTED = sb.Workload(WORKLOAD.queries[:-3], streams=WORKLOAD.streams)


def records() -> pa.Table:
    """600 values of forty objects, one a millisecond, some of them wrong."""
    draw = np.random.default_rng(6)
    clients = [f"c{n}" for n in draw.zipf(1.3, 600) % 40]
    servers = draw.choice(["a", "b", "c", "d"], 600, p=[0.4, 0.3, 0.2, 0.1]).tolist()
    value = draw.integers(0, 19, 600) / 2
    colors = draw.choice(["red", "blue"], 600).tolist()
    return table_of(
        [(1_000 * at, at, clients[at], at % 3, servers[at], value[at], colors[at]) for at in range(600) if at % 97 != 5]
    )


def monitored(table: pa.Table) -> pa.Table:
    monitor = sb.Monitor(WORKLOAD)
    return pa.concat_tables([monitor.push(table), monitor.close()])


def exact(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.not_equal(rows["query"], "rough"))


def same(rows: pa.Table, others: pa.Table) -> None:
    names = ["query", "window_end", "row_end", "group_key", "rank", "change", "id", "client", "score"]
    order = [(name, "ascending") for name in names[:7]]
    one, other = (exact(table).select(names).sort_by(order) for table in (rows, others))
    assert one.to_pylist() == other.to_pylist()


def lists(rows: pa.Table) -> pa.Table:
    listed = pc.invert(pc.is_in(rows["query"], value_set=pa.array(["log", "told", "rough"])))
    return rows.filter(listed).sort_by([("query", "ascending"), ("rank", "ascending")])


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_a_batch_is_the_monitor_is_the_oracle(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    pq.write_table(records(), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(partitions)
    rows = WORKLOAD.over(df).toArrow()
    same(rows, monitored(records()))
    assert reported(lists(rows)) == expected(LISTED, [records()])


def test_a_stream_that_is_started_again_and_drained_is_the_monitor(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.metrics import Measures
    from skyband.spark.progress import Listener
    from skyband.spark.state.drain import drain

    plan = WORKLOAD.plan()
    measures = Measures.of(plan)
    listener = Listener(measures)
    spark.streams.addListener(listener)
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
    rough = measures.families[plan.families[-1].family.fingerprint]
    wait_for(lambda: rough.precision is not None)
    spark.streams.removeListener(listener)
    assert 0 <= (rough.precision or 0) <= 1
    rows = spark.read.parquet(out).toArrow()
    kept = spark.read.format("statestore").option("stateVarName", "clock").load(state).select("key.state_key").toArrow()
    spread = plan.families[0].family.fingerprint
    assert sum(name.startswith(spread) for name in kept["state_key"].to_pylist()) == 8
    segments = spark.read.format("statestore").option("stateVarName", "segments").load(state)
    learnt = [row.key.state_key for row in segments.where("user_map_key.number = -2").collect()]
    assert learnt == [plan.families[-1].family.fingerprint + "/0"]
    assert pc.sum(pc.equal(rows["query"], "rough")).as_py() > 20
    rest = drain(spark, plan, {"s": spark.read.parquet(str(source))}, state).toArrow()
    assert min(len(rows), len(rest)) > 20
    same(pa.concat_tables([rows, rest]), monitored(table))
