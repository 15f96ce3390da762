"""What a user reads when Spark fails: one line and what to do, never a stack trace."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

import skyband as sb
from skyband.spark import failures
from skyband.spark.failures import explained
from tests.spark import jobs


@pytest.mark.spark
@pytest.mark.slow
def test_out_of_memory_is_said_in_a_line(tmp_path: Path) -> None:
    """A record that does not fit into the JVM's memory."""
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "large.json").open("w") as file:
        file.write('{"ts": "2026-01-01T00:00:00Z", "text": "')
        for _ in range(30):
            file.write("a" * 10_000_000)
        file.write('"}\n')
    (tmp_path / "w.sql").write_text(
        "CREATE STREAM s (ts TIMESTAMP, text STRING) WITH (TIME = ts);\n"
        "CREATE QUERY q AS SELECT TOP 3 text FROM s [RANGE 1 HOUR] ORDER BY length(text);"
    )
    words: list[str | Path] = ["run", tmp_path / "w.sql", "--source", f"s={tmp_path / 'in'}", "--sink", "noop"]
    done = jobs.skyband(*words, "--stream", "--once", "--checkpoint", tmp_path / "ck", SPARK_DRIVER_MEMORY="512m")
    assert done.returncode == 3
    way, *said = done.stderr.splitlines()
    assert way == "stream s: Spark reads the records: they are in json files"
    assert said[0] == "skyband: out of memory: Spark needs more than it has", done.stderr
    assert said[1].startswith("hint: SPARK_DRIVER_MEMORY=4g")
    assert len(said) == 2, done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "out of memory: Spark needs more"),
        ("Lost task: ExecutorLostFailure (executor 1 exited) Reason: exit code 137", "out of memory: Spark needs more"),
        ("SparkException: Python worker exited unexpectedly (crashed)", "out of memory: a Python worker"),
        ("Traceback:\nValueError: no such thing", "no such thing"),
        (
            "An error occurred while calling o1.save.\n: java.io.IOException: No space left",
            "IOException: No space left",
        ),
    ],
)
def test_errors_of_spark_in_a_line(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "DYING_SECONDS", 0.1)  # Another test's JVM may be alive, and stays so.
    assert said in explained(Py4JError(text)).message


def test_that_spark_s_process_has_ended_is_said_wherever_it_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: "this should not have happened", where it was killed while a start wrote its note, or in the drain."""
    monkeypatch.setattr(failures, "DYING_SECONDS", 0.1)
    with subprocess.Popen(["sleep", "20"]) as jvm:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        with pytest.raises(ConnectionRefusedError), failures.while_spark_lives():
            raise ConnectionRefusedError
        jvm.kill()
        monkeypatch.setattr(failures, "DYING_SECONDS", 10)
        with pytest.raises(sb.SkybandError, match=r"Spark's process has ended \(exit code -9\)") as told:
            end_of_a_drain()
    assert told.value.exit_code == 3


@failures.while_spark_lives()
def end_of_a_drain() -> None:
    raise Py4JError("An error occurred while calling o52.streams")
