"""Kafka for real, beside what `test_crash.py` does: Avro values with a schema, values that are none, missing jars."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark import jobs
from tests.spark.test_crash import topic
from tests.spark.test_run import assert_refused

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.kafka]
SCHEMA = {
    "type": "record",
    "name": "trade",
    "fields": [
        {"name": "ts", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "trade_id", "type": ["null", "long"]},
        {"name": "symbol", "type": ["null", "string"]},
        {"name": "price", "type": ["null", "double"]},
        {"name": "size", "type": ["null", "long"]},
        {"name": "change", "type": ["null", "double"]},
    ],
}


def test_avro_values_with_a_schema(tmp_path: Path, kafka: str, connector: list[str], avro: list[str]) -> None:
    """A value that is no Avro is left out and counted."""
    tables = jobs.trades(files=2)
    pq.write_table(pa.concat_tables(tables), tmp_path / "all.parquet")
    schema = tmp_path / "trade.avsc"
    schema.write_text(json.dumps(SCHEMA))
    fetched = [*connector, *avro]
    topic("fill_avro", kafka, "avro_trades", tmp_path / "all.parquet", fetched, schema)
    source = f"trades=kafka://{kafka}/avro_trades?format=avro&schema={schema}"
    words: list[str | Path] = ["run", jobs.write_workload(tmp_path), "--source", source, "--sink", tmp_path / "out"]
    words += ["--master", "local[1]", *(word for each in fetched for word in ("--package", each))]
    done = jobs.skyband(*words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith("s, 1 bad")
    assert "null time, record left out" in done.stderr
    assert jobs.bag(jobs.listed(tmp_path / "out").to_pylist()) == jobs.bag(jobs.monitored(tables).to_pylist())


def test_avro_without_a_schema_is_refused(tmp_path: Path, kafka: str, connector: list[str], avro: list[str]) -> None:
    source = f"trades=kafka://{kafka}/avro_trades?format=avro"
    words: list[str | Path] = [
        "run",
        jobs.write_workload(tmp_path),
        "--source",
        source,
        "--sink",
        "noop",
        "--master",
        "local[1]",
    ]
    words += [word for each in (*connector, *avro) for word in ("--package", each)]
    assert_refused(jobs.skyband(*words), "Avro without a schema")


def test_a_connector_that_maven_does_not_have_is_named(tmp_path: Path) -> None:
    """Something has to listen: whether a broker answers is asked before Spark starts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        source = f"trades=kafka://127.0.0.1:{listening.getsockname()[1]}/t"
        job = ("run", jobs.write_workload(tmp_path), "--source", source, "--sink", "noop")
        done = jobs.skyband(*job, "--connector", "0.0.1")
    assert_refused(done, "Maven does not give org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.1")
    assert "--connector VERSION" in done.stderr
