"""Sources and sinks one by one, each for real: what goes in comes out as a Monitor says."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import skyband as sb
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
TWO = """CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS);
CREATE STREAM others WITH (TIME = ts, KEY = trade_id);
CREATE QUERY biggest AS SELECT TOP 3 symbol FROM trades [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY price * size DESC;
CREATE QUERY lowest AS SELECT TOP 2 PER symbol price FROM others [RANGE 10 SECONDS] ORDER BY price ASC;
CREATE QUERY latest AS SELECT TOP 1 size FROM others [ROWS 30 SLIDE 10] ORDER BY size DESC;
"""


def test_the_rate_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """An endless stream: look at what it reports, then stop it."""
    from skyband.spark.io.locations import source_locations
    from skyband.spark.io.sinks import Memory
    from skyband.spark.io.sources import open_source

    stream = sb.Stream("ticks", time="timestamp")
    workload = sb.Workload([sb.TopK("newest", 2, "value", "2 seconds", "1 second")], stream=stream)
    location = source_locations(["ticks=rate://20"], workload.streams, None, streaming=True)["ticks"]
    memory = Memory()
    writer = workload.over(open_source(spark, location, stream, streaming=True)).writeStream.foreachBatch(
        memory.write_batch
    )
    query = writer.option("checkpointLocation", str(tmp_path / "ck")).start()
    try:
        late = time.monotonic() + 240
        while sum(map(len, memory.tables.values())) < 6 and time.monotonic() < late:
            query.awaitTermination(1)
    finally:
        query.stop()
    rows = [row for table in memory.tables.values() for row in table.to_pylist()]
    lists: dict[Any, list[int]] = {}
    for row in sorted(rows, key=lambda row: (row["window_end"], row["rank"])):
        lists.setdefault(row["window_end"], []).append(row["value"])
    assert len(lists) >= 3
    whole = [values for values in lists.values() if len(values) == 2]
    assert whole
    assert all(first == second + 1 for first, second in whole), "Spark counts up: the newest is the largest"
    assert all(
        end > row["timestamp"] >= start for row in rows for start, end in [(row["window_start"], row["window_end"])]
    )


def test_several_streams(spark: SparkSession, tmp_path: Path) -> None:
    """Two streams, one job: as a batch, and on the command line as a stream into CSV that somebody just lists."""
    tables, workload = jobs.trades(files=3, rate=10.0), sb.Workload.from_sql(TWO)
    (tmp_path / "two.sql").write_text(TWO)
    locations = {"trades": tmp_path / "one", "others": tmp_path / "two"}
    for name, folder in locations.items():
        jobs.write_files(folder, tables if name == "trades" else tables[:2])
    expected = jobs.bag(two_streams(tables))
    batch = workload.over({name: spark.read.parquet(str(folder)) for name, folder in locations.items()})
    assert jobs.bag(batch.toArrow().to_pylist()) == expected
    words: list[str | Path] = ["run", tmp_path / "two.sql", "--source", f"trades={locations['trades']}"]
    words += ["--source", f"others={locations['others']}?maxFilesPerTrigger=1", "--master", "local[2]", "--stream"]
    words += ["--once", "--drain", "--checkpoint", tmp_path / "ck", "--sink", f"csv:{tmp_path / 'out'}"]
    done = jobs.warm(*words)
    assert done.returncode == 0, done.stderr
    assert f"{sum(map(len, tables)) + sum(map(len, tables[:2])):,} records" in done.stderr
    assert jobs.bag(csv_rows(tmp_path / "out")) == expected


def two_streams(tables: list[pa.Table]) -> list[dict[str, Any]]:
    monitor = sb.Monitor(sb.Workload.from_sql(TWO))
    found = [monitor.push(table, "trades") for table in tables]
    found += [monitor.push(table, "others") for table in tables[:2]]
    return [row for table in [*found, monitor.close()] for row in table.to_pylist()]


def csv_rows(folder: Path) -> list[dict[str, Any]]:
    """As text says it: empty is null, numbers and times by their look, group keys as text."""
    kinds = {"group_key": pa.string(), "warming": pa.bool_(), "change": pa.string(), "probability": pa.float64()}
    kinds |= {name: pa.timestamp("us", "UTC") for name in ("window_start", "window_end")} | {"symbol": pa.string()}
    kinds |= {"row_start": pa.int64(), "row_end": pa.int64(), "price": pa.float64(), "size": pa.int64()}
    how = pcsv.ConvertOptions(column_types=kinds, strings_can_be_null=True, timestamp_parsers=[pcsv.ISO8601])
    files = [path for path in folder.rglob("*.csv") if path.stat().st_size]
    rows = [row for path in files for row in pcsv.read_csv(path, convert_options=how).to_pylist()]
    return [row | {"group_key": row["group_key"] or ""} for row in rows]


@pytest.mark.parametrize("kind", ["csv", "json", "orc"])
def test_a_micro_batch_written_again_is_there_once(
    spark: SparkSession, tmp_path: Path, kind: str, few: DataFrame
) -> None:
    """The second time may put its rows into other files: the first ones have to go."""
    from skyband.spark.io.sinks import sink

    target = sink(f"{kind}:{tmp_path / 'out'}", sb.Workload.from_sql(jobs.WORKLOAD).plan())
    for number, parts in ((0, 1), (1, 3), (1, 2)):
        target.write_batch(few.repartition(parts), number)
    again = spark.read.format(kind).option("header", "true").load(f"{tmp_path / 'out'}/*/*.{kind}*")
    assert again.count() == 2 * few.count()
    if kind == "json":
        text = [line for path in (tmp_path / "out").rglob("*.json") for line in path.read_text().splitlines()]
        expected = jobs.bag(few.toArrow().to_pylist() * 2)
        assert jobs.bag([json.loads(line) for line in text]) == expected


@pytest.fixture(scope="module")
def few(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(jobs.monitored(jobs.trades(files=2))).cache()


def test_the_console_shows_the_queries_that_it_is_asked_for(few: DataFrame) -> None:
    from skyband.spark.io.sinks import sink

    plan = sb.Workload.from_sql(jobs.WORKLOAD).plan()
    shown: list[pa.Table] = []
    sink("console?queries=largest", plan, shown.append).write_batch(few, 0)
    rows = few.where("query = 'largest'").toArrow().to_pylist()
    last = max(row["window_end"] for row in rows)
    assert jobs.bag(shown[0].to_pylist()) == jobs.bag([row for row in rows if row["window_end"] == last])
    with pytest.raises(sb.SkybandError, match="a query 'larges' that is not there"):
        sink("console?queries=larges", plan)


def test_a_delta_table_without_its_package_is_said_clearly(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.io.locations import source_locations
    from skyband.spark.io.sources import open_source

    (tmp_path / "in" / "_delta_log").mkdir(parents=True)
    stream = sb.Stream("s", time="ts")
    location = source_locations([f"s={tmp_path / 'in'}"], [stream], None, streaming=True)["s"]
    for streaming in (False, True):
        with pytest.raises(sb.SkybandError, match="is a Delta table, and Spark cannot read those by itself"):
            open_source(spark, location, stream, streaming)


def test_spark_s_own_memory_sink_and_a_function_of_the_user(spark: SparkSession, tmp_path: Path) -> None:
    tables, workload = jobs.trades(files=2), sb.Workload.from_sql(jobs.WORKLOAD)
    jobs.write_files(tmp_path / "in", tables)
    files, found = str(tmp_path / "in"), list[dict[str, Any]]()
    rows = workload.over(spark.readStream.schema(spark.read.parquet(files).schema).parquet(files))

    def mine(batch: DataFrame, number: int) -> None:
        found.extend(batch.toArrow().to_pylist())

    for writer in (rows.writeStream.format("memory").queryName("mine"), rows.writeStream.foreachBatch(mine)):
        folder = str(tmp_path / f"ck{len(found)}{time.monotonic()}")
        writer.option("checkpointLocation", folder).trigger(availableNow=True).start().awaitTermination()
    monitor = sb.Monitor(workload)
    expected = jobs.bag(monitor.push(pa.concat_tables(tables)).to_pylist())
    assert jobs.bag(found) == jobs.bag(spark.table("mine").toArrow().to_pylist())
    ranged = [row for row in expected if "leaders" not in row]
    assert [row for row in jobs.bag(found) if "leaders" not in row] == ranged
