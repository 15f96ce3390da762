"""Workloads of every data model and one stream for all of them, from which the golden states are written.

Nothing here may change without writing `golden/` anew: the states were taken half-way through these pushes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import skyband as sb

RECORDS, PUSHED = 80, 8
CUT = 5
"""Pushes before the state is taken."""
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("id", pa.int64()),
        ("a", pa.float64()),
        ("b", pa.int64()),
        ("p", pa.float64()),
        ("rule", pa.string()),
        ("color", pa.string()),
        ("client", pa.string()),
        ("server", pa.string()),
        ("op", pa.string()),
    ]
)


@dataclass(frozen=True)
class Stored:
    """A workload whose state is on disk, and the engine asked for, where the planner would not choose it."""

    name: str
    text: str
    engine: str | None = None

    @property
    def workload(self) -> sb.Workload:
        return sb.Workload.from_sql(self.text)


PLAIN = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 3 SECONDS);"
DELETES = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 3 SECONDS, OP = op);"
EXPIRING = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 3 SECONDS, EXPIRE = 4 SECONDS);"
HEAVY = "APPROXIMATE KEEPING 2 GROUPS"
WORLDS = "CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 3 SECONDS, PROBABILITY = p, RULE = rule);"
SUMS = "OBJECT client ACROSS server IN ('x', 'y' WEIGHT 2) (SUM) EACH BETWEEN 0 AND 9 AT MOST 5 TIMES ORDER BY SUM(a)"

STORED = [
    Stored(
        "complete-range",
        f"""{PLAIN}
        CREATE QUERY best AS SELECT TOP 3 * FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY a;
        CREATE QUERY log AS SELECT TOP 2 id FROM s [RANGE 9 SECONDS SLIDE 2 SECONDS] ORDER BY a EMIT CHANGES;
        CREATE QUERY each AS SELECT TOP 1 PER color FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] WHERE b > 1 ORDER BY a;
        CREATE QUERY over AS SELECT ABOVE 5.5 id FROM s [RANGE 8 SECONDS] ORDER BY a;""",
    ),
    Stored(
        "all-time",
        f"""{PLAIN}
        CREATE QUERY best AS SELECT TOP 3 * FROM s [UNBOUNDED SLIDE 5 SECONDS] ORDER BY a;
        CREATE QUERY each AS SELECT TOP 1 PER color FROM s [UNBOUNDED SLIDE 4 SECONDS] WHERE b > 1
          ORDER BY a EMIT CHANGES;
        CREATE QUERY sums AS SELECT TOP 2 client, SUM(a) AS total, LAST(color) AS last
          FROM s [UNBOUNDED SLIDE 6 SECONDS OFFSET 1 SECOND] GROUP BY client ORDER BY total EMIT CHANGES;""",
    ),
    Stored(
        "complete-rows",
        f"""{PLAIN}
        CREATE QUERY best AS SELECT TOP 3 * FROM s [ROWS 20 SLIDE 7] ORDER BY a ASC;
        CREATE QUERY log AS SELECT TOP 2 id FROM s [ROWS 16 SLIDE 3] ORDER BY a ASC EMIT CHANGES;
        CREATE QUERY each AS SELECT TOP 2 PER color FROM s [ROWS 10 SLIDE 4] ORDER BY a;""",
    ),
    Stored(
        "rows-expiring",
        f"""{EXPIRING}
        CREATE QUERY each AS SELECT TOP 2 PER color, server id FROM s [ROWS 4 SLIDE 2] ORDER BY a;
        CREATE QUERY log AS SELECT TOP 1 PER client id FROM s [ROWS 3 SLIDE 1] ORDER BY b ASC EMIT CHANGES;""",
    ),
    Stored(
        "scores-range",
        f"""{PLAIN}
        CREATE QUERY one AS SELECT TOP 3 * FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY 0.5 * a + 0.25 * b;
        CREATE QUERY two AS SELECT TOP 2 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] WHERE a > 1 ORDER BY 2.0 * b - a;
        CREATE QUERY all AS SELECT ABOVE 6.0 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY a * 1.0;""",
        "sma",
    ),
    Stored(
        "scores-rows",
        f"""{DELETES}
        CREATE QUERY one AS SELECT TOP 3 * FROM s [ROWS 20 SLIDE 5] ORDER BY 0.5 * a + 0.25 * b;
        CREATE QUERY log AS SELECT TOP 2 id FROM s [ROWS 20 SLIDE 5] ORDER BY a EMIT CHANGES;""",
    ),
    Stored(
        "objects-range",
        f"""{PLAIN}
        CREATE QUERY sums AS SELECT TOP 2 client FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] {SUMS};
        CREATE QUERY log AS SELECT TOP 2 client FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] {SUMS} EMIT CHANGES;
        CREATE QUERY last AS SELECT TOP 3 client FROM s [RANGE 16 SECONDS SLIDE 4 SECONDS]
          OBJECT client ACROSS server (LAST) ORDER BY SUM(a);""",
    ),
    Stored(
        "objects-rows",
        f"""{PLAIN}
        CREATE QUERY sums AS SELECT TOP 2 PER color client FROM s [ROWS 18 SLIDE 4] {SUMS};
        CREATE QUERY high AS SELECT TOP 3 client FROM s [ROWS 24 SLIDE 6]
          OBJECT client, b ACROSS server IN ('x', 'y') (MAX) EACH BETWEEN 0 AND 9 ORDER BY MAX(a);""",
    ),
    Stored(
        "objects-expressions",
        f"""{PLAIN}
        CREATE QUERY made AS SELECT TOP 2 client FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS]
          OBJECT client ACROSS server IN ('x' AS x, 'y' AS y) (SUM a) EACH BETWEEN 0 AND 9 AT MOST 40 TIMES
          ORDER BY x + sqrt(y);
        CREATE QUERY over AS SELECT ABOVE 7 client FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] {SUMS};
        CREATE QUERY often AS SELECT TOP 3 client FROM s [ROWS 24 SLIDE 6]
          OBJECT client ACROSS server (COUNT) ORDER BY SUM(a);""",
    ),
    Stored(
        "objects-approximate",
        f"""{PLAIN}
        CREATE QUERY rough AS SELECT TOP 2 client FROM s [ROWS 24 SLIDE 6] {SUMS} APPROXIMATE WITH PRECISION 0.9;""",
    ),
    Stored(
        "uncertain-range",
        f"""{WORLDS}
        CREATE QUERY likely AS SELECT TOP 2 * FROM s [RANGE 20 SECONDS] ORDER BY a FREQUENCY 5 SECONDS;
        CREATE QUERY sure AS SELECT TOP 3 id FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] ORDER BY a USING PT_K(0.3);
        CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [RANGE 16 SECONDS SLIDE 4 SECONDS] ORDER BY a;""",
    ),
    Stored(
        "uncertain-rows",
        f"""{WORLDS}
        CREATE QUERY list AS SELECT TOP 2 id FROM s [ROWS 20 SLIDE 5] ORDER BY a USING U_TOPK;
        CREATE QUERY rank AS SELECT TOP 3 id FROM s [ROWS 20 SLIDE 4] ORDER BY a USING EXPECTED_RANK;""",
    ),
    Stored(
        "uncertain-errors",
        f"""{PLAIN}
        CREATE QUERY likely AS SELECT TOP 2 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY a WITH ERROR 0.5;""",
    ),
    Stored(
        "lists",
        f"""{PLAIN}
        CREATE QUERY tied AS SELECT TOP 3 WITH TIES id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY b;
        CREATE QUERY few AS SELECT TOP 4 AT MOST 1 PER color * FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] ORDER BY a;
        CREATE QUERY then AS SELECT TOP 3 id FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] ORDER BY b, a ASC;
        CREATE QUERY fades AS SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS]
          ORDER BY a DECAY HALF LIFE 6 SECONDS;
        CREATE QUERY day AS SELECT TOP 2 id FROM s [RANGE 30 SECONDS CUMULATE 5 SECONDS]
          WHERE b > 2 ORDER BY a;
        CREATE QUERY rows AS SELECT TOP 3 AT MOST 2 PER color id FROM s [ROWS 20 SLIDE 5] ORDER BY b;""",
    ),
    Stored(
        "groups",
        f"""{PLAIN}
        CREATE QUERY sums AS SELECT TOP 2 client, SUM(a) AS total, COUNT(DISTINCT color) AS colors, MAX(b) AS high
          FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY client HAVING COUNT(*) > 1 ORDER BY total WITH REST;
        CREATE QUERY log AS SELECT TOP 2 client, AVG(b) AS mean, LAST(color) AS last
          FROM s [ROWS 18 SLIDE 4] GROUP BY client ORDER BY mean EMIT CHANGES;
        CREATE QUERY each AS SELECT TOP 1 PER color client, MIN(ts) AS first
          FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY client ORDER BY SUM(b);""",
    ),
    Stored(
        "groups-approximate",
        f"""{PLAIN}
        CREATE QUERY heavy AS SELECT TOP 2 client, COUNT(*) AS n
          FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY client ORDER BY n {HEAVY};
        CREATE QUERY different AS SELECT TOP 2 client, COUNT(DISTINCT id) AS n
          FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY client ORDER BY n APPROXIMATE;""",
    ),
]


def pushes() -> list[pa.Table]:
    """Ties, some disorder, late records, missing values; the same on every machine."""
    rows = [_record(number) for number in range(RECORDS)]
    size = RECORDS // PUSHED
    return [_table(rows[begin : begin + size]) for begin in range(0, RECORDS, size)]


def _record(number: int) -> tuple[Any, ...]:
    early = 8 if number % 19 == 11 else 2 if number % 5 == 3 else 0
    a = None if number % 23 == 7 else (number * 37 % 91) / 10
    deleted = number % 7 == 6
    return (
        (number - early) * 1_000_000,
        number - 4 if deleted else number,
        a,
        number * 5 % 7,
        (number * 13 % 20 + 1) / 20,
        None if number % 3 else f"r{number // 6}",
        ("red", "blue", "green")[number * 11 % 3],
        "uvwxy"[number * 29 % 11 % 5],
        "xy"[number * 17 % 5 % 2],
        "D" if deleted else "I",
    )


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(values, each.type) for values, each in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
