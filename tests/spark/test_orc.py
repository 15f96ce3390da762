"""`sb.scan(path, format="orc")`: tasks that read stripes give the rows and counts of `spark.read.orc(path)`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from py4j.java_gateway import get_field, set_field  # type: ignore[import-untyped]
from pyarrow import orc

import skyband as sb
from tests.spark import jobs
from tests.spark.test_scan import ONE, PLAIN, counted, plain_records, same, typed, way, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]


def rewritten(spark: SparkSession, table: pa.Table, folder: Path, *columns: str) -> Path:
    """The same records, as Spark writes them to ORC; `columns`: more of them, in SQL."""
    pq.write_table(table, folder / "in.parquet")
    df = spark.read.parquet(str(folder / "in.parquet")).selectExpr("*", *columns)
    df.coalesce(1).write.orc(str(folder / "orc"))
    return folder / "orc"


def after_1970() -> pa.Table:
    """Records whose times Spark can read in a file that Arrow wrote."""
    found = plain_records()
    return found.set_column(0, "ts", pc.add(found["ts"], pa.scalar(dt.timedelta(hours=1))))


def test_rows_and_counts_are_those_of_a_data_frame(spark: SparkSession, tmp_path: Path) -> None:
    """Several files, several stripes each; records without a score or a time."""
    for number in range(2):
        part = after_1970().slice(300 * number, 300)
        orc.write_table(part, tmp_path / f"{number}.orc", stripe_size=1, batch_size=40)
    assert orc.ORCFile(tmp_path / "0.orc").nstripes == 8
    left_out = same(spark, PLAIN, tmp_path, "orc")
    assert left_out["bad"]
    assert left_out["unranked"]


def test_columns_are_of_the_types_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """In a session whose zone has summer time; fractions of a second before 1970 too."""
    more = ["timestamp_micros(id * 1234567 - 30000000) AS early", "timestamp_ntz'0100-01-01 00:00:00' AS zoneless"]
    more += ["CAST('NaN' AS DOUBLE) AS nan", "named_struct('x', named_struct('y', date)) AS deep"]
    source = rewritten(spark, typed().drop_columns(["old"]), tmp_path, *more)
    same(spark, ONE, source, "orc")


def test_files_of_several_schemas_and_folders(spark: SparkSession, tmp_path: Path) -> None:
    """Columns that a file lacks, names in another case, narrower numbers, values of folders."""
    from skyband.spark.scan import scanned

    wide = "ts TIMESTAMP, id BIGINT, score BIGINT, f DOUBLE, t STRING"
    narrow = "F FLOAT, ID INT, ts TIMESTAMP, score SMALLINT"
    at = dt.datetime(2024, 1, 1)
    rows = {wide: [(at, 1, 2, 1.5, "x"), (at, 2, None, None, None)], narrow: [(0.1, 3, at, 4), (None, 4, at, None)]}
    for number, (columns, values) in enumerate(rows.items()):
        spark.createDataFrame(values, columns).write.orc(str(tmp_path / f"part={number}"))
    read = spark.read.schema(wide).orc(str(tmp_path))
    scan = scanned(read, "orc", (str(tmp_path),), {}, read)
    assert way(ONE, scan).startswith("tasks read the files with Arrow")
    found = counted(ONE, scan)
    assert found[0]
    assert found == counted(ONE, read)


@contextmanager
def zone_of_the_jvm(spark: SparkSession, name: str) -> Iterator[None]:
    zones: Any = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    known = zones.getDefault()
    zones.setDefault(zones.getTimeZone(name))
    try:
        yield
    finally:
        zones.setDefault(known)


def java_written(spark: SparkSession, path: Path, schema: str, fill: Callable[[Any], None]) -> None:
    """One record, by the library that Hive writes with."""
    jvm: Any = spark._jvm
    kinds = jvm.org.apache.orc.TypeDescription.fromString(schema)
    options = jvm.org.apache.orc.OrcFile.writerOptions(spark._jsc.hadoopConfiguration()).setSchema(kinds)
    writer = jvm.org.apache.orc.OrcFile.createWriter(jvm.org.apache.hadoop.fs.Path(path.as_uri()), options)
    batch = kinds.createRowBatch()
    fill(get_field(batch, "cols")[0])
    set_field(batch, "size", 1)
    writer.addRowBatch(batch)
    writer.close()


def said(spark: SparkSession, path: Path) -> str:
    """Who reads, and why; the rows are Spark's."""
    scan = sb.scan(str(path), spark=spark, format="orc")
    assert counted(ONE, scan) == counted(ONE, spark.read.orc(str(path)))
    return way(ONE, scan)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("CAST('1500-03-01' AS DATE)", "has dates before 1582"),
        ("named_struct('x', CAST('1500-03-01' AS DATE))", "has dates before 1582"),
        ("CAST('9999-01-01' AS TIMESTAMP)", "has times before 1678 or after 2261"),
        ("CAST('1600-01-01' AS TIMESTAMP)", "has times before 1678 or after 2261"),
        ("named_struct('t', ts)", "and to be read as struct<t: timestamp[us"),
    ],
)
def test_years_in_which_the_two_differ_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, column: str, reason: str
) -> None:
    source = rewritten(spark, typed(9).select(["ts", "id", "score"]), tmp_path, f"{column} AS odd")
    assert "Spark reads the records: " in said(spark, source)
    assert reason in said(spark, source)


def test_times_are_read_in_the_zone_of_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever zone they were written in, here one with summer time."""
    table = typed(9).select(["instant", "id", "score"]).rename_columns({"instant": "ts"})
    with zone_of_the_jvm(spark, "America/New_York"):
        source = rewritten(spark, table, tmp_path)
        assert "has times in the zone of the JVM, which is America/New_York" in said(spark, source)
    assert said(spark, source).startswith("tasks read the files with Arrow (1 file, 1 stripe, 9 records)")


def test_what_hive_writes_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    java_written(spark, tmp_path / "char.orc", "struct<c:char(5)>", lambda column: column.setVal(0, bytearray(b"ab")))
    java_written(spark, tmp_path / "nameless.orc", "struct<_col0:int>", lambda column: column.fill(7))
    from skyband.spark.io.file_parts import InexactError
    from skyband.spark.io.orc_files import OrcFooter

    for name, reason in {"char": "CHAR or VARCHAR", "nameless": "columns without names"}.items():
        with pytest.raises(InexactError, match=reason):
            OrcFooter.of(orc.ORCFile(tmp_path / f"{name}.orc"))


def test_a_stream_and_what_is_no_file_of_it(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.runtime.locations import Location
    from skyband.spark.failures import clearly
    from skyband.spark.io.sinks import Memory
    from skyband.spark.io.sources import open_source

    source = tmp_path / "in"
    source.mkdir()
    orc.write_table(after_1970(), source / "a.orc", stripe_size=1, batch_size=40)
    by_tasks, by_spark = Memory(), Memory()
    where = Location("files", str(source))
    opened = open_source(spark, where, PLAIN.streams[0], streaming=True)
    assert "tasks read the files with Arrow (new ones" in way(PLAIN, opened)
    written(PLAIN, opened, tmp_path / "tasks", by_tasks)
    left = open_source(spark, Location("files", str(source), {"scan": "false"}), PLAIN.streams[0], streaming=True)
    assert way(PLAIN, left) == "Spark reads the records: they are to be read by Spark, as scan=false says"
    written(PLAIN, left, tmp_path / "spark", by_spark)
    found, expected = (jobs.bag(pa.concat_tables(each.tables.values()).to_pylist()) for each in (by_tasks, by_spark))
    assert found
    assert found == expected
    (source / "b.orc").write_text("no ORC file at all")
    with pytest.raises(sb.SkybandError, match=r"b\.orc cannot be read"):
        clearly(lambda: written(PLAIN, opened, tmp_path / "tasks", Memory()))


def test_other_formats_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"ts": "2024-01-01 00:00:00", "id": 1, "score": 2}\n')
    scan = sb.scan(str(tmp_path), spark=spark, format="json", inferTimestamp=True)
    assert way(ONE, scan) == "Spark reads the records: they are in json files"
