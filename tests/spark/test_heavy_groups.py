"""APPROXIMATE groups on Spark: bounds hold in a batch and a stream, over any partitions, from a checkpoint, drained."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests import heavy_groups
from tests.groups import table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]

KEEPING = "APPROXIMATE KEEPING 6 GROUPS"
WORKLOAD = sb.Workload.from_sql(f"""
CREATE STREAM s WITH (TIME = ts, LATENESS = 5 MILLISECONDS);
CREATE QUERY heavy AS SELECT TOP 4 client, SUM(bytes) AS total
  FROM s [RANGE 400 MILLISECONDS SLIDE 100 MILLISECONDS] GROUP BY client ORDER BY total DESC {KEEPING};
CREATE QUERY sure AS SELECT ABOVE 9 client, SUM(bytes) AS total
  FROM s [RANGE 200 MILLISECONDS SLIDE 100 MILLISECONDS] GROUP BY client ORDER BY total DESC {KEEPING};
CREATE QUERY each AS SELECT TOP 3 PER color client, COUNT(*) AS total
  FROM s [RANGE 400 MILLISECONDS] WHERE bytes > 0 GROUP BY client ORDER BY total DESC {KEEPING};
CREATE QUERY positions AS SELECT TOP 3 client, COUNT(weight) AS total
  FROM s [ROWS 900 SLIDE 300] GROUP BY client ORDER BY total DESC {KEEPING};
CREATE QUERY parts AS SELECT TOP 3 PER color client, SUM(bytes) AS total
  FROM s [ROWS 600 SLIDE 200] WHERE bytes > 0 GROUP BY client ORDER BY total DESC {KEEPING};
CREATE QUERY distinct AS SELECT TOP 3 host, COUNT(DISTINCT ts) AS total
  FROM s [RANGE 3 SECONDS SLIDE 1500 MILLISECONDS] GROUP BY host ORDER BY total DESC APPROXIMATE;
""")
SIZE = 3_000
"""One a millisecond: enough for rows to be put together where they are kept."""


def records() -> pa.Table:
    draw = np.random.default_rng(6)
    client, color = draw.zipf(1.3, SIZE) % 90, draw.choice(["red", "blue"], SIZE)
    return table_of(
        [
            (1_000 * at, f"c{client[at]}" if client[at] else None, 1, int(draw.integers(-1, 40)), 1.0, str(color[at]))
            for at in range(SIZE)
        ]
    )


def check(pushes: list[pa.Table], rows: pa.Table) -> None:
    heavy_groups.check(WORKLOAD, pushes, rows)
    counted = sorted(heavy_groups.reported(WORKLOAD, WORKLOAD.queries[-1], rows).items())
    assert len(counted) == 3
    assert any(row.low != row.high for _, (row,) in counted)
    for (_, (row,)), true in zip(counted, (1_500, 3_000, 1_500), strict=True):
        assert row.low is not None
        assert row.high is not None
        assert row.low <= true <= row.high <= 1.25 * row.low


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_bounds_hold_in_a_batch(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    pq.write_table(records(), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(partitions)
    check([records()], WORKLOAD.over(df).toArrow())


def test_bounds_hold_in_a_stream_that_is_started_again_and_drained(spark: SparkSession, tmp_path: Path) -> None:
    """One state key, few rows in it, and those that were put together do not come back with a new start."""
    from skyband.spark.state.drain import drain

    plan, table = WORKLOAD.plan(), records()
    source, state, out = tmp_path / "in", str(tmp_path / "state"), str(tmp_path / "out")
    source.mkdir()
    cuts = np.linspace(0, SIZE, 7).astype(int).tolist()
    for number, (low, high) in enumerate(pairwise(cuts)):
        path = source / f"{number}.parquet"
        pq.write_table(table.slice(low, high - low), path)
        os.utime(path, (1e9 + number, 1e9 + number))
        if number not in (2, 5):
            continue
        # The second start goes on from the first one's state.
        schema = spark.read.parquet(str(source)).schema
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = WORKLOAD.over(df).writeStream.format("parquet").option("path", out).outputMode("append")
        query = writer.option("checkpointLocation", state).trigger(availableNow=True).start()
        query.awaitTermination()
    kept = spark.read.format("statestore").option("stateVarName", "clock").load(state).select("key.state_key").toArrow()
    together = plan.families[0].family.fingerprint
    assert sum(name.startswith(together) for name in kept["state_key"].to_pylist()) == 1
    rows = spark.read.parquet(out).toArrow()
    rest = drain(spark, plan, {"s": spark.read.parquet(str(source))}, state).toArrow()
    assert min(len(rows), len(rest)) > 10
    pushes = [table.slice(low, high - low) for low, high in pairwise(cuts)]
    check(pushes, pa.concat_tables([rows, rest]))
