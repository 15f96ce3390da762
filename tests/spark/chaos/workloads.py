"""What is killed at its work: a workload of every kind, over the same trades."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import skyband as sb
from tests.spark import jobs

RATE = 8.0
"""Trades a second: starts cost, not records."""
COLUMNS = "ts TIMESTAMP, trade_id BIGINT, symbol STRING, price DOUBLE, size BIGINT, change DOUBLE"
MINUTE, SHORT = "[RANGE 1 MINUTE SLIDE 10 SECONDS]", "[RANGE 25 SECONDS SLIDE 5 SECONDS]"
Tables = list[pa.Table]


def stream(more_columns: str = "", more: str = "") -> str:
    columns, settings = f"{COLUMNS}{more_columns}", f"TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS{more}"
    return f"CREATE STREAM trades ({columns}) WITH ({settings});"


def as_they_are(tables: Tables) -> Tables:
    return tables


@dataclass(frozen=True)
class Workload:
    """A stream and its queries, and how trades become its records."""

    name: str
    text: str
    made: Callable[[Tables], Tables] = as_they_are

    def tables(self, files: int) -> Tables:
        return self.made(jobs.trades(files, RATE))

    def rows(self, tables: Sequence[pa.Table]) -> pa.Table:
        """What a Monitor says of them, to the end."""
        monitor = sb.Monitor(sb.Workload.from_sql(self.text))
        return pa.concat_tables([*(monitor.push(table) for table in tables), monitor.close()])


def doubtful(tables: Tables) -> Tables:
    """With a probability, and two in three of one second excluding each other."""
    return [_doubtful(table, np.random.default_rng(number)) for number, table in enumerate(tables)]


def _doubtful(table: pa.Table, draw: np.random.Generator) -> pa.Table:
    seconds = pc.strftime(table["ts"], "%M:%S")
    rule = pc.if_else(pc.equal(pc.bit_wise_and(table["trade_id"], 3), 0), pa.scalar(None, pa.string()), seconds)
    likely = pa.array(draw.integers(1, 20, len(table)) / 64)
    return table.append_column("p", likely).append_column("rule", rule)


def taken_back(tables: Tables) -> Tables:
    """One trade in five is taken back, ten seconds later at the earliest: mostly in a later file."""
    whole = pa.concat_tables(tables)
    back = whole.filter(pc.equal(pc.subtract(whole["trade_id"], pc.multiply(pc.divide(whole["trade_id"], 5), 5)), 0))
    later = pc.add(back["ts"], pa.scalar(10_000_000, pa.duration("us")))
    deletes = back.set_column(0, "ts", later).append_column("op", pa.array(["D"] * len(back)))
    both = pa.concat_tables([whole.append_column("op", pa.array(["I"] * len(whole))), deletes]).sort_by("ts")
    cuts = np.linspace(0, len(both), len(tables) + 1).astype(int).tolist()
    return [both.slice(low, high - low).combine_chunks() for low, high in pairwise(cuts)]


def _scores(count: int) -> str:
    """Queries that differ in their score alone: from eight on they share a board."""
    scores = (f"{0.5 + number} * price + {0.25 * number} * size" for number in range(count))
    queries = (
        f"CREATE QUERY score{number} AS SELECT TOP {1 + number % 3} trade_id FROM trades {SHORT} ORDER BY {score};"
        for number, score in enumerate(scores)
    )
    return "\n".join(queries)


MIXED = Workload("mixed", jobs.WORKLOAD)
RANGED = Workload("mixed", jobs.RANGED)
UNCERTAIN = Workload(
    "uncertain",
    stream(", p DOUBLE, rule STRING", ", PROBABILITY = p, RULE = rule")
    + f"""
CREATE QUERY likely AS SELECT TOP 4 trade_id FROM trades {SHORT} ORDER BY price * size;
CREATE QUERY sure AS SELECT TOP 6 trade_id FROM trades {SHORT} ORDER BY price * size USING PT_K(0.1);
""",
    doubtful,
)
OBJECTS = Workload(
    "objects",
    stream()
    + f"""
CREATE QUERY lots AS SELECT TOP 3 size FROM trades {MINUTE} OBJECT size ACROSS symbol (SUM) ORDER BY SUM(price) DESC;
CREATE QUERY moved AS SELECT TOP 3 size FROM trades {MINUTE} OBJECT size ACROSS symbol (MAX) ORDER BY SUM(price)
  EMIT CHANGES;
""",
)
DELETES = Workload(
    "deletes",
    stream(", op STRING", ", OP = op")
    + f"""
CREATE QUERY biggest AS SELECT TOP 5 trade_id, symbol FROM trades {MINUTE} ORDER BY price * size DESC;
CREATE QUERY smallest AS SELECT TOP 3 trade_id FROM trades {SHORT} ORDER BY size ASC;
""",
    taken_back,
)
MULTI_SCORE = Workload("multi-score", f"{stream()}\n{_scores(10)}")
PER = Workload(
    "PER",
    stream()
    + f"""
CREATE QUERY each AS SELECT TOP 3 PER symbol trade_id, price FROM trades {SHORT} ORDER BY price * size DESC;
CREATE QUERY lately AS SELECT TOP 2 PER symbol trade_id FROM trades [ROWS 30 SLIDE 10] ORDER BY abs(change) DESC;
""",
)
CHANGES = Workload(
    "changes",
    stream()
    + f"""
CREATE QUERY entering AS SELECT TOP 6 trade_id FROM trades {MINUTE} ORDER BY price * size DESC EMIT CHANGES;
CREATE QUERY above AS SELECT ABOVE 100000 trade_id FROM trades {SHORT} ORDER BY price * size DESC EMIT CHANGES;
""",
)
GROUPS = Workload(
    "groups",
    stream()
    + f"""
CREATE QUERY traded AS SELECT TOP 3 symbol, SUM(size) AS total, COUNT(*) AS n, AVG(price) AS mean FROM trades {MINUTE}
  GROUP BY symbol ORDER BY total DESC WITH REST;
CREATE QUERY sizes AS SELECT TOP 4 size, COUNT(DISTINCT symbol) AS symbols FROM trades {SHORT}
  GROUP BY size ORDER BY symbols DESC EMIT CHANGES;
""",
)
