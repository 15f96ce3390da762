"""Times that are written as numbers or text, on Spark: read by the tasks as a Monitor reads them, whoever reads the
records; and of the letters that are known Spark makes the same."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.language.written_times import written_column
from tests.monitor.test_written_times import FORMS, TABLE, WORKLOAD, text, written
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
RANGED = sb.Workload([query for query in WORKLOAD.queries if query.name != "rows"], streams=WORKLOAD.streams)
RECORDS = written(TABLE)
BAD = [{"ts": "soon", "id": 98, "seen": None, "price": 99.0}, {"ts": "9000", "id": 99, "seen": "x", "price": 99.0}]
MIXED = pa.concat_tables([text(RECORDS).take(np.arange(15, -1, -1)), pa.Table.from_pylist(BAD, text(RECORDS).schema)])
FORMATS = ["yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyyMMdd", "dd/MMM/yyyy:HH:mm:ss Z", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"]


def expected(workload: sb.Workload) -> list[str]:
    monitor = sb.Monitor(workload)
    return jobs.bag(monitor.push(RECORDS).to_pylist() + monitor.close().to_pylist())


def test_spark_reads_texts_of_these_letters_alike(spark: SparkSession) -> None:
    """At the edges of the calendar and of the day, and with what is wrong in one place."""
    from pyspark.sql import functions as f

    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    draw = np.random.default_rng(5)
    for form in FORMATS:
        texts = [_text(form, draw) for _ in range(1_500)]
        column = written_column("ts", f'TIMESTAMP FORMAT "{form}"')
        assert column is not None
        times, wrong = column.read(pa.array(texts))
        frame = session.createDataFrame(pa.table({"t": texts})).coalesce(1)
        read = frame.select(f.unix_micros(f.try_to_timestamp("t", f.lit(form))).alias("t")).toArrow()["t"]
        both = zip(texts, read.to_pylist(), times.cast(pa.int64()).to_pylist(), strict=True)
        assert [each for each in both if each[1] != each[2]] == []
        assert min(wrong.sum(), (~wrong).sum()) > 50


PARTS = {
    "yyyy": ["0001", "1582", "1900", "1969", "2000", "2023", "2024", "9999"],
    "MMM": ["Jan", "feb", "DEC", "Oct", "Mai"],
    "MM": ["01", "02", "10", "12", "13", "00"],
    "dd": ["01", "05", "14", "28", "29", "30", "31", "00"],
    "HH": ["00", "12", "23", "24"],
    "mm": ["00", "12", "59", "60"],
    "ss": ["00", "12", "59", "60"],
    "SSSSSS": ["0", "5", "25", "999999", "0000001"],
    "SSS": ["123", "1", "50", "1234"],
    "XXX": ["Z", "+00:00", "-01:30", "+18:00", "+18:01", "+0100", "z"],
    "Z": ["+0000", "-0130", "+1800", "+0559", "+01:00"],
    "'T'": ["T", "t", " "],
}


def _text(form: str, draw: np.random.Generator) -> str:
    """Of the form, or about so."""
    return re.sub(r"'T'|([A-Za-z])\1*", lambda found: str(draw.choice(PARTS[found[0]])), form)


@pytest.mark.parametrize("form", ["a table", "a table of text", "doubles"])
def test_a_data_frame_gives_the_rows_of_a_monitor(spark: SparkSession, form: str) -> None:
    frame = spark.createDataFrame(FORMS[form](RECORDS)).repartition(3)
    assert jobs.bag(WORKLOAD.over(frame).toArrow().to_pylist()) == expected(WORKLOAD)


def write(folder: Path, suffix: str, tables: list[pa.Table]) -> None:
    folder.mkdir()
    for number, table in enumerate(tables):
        path = folder / f"{number}.{suffix}"
        if suffix == "parquet":
            pq.write_table(table, path, row_group_size=5)
        elif suffix == "csv":
            pyarrow.csv.write_csv(table, path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        os.utime(path, (1e9 + number, 1e9 + number))


def opened(spark: SparkSession, folder: Path, streaming: bool) -> Any:
    from skyband.spark.io.locations import source_locations
    from skyband.spark.io.sources import open_source

    location = source_locations([f"s={folder}"], WORKLOAD.streams, None, streaming)["s"]
    return open_source(spark, location, WORKLOAD.streams[0], streaming)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_batch_of_files_gives_the_rows_of_a_monitor(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    from tests.spark.test_scan import counted

    write(tmp_path / "in", suffix, [MIXED])
    given = opened(spark, tmp_path / "in", streaming=False)
    rows, left_out = counted(WORKLOAD, given)
    assert (rows, left_out["bad"]) == (expected(WORKLOAD), 2)


@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "text"])
def test_tasks_scan_numbers_and_texts(spark: SparkSession, tmp_path: Path, numbers: bool) -> None:
    """Numbers tell of a row group which times are in it, texts do not."""
    from tests.spark.test_scan import counted

    write(tmp_path / "in", "parquet", [RECORDS if numbers else MIXED])
    given = opened(spark, tmp_path / "in", streaming=False)
    explained = RANGED.explain(records=given)
    assert "stream s: tasks read the files with Arrow" in explained
    assert "id, price where some record is needed" not in explained
    assert ("the times of the records do not reach far" in explained) == numbers
    rows, left_out = counted(RANGED, given)
    assert (rows, left_out["bad"]) == (expected(RANGED), 0 if numbers else 2)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_stream_of_files_gives_the_rows_of_a_monitor(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    """Up to its last watermark: no window is left to be drained that a Monitor would have reported."""
    parts = [text(RECORDS).slice(0, 8), pa.concat_tables([text(RECORDS).slice(8), MIXED.slice(16)])]
    write(tmp_path / "in", suffix, parts)
    found: list[pa.Table] = []
    rows = RANGED.over(opened(spark, tmp_path / "in", streaming=True))
    writer = rows.writeStream.foreachBatch(lambda each, _: found.append(each.toArrow())).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    monitor = sb.Monitor(RANGED)
    told = [row for part in parts for row in monitor.push(part).to_pylist()]
    assert told
    assert jobs.bag([row for table in found for row in table.to_pylist()]) == jobs.bag(told)


def test_json_values_are_read_by_the_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """As Kafka has them: numbers by Arrow, the others by Spark in the same task."""
    from skyband.language import written_columns
    from skyband.spark.columns import declared
    from skyband.spark.values import JsonRecords
    from tests.spark.test_scan import counted

    values = [json.dumps(row) for row in RECORDS.to_pylist()]
    values[3] = values[3].replace('"ts": 11000', '"ts": "11000"')
    values[4] = values[4].replace('"ts": 12000', '"ts": 1.20000e4')
    values += ['{"ts": true, "id": 98}', '{"ts": 9000, "seen": "x"}', '{"id": 97}', "nothing"]
    stream = WORKLOAD.streams[0]
    schema = declared(stream)
    assert schema is not None
    frame = spark.createDataFrame(pa.table({"value": pa.array([each.encode() for each in values])})).coalesce(1)
    given = JsonRecords(frame, schema, written_columns(stream.columns))
    assert "tasks read the JSON values with Arrow" in RANGED.explain(records=given)
    rows, left_out = counted(RANGED, given)
    assert (rows, left_out["bad"]) == (expected(RANGED), 4)
    assert (rows, left_out) == counted(RANGED, given.frame)
