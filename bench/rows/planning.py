"""From the text of thousands of queries to a Monitor that runs them: reading, planning, setting up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

from bench.harness import Line, Ratio, Result, Run, median_ratio, row

SCORES = ("price", "price * size", "size", "abs(price - 100)", "0.5 * price + 0.5 * size", "ln(price)")
ONCE = """\
import sys
from time import process_time
import skyband as sb
from bench.rows import planning
def run(text):
    sb.Monitor(sb.Workload.from_sql(text))
shape, queries = getattr(planning, sys.argv[1]), int(sys.argv[2])
run(shape(1))
text = shape(queries)
began = process_time()
run(text)
print(process_time() - began)
"""
STREAM = "CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 10 SECONDS);\n"


@dataclass(frozen=True)
class Settings:
    queries: int = 10_000
    rounds: int = 5
    seed: int = 0
    """Nothing is drawn."""


def varied(count: int) -> str:
    """200 windows, 9 slides each, 100 values of k, 6 scores; some PER, some WHERE."""
    return STREAM + "".join(map(_varied, range(count)))


def _varied(i: int) -> str:
    width = 10 + i * 37 % 200 * 54
    per, where = " PER symbol" * (i % 7 == 3), f" WHERE size > {i // 5 % 20}" * (i % 5 == 2)
    return (
        f"CREATE QUERY q{i} AS SELECT TOP {1 + i * 13 % 100}{per} symbol, price FROM trades "
        f"[RANGE {width} SECONDS SLIDE {max(1, width // (2 + i * 7 % 9))} SECONDS]{where} "
        f"ORDER BY {SCORES[i // 3 % len(SCORES)]} DESC;\n"
    )


def alike(count: int) -> str:
    """Every query a window of its own, and nothing else."""
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP {1 + i % 100} * FROM trades [RANGE {10 + i} SECONDS SLIDE {1 + i % 60} s] "
        "ORDER BY price * size DESC;\n"
        for i in range(count)
    )


def scored(count: int) -> str:
    """Every query a score of four terms, with weights of its own."""
    return STREAM + "".join(
        f"CREATE QUERY q{i} AS SELECT TOP {1 + i % 100} * FROM trades [RANGE {10 + i % 200} SECONDS SLIDE 5 SECONDS] "
        f"ORDER BY {i / 7:.3f} * a + {i / 11:.3f} * b + {i / 3:.3f} * c - {i / 5:.3f} * d DESC;\n"
        for i in range(count)
    )


@row("planning", "10,000 queries from text to a running Monitor, and 1,000: varied, alike but for windows, own scores")
def measure(run: Run) -> Result:
    s = Settings(queries=200, rounds=1) if run.quick else Settings()
    result = Result(settings=asdict(s))
    for shape in (varied, alike, scored):
        few, many = s.queries // 10, s.queries
        contestants = {n: partial(_measured, shape, n) for n in (few, many)}
        seconds: dict[int, list[float]] = {n: [] for n in contestants}
        for number in range(s.rounds):
            for n, once in contestants.items():
                run.say(f"round {number + 1} of {s.rounds}: {shape.__name__}, {n:,} queries")
                seconds[n].append(once())
        for n, times in seconds.items():
            line: Line = {"contestant": f"{shape.__name__}, {n:,} queries", "CPU s": median(times)}
            result.lines.append(line | {"µs a query": 1e6 * median(times) / n})
        result.ratios.append(Ratio(f"{shape.__name__}: CPU s of all", median(seconds[many]), at_most=run.asked(4)))
        ratio = median_ratio(seconds[many], seconds[few])
        result.ratios.append(Ratio(f"{shape.__name__}: all over a tenth", ratio, at_most=run.asked(12)))
    result.notes.append("every round in a process of its own, so that no expression is known from the one before")
    return result


def _measured(shape: Callable[[int], str], queries: int) -> float:
    """CPU seconds, imports and a first small workload apart."""
    said = subprocess.run(
        [sys.executable, "-c", ONCE, shape.__name__, str(queries)], capture_output=True, text=True, check=True
    )
    return float(said.stdout)
