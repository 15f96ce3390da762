"""`skyband warm`: kernels are there before anybody needs them, all of them, and what goes wrong is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skyband as sb
from skyband.cli import exercise, warm
from skyband.engines import compiled

USED = """
import json, sys
import numpy as np, pyarrow as pa
import skyband as sb
from skyband.cli import exercise
from skyband.engines import compiled
from skyband.engines.kernels.dispatch import Kernel

def used():
    modules = [each for name, each in sys.modules.items() if name.startswith("skyband.engines.kernels")]
    kernels = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Kernel)}
    return {(kernel.py_func.__qualname__, str(types)) for kernel in kernels for types in kernel.signatures}

for unit in compiled.units():
    exercise.exercise(unit)
before, draw, n = used(), np.random.default_rng(0), 3_000
table = pa.table({
    "ts": pa.array(np.arange(n) // 3, pa.timestamp("s", "UTC")), "id": np.arange(n), "x": draw.normal(size=n),
    "y": draw.normal(size=n), "b": draw.integers(-9, 9, n), "p": draw.random(n), "o": draw.choice(["u", "v"], n),
})
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 9 SECONDS%s);"
for engine in sb.engines():
    for more, text in json.loads(sys.argv[1])[sb.engines()[engine].data]:
        able = sb.engines()[engine]
        above = "ABOVE" in text
        if above > able.thresholds or (able.data == "complete" and above < able.thresholds):
            continue
        if ("APPROXIMATE" in text) == able.exact or ("ERROR" in text) != able.errors:
            continue
        monitor = sb.Monitor(sb.Workload.from_sql(STREAM % more + text), engine)
        for low in range(0, n, 500):
            monitor.push(table.slice(low, 500))
        monitor.push(table.slice(100, 50))
        monitor.close()
for limit, by in (("TOP 3", "x"), ("ABOVE 1", "b")):
    text = f"SELECT {limit} PER o * FROM s [ROWS 9] ORDER BY {by} DESC;"
    sb.Monitor(sb.Workload.from_sql(STREAM % "" + text)).push(table)
print(len(before) > 50, sorted(used() - before))
"""
ROWS, TIME = "FROM s [ROWS 200 SLIDE 7]", "FROM s [RANGE 2 MINUTES SLIDE 9 SECONDS]"
ASKED = {
    "complete": [
        ("", f"SELECT TOP 3 id {ROWS} ORDER BY x ASC;"),
        ("", f"SELECT TOP 70 id {TIME} WHERE y > 0 ORDER BY b DESC EMIT CHANGES;"),
        ("", f"SELECT ABOVE 1 id {ROWS} ORDER BY x ASC;"),
        ("", f"SELECT ABOVE 2 id {TIME} ORDER BY b DESC;"),
    ],
    "groups": [
        ("", f"SELECT TOP 3 b, SUM(x) AS s, COUNT(DISTINCT o) AS n, MAX(y) AS m {TIME} GROUP BY b ORDER BY s DESC;"),
        ("", f"SELECT TOP 3 PER o b, AVG(x) AS s {ROWS} GROUP BY b ORDER BY s DESC WITH REST;"),
    ],
    "multi_score": [
        ("", "".join(f"CREATE QUERY q{n} AS SELECT TOP 3 id {ROWS} ORDER BY x + {n} * y ASC;" for n in range(9))),
        ("", f"SELECT ABOVE 1 id {TIME} ORDER BY x * y DESC;"),
    ],
    "objects": [
        ("", f"SELECT TOP 3 * {ROWS} OBJECT b ACROSS o (SUM) ORDER BY SUM(p) ASC;"),
        ("", f"SELECT TOP 3 * {TIME} OBJECT b ACROSS o IN ('u', 'v') (MAX) ORDER BY PRODUCT(p) DESC;"),
        ("", f"SELECT TOP 3 * {TIME} OBJECT b ACROSS o IN ('u', 'v') (MAX) ORDER BY SUM(p) DESC APPROXIMATE;"),
        ("", f"SELECT ABOVE 1 * {TIME} OBJECT b ACROSS o IN ('u' AS u, 'v' AS v) (AVG p) ORDER BY u + v ASC;"),
    ],
    "uncertain": [
        (", PROBABILITY = p, RULE = b", f"SELECT TOP 3 * {ROWS} ORDER BY x ASC USING U_TOPK;"),
        (", PROBABILITY = p", f"SELECT TOP 3 PER o * {TIME} ORDER BY x DESC;"),
        (", PROBABILITY = p", f"SELECT TOP 3 PER o * {TIME} ORDER BY x WITH ERROR p DESC;"),
    ],
}


@pytest.mark.slow
def test_what_is_compiled_beforehand_is_all_that_is_used() -> None:
    """Of every engine: other queries, windows and types than those that it was compiled by."""
    done = in_a_process("-c", USED, json.dumps(ASKED))
    assert done.stdout.strip() == "True []", done.stderr


def in_a_process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=around)


def test_what_is_compiled_is_not_compiled_again() -> None:
    """`panes` itself has no kernels: these are the ones that prune."""
    for _ in range(2):
        done = in_a_process("-m", "skyband", "warm", "--engine", "panes")
        assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Nothing to do: the kernels of 2 units are compiled, in {compiled.cache_folder()}\n"


def test_only_what_a_workload_needs(tmp_path: Path) -> None:
    path = tmp_path / "two.sql"
    per = "CREATE QUERY per AS SELECT TOP 3 PER color * FROM s [ROWS 9] ORDER BY x DESC;"
    path.write_text(f"CREATE STREAM s WITH (TIME = ts); {per} SELECT ABOVE 3 * FROM s [ROWS 9] ORDER BY x DESC;")
    names = {"above-float64", "above-int64", "grouped-float64", "grouped-int64"}
    assert set(warm._wanted(path, None)) == names
    assert set(warm._wanted(None, "pk_topk")) == {"pk_topk-float64"}
    assert set(warm._wanted(None, None)) == set(compiled.units())
    assert {unit.rpartition("-")[0] for unit in compiled.units()} == {compiled.TABLE, *sb.engines()}
    assert all(exercise.workloads(unit.rpartition("-")[0]) for unit in compiled.units())


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"NUMBA_CACHE_DIR": "/proc/none"}, "nothing can be written to NUMBA_CACHE_DIR = /proc/none"),
        ({"NUMBA_DISABLE_JIT": "1"}, "there is no folder where compiled kernels can be kept"),
    ],
)
def test_a_cache_that_cannot_be_written_is_refused(environment: dict[str, str], said: str) -> None:
    done = in_a_process("-m", "skyband", "warm", "--engine", "panes", **environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"skyband: {said}\nexpected: ")


def test_an_engine_that_does_not_exist_is_refused() -> None:
    done = in_a_process("-m", "skyband", "warm", "--engine", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no engine called 'nobody'" in done.stderr


def test_what_the_compiler_says_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no memory left >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(warm, "note_of", lambda unit: tmp_path / f"{unit}.ready")
    with pytest.raises(sb.SkybandError, match=r"not compiled: above-.*: no memory left; above-.*: no memory left"):
        warm.warm(None, "above")
    assert "0 units compiled" in capsys.readouterr().out
