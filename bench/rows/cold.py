"""A machine on which nothing is compiled yet: from the start of Python to the first answer, of every engine itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.harness import Line, Ratio, Result, Run, row
from skyband.engines.base import Capabilities, registered
from skyband.engines.compiling import SETTING

README = Path(__file__).parents[2] / "README.md"
RECORDS = 400
ONCE = f"""\
import sys
from time import process_time
import numpy as np
import pyarrow as pa
import skyband as sb
draw, n = np.random.default_rng(0), {RECORDS}
table = pa.table({{
    "ts": pa.array(np.arange(n), pa.timestamp("s")), "id": np.arange(n), "x": draw.random(n), "y": draw.random(n),
    "p": draw.random(n) * 0.9 + 0.05, "part": draw.integers(0, 20, n), "place": draw.choice(["a", "b"], n),
}})
monitor = sb.Monitor(sb.Workload.from_sql(sys.argv[1]), sys.argv[2] or None)
print(monitor.push(table).num_rows, process_time(), flush=True)
"""
EXAMPLE = """\
print(len(rest), __import__("time").process_time(), flush=True)
from skyband.engines import compiling
for each in compiling._children:  # It would compile on beside whatever is measured next.
    each.terminate()
    each.wait()
"""
OVER = "* FROM s [RANGE 60 SECONDS SLIDE 5 SECONDS]"


@dataclass(frozen=True)
class Settings:
    records: int = RECORDS
    seed: int = 0


@row("cold", "seconds from the start of Python to the first answer where nothing is compiled: every engine, the README")
def measure(run: Run) -> Result:
    result = Result(settings=asdict(Settings()))
    engines = {name: each.capabilities for name, each in registered(None).items() if name == "panes" or not run.quick}
    for name, able in engines.items():
        run.say(name)
        asked = "" if name == "approximate" else name
        _note(run, result, name, 15, "first", [ONCE, workload(able), asked])
    run.say("README")
    block = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
    _note(run, result, "the README's example", 3, "background", [block + EXAMPLE])
    result.notes.append("wall time, with a kernel cache of its own for each; an engine compiles before it answers")
    return result


def workload(able: Capabilities) -> str:
    """A stream and queries that the engine answers."""
    stream, queries = "", [f"SELECT TOP 10 {OVER} ORDER BY x DESC"]
    if able.data == "multi_score":
        queries = [f"SELECT TOP 10 {OVER} ORDER BY {weight}.5 * x + y DESC" for weight in range(10)]
    elif able.data == "objects":
        close = "" if able.exact else " APPROXIMATE"
        queries = [f"SELECT TOP 3 {OVER} OBJECT part ACROSS place (SUM) ORDER BY SUM(x) DESC{close}"]
    elif able.data == "groups":
        queries = [f"SELECT TOP 3 part, SUM(id) AS total {OVER[2:]} GROUP BY part ORDER BY total DESC"]
    elif able.errors:
        queries = [f"SELECT TOP 3 {OVER} ORDER BY x WITH ERROR p DESC"]
    elif able.data == "uncertain":
        stream = ", PROBABILITY = p"
    elif able.thresholds:
        queries = [f"SELECT ABOVE 0.9 {OVER} ORDER BY x DESC"]
    named = (f"CREATE QUERY q{number} AS {query};\n" for number, query in enumerate(queries))
    return f"CREATE STREAM s WITH (TIME = ts, KEY = id{stream});\n" + "".join(named)


def _note(run: Run, result: Result, name: str, most: float, compiles: str, words: list[str]) -> None:
    seconds, cpu = _first_answer(compiles, words)
    line: Line = {"contestant": name, "s": seconds, "CPU s": cpu}
    result.lines.append(line)
    result.ratios.append(Ratio(f"{name}: s", seconds, at_most=run.asked(most)))


def _first_answer(compiles: str, words: list[str]) -> tuple[float, float]:
    """Seconds until the program has told of its rows, and its CPU seconds until then."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = os.environ | {SETTING: compiles, "NUMBA_CACHE_DIR": folder}
        began = perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", *words], env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = [(line.split(), perf_counter() - began) for line in process.stdout]
    rows, cpu = said[-1][0]
    assert process.returncode == 0
    assert int(rows) > 0
    return said[-1][1], float(cpu)
