"""Uncertain streams on Spark: batch = stream = Monitor, with rules, PER, ROWS, FREQUENCY and errors; and a restart."""

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
from skyband.datasets import uncertain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]

WORKLOAD = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id, PROBABILITY = p, RULE = rule, SOURCE = color);
CREATE QUERY often AS SELECT TOP 5 id FROM s [RANGE 10 MINUTES] ORDER BY value FREQUENCY 70 SECONDS;
CREATE QUERY seldom AS SELECT TOP 9 id FROM s [RANGE 10 MINUTES] ORDER BY value FREQUENCY 3 MINUTES;
CREATE QUERY sure AS SELECT TOP 7 id FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE] ORDER BY value USING PT_K(0.6);
CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE] ORDER BY value USING U_KRANKS;
CREATE QUERY lists AS SELECT TOP 3 id FROM s [ROWS 100 SLIDE 30] ORDER BY value ASC USING U_TOPK;
CREATE QUERY ranks AS SELECT TOP 3 id FROM s [ROWS 100 SLIDE 30] ORDER BY value ASC USING EXPECTED_RANK;
CREATE QUERY doubtful AS SELECT TOP 3 id FROM s [RANGE 5 MINUTES SLIDE 5 MINUTES] ORDER BY value WITH ERROR 9 * p;
CREATE QUERY colors AS SELECT TOP 2 id FROM s [RANGE 10 MINUTES SLIDE 5 MINUTES] ORDER BY value USING PK_STREAMS;
""")


def records() -> pa.Table:
    """Twenty minutes, also with ties in value."""
    table = uncertain(1_200, seed=5, rules=0.6)
    color = pa.array(np.array(["red", "blue", "green"])[np.random.default_rng(1).integers(0, 3, 1_200)])
    value = np.round(table["value"].to_numpy() * 200)
    return table.set_column(2, "value", pa.array(value)).append_column("color", color)


def same(rows: pa.Table, others: pa.Table) -> None:
    names = ["query", "window_end", "row_end", "group_key", "rank", "id", "probability"]
    order = [(name, "ascending") for name in names[:5]]
    one, other = (table.select(names).sort_by(order) for table in (rows, others))
    assert one.drop_columns("probability").to_pylist() == other.drop_columns("probability").to_pylist()
    a, b = (pc.fill_null(table["probability"], -1.0).to_numpy() for table in (one, other))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def monitored(table: pa.Table) -> pa.Table:
    monitor = sb.Monitor(WORKLOAD)
    return pa.concat_tables([monitor.push(table), monitor.close()])


def test_a_batch_is_the_monitor(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(records(), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    same(WORKLOAD.over(df).toArrow(), monitored(records()))


def test_a_stream_is_the_monitor(spark: SparkSession, tmp_path: Path) -> None:
    table = records()
    (tmp_path / "in").mkdir()
    for number in range(4):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table.slice(300 * number, 300), path)
        os.utime(path, (1e9 + number, 1e9 + number))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    writer = WORKLOAD.over(df).writeStream.format("memory").queryName("worlds").outputMode("append")
    query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    rows = spark.table("worlds").toArrow()
    # The last watermark trails the last record; what it did not reach is reported by --drain alone.
    alone = monitored(table)
    reached = pc.max(rows["window_end"])
    early = pc.fill_null(pc.less_equal(alone["window_end"], reached), True)
    early = pc.and_(early, pc.fill_null(pc.less_equal(alone["row_end"], 1_200), True))
    same(rows, alone.filter(early))
    assert len(rows) > 100


def files(folder: Path, table: pa.Table, numbers: range, size: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(size * number, size), path)
        os.utime(path, (1e9 + number, 1e9 + number))


def run(spark: SparkSession, folder: Path, workload: sb.Workload) -> pa.Table:
    """What a stream over the files so far says, from the checkpoint on."""
    schema = spark.read.parquet(str(folder / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found: list[pa.Table] = []
    writer = workload.over(df).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    return pa.concat_tables(found)


def test_another_workload_on_the_same_checkpoint_goes_over_at_a_cycle_s_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With f = 2 and 5 ms the second is executed every 4; with 3 in place of 2, every 3. It never waits for over 5."""
    every = {"goes": (2, 3), "joins": (3, 4), "stays": (5, 9)}
    goes, joins, stays = (
        sb.TopK(name, k=k, by="value", window="20 ms", frequency=f"{f} ms", select="id")
        for name, (f, k) in every.items()
    )
    stream = sb.Stream("s", time="ts", key="id", probability="p", rule="rule")
    table = uncertain(250, seed=4, every=1_000)
    files(tmp_path / "in", table, range(2), 50)
    first = run(spark, tmp_path, sb.Workload([goes, stays], stream=stream))
    files(tmp_path / "in", table, range(2, 5), 50)
    second = run(spark, tmp_path, sb.Workload([stays, joins], stream=stream))

    ends = {
        name: sorted({row["window_end"].microsecond // 1_000 for row in rows.to_pylist() if row["query"] == name})
        for name, rows in (("goes", first), ("joins", second), ("stays", pa.concat_tables([first, second])))
    }
    assert all(b - a <= every[name][0] for name in ends for a, b in pairwise(ends[name]))
    later = sorted({row["window_end"].microsecond // 1_000 for row in second.to_pylist() if row["query"] == "stays"})
    assert all(end % 4 == 0 for end in ends["stays"] if end < later[0])
    assert later[0] % 4 == 0
    assert later[0] % 3
    assert all(end % 3 == 0 for end in later[1:])
    assert later[-1] > 220

    # Every full window, at whatever moment, is what a query with a report each millisecond says.
    slides = [sb.TopK(each.name, each.k, "value", "20 ms", "1 ms", select="id") for each in (goes, joins, stays)]
    everything = sb.Monitor(sb.Workload(slides, stream=stream)).push(table)
    rows = pa.concat_tables([first, second])
    warm = rows.filter(rows["warming"].is_null())
    assert {row["query"] for row in rows.to_pylist() if row["warming"]} == {"joins"}
    assert "joins" in warm["query"].to_pylist()
    reported = {(row["query"], row["window_end"]) for row in warm.to_pylist()}
    wanted = [(row["query"], row["window_end"]) in reported for row in everything.to_pylist()]
    same(warm, everything.filter(pa.array(wanted)))
