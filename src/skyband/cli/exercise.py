"""`python -m skyband.cli.exercise [--in-turn] UNIT`: compile what a unit is made of, by using all of it.

A process of its own, for whoever answers meanwhile without kernels. With `--one-by-one` it is for `skyband warm`: units
come as lines of standard input, and each is answered.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

import skyband as sb
from skyband.engines.base import Capabilities, registration
from skyband.engines.bounds import bounds
from skyband.engines.compiled import cache_folder, is_mine, note_of
from skyband.engines.compiling import (
    COMPILED,
    FAILED,
    IN_TURN,
    ONE_BY_ONE,
    forget_attempt,
    in_turn,
    log_of,
    note_compiled,
)
from skyband.planner import GROUPED

NICE = 5
RECORDS = 40_000
CUTS = (0, 50, 1_050, RECORDS // 2, RECORDS // 2 + 1, RECORDS)
"""Where pushes begin and end: large ones and small."""
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = {key}, LATENESS = 1 SECOND{more});\n"
LONG, SHORT = "FROM s [RANGE 20 SECONDS SLIDE 1 SECOND]", "FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS]"
SEMANTICS = ("PK_TOPK", "PT_K(0.3)", "U_TOPK", "U_KRANKS", "EXPECTED_RANK", "PK_STREAMS")


def exercise(unit: str) -> None:
    """Records of every shape through Monitors: in large pushes and small, late, and from a snapshot."""
    engine, _, key = unit.rpartition("-")
    table = _records(key == "int64")
    for text in workloads(engine):
        workload = sb.Workload.from_sql(text)
        chosen = None if engine == GROUPED else engine
        monitor = sb.Monitor(workload, chosen)
        for low, high in pairwise(CUTS):
            monitor.push(table.slice(low, high - low))
            monitor = sb.Monitor.restore(workload, monitor.snapshot(), chosen)
        monitor.push(table.slice(RECORDS - 9_000, 10))
        monitor.close()
    at, score = table.column("ts").cast(pa.int64()).to_numpy(), table.column("x").to_numpy()
    bounds(at, score, 1_000, 20_000, 10)


def workloads(engine: str) -> list[str]:
    """Streams and queries that ask an engine for all it has kernels for."""
    if engine == GROUPED:
        per = [f"SELECT {limit} PER color * {LONG} ORDER BY x DESC" for limit in ("TOP 10", "ABOVE 9")]
        # Long lists and short ones are pruned otherwise, by the longest of a family.
        per.append(f"SELECT TOP 10 PER color * {LONG} WHERE y >= 0 ORDER BY x DESC")
        ever = "SELECT TOP 10 * FROM s [UNBOUNDED SLIDE 1 SECOND] ORDER BY x DESC"
        return [_text([*per, f"SELECT TOP 40 PER color * {SHORT} ORDER BY x DESC", ever])]
    able = registration(engine).capabilities
    if able.data == "complete":
        limits = ("ABOVE 9", "ABOVE 90") if able.thresholds else ("TOP 10", "TOP 40")
        asked = [f"{limit} * {over}" for limit, over in zip(limits, (LONG, SHORT), strict=True)]
        # Long lists and short ones are pruned otherwise.
        asked += [f"TOP 50 AT MOST {n} PER part * {LONG} WHERE y >= {n}" for n in (2, 40) if able.at_most]
        return [_text(f"SELECT {each} ORDER BY x DESC" for each in asked)]
    made = {"groups": _groups, "multi_score": _many_scores, "objects": _objects, "uncertain": _uncertain}
    return made[able.data](able)


def _many_scores(able: Capabilities) -> list[str]:
    asked = [f"SELECT TOP {k} * {LONG} ORDER BY {k} * x + y DESC" for k in range(3, 13)]
    asked += [f"SELECT TOP 9 * {LONG} WHERE y > 50 ORDER BY x - y DESC", f"SELECT TOP 9 * {LONG} ORDER BY x * y DESC"]
    asked += [f"SELECT ABOVE 9000 * {LONG} ORDER BY x + {place} * y DESC" for place in range(3)] * able.thresholds
    return [_text(asked), *([_text(asked, ", OP = op", key="rule")] if able.deletes else [])]


def _objects(able: Capabilities) -> list[str]:
    close = "" if able.exact else " APPROXIMATE WITH PRECISION 0.9"
    declared = "OBJECT color, part ACROSS place IN ('a', 'b' WEIGHT 2, 'c')"
    asked = [
        (2, LONG, "OBJECT color ACROSS place (SUM)", "SUM(y)"),
        (5, SHORT, f"{declared} (MAX) EACH BETWEEN 0 AND 1000", "SUM(y)"),
        (4, SHORT, f"{declared} (LAST)", "MIN(y)"),
    ]
    if able.expressions:
        named = "OBJECT color, part ACROSS place IN ('a' AS a, 'b' AS b)"
        asked.append((5, SHORT, f"{named} (SUM y) EACH BETWEEN 0 AND 1000 AT MOST 999 TIMES", "a + sqrt(b)"))
    return [_text([f"SELECT TOP {k} * {over} {across} ORDER BY {by} DESC{close}"]) for k, over, across, by in asked]


def _groups(able: Capabilities) -> list[str]:
    shown = "part, SUM(x) AS total, COUNT(DISTINCT color) AS colors, MIN(y) AS least"
    return [_text([f"SELECT TOP 5 {shown} {LONG} GROUP BY part ORDER BY total DESC"])]


def _uncertain(able: Capabilities) -> list[str]:
    if able.errors:
        asked = [f"SELECT TOP 3 * {LONG} ORDER BY y WITH ERROR p DESC{using}" for using in ("", " USING PT_K(0.3)")]
        return [_text(asked), _text(asked, ", PROBABILITY = p, RULE = rule")]
    asked = [f"SELECT TOP 5 * {LONG} ORDER BY y DESC USING {using}" for using in SEMANTICS]
    each = [query.replace("TOP 5", "TOP 5 PER color") for query in asked]
    top = [f"SELECT TOP {k} * {SHORT} ORDER BY y DESC" for k in (2, 5)]
    ruled = ", PROBABILITY = p, RULE = rule, SOURCE = part"
    return [_text(asked, ruled), _text(top, ", PROBABILITY = p"), _text(each, ruled)]


def _text(queries: Iterable[str], more: str = "", key: str = "id") -> str:
    named = (f"CREATE QUERY q{number} AS {query};" for number, query in enumerate(queries))
    return STREAM.format(key=key, more=more) + "\n".join(named)


def _records(whole: bool) -> pa.Table:
    """Random, falling, rising and equal scores, one after the other."""
    draw, quarter = np.random.default_rng(1), RECORDS // 4
    rising = np.arange(quarter)
    score = np.concatenate((draw.integers(0, quarter, quarter), rising[::-1], rising, np.full(quarter, 7)))
    return pa.table(
        {
            "ts": pa.array(np.arange(RECORDS) * 4, pa.timestamp("ms")),
            "id": np.arange(RECORDS),
            "x": score if whole else score / 8,
            "y": draw.random(RECORDS) * 100,
            "color": draw.choice(["red", "blue", "green"], RECORDS),
            "part": draw.integers(0, 40, RECORDS),
            "place": draw.choice(["a", "b", "c"], RECORDS),
            "p": draw.random(RECORDS) * 0.9 + 0.05,
            "rule": draw.integers(0, RECORDS // 2, RECORDS),
            "op": draw.choice(["insert", "insert", "delete", "update"], RECORDS),
        }
    )


@contextmanager
def _behind(folder: Path) -> Iterator[None]:
    """After others that compile, and with what is left by whoever answers meanwhile."""
    os.nice(NICE)
    with in_turn(folder):
        yield


def _one_by_one() -> None:
    for line in sys.stdin:
        unit = line.strip()
        with log_of(_note(unit)).open("wb") as log:
            os.dup2(log.fileno(), sys.stderr.fileno())
        try:
            _compile(unit)
        except Exception:
            traceback.print_exc()
            sys.stdout.write(FAILED)
        else:
            sys.stdout.write(COMPILED)
        sys.stdout.flush()


def _compile(unit: str) -> None:
    is_mine(unit)
    try:
        exercise(unit)
        note_compiled(_note(unit))
    except KeyboardInterrupt:
        forget_attempt(_note(unit))
        sys.exit(130)


def _note(unit: str) -> Path:
    note = note_of(unit)
    assert note is not None, "nothing is kept here"
    return note


def main(words: list[str]) -> None:
    folder = cache_folder()
    assert folder is not None, "nothing is kept here"
    if ONE_BY_ONE in words:
        _one_by_one()
    else:
        with _behind(folder) if IN_TURN in words else nullcontext():
            _compile(words[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
