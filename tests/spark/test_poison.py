"""Poisoned records on Spark: each costs one record, whichever way it comes, and no row of another window changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests import poisoned
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
ZONED = poisoned.STREAM.replace("TIMESTAMP_NTZ", "TIMESTAMP")
ENDS = (poisoned.LEAST, poisoned.MOST, -(2**31), 2**31 - 1)
"""Times and days that Spark writes into no ORC file."""
GATHERED = ("rows", "per", "groups", "changes", "moments", "days", "lately")
"""Positions of a batch are by time, so an early record moves all others; and what Spark may drop nothing of."""


def text(*without: str) -> str:
    queries = {name: query for name, query in poisoned.QUERIES.items() if name not in without}
    return poisoned.STREAM + "\n".join(f"CREATE QUERY {name} AS {query};" for name, query in queries.items())


@cache
def undisturbed(text: str) -> list[str]:
    running = sb.Monitor(poisoned.workload(text))
    return told(pa.concat_tables([running.push(poisoned.clean()), running.close()]))


def told(rows: pa.Table) -> list[str]:
    return jobs.bag(poisoned.others(rows).to_pylist())


def both() -> pa.Table:
    times = poisoned.poisoned(poisoned.TIMES)
    return pa.concat_tables([poisoned.clean(), poisoned.poisoned(poisoned.POISON), times, poisoned.no_utf8()])


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("poison")
    pq.write_table(both(), folder / "in.parquet")
    figures = [(name, value) for name, value in poisoned.POISON if name in ("n", "x") or value not in ENDS]
    pq.write_table(pa.concat_tables([poisoned.clean(), poisoned.poisoned(figures)]), folder / "known.parquet")
    spark.read.parquet(str(folder / "known.parquet")).write.orc(str(folder / "in.orc"))
    return folder


@pytest.mark.parametrize(
    ("way", "text"),
    [("parquet", text("rows")), ("orc", text("rows")), ("frame", text("rows")), ("frame", text(*GATHERED))],
    ids=["parquet", "orc", "frame", "push-down"],
)
def test_a_batch(spark: SparkSession, files: Path, way: str, text: str) -> None:
    frame = spark.read.parquet(str(files / "in.parquet"))
    read = frame if way == "frame" else sb.scan(str(files / f"in.{way}"), format=way)
    assert told(poisoned.workload(text).over(read).toArrow()) == undisturbed(text)


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Poison comes behind the others, and is the last to move the watermark."""
    from skyband.spark.io.sinks import Memory

    tables = [poisoned.clean().slice(0, 20), poisoned.clean().slice(20), poisoned.poisoned(poisoned.POISON)]
    jobs.write_files(tmp_path / "in", [*tables, poisoned.poisoned(poisoned.TIMES)])
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    kept, few = (
        Memory(),
        text(*(name for name in poisoned.QUERIES if name not in ("whole", "moments", "per", "groups"))),
    )
    rows = poisoned.workload(few).over(df).writeStream.foreachBatch(kept.write_batch)
    rows.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()
    assert told(pa.concat_tables(kept.tables.values())) == undisturbed(few)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_folders_take_all_rows(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    from skyband.spark.io.sinks import sink

    workload = poisoned.workload()
    running = sb.Monitor(workload)
    rows = [running.push(poisoned.clean()), running.push(poisoned.poisoned(poisoned.POISON)), running.close()]
    pq.write_table(pa.concat_tables(rows), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    sink(f"{kind}:{tmp_path / 'out'}", workload.plan()).write_batch(frame, 0)
    options = {"header": "true", "multiLine": "true", "escape": '"'} if kind == "csv" else {}
    assert spark.read.format(kind).options(**options).load(str(tmp_path / "out")).count() == frame.count()


@pytest.mark.parametrize("streaming", [False, True])
def test_a_key_of_another_type_in_a_file_of_json_is_no_null(
    spark: SparkSession, tmp_path: Path, streaming: bool
) -> None:
    from skyband.runtime.locations import read_location
    from skyband.spark.io.sinks import Memory
    from skyband.spark.io.sources import open_source

    declared = "CREATE STREAM s (ts TIMESTAMP, id BIGINT, x DOUBLE) WITH (TIME = ts, KEY = id);"
    workload = sb.Workload.from_sql(f"{declared} SELECT TOP 3 id, x FROM s [ROWS 1] ORDER BY x;")
    odd = [
        '"id": "x", "x": 1',
        '"id": 1e99, "x": 2',
        '"id": null, "x": 3',
        '"x": 4',
        '"id": 5, "x": "no"',
        '"id": 6, "x": 6',
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("".join(f'{{"ts": "1970-01-01T00:00:01Z", {each}}}\n' for each in odd))
    frame = open_source(spark, read_location(str(tmp_path / "in"), ()), workload.streams[0], streaming).frame
    kept = Memory()
    if streaming:
        writing = frame.writeStream.foreachBatch(kept.write_batch).trigger(availableNow=True)
        writing.option("checkpointLocation", str(tmp_path / "ck")).start().awaitTermination()
    else:
        kept.write(frame)
    rows = pa.concat_tables(kept.tables.values()).to_pylist()
    assert [(row["id"], row["x"]) for row in rows if row["ts"] is not None] == [(None, 3), (None, 4), (5, None), (6, 6)]
    assert len(rows) == len(odd)
