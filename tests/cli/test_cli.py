"""The commands as a person runs them: another process, its output and its exit code."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console, RenderableType

import skyband as sb
from skyband.cli.demo_page import Layout, Lists, Numbers, page

WORKLOAD = """CREATE STREAM trades WITH (TIME = ts);
CREATE QUERY biggest AS SELECT TOP 10 * FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE] ORDER BY price * size DESC;
"""


def skyband(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skyband", *map(str, words)]
    around = os.environ | environment
    # With an empty kernel cache, on a machine that is busy with other tests, compiling takes minutes.
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=around)


def test_explain_prints_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "trades.sql"
    path.write_text(WORKLOAD)
    done = skyband("explain", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == sb.Workload.from_sql(WORKLOAD).explain()


def test_engines_lists_every_engine() -> None:
    done = skyband("engines")
    assert done.returncode == 0
    assert all(name in done.stdout for name in sb.engines())


@pytest.mark.spark
@pytest.mark.slow
def test_demo_streams_through_spark_and_shows_the_lists() -> None:
    done = skyband("demo", "--seconds", "1", "--queries", "20", "--speed", "5", SKYBAND_COMPILE="background")
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 queries" in done.stdout
    assert "streaming through Spark" in done.stdout
    assert "biggest trades, last 10 minutes" in done.stdout
    assert re.search(r"│ +1 │ 14:3\d:\d\d │ [A-Z]+ +│", done.stdout), "a list with records in it"
    assert re.search(r"[1-9]\d* candidates kept", done.stdout)


def test_demo_without_spark() -> None:
    done = skyband("demo", "--monitor", "--seconds", "1", "--queries", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 queries" in done.stdout
    assert "in one process" in done.stdout


def test_the_page_of_the_demo_fits_the_terminal() -> None:
    for width, height in ((200, 60), (110, 45), (80, 30), (80, 24), (60, 20)):
        layout = Layout.of(width, height)
        console = Console(width=width, height=height, record=True, file=io.StringIO())
        console.print(page(Lists(), Numbers("in one process", 4, 4, 10**7, 1e5, 10**4, 0, "state"), layout))
        assert len(console.export_text().splitlines()) <= height, (width, height)
        assert layout.rows >= 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_leaves_in_order(number: signal.Signals) -> None:
    words = [sys.executable, "-m", "skyband", "demo", "--monitor", "--seconds", "600"]
    demo = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    assert "No terminal" in demo.stdout.readline()
    time.sleep(1)
    demo.send_signal(number)
    said, wrong = demo.communicate(timeout=60)
    assert (demo.returncode, wrong) == (0, "")
    assert "candidates kept" in said


def test_the_demo_says_when_it_has_to_do_without_spark() -> None:
    done = skyband("demo", "--seconds", "0", "--queries", "2", JAVA_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Spark needs Java 17 or newer" in done.stdout
    assert "the same lists without Spark" in done.stdout
    assert "in one process" in done.stdout


def test_a_mistake_is_one_message_and_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "trades.sql"
    path.write_text(WORKLOAD.replace("SLIDE 1 MINUTE", "SLIDE 1 HOUR"))
    done = skyband("explain", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "the slide (1 HOUR) is longer than the window (30 MINUTES)" in done.stderr
    assert "Traceback" not in done.stderr
    assert "^" in done.stderr


def test_debug_shows_the_trace(tmp_path: Path) -> None:
    done = skyband("--debug", "explain", tmp_path / "absent.sql")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = skyband("explain", tmp_path / "absent.sql")
    assert done.returncode == 2
    assert "absent.sql: No such file or directory" in done.stderr


def test_the_market_is_imported_without_the_commands() -> None:
    """Several processes of Spark's do that: with all the rest it took a second of each."""
    code = "import sys, skyband.cli.market_source; print({'numba', 'typer', 'skyband.engines'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_console_does_not_keep_every_list_there_ever_was() -> None:
    """Of a stream with PER new groups may come for ever."""
    from skyband.cli import lists as latest

    lists, column = latest.Lists(), {"query": "q", "window_end": None, "row_end": 1, "rank": 1, "change": None}
    for first in range(0, 5_000, 500):
        rows = [column | {"group_key": f"{number:05d}"} for number in range(first, first + 500)]
        lists.take(pa.Table.from_pylist(rows))
    assert len(lists._latest) == latest.MOST_LISTS
    assert "and 988 or more lists" in _drawn(lists.page())


def _drawn(page: RenderableType) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(page)
    return console.export_text()
