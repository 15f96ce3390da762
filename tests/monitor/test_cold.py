"""A Monitor whose kernels are not compiled yet answers at once, and moves over when they are. Nobody sees that."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.engines import compiled, compiling
from skyband.runtime.data_models import complete
from tests import support
from tests.drawn import examples


def run_cold(workload: sb.Workload, tables: list[pa.Table], ready_after: int, saves: bool) -> list[support.Expected]:
    """The kernels are ready when so many tables were pushed. With `saves` each goes to another Monitor, as on Spark."""
    pushed = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complete, "is_compiled", lambda unit: pushed >= ready_after)
        monitor, parts = sb.Monitor(workload), []
        for table in tables:
            parts.append(monitor.push(table))
            support.check_structures(monitor)
            pushed += 1
            if saves:
                monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.close())
    return support.in_order(workload, support.actual_rows(pa.concat_tables(parts)))


@examples(60)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_rows_are_the_same_whenever_the_kernels_are_ready(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    ready_after = data.draw(st.integers(0, len(tables) + 1))
    saves = data.draw(st.booleans())
    assert run_cold(workload, tables, ready_after, saves) == support.expected_rows(workload, tables)


@examples(30)
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
queries = [sb.TopK("q", 3, "x", "4 rows"), sb.Above("a", 90, "x", "4 rows"), sb.TopK("p", 3, "x", "4 rows", per="g")]
monitor = sb.Monitor(sb.Workload(queries, stream=sb.Stream("s", time="ts")))
ts, x = pa.array(range(500), pa.timestamp("s")), [float(i % 97) for i in range(500)]
rows = monitor.push(pa.table({"ts": ts, "x": x, "g": [i % 2 for i in range(500)]}))
print(len(rows), len(list(Path(sys.argv[1]).rglob("*.nbi"))))
"""


def test_the_first_answer_of_an_empty_cache_compiles_nothing(tmp_path: Path) -> None:
    """Another process was asked to: here it may not, so that the test does not take its time."""
    environment = os.environ | {compiling.SETTING: "background", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    code = "from skyband.engines import compiled\ncompiled._is_under_way = lambda unit, note: True\n" + FIRST_ANSWER
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["777", "0"], done.stderr


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is compiled as far as anybody knows; where the notes are. What is to compile says an error and ends."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho started >> $0.runs\necho no memory left >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv(compiling.SETTING, "background")
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(compiled, "note_of", lambda unit: tmp_path / "notes" / f"{unit}.ready")
    monkeypatch.setattr(compiled, "PAUSE", 0.0)
    for name in ("_ready", "_looked", "_failed", "_used"):
        monkeypatch.setattr(compiled, name, type(getattr(compiled, name))())
    return tmp_path


def ended() -> None:
    """Whoever was started to compile has ended."""
    for child in compiling._children:
        child.wait()


def started(cold: Path) -> int:
    return len((cold / "python.runs").read_text().splitlines())


def test_a_compiler_that_fails_is_told_of_once_and_answers_go_on(cold: Path) -> None:
    workload = sb.Workload([sb.TopK("q", 3, "score", "4 rows")], stream=sb.Stream("s", time="ts"))
    tables = [support.table_of([(n, n, float(n % 7), 0, None) for n in range(low, low + 100)]) for low in (0, 100, 200)]
    monitor = sb.Monitor(workload)
    assert "the kernels of shared-float64 are being compiled" in monitor.explain()
    ended()
    with pytest.warns(RuntimeWarning, match=r"could not be compiled.*: no memory left\n.*skyband warm") as told:
        rows = [monitor.push(table) for table in tables]
    assert len(told) == 1
    assert "shared-float64 could not be compiled (no memory left)" in monitor.explain()
    (family,) = monitor.counters["families"].values()
    assert (family["engine"], family["stands_in"]) == ("shared", 1)
    rows.append(monitor.close())
    actual = support.in_order(workload, support.actual_rows(pa.concat_tables(rows)))
    assert actual == support.expected_rows(workload, tables)
    assert started(cold) == 1


def test_a_compiler_that_failed_is_tried_again_later(cold: Path) -> None:
    assert not compiled.is_compiled("shared-float64")
    ended()
    with pytest.warns(RuntimeWarning, match="no memory left"):
        assert not compiled.is_compiled("shared-float64")
    os.utime(cold / "notes" / "shared-float64.log", (1e9, 1e9))
    assert not compiled.is_compiled("shared-float64")
    ended()
    assert started(cold) == 2
    (cold / "notes" / "shared-float64.ready").touch()  # Somebody else was luckier.
    assert compiled.is_compiled("shared-float64")


HOLDS = """
import sys, time
from pathlib import Path
from skyband.engines.compiling import Attempt
attempt = Attempt.claim(Path(sys.argv[1]))
print(attempt is not None, flush=True)
time.sleep(600)
"""


def test_one_process_compiles_for_all_and_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    note = tmp_path / "deep" / "shared-float64.ready"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", HOLDS, str(note)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert compiling.Attempt.claim(note) is None
        holder.kill()
    attempt = compiling.Attempt.claim(note)
    assert attempt is not None
    with attempt:
        assert compiling.Attempt.claim(note) is None
    assert compiling.Attempt.claim(note) is not None


def test_where_nothing_can_be_written_everybody_compiles(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "note_of", lambda unit: Path("/proc/none/here.ready"))
    assert compiled.is_compiled("shared-float64")


def test_one_process_compiles_what_nothing_stands_in_for(cold: Path) -> None:
    """The others wait for it, once, and then nobody waits any more. Threads here, each with a lock of its own."""
    order, inside = list[str](), Event()

    def second() -> None:
        assert inside.wait(10)
        order.append("waits")
        with compiled.first_use("pk_topk-float64", "feed"):
            order.append("finds them compiled")

    other = Thread(target=second)
    other.start()
    with compiled.first_use("pk_topk-float64", "feed"):
        inside.set()
        time.sleep(0.3)
        order.append("compiles")
    other.join(10)
    assert order == ["waits", "compiles", "finds them compiled"]
    attempt = compiling.Attempt.claim(cold / "notes" / "pk_topk-float64.ready")
    assert attempt is not None
    with attempt, compiled.first_use("pk_topk-float64", "feed"):
        pass  # It has been used here before.


NOWHERE = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []  # What Numba comes to where it may write nowhere.
import numpy as np
from skyband.engines.kernels.common.prune import best_of_each
from skyband.engines import compiled, compiling
print(best_of_each(np.ones(3), np.arange(3), 1).all(), compiled.cache_folder(), compiled.is_compiled("shared-float64"))
"""


def test_a_machine_without_any_cache_can_still_work() -> None:
    environment = os.environ | {compiling.SETTING: "background", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", NOWHERE], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "None", "True"], done.stderr
