"""`python -m skyband.cli.warm UNIT ...`: compile what these units are made of, by using all of it."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

import skyband as sb
from skyband.engines.compiled import UNITS, note_compiled

RECORDS = 40_000


def warm(unit: str) -> None:
    """Records of every shape through a Monitor: in large pushes and small, late, from a snapshot."""
    stream = sb.Stream("s", time="ts", key="id", lateness="1 second")
    per = "color" if unit.startswith("grouped") else ()
    queries = [
        sb.TopK("one", 10, "x", "20 seconds", "1 second", per=per),
        sb.TopK("other", 40, "x", "7 seconds", "3 seconds", per=per),
    ]
    workload = sb.Workload(queries, stream=stream)
    monitor = sb.Monitor(workload)
    table = _records(unit.endswith("int64"))
    for low, high in ((0, 50), (50, 1_050), (1_050, 20_000), (20_000, 20_001), (20_001, RECORDS)):
        monitor.push(table.slice(low, high - low))
        monitor = sb.Monitor.restore(workload, monitor.snapshot())
    monitor.push(table.slice(RECORDS - 9_000, 10))
    monitor.close()
    note_compiled(unit)


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
            "color": draw.choice(["red", "blue", "green"], RECORDS),
        }
    )


if __name__ == "__main__":
    for asked in sys.argv[1:] or UNITS:
        warm(asked)
