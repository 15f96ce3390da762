"""Framed Avro values that tasks read with the schemas of a registry: the rows and counts of the records themselves, as
a batch, with windows of rows, and as a stream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark.registry_server import RegistryServer, registry_server
from tests.spark.test_json_values import streamed
from tests.spark.test_scan import ONE, PLAIN, counted, plain_records, way
from tests.spark.written_values import MICROS, avro, framed, record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skyband.spark.decoded import DecodedRecords

pytestmark = [pytest.mark.spark, pytest.mark.smoke, pytest.mark.filterwarnings("ignore::FutureWarning")]
OLD = record(
    ("ts", ["null", MICROS]),
    ("id", "int"),
    ("score", ["null", "double"]),
    ("bonus", "int"),
    ("color", ["null", "string"]),
)
NEW = record(
    ("note", "string"),
    ("score", ["double", "null"]),
    ("bonus", "long"),
    ("deep", {"type": "array", "items": "long"}),
    ("id", "long"),
    ("color", ["null", "string"]),
    ("ts", ["null", MICROS]),
)
WRONG = [None, b"", b"{}", framed(1, b""), framed(1, b"\xff" * 9), framed(4_711, b"?"), framed(2, b"\2a")]
COUNTED = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY q AS SELECT TOP 3 * FROM s [ROWS 50 SLIDE 20] ORDER BY score;
CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [ROWS 9] ORDER BY bonus;
""")


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with registry_server() as found:
        found.add("s-value", OLD)
        found.add("s-value", NEW)
        yield found


def values() -> list[bytes | None]:
    """The records of other tests, the first half with the old schema, and among them values that are none."""
    rows = plain_records().to_pylist()
    found: list[bytes | None] = [framed(1, avro(OLD, row)) for row in rows[:300]]
    found += [framed(2, avro(NEW, row | {"note": "n", "deep": [1, 2]})) for row in rows[300:]]
    found[50:50] = WRONG
    found[400:400] = WRONG
    return found


def records(
    spark: SparkSession, folder: Path, server: RegistryServer, streaming: bool = False, patience: float = 30
) -> DecodedRecords:
    from skyband.spark.decoded import DecodedRecords
    from skyband.spark.io.registered_values import by_registry
    from skyband.spark.io.registry import Registry
    from skyband.spark.io.value_schemas import AVRO

    made = values()
    half = len(made) // 2 if streaming else len(made)
    for number, part in enumerate((made[:half], made[half:])):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"value": pa.array(part, pa.binary())}), path)
        os.utime(path, (1e9 + number, 1e9 + number))
    kinds = {"ts": "TIMESTAMP", "id": "BIGINT", "score": "DOUBLE", "bonus": "BIGINT", "color": "STRING"}
    stream = sb.Stream("s", time="ts", key="id", columns=tuple(kinds.items()))
    opened = by_registry(AVRO, Registry.at(server.address, patience), "s-value", None, stream)
    reader = spark.readStream.option("maxFilesPerTrigger", 1) if streaming else spark.read
    raw = reader.schema("value BINARY").parquet(str(folder))
    return DecodedRecords(raw, "s", opened.decoding, opened.how)


def as_they_are(spark: SparkSession, workload: sb.Workload) -> tuple[list[str], dict[str, Any]]:
    """The rows of the records as a DataFrame, and what is left out: every value that is none is a bad record more."""
    table = plain_records()
    table = table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))
    rows, left_out = counted(workload, spark.createDataFrame(table))
    return rows, left_out | {"bad": left_out["bad"] + 2 * len(WRONG)}


def test_a_batch(spark: SparkSession, tmp_path: Path, server: RegistryServer) -> None:
    """In a session that is far from UTC."""
    given = records(spark, tmp_path, server)
    said = f"tasks read the Avro values, each with its schema in the registry at {server.address}"
    assert way(PLAIN, given) == said
    rows, left_out = counted(PLAIN, given)
    assert rows
    assert (rows, left_out) == as_they_are(spark, PLAIN)


def test_many_values_are_read_in_parts(server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, a row for each."""
    from skyband.spark.io.registered_values import by_registry
    from skyband.spark.io.registry import Registry
    from skyband.spark.io.value_schemas import AVRO
    from skyband.spark.stages import decoded

    opened = by_registry(AVRO, Registry.at(server.address), "s-value", None, sb.Stream("s", time="ts"))
    batch = pa.record_batch([pa.array(values(), pa.binary())], ["value"])
    whole = pa.Table.from_batches(decoded.DecodedRows("s", opened.decoding)(iter([batch])))
    monkeypatch.setattr(decoded, "TOGETHER", 7)
    parts = [*decoded.DecodedRows("s", opened.decoding)(iter([batch]))]
    assert len(parts) > 80
    assert str(pa.Table.from_batches(parts).to_pylist()) == str(whole.to_pylist())
    wrong = [*range(50, 50 + len(WRONG)), *range(400, 400 + len(WRONG))]
    assert [place for place, row in enumerate(whole.column("id").to_pylist()) if row is None] == wrong


def test_windows_of_rows(spark: SparkSession, tmp_path: Path, server: RegistryServer) -> None:
    """Spark has to see the rows: tasks make them."""
    given = records(spark, tmp_path, server)
    assert way(COUNTED, given).endswith(
        ", and Spark has the rows: positions of ROWS are counted in the order of the whole stream"
    )
    rows, left_out = counted(COUNTED, given)
    assert rows
    assert (rows, left_out) == as_they_are(spark, COUNTED)


def test_a_stream(spark: SparkSession, tmp_path: Path, server: RegistryServer) -> None:
    """Rows and counts, those of each micro-batch, are the same whether tasks prune what they read or hand it on."""
    (tmp_path / "in").mkdir()
    given = records(spark, tmp_path / "in", server, streaming=True)
    rows, told = streamed(given, tmp_path / "tasks")  # type: ignore[arg-type]
    assert rows
    assert sum(each["skyband:s:left out, bad"] for each in told) >= 2 * len(WRONG)
    assert (rows, told) == streamed(given.frame, tmp_path / "spark")


@pytest.mark.parametrize(
    ("schema", "ddl", "why"),
    [
        (OLD, "ts TIMESTAMP, id INT, score DOUBLE", None),
        (NEW, "ts TIMESTAMP, id BIGINT, score DOUBLE, deep ARRAY<BIGINT>", "column 'deep' is ARRAY<BIGINT>"),
        (OLD, "ts TIMESTAMP, id INT, score DOUBLE, bonus BIGINT", "column 'bonus' is BIGINT"),
        ("string", "ts TIMESTAMP, id INT, score DOUBLE", "a schema that is no record"),
    ],
)
def test_plain_avro_is_read_by_tasks_where_they_read_it_as_spark_does(
    spark: SparkSession, schema: Any, ddl: str, why: str | None
) -> None:
    """`ddl`: what Spark makes of the schema."""
    from skyband.spark.decoded import AvroRecords

    values, read = spark.createDataFrame([], "value BINARY"), spark.createDataFrame([], ddl)
    said = way(ONE, AvroRecords(values, json.dumps(schema), read, read))
    assert said == ("tasks read the Avro values with fastavro" if why is None else f"Spark reads the records: {why}")


def test_plain_avro_is_left_to_spark_without_fastavro(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where a date, or a time without a zone, is made one of the session's."""
    from skyband.spark.decoded import AvroRecords

    values, read = spark.createDataFrame([], "value BINARY"), spark.createDataFrame([], "ts DATE, id INT, score DOUBLE")
    schema = record(("ts", {"type": "int", "logicalType": "date"}), ("id", "int"), ("score", "double"))
    cast = AvroRecords(values, json.dumps(schema), read, read.withColumn("ts", read["ts"].cast("TIMESTAMP")))
    assert "times without a zone are in that of the session, Pacific/Auckland" in way(ONE, cast)
    monkeypatch.setattr("skyband.spark.io.avro_values.find_spec", lambda name: None)
    said = way(ONE, AvroRecords(values, json.dumps(schema), read, read))
    assert said == "Spark reads the records: fastavro is not installed (pip install 'skyband[avro]')"


def test_a_registry_that_goes_away_ends_the_job_with_one_line(spark: SparkSession, tmp_path: Path) -> None:
    """Only the newest schema is known by then, and no record is taken for a bad one."""
    from skyband.spark.failures import clearly

    with registry_server() as server:
        server.add("s-value", OLD)
        server.add("s-value", NEW)
        given = records(spark, tmp_path, server, patience=0.3)
    with pytest.raises(sb.SkybandError) as ended:
        clearly(lambda: counted(PLAIN, given))
    said = f"the schema registry at {server.address} does not answer: Connection refused (tried for 0.3 s)"
    assert ended.value.message == f"{said}; the same command goes on once it does"
