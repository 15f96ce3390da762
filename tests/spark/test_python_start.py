"""What a Python process of Spark's does before its first task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ARCHIVE = "{home}/python/lib/pyspark.zip:{home}/python/lib/py4j-0-src.zip:{home}/jars/spark-core_2.13-4.2.1.jar"
FORKED = """
import os, sys
from skyband.spark import daemon

daemon.load()
threads = {open(f"/proc/self/task/{each}/comm").read().strip() for each in os.listdir("/proc/self/task")}
# Of Arrow's allocator, which knows of forks; the other is this one.
print(sorted(threads - {"jemalloc_bg_thd"}) == [open("/proc/self/comm").read().strip()])
if (child := os.fork()) == 0:
    import numpy as np, pyarrow as pa
    import skyband as sb

    from numba.core.registry import cpu_target

    known = set(sys.modules)
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    print(*set(sys.modules) - known)
    monitor = sb.Monitor(sb.Workload([sb.TopK("q", 1, "x", "2 seconds", "1 second")], stream=sb.Stream("s", time="t")))
    at = pa.array(np.arange(0, 5_000_000, 500_000)).cast(pa.timestamp("us", "UTC"))
    print(monitor.push(pa.table({"t": at, "x": np.arange(10.0)})).num_rows, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_nothing_is_looked_for_in_the_archives_that_spark_names(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    from skyband.spark.interpreter import interpreter

    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    python = interpreter()
    assert python is not None
    home = Path(pyspark.__file__).parent
    zipped = ARCHIVE.format(home=home)
    said = "import os, pyspark; print(pyspark.__file__); print(os.environ['PYTHONPATH'])"
    for path in (f"{zipped}:mine", f"{zipped}:{zipped}:mine", f"mine:{zipped}", "mine"):
        done = subprocess.run(
            [python, "-c", said], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
        )
        where, left = done.stdout.split()
        assert where == str(home / "__init__.py"), done.stderr
        assert left == "mine"


@pytest.mark.parametrize(("name", "value"), [("PYSPARK_PYTHON", "/usr/bin/python3"), ("SPARK_HOME", "/opt/spark")])
def test_who_chose_a_python_or_a_spark_gets_it(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    from skyband.spark.interpreter import interpreter

    monkeypatch.setenv(name, value)
    assert interpreter() is None


def test_workers_are_forked_from_what_is_imported_and_no_thread_is_left_behind() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True", "4"], done.stderr
