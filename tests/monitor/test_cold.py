"""A Monitor whose kernels are not compiled yet answers at once, and moves over when they are. Nobody sees that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import skyband as sb
from skyband.engines import compiled
from skyband.runtime.data_models import complete
from tests import support


def run_cold(workload: sb.Workload, tables: list[pa.Table], ready_after: int) -> list[support.Expected]:
    """The kernels are ready when so many tables were pushed."""
    pushed = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complete, "is_compiled", lambda unit: pushed >= ready_after)
        monitor, parts = sb.Monitor(workload), []
        for table in tables:
            parts.append(monitor.push(table))
            support.check_structures(monitor)
            pushed += 1
        parts.append(monitor.close())
    return support.in_order(workload, support.actual_rows(pa.concat_tables(parts)))


@settings(max_examples=60, deadline=None)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_rows_are_the_same_whenever_the_kernels_are_ready(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    ready_after = data.draw(st.integers(0, len(tables) + 1))
    assert run_cold(workload, tables, ready_after) == support.expected_rows(workload, tables)


@settings(max_examples=30, deadline=None)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_counters_and_changes_go_on(workload: sb.Workload, tables: list[pa.Table], data: st.DataObject) -> None:
    queries = [sb.TopK(q.name, 3, "score", q.window, per=q.per, changes=True) for q in workload.queries]
    logged = sb.Workload(queries, stream=workload.streams[0])
    ready_after = data.draw(st.integers(0, len(tables)))
    warm, pushed = sb.Monitor(logged), list[None]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complete, "is_compiled", lambda unit: len(pushed) >= ready_after)
        cold = sb.Monitor(logged)
        rows = []
        for table in tables:
            rows.append(cold.push(table))
            pushed.append(None)
        rows.append(cold.close())
    assert rows == [*(warm.push(table) for table in tables), warm.close()]
    assert losses(cold.counters) == losses(warm.counters)


def losses(counters: dict[str, Any]) -> dict[str, Any]:
    return {name: counters[name] for name in ("records", "late", "dropped", "unranked", "bad", "queries")}


FIRST_ANSWER = """
import sys, time
from pathlib import Path
import pyarrow as pa
import skyband as sb
workload = sb.Workload([sb.TopK("q", 3, "x", "4 rows")], stream=sb.Stream("s", time="ts"))
monitor = sb.Monitor(workload)
rows = monitor.push(pa.table({"ts": pa.array(range(500), pa.timestamp("s")), "x": [float(i % 97) for i in range(500)]}))
print(len(rows), len(list(Path(sys.argv[1]).rglob("*.nbi"))))
"""


def test_the_first_answer_of_an_empty_cache_compiles_nothing(tmp_path: Path) -> None:
    """Another process was asked to: here it may not, so that the test does not take its time."""
    environment = os.environ | {compiled.SETTING: "background", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    code = "from skyband.engines import compiled\ncompiled._compile = lambda unit, note: True\n" + FIRST_ANSWER
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["375", "0"], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("unit", compiled.UNITS)
def test_what_the_other_process_does_is_enough(unit: str) -> None:
    """It uses the kernels of this machine's cache, notes that they are there, and then nobody stands in any more."""
    environment = os.environ | {compiled.SETTING: "first", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "skyband.cli.warm", unit]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(compiled.SETTING, "background")
        patch.setattr(compiled, "_compile", lambda unit, note: pytest.fail("it would be compiled once more"))
        assert compiled.is_compiled(unit)


def test_one_process_compiles_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **rest: started.append(command))
    note = tmp_path / "shared-float64-0.ready"
    assert compiled._compile("shared-float64", note)
    assert compiled._compile("shared-float64", note)
    assert [command[-1] for command in started] == ["shared-float64"]
    os.utime(note.with_suffix(".lock"), (1e9, 1e9))  # Whoever held it is gone.
    assert compiled._compile("shared-float64", note)
    assert len(started) == 2
    assert not compiled._compile("shared-float64", Path("/proc/none/here.ready"))
