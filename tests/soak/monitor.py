"""A Monitor that is fed without end: what it holds at a tenth of the way, and at its end.

python -m tests.soak.monitor 1000000000
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import skyband as sb
from tests.soak.memory import collected

WORKLOAD = """
CREATE STREAM s (ts TIMESTAMP_NTZ, id BIGINT, x DOUBLE, y DOUBLE, client BIGINT)
  WITH (TIME = ts, KEY = id, LATENESS = 1 SECOND, AHEAD = NONE, EXPIRE = 1 MINUTE);
CREATE QUERY best AS SELECT TOP 10 id FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] ORDER BY x DESC;
CREATE QUERY longer AS SELECT TOP 100 id FROM s [RANGE 3 MINUTES SLIDE 30 SECONDS] ORDER BY x DESC;
CREATE QUERY counted AS SELECT TOP 10 id FROM s [ROWS 1000000 SLIDE 100000] ORDER BY y DESC;
CREATE QUERY rare AS SELECT ABOVE 0.999999 id FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS] ORDER BY y DESC;
CREATE QUERY turns AS SELECT TOP 5 id FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS] ORDER BY x + y DESC EMIT CHANGES;
CREATE QUERY ever AS SELECT TOP 5 id FROM s [UNBOUNDED SLIDE 1 MINUTE] ORDER BY x * y DESC;
CREATE QUERY clients AS SELECT TOP 10 client, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS]
  GROUP BY client ORDER BY n DESC;
CREATE QUERY each AS SELECT TOP 1 PER client id FROM s [RANGE 20 SECONDS] WHERE x > 0.999 ORDER BY y DESC;
CREATE QUERY last AS SELECT TOP 1 PER client id FROM s [ROWS 100] WHERE x > 0.999 ORDER BY y DESC;
"""
A_PUSH, SECONDS_A_PUSH, LIVE = 500_000, 10, 2_000
"""Records and seconds of a push, and the clients in it: half of them are new with every push."""
SETTLED = 12_000_000
"""Records after which every window is full."""


def pushes(records: int) -> Iterator[pa.Table]:
    draw = np.random.default_rng(16)
    x, y, client = draw.random(A_PUSH), draw.random(A_PUSH), draw.integers(0, LIVE, A_PUSH)
    at = np.sort(draw.integers(0, SECONDS_A_PUSH * 1_000_000, A_PUSH))
    for number in range(records // A_PUSH):
        moved = (number * 7_919) % A_PUSH
        yield pa.table(
            {
                "ts": pa.array(at + number * SECONDS_A_PUSH * 1_000_000).view(pa.timestamp("us")),
                "id": np.arange(number * A_PUSH, (number + 1) * A_PUSH),
                "x": np.roll(x, moved),
                "y": np.roll(y, -moved),
                "client": client + number * LIVE // 2,
            }
        )


def soak(records: int) -> dict[str, float]:
    """Megabytes held after a tenth of the records, or when all has settled, and after all; and what the Monitor says of
    itself."""
    monitor = sb.Monitor(sb.Workload.from_sql(WORKLOAD))
    early, rows, early_state = 0.0, 0, 0
    settled = max(records // 10, SETTLED) // A_PUSH
    for number, table in enumerate(pushes(records), 1):
        rows += len(monitor.push(table))
        if number == settled:
            early, early_state = collected(), len(monitor.snapshot())
    state = len(monitor.snapshot())
    late = collected()
    return {
        "records": monitor.counters["records"],
        "rows": rows,
        "early": early,
        "late": late,
        "early state": early_state,
        "state": state,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(soak(int(sys.argv[1]))) + "\n")
