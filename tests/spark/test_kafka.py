"""Kafka for real, beside what `test_crash.py` does: JSON, Avro, Protobuf, values that are none, missing jars."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.spark.io.avro_values import avro_reader
from tests.spark import jobs, written_values
from tests.spark.registry_server import RegistryServer, registry_server
from tests.spark.test_json_values import shown
from tests.spark.test_run import assert_refused
from tests.spark.written_values import MICROS, avro, framed, message_class, proto, record

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


SECRET = "s3cret"
OLD = record(("ts", MICROS), ("trade_id", "int"), ("symbol", "string"), ("price", "double"), ("size", "int"))
NEW = record(
    ("venue", {"type": "enum", "name": "Venue", "symbols": ["X", "Y"]}),
    ("size", "long"),
    ("price", "double"),
    ("symbol", ["null", "string"]),
    ("trade_id", "long"),
    ("ts", MICROS),
    ("book", {"type": "map", "values": "double"}),
)
FIELDS = [("symbol", "string"), ("price", "double"), ("ts", "google.protobuf.Timestamp")]
OLD_MESSAGE = proto(*FIELDS, ("trade_id", "int32"), ("size", "int32"))
NEW_MESSAGE = proto(*FIELDS, ("trade_id", "int64"), ("size", "?int64"), ("tags", "*string"), before=1)
WRITTEN = "".join(
    f"""CREATE STREAM {name} {columns} WITH (TIME = ts, KEY = trade_id);
CREATE QUERY {name}_best AS SELECT TOP 3 trade_id, symbol, size FROM {name} [RANGE 30 SECONDS SLIDE 10 SECONDS]
  ORDER BY price * size DESC;
"""
    for name, columns in {
        "plain": "",
        "judged": "",
        "avro": "",
        "protobuf": "(trade_id BIGINT, ts TIMESTAMP, symbol STRING, price DOUBLE, size BIGINT)",
    }.items()
)
WRONG = [None, b"", b"\xff", b"\4", b"\1\2\2"]


def evolving(server: RegistryServer, rows: list[dict[str, Any]]) -> dict[str, list[bytes | None]]:
    """Each topic's values: schemas change in the middle, and there is something in front that is none."""
    old, new = (server.add("avro-value", each) for each in (OLD, NEW))
    first, then = (server.add("protobuf-value", each.SerializeToString()) for each in (OLD_MESSAGE, NEW_MESSAGE))
    more, half = {"venue": "Y", "book": {"a": 1.0}}, len(rows) // 2
    messages = [_message(message_class(OLD_MESSAGE), row) for row in rows[:half]]
    later = [_message(message_class(NEW_MESSAGE), row) for row in rows[half:]]
    strange = [*WRONG, framed(4_711, b"\0?"), framed(old, b"\4"), framed(first, b"\xff", b"\0")]
    return {
        "plain": [*WRONG, *(avro(SCHEMA, row) for row in rows)],
        "avro": [
            *strange,
            *(framed(old, avro(OLD, row)) for row in rows[:half]),
            *(framed(new, avro(NEW, row | more)) for row in rows[half:]),
        ],
        "protobuf": [
            *strange,
            *(framed(first, each, b"\0") for each in messages),
            *(framed(then, each, b"\2\2") for each in later),
        ],
    }


def _message(made: Any, row: dict[str, Any]) -> bytes:
    found = made(**{name: row[name] for name in ("symbol", "price", "trade_id", "size")})
    found.ts.FromDatetime(row["ts"])
    return bytes(found.SerializeToString())


@pytest.mark.smoke
def test_avro_and_protobuf_in_the_frames_of_a_registry(tmp_path: Path, kafka: str, topics: jobs.Warm) -> None:
    """Schemas change in the middle; what is no value, has no frame, an unknown id or another schema is left out and
    counted. Plain Avro is read by tasks and by Spark, with the same rows and counts. Nobody hears the password."""
    tables = jobs.trades(files=2)
    (tmp_path / "written.sql").write_text(WRITTEN)
    (tmp_path / "trade.avsc").write_text(json.dumps(SCHEMA))
    with registry_server(login=f"me:{SECRET}") as server:
        made = evolving(server, pa.concat_tables(tables).to_pylist())
        for topic, values in made.items():
            pq.write_table(pa.table({"value": pa.array(values, pa.binary())}), tmp_path / f"{topic}.parquet")
            topics.run("fill_values", topic, tmp_path / f"{topic}.parquet")
        plain = f"kafka://{kafka}/plain?format=avro&schema={tmp_path / 'trade.avsc'}"
        asked = f"registry=http://me:{SECRET}@127.0.0.1:{server.port}"
        sources = {"plain": plain, "judged": f"{plain}&scan=false"}
        sources |= {each: f"kafka://{kafka}/{each}?format={each}&{asked}" for each in ("avro", "protobuf")}
        sources["protobuf"] += "&message=market.Trade"
        words = [word for name, where in sources.items() for word in ("--source", f"{name}={where}")]
        words += ["--sink", str(tmp_path / "out"), "--master", "local[1]"]
        done = jobs.skyband("run", tmp_path / "written.sql", *words)
    assert done.returncode == 0, done.stderr
    bad = 2 * len(WRONG) + 2 * (len(WRONG) + 3)
    assert done.stderr.splitlines()[-1].endswith(f", {bad} bad")
    assert "plain: tasks read the Avro values with fastavro" in done.stderr
    assert "judged: Spark reads the records: they are to be read by Spark" in done.stderr
    for kind in ("Avro", "Protobuf"):
        how = f"tasks read the {kind} values, each with its schema in the registry at {server.address}\n"
        assert f"{kind.lower()}: {how}" in done.stderr
    assert "protobuf: unknown schema id, record left out: {'value': '0000001267003f'}" in done.stderr
    assert "avro: a schema that is no Avro, record left out" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    monitor = sb.Monitor(sb.Workload.from_sql(WRITTEN))
    expected = [monitor.push(table, stream) for stream in sources for table in tables]
    rows = jobs.listed(tmp_path / "out")
    assert jobs.bag(rows.to_pylist()) == jobs.bag(pa.concat_tables([*expected, monitor.close()]).to_pylist())


def test_plain_avro_is_read_as_spark_reads_it(tmp_path: Path, topics: jobs.Warm) -> None:
    """Values of every type, most of them damaged at random: but not so that text is no UTF-8, or a number longer than
    its type, of which Spark makes something, and we do not."""
    draw = random.Random(5)
    values = [_damaged(avro(written_values.EVERY, written_values.every(draw)), draw) for _ in range(2_000)]
    pq.write_table(pa.table({"value": pa.array(values, pa.binary())}), tmp_path / "values.parquet")
    (tmp_path / "every.avsc").write_text(json.dumps(written_values.EVERY))
    topics.run("judge", tmp_path / "values.parquet", tmp_path / "every.avsc", tmp_path / "judged")
    judged = jobs.listed(tmp_path / "judged")
    mine, good = avro_reader(((tmp_path / "every.avsc").read_bytes(),), None).read(values)
    missing = pa.array(np.where(good, np.cumsum(good) - 1, 0), mask=~good)
    judged = judged.cast(mine.schema)
    assert shown(mine.take(missing)) == shown(judged)
    assert 500 < good.sum() < 1_500


def _damaged(value: bytes, draw: random.Random) -> bytes:
    """Or not."""
    kind, place = draw.randrange(6), draw.randrange(len(value))
    if kind < 2:
        return value
    if kind == 2:
        return value[:place]
    more = bytes(draw.choice([0, 1, 2, 3, draw.randrange(128)]) for _ in range(draw.randrange(1, 3)))
    return value + more if kind == 3 else value[:place] + more + value[place + len(more) :]


def test_a_connector_that_maven_does_not_have_is_named(tmp_path: Path) -> None:
    """Something has to listen: whether a broker answers is asked before Spark starts."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        source = f"trades=kafka://127.0.0.1:{listening.getsockname()[1]}/t"
        job = ("run", jobs.write_workload(tmp_path), "--source", source, "--sink", "noop")
        done = jobs.skyband(*job, "--connector", "0.0.1")
    assert_refused(done, "Maven does not give org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.1")
    assert "--connector VERSION" in done.stderr
