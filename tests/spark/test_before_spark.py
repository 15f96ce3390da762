"""What is wrong with a run is said before Spark starts: Java is not to be found here, and nothing misses it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import skyband as sb
from skyband.cli.main import app
from tests.spark import jobs

BARE = "CREATE STREAM trades WITH (TIME = ts);\n" + "".join(jobs.WORKLOAD.partition("CREATE QUERY")[1:])


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders to read and to write, beside a file and a folder with something in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    for name in ("in", "full", "begun/offsets"):
        Path(name).mkdir(parents=True)
    for name in ("file.txt", "full/part-0.parquet", "begun/offsets/0"):
        Path(name).write_text("something")
    jobs.write_workload(tmp_path)
    Path("bare.sql").write_text(BARE)


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Somebody who listens: whether a broker answers is asked first."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def refusal(source: str, sink: str, *more: str, workload: str = "trades.sql") -> sb.SkybandError:
    with pytest.raises(sb.SkybandError) as refused:
        app(["run", workload, "--source", source, "--sink", sink, *more], standalone_mode=False)
    return refused.value


@pytest.mark.parametrize("more", [["--overwrite"], ["--overwrite", "--stream", "--checkpoint", "ck"]])
@pytest.mark.parametrize(
    ("source", "sink"), [("full", "full/"), ("full/*.parquet", "full"), ("full", "."), ("s3a://b/x/y", "s3a://b/x")]
)
def test_rows_that_would_overwrite_what_is_read(source: str, sink: str, more: list[str]) -> None:
    assert "is read from" in refusal(f"trades={source}", sink, *more).message
    assert Path("full/part-0.parquet").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("trade=in", "the workload has no stream 'trade'"),
        ("in", "does not say for which stream"),
        ("trades=absent/", "there is no absent/"),
        ("trades=file:///absent/folder", "there is no file:///absent/folder"),
        ("trades=in/*.parquet", "nothing matches in/*.parquet"),
        ("trades=delta:in", "in is no Delta table"),
        ("trades=xml:in", "no format 'xml'"),
        ("trades=mysql://host/db", "mysql://host/db: there is no scheme mysql://"),
        ("trades=kafak://127.0.0.1:1/trades", "there is no scheme kafak://"),
        ("trades=kafka://127.0.0.1:1/trades", "no Kafka broker answers at 127.0.0.1:1: Connection refused"),
        ("trades=kafka://127.0.0.1:1/trades?format=xml", "Kafka values in 'xml'"),
        ("trades=kafka://127.0.0.1:1/trades?format=avro", "Avro without a schema"),
        ("trades=kafka://127.0.0.1:1/trades?format=avro&schema=absent.avsc", "there is no absent.avsc"),
        ("trades=rate://10", "rate:// never ends"),
        ("trades=market://", "market:// never ends"),
        ("trades=market://?seconds=ten", "market://: could not convert string to float: 'ten'"),
    ],
)
def test_a_source(source: str, words: str) -> None:
    assert words in refusal(source, "noop").message


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        ("mysql://host/db", "there is no scheme mysql://"),
        ("market://", "there is no scheme market://"),
        ("xml:out", "no format 'xml'"),
        ("full", "full is not empty"),
        ("csv:full", "full is not empty"),
        ("delta:full", "full is not empty"),
        ("file.txt", "file.txt cannot be a folder: file.txt is a file"),
        ("file.txt/out", "file.txt/out cannot be a folder"),
        ("/proc/nowhere", "/proc/nowhere cannot be written: No such file or directory"),
        ("kafka://127.0.0.1:1/top", "no Kafka broker answers"),
        ("postgresql://127.0.0.1:1/db?table=top", "PostgreSQL does not let us in"),
        ("postgresql://127.0.0.1:1/db", "names no table"),
        ("console?queries=biggst", "a query 'biggst' that is not there"),
        ("out?per=group", "--sink with per=group"),
        ("full?per=query", "full is not empty"),
        ("console?per=query", "--sink console with per=query"),
        ("kafka://127.0.0.1:1/top?per=query", "--sink kafka with per=query"),
        ("postgresql://127.0.0.1:1/db?per=query", "names no table"),
        (f"postgresql://127.0.0.1:1/db?table={'t' * 40}&per=query", "PostgreSQL cuts long names off"),
    ],
)
def test_a_sink(sink: str, words: str) -> None:
    assert words in refusal("trades=in", sink).message


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--stream", "--trigger", "ten minutes"], "--trigger ten minutes"),
        (["--stream", "--metrics", "9400"], "--metrics 9400 is no address"),
        (["--stream", "--checkpoint", "file.txt"], "file.txt cannot be a folder: file.txt is a file"),
        (["--stream", "--checkpoint", "/proc/nowhere"], "/proc/nowhere cannot be written"),
        (["--drain"], "--drain without --stream"),
        (["--reports", "console"], "--reports console"),
        (["--reports", "noop"], "both --sink and --reports say noop"),
        (["--reports", "out?per=query"], "--reports out?per=query"),
        (["--reports", "full"], "full is not empty"),
        (["--reports", "kafka://127.0.0.1:1/top"], "no Kafka broker answers"),
        (["--format", "xml"], "no format 'xml'"),
    ],
)
def test_an_option(more: list[str], words: str) -> None:
    assert words in refusal("trades=in", "noop", *more).message


def test_columns_that_nobody_declared(broker: str) -> None:
    said = "stream trades comes from Kafka and does not declare its columns"
    assert refusal(f"trades=kafka://{broker}/t", "noop", workload="bare.sql").message == said
    assert "in is empty, and stream trades" in refusal("trades=in", "noop", workload="bare.sql").message


def test_the_words_that_there_are_stand_beside_one_that_is_not() -> None:
    said = refusal("trades=mysql://host/db", "noop")
    assert all(f"{scheme}://" in (said.expected or "") for scheme in ("kafka", "rate", "market", "s3a", "hdfs"))
    assert "parquet:mysql://" in (said.hint or "")
    said = refusal("trades=in", "postgre://host/db")
    assert said.hint == "did you mean postgres://?"


@pytest.mark.parametrize(
    ("source", "sink", "more"),
    [
        ("trades=in", "out/new", []),
        ("trades=s3a://bucket/in", "hdfs://host/out", []),
        ("trades=parquet:alluxio://host/in", "gs://bucket/out", []),
        ("trades=in", "full", ["--overwrite"]),
        ("trades=in", "full", ["--stream", "--checkpoint", "begun"]),
        ("trades=in", "abfss://store/out", ["--stream", "--checkpoint", "s3a://bucket/ck"]),
        ("trades=in/{a,b}*.csv", "noop", []),
    ],
)
def test_what_only_spark_can_tell_is_left_to_it(source: str, sink: str, more: list[str]) -> None:
    assert "Spark needs Java" in refusal(source, sink, *more).message
    assert not Path("out").exists()


def test_a_path_is_not_of_this_machine_where_hadoop_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert "Spark needs Java" in refusal("trades=/data/on/hdfs", "/data/out").message
