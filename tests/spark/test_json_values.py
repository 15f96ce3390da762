"""JSON values that tasks read with Arrow: what Spark's `from_json` makes of them, or left to it; the same rows and
counts either way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs, json_texts
from tests.spark.json_texts import COLUMNS, Draw
from tests.spark.test_scan import ONE, PLAIN, counted, plain_records, way
from tests.support import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from skyband.spark.values import JsonRecords

pytestmark = [pytest.mark.spark, pytest.mark.smoke, pytest.mark.filterwarnings("ignore::FutureWarning")]
DDL = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
RECORDS = "ts TIMESTAMP, id BIGINT, score DOUBLE, bonus BIGINT, color STRING"


@pytest.fixture(scope="module")
def utc(spark: SparkSession) -> SparkSession:
    """As `skyband run` has it."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def records(
    session: SparkSession, folder: Path, values: list[bytes | None], ddl: str = RECORDS, streaming: bool = False
) -> JsonRecords:
    """Of one file, or of a stream of two."""
    from pyspark.sql.types import StructType

    from skyband.spark.values import JsonRecords

    half = len(values) // 2 if streaming else len(values)
    for number, part in enumerate((values[:half], values[half:])):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"value": pa.array(part, pa.binary())}), path)
        os.utime(path, (1e9 + number, 1e9 + number))
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    reader = session.readStream.option("maxFilesPerTrigger", 1) if streaming else session.read
    return JsonRecords(reader.schema("value BINARY").parquet(str(folder)), schema, key="id" if "id" in ddl else None)


def shown(table: pa.Table) -> list[str]:
    """Rows as text: Python's dates and times end sooner than Spark's, and -0.0 is not 0.0."""
    plain = [each.with_type(_number(each.type)) for each in table.schema]
    return [str(row) for row in table.cast(pa.schema(plain)).to_pylist()]


def _number(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date(kind) else kind


def test_arrow_reads_a_value_as_spark_does_or_leaves_it(utc: SparkSession, tmp_path: Path) -> None:
    """Each alone, some together, and all."""
    from skyband.spark.columns import arrow_schema
    from skyband.spark.io.json_values import JsonValues

    draw = Draw(seed=14)
    values = [draw.any() for _ in range(2_500)] + json_texts.times() + json_texts.too_much() + json_texts.ALONE
    frame = records(utc, tmp_path, [*values], DDL).frame.coalesce(1)
    schema = arrow_schema(frame)
    expected = shown(frame.toArrow().cast(schema))
    assert len(expected) == len(values)
    read = 0
    for size in (1, 50, len(values)):
        for first in range(0, len(values), size):
            table, left = JsonValues(schema).read(pa.array(values[first : first + size], pa.binary()))
            places = first + np.flatnonzero(~left)
            assert [(values[place], row) for place, row in zip(places, shown(table), strict=True)] == [
                (values[place], expected[place]) for place in places
            ]
            read += len(table) if size == 1 else 0
    assert read > 1_000, "a reader that leaves everything shows nothing"


def test_usual_values_are_all_read(utc: SparkSession, tmp_path: Path) -> None:
    """And one that is not costs no other."""
    from skyband.spark.columns import arrow_schema
    from skyband.spark.io.json_values import JsonValues

    draw = Draw(seed=3)
    values = [draw.usual() for _ in range(3_000)]
    frame = records(utc, tmp_path, [*values], DDL).frame.coalesce(1)
    reader = JsonValues(arrow_schema(frame))
    table, left = reader.read(pa.array(values, pa.binary()))
    assert not left.any()
    assert shown(table) == shown(frame.toArrow().cast(table.schema))
    odd = {5: b'{"t":', 700: b'{"a":"1"}', 1_400: b'{"t":"2024"}', 1_900: b"null", 2_999: b""}
    for place, value in odd.items():
        values[place] = value
    again, left = reader.read(pa.array(values, pa.binary()))
    assert np.flatnonzero(left).tolist() == list(odd)
    assert again.equals(table.filter(pa.array(~left)))


def test_a_bare_null_does_not_kill_the_worker() -> None:
    """Arrow's reader dies of one that comes first."""
    from skyband.spark.io.json_values import JsonValues

    values = [b"null", b" null ", b'null {"a":1}', b'{"a":1} null {"a":2}', b'{"a":1}\nnull\n{"a":2}', b"{} null"]
    for few in (values, *([value] for value in values)):
        _, left = JsonValues(pa.schema({"a": pa.int64()})).read(pa.array(few, pa.binary()))
        assert left.all()


def test_several_objects_in_a_value_are_not_several_records() -> None:
    from skyband.spark.io.json_values import JsonValues

    values = [b'{"a":%d}' % number for number in range(2_000)]
    values[700], values[701] = b'{"a":700}{"a":701}', b'{"a":702'
    table, left = JsonValues(pa.schema({"a": pa.int64()})).read(pa.array(values, pa.binary()))
    assert left[700]
    assert left[701]
    assert table.column("a").to_pylist() == np.flatnonzero(~left).tolist()
    assert len(table) > 1_000


def nasty() -> list[bytes | None]:
    """The records of other tests as a producer writes them, and among them values that are none."""
    rows = plain_records().to_pylist()
    for row in rows:
        row["ts"] = None if row["ts"] is None else row["ts"].isoformat().replace("+00:00", "Z")
    values: list[bytes | None] = [json.dumps(row).encode() for row in rows]
    values[100:100] = [None, b"", b"null", b'{"ts":', b'{"ts":"1970"}', b'{"ts":"1970-01-01T00:00:00Z","id":"x"}']
    values[300:300] = [b'{"ts":0,"id":9000,"score":"NaN","bonus":1}', b'{"ts":0,"id":9001,"score":9,"bonus":9} {}']
    return values


def test_rows_and_counts_are_those_that_spark_reads(utc: SparkSession, tmp_path: Path) -> None:
    given = records(utc, tmp_path, nasty())
    assert given.frame.schema.names == SCHEMA.names
    assert way(PLAIN, given).startswith("tasks read the JSON values with Arrow")
    expected = counted(PLAIN, given.frame)
    rows, left_out = counted(PLAIN, given)
    assert (rows, left_out) == expected
    assert any("9001" in row for row in rows)
    assert left_out["bad"] > 6


def test_values_that_are_no_records_are_shown(utc: SparkSession, tmp_path: Path) -> None:
    """A key of another type is no NULL: Spark leaves it out as well. The raw value is logged."""
    from pyspark.sql import functions as f

    from skyband.runtime.reader import StreamReader
    from skyband.spark.io.json_seconds import records_of
    from skyband.spark.stages.prune import ENCODED, Prune
    from skyband.spark.stages.values import LEFT, RECORD, PruneLeft

    odd = [
        None,
        b'{"ts":',
        b'{"ts":"1970-01-01T00:00:00Z","id":"x"}',
        b'{"ts":"1970-01-01T00:00:00Z","id":12345678901234567890}',
    ]
    good = [b'{"ts":"1970-01-01T00:00:00Z","id":null}', b'{"ts":"1970-01-01T00:00:00Z","score":"x"}']
    given = records(utc, tmp_path, [*odd, *good])
    values = given._values.withColumnRenamed("value", LEFT)
    read = records_of(values, LEFT, given._schema, RECORD, [f.col(LEFT)], "id").toArrow().combine_chunks()
    assert sum(row["ts"] is not None for row in given.frame.toArrow().to_pylist()) == len(good)
    (columns,) = read.to_batches()
    nothing = [pa.nulls(len(columns), each.type) for each in ENCODED]
    batch = pa.record_batch([*nothing, *columns.columns], [*ENCODED.names, LEFT, RECORD])
    piece = PruneLeft(Prune(StreamReader(sb.Stream("s", time="ts", key="id"), SCHEMA), []))._piece(batch)
    told = {reason: table.column("value").to_pylist() for reason, table in piece.refused}
    assert told == {"no value": [None], "undecodable value": [odd[1]], "key of another type": odd[2:]}
    assert piece.table.column("id").to_pylist() == [None, None]
    assert piece.came == 6


def test_a_stream_of_values_gives_the_same_rows_and_counts(utc: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    given = records(utc, tmp_path / "in", nasty(), streaming=True)
    rows, told = streamed(given, tmp_path / "tasks")
    assert rows
    assert (rows, told) == streamed(given.frame, tmp_path / "spark")


def test_not_more_tasks_than_cores(utc: SparkSession) -> None:
    """Each pays for two Python workers, in every micro-batch."""
    from pyspark.sql.types import StructType

    from skyband.spark.pipeline import _prune, schemas_of, stream_readers
    from skyband.spark.values import JsonRecords

    schema = StructType.fromDDL(RECORDS)
    assert isinstance(schema, StructType)
    given = {"s": JsonRecords(utc.range(0, 80, 1, 8).selectExpr("cast(string(id) AS BINARY) AS value"), schema)}
    plan = PLAIN.plan(None, schemas_of(given))
    (reader,) = stream_readers(plan, given)
    assert given["s"].encoded(_prune(plan, reader), sampled=False).rdd.getNumPartitions() == 2


def streamed(given: JsonRecords | DataFrame, checkpoint: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Result rows, and what each micro-batch with records observed."""
    found: list[pa.Table] = []
    workload = sb.Workload(PLAIN.queries[:2], streams=PLAIN.streams)
    writer = workload.over(given).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    told = [
        {
            f"{name}, {field}": _in_order(value)
            for name, row in each.observedMetrics.items()
            for field, value in row.asDict().items()
        }
        for each in query.recentProgress
        if each.numInputRows
    ]
    return jobs.bag([row for table in found for row in table.to_pylist()]), told


def _in_order(value: Any) -> Any:
    """What was collected comes in any order."""
    return sorted(map(str, value)) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("ddl", "settings", "why"),
    [
        ("ts TIMESTAMP, id BIGINT, score DOUBLE, raw BINARY", {}, "column 'raw' is BINARY"),
        ("ts TIMESTAMP, id BIGINT, score DOUBLE, _corrupt_record STRING", {}, "a column is to hold"),
        (RECORDS, {"spark.sql.session.timeZone": "Asia/Tokyo"}, "in that of the session, Asia/Tokyo"),
        (RECORDS, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}, "timeParserPolicy is set"),
    ],
)
def test_spark_reads_what_arrow_does_not_know(
    utc: SparkSession, tmp_path: Path, ddl: str, settings: dict[str, str], why: str
) -> None:
    session = utc.newSession()
    for name, value in ({"spark.sql.session.timeZone": "UTC"} | settings).items():
        session.conf.set(name, value)
    said = way(ONE, records(session, tmp_path, [], ddl))
    assert said.startswith("Spark reads the records: ")
    assert why in said


def test_spark_reads_where_positions_count(utc: SparkSession, tmp_path: Path) -> None:
    text = (
        "CREATE STREAM s WITH (TIME = ts, KEY = id); CREATE QUERY q AS SELECT TOP 3 * FROM s [ROWS 9] ORDER BY score;"
    )
    said = way(sb.Workload.from_sql(text), records(utc, tmp_path, []))
    assert said == "Spark reads the records: positions of ROWS are counted in the order of the whole stream"
