"""The words for locations, columns against their declaration, and made-up streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb
from skyband.cli.market_source import GENERATED
from skyband.runtime.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "n": pa.int64()})


def counting(options: Mapping[str, str]) -> Iterator[pa.Table]:
    for number in range(int(options["seconds"])):
        yield pa.table({"ts": pa.array([number * 1_000_000], SCHEMA.field("ts").type), "n": [number]})


@pytest.mark.parametrize(
    ("text", "kind", "where", "options"),
    [
        ("data/in", "files", "data/in", {}),
        ("data/part-?.csv", "files", "data/part-?.csv", {}),
        ("csv:data/in", "csv", "data/in", {}),
        ("data/in?maxFilesPerTrigger=1", "files", "data/in", {"maxFilesPerTrigger": "1"}),
        ("s3a://bucket/in", "files", "s3a://bucket/in", {}),
        ("kafka://a:1,b:2/t?failOnDataLoss=false", "kafka", "a:1,b:2/t", {"failOnDataLoss": "false"}),
        ("market://?seconds=10&rate=5", "market", "", {"seconds": "10", "rate": "5"}),
    ],
)
def test_a_place_is_read(text: str, kind: str, where: str, options: dict[str, str]) -> None:
    from skyband.runtime.locations import SCHEMES, Location, read_location

    assert read_location(text, SCHEMES) == Location(kind, where, options)


def test_declared_columns_are_widened_and_others_left_out(spark: SparkSession) -> None:
    from skyband.spark.columns import conform

    stream = sb.Stream("s", time="t", columns=[("t", "TIMESTAMP"), ("x", "DOUBLE"), ("n", "BIGINT")])
    df = spark.sql("select 1 as more, cast(2 as int) as n, cast(0.5 as float) as x, timestamp_seconds(0) as t")
    assert conform(df, stream).schema.simpleString() == "struct<t:timestamp,x:double,n:bigint>"
    narrow = sb.Stream("s", time="t", columns=[("t", "TIMESTAMP"), ("n", "SMALLINT")])
    with pytest.raises(sb.SkybandError, match="column 'n' is declared SMALLINT, and the data has INT"):
        conform(df, narrow)


def test_a_made_up_stream_is_the_same_in_batch_and_stream(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.io.generated import register

    register(spark, "counting", SCHEMA, counting)
    options = {"seconds": "5", "speed": "0"}
    batch = spark.read.format("counting").options(**options).load()
    assert [row.n for row in batch.collect()] == [0, 1, 2, 3, 4]
    stream = spark.readStream.format("counting").options(**options).load()
    query = stream.writeStream.format("memory").queryName("counted").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(row.n for row in spark.table("counted").collect()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("columns", ["", "(ts TIMESTAMP, trade_id BIGINT, symbol STRING, price DOUBLE)"])
def test_a_made_up_stream_is_made_once_for_windows_of_rows_too(
    spark: SparkSession, tmp_path: Path, columns: str
) -> None:
    """It is one partition, so nobody has to look for its ranges first; and where no columns are declared tasks make the
    records themselves: of each micro-batch one row crosses."""
    from skyband.spark.io.sinks import Memory
    from skyband.spark.job import open_sources
    from skyband.spark.pipeline import over, ways

    text = f"CREATE STREAM trades {columns} WITH (TIME = ts, KEY = trade_id);"
    text += "CREATE QUERY r AS SELECT TOP 2 trade_id FROM trades [ROWS 50] ORDER BY price DESC;"
    text += "CREATE QUERY s AS SELECT TOP 1 PER symbol trade_id FROM trades [ROWS 20] ORDER BY price DESC;"
    workload, memory, options = sb.Workload.from_sql(text), Memory(), {"seconds": "20", "rate": "30"}
    locations = {"trades": Location("market", "", {**options, "speed": "0"})}
    records = open_sources(spark, locations, workload.streams, True, GENERATED)
    writer = over(workload.plan(), records).writeStream.foreachBatch(memory.write_batch)
    query = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    query.awaitTermination()
    monitor, tables = sb.Monitor(workload), list(GENERATED["market"][1](options))
    expected = [row for table in tables for row in identities(monitor.push(table))]
    crossed = sum(map(len, tables)) if columns else 1
    assert sum(each["numInputRows"] for each in query.recentProgress) == crossed
    assert ways(workload.plan(), records)["trades"].startswith("Spark reads" if columns else "tasks make")
    assert sorted(row for table in memory.tables.values() for row in identities(table)) == sorted(expected)


def identities(rows: pa.Table) -> list[tuple[str, int, int, int]]:
    return [(row["query"], row["row_end"], row["rank"], row["trade_id"]) for row in rows.to_pylist()]


@pytest.mark.smoke
def test_a_made_up_stream_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.io.generated import register
    from skyband.spark.io.sinks import Memory

    register(spark, "counting", SCHEMA, counting)
    for seconds, expected in ((3, [0, 1, 2]), (5, [3, 4])):
        memory = Memory()
        stream = spark.readStream.format("counting").options(seconds=seconds, speed=0).load()
        writer = stream.writeStream.foreachBatch(memory.write_batch).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "ck")).start().awaitTermination()
        assert sorted(row["n"] for table in memory.tables.values() for row in table.to_pylist()) == expected
