"""Kafka for real, beside what `test_crash.py` does: JSON and Avro values, values that are none, missing jars."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs
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


WORKLOAD = (
    jobs.RANGED
    + """CREATE STREAM others WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS);
CREATE QUERY dearest AS SELECT TOP 3 trade_id FROM others [RANGE 30 SECONDS SLIDE 10 SECONDS] ORDER BY price DESC;
CREATE QUERY latest AS SELECT TOP 2 PER symbol trade_id FROM others [ROWS 50 SLIDE 20] ORDER BY abs(change) DESC;
"""
)


@pytest.mark.smoke
def test_json_and_avro_in_and_kafka_out_without_an_option(tmp_path: Path, kafka: str, topics: jobs.Warm) -> None:
    """A value that is no Avro, one that is no JSON and one that is none are left out and counted."""
    tables = jobs.trades(files=2)
    pq.write_table(pa.concat_tables(tables), tmp_path / "all.parquet")
    (tmp_path / "both.sql").write_text(WORKLOAD)
    schema = tmp_path / "trade.avsc"
    schema.write_text(json.dumps(SCHEMA))
    topics.run("fill_both", "json", tmp_path / "all.parquet", schema)
    words: list[str | Path] = ["run", tmp_path / "both.sql", "--source", f"trades=kafka://{kafka}/json"]
    words += ["--source", f"others=kafka://{kafka}/json_avro?format=avro&schema={schema}"]
    words += ["--sink", f"kafka://{kafka}/lists", "--stream", "--once", "--drain", "--checkpoint", tmp_path / "ck"]
    done = jobs.skyband(*words, "--master", "local[1]")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith(", 3 bad")
    assert "trades: tasks read the JSON values with Arrow" in done.stderr
    assert "others: Spark reads the records" in done.stderr
    assert "null time, record left out" in done.stderr
    topics.run("read", "lists", tmp_path / "lists")
    told = jobs.listed(tmp_path / "lists").sort_by("offset").to_pylist()
    rows = {message["key"]: json.loads(message["value"]) for message in told}
    monitor = sb.Monitor(sb.Workload.from_sql(WORKLOAD))
    expected = [monitor.push(table, stream) for stream in ("trades", "others") for table in tables]
    assert jobs.bag(list(rows.values())) == jobs.bag(pa.concat_tables([*expected, monitor.close()]).to_pylist())


def test_a_connector_that_maven_does_not_have_is_named(tmp_path: Path) -> None:
    """Something has to listen: whether a broker answers is asked before Spark starts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        source = f"trades=kafka://127.0.0.1:{listening.getsockname()[1]}/t"
        job = ("run", jobs.write_workload(tmp_path), "--source", source, "--sink", "noop")
        done = jobs.skyband(*job, "--connector", "0.0.1")
    assert_refused(done, "Maven does not give org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.1")
    assert "--connector VERSION" in done.stderr
