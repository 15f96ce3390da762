"""The commands as a person runs them: another process, its output and its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import skyband as sb

WORKLOAD = """CREATE STREAM trades WITH (TIME = ts);
CREATE QUERY biggest AS SELECT TOP 10 * FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE] ORDER BY price * size DESC;
"""


def skyband(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skyband", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


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


def test_demo_shows_the_lists() -> None:
    done = skyband("demo", "--seconds", "3", "--queries", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 queries" in done.stdout
    assert "biggest trades, last 10 minutes" in done.stdout
    assert "candidates kept" in done.stdout


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
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = skyband("explain", tmp_path / "absent.sql")
    assert done.returncode == 2
    assert "absent.sql: No such file or directory" in done.stderr
