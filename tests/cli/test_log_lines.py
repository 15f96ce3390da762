"""`--log`, `/healthz` and exit codes: what those read who watch over many jobs."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import skyband as sb
from skyband.cli import context
from skyband.cli.exporter import serve
from skyband.cli.log_lines import LogLines, begin, of_spark
from skyband.errors import DataError, UnavailableError
from tests.cli.test_cli import WORKLOAD, skyband

pytest.importorskip("pyspark")
from skyband.spark.failures import explained
from skyband.spark.metrics import Measures


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """As it was, afterwards."""
    log, complain = logging.getLogger("skyband"), context.complain
    handlers = list(log.handlers)
    yield log
    log.handlers, log.propagate, context.complain = handlers, True, complain
    log.setLevel(logging.NOTSET)
    logging.captureWarnings(False)


def line(lines: LogLines, message: str, **fields: object) -> str:
    record = logging.LogRecord("skyband", logging.WARNING, "", 0, message, None, None)
    record.fields = fields
    return lines.format(record)


def test_a_line_is_one_line_whatever_a_record_holds() -> None:
    poisoned = "a\nb \x1b[31m\u2028c"
    told = json.loads(line(LogLines("json", "trades"), poisoned))
    assert told["message"] == "a\\nb \\x1b[31m\\u2028c"
    text = line(LogLines("text", "trades"), poisoned, why="two words", **{"from": "x=y"})
    assert re.fullmatch(r'\S+ WARNING stream=trades why="two words" from="x=y" a\\nb \\x1b\[31m\\u2028c', text)


def test_what_spark_says_keeps_its_level_and_its_place(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("json", "trades")
    of_spark("spark|WARN|TaskSetManager|Lost task | of a stage\n")
    of_spark("spark|FATAL|X|gone\n")
    of_spark("record left out\n")
    context.complain("ended")
    told = [json.loads(each) for each in capsys.readouterr().err.splitlines()]
    assert [(each["level"], each.get("from"), each["message"]) for each in told] == [
        ("WARNING", "TaskSetManager", "Lost task | of a stage"),
        ("CRITICAL", "X", "gone"),
        ("WARNING", "worker", "record left out"),
        ("ERROR", None, "ended"),
    ]
    with pytest.raises(sb.SkybandError, match="--log xml"):
        begin("xml", "trades")


def test_a_job_that_stands_still_or_has_ended_is_not_well() -> None:
    measures = Measures({})
    where = serve(measures, ":0", patience=60).replace("/metrics", "/healthz")
    assert asked(where) == (200, "running")
    measures.heard = time.time() - 61
    assert asked(where) == (503, "stalled")
    measures.idle()
    assert asked(where) == (200, "running")
    measures.ended = True
    assert asked(where) == (503, "ended")


def asked(where: str) -> tuple[int, str]:
    try:
        with urlopen(where, timeout=5) as answer:
            return answer.status, json.loads(answer.read())["status"]
    except HTTPError as refused:
        return refused.code, json.loads(refused.read())["status"]


def test_exit_codes_tell_who_has_to_do_something(tmp_path: Path) -> None:
    path = tmp_path / "trades.sql"
    path.write_text(WORKLOAD)
    words: list[str | Path] = ["run", path, "--source", f"trades={tmp_path}", "--sink", "noop"]
    assert skyband(*words, "--log", "xml").returncode == 2
    assert skyband(*words, JAVA_HOME="/nowhere").returncode == 3
    broken = tmp_path / "in" / "broken.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"PAR1 no, it is not")
    done = skyband("run", path, "--source", f"trades={broken}", "--monitor")
    assert (done.returncode, "cannot be read" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize("kind", [UnavailableError, DataError])
def test_what_a_task_raised_keeps_its_exit_code(kind: type[sb.SkybandError]) -> None:
    from pyspark.errors import PySparkException

    said = f"Job aborted.\n  File x\n{kind.__module__}.{kind.__name__}: the file has changed\n"
    found = explained(PySparkException(said))
    assert (type(found), found.message) == (kind, "the file has changed")
