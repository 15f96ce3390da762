"""Every two clauses of a query together: which are refused."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb

NEEDS: dict[str, tuple[str, ...]] = {
    "GROUP BY": (),
    "HAVING": ("GROUP BY",),
    "WITH REST": ("GROUP BY",),
    "OBJECT": (),
    "APPROXIMATE of groups": ("GROUP BY",),
    "APPROXIMATE of values": ("GROUP BY",),
    "APPROXIMATE of objects": ("OBJECT",),
    "named streams": ("OBJECT",),
    "PROBABILITY": (),
    "USING": ("PROBABILITY",),
    "U_KRANKS": ("PROBABILITY",),
    "WITH ERROR": (),
    "OP": (),
    "ABOVE": (),
    "WITH TIES": (),
    "AT MOST": (),
    "DECAY": (),
    "a second key": (),
    "EMIT CHANGES": (),
    "PER": (),
    "JOIN": (),
    "ROWS": (),
    "CUMULATE": (),
    "UNBOUNDED": (),
    "FREQUENCY": (),
    "OFFSET": (),
}
"""What may be asked for, and what has to be there as well."""
ONE_OF = [{word for word in NEEDS if word.startswith("APPROXIMATE")}, {"USING", "U_KRANKS"}]
"""Spellings of one clause."""


def _stream(asked: set[str]) -> str:
    options = ["TIME = ts", "KEY = id", *(["OP = op"] if "OP" in asked else [])]
    options += ["PROBABILITY = p"] if "PROBABILITY" in asked else []
    columns = "ts TIMESTAMP, id BIGINT, c STRING, d STRING, v BIGINT, w BIGINT, op STRING, p DOUBLE"
    return f"CREATE STREAM s ({columns}) WITH ({', '.join(options)});"


def _window(asked: set[str]) -> str:
    unit = "" if "ROWS" in asked else " MINUTES"
    width = "UNBOUNDED" if "UNBOUNDED" in asked else f"{'ROWS' if 'ROWS' in asked else 'RANGE'} 100{unit}"
    step = f" CUMULATE 10{unit}" if "CUMULATE" in asked else "" if "FREQUENCY" in asked else f" SLIDE 10{unit}"
    return f"[{width}{step}{f' OFFSET 1{unit}' if 'OFFSET' in asked else ''}]"


def _order(asked: set[str]) -> str:
    if "named streams" in asked:
        by = "a + b"
    elif "APPROXIMATE of values" in asked:
        by = "COUNT(DISTINCT v)"
    else:
        by = "SUM(v)" if asked & {"GROUP BY", "OBJECT"} else "v"
    return f"ORDER BY {by} DESC{', w ASC' if 'a second key' in asked else ''}"


def text(asked: set[str], table: str) -> str:
    """A workload with a query that asks for all that."""
    limit = "ABOVE 1" if "ABOVE" in asked else "TOP 5"
    limit += " WITH TIES" if "WITH TIES" in asked else ""
    limit += " AT MOST 2 PER d" if "AT MOST" in asked else ""
    feeds = " IN ('x' AS a, 'y' AS b) (SUM v)" if "named streams" in asked else " (SUM)"
    clauses = {
        "JOIN": "JOIN t USING (c)",
        "OBJECT": f"OBJECT c ACROSS d{feeds}",
        "GROUP BY": "GROUP BY c",
        "HAVING": "HAVING COUNT(*) > 1",
        "": _order(asked),
        "DECAY": "DECAY HALF LIFE 1 HOUR",
        "WITH REST": "WITH REST",
        "WITH ERROR": "WITH ERROR p",
        "FREQUENCY": f"FREQUENCY 10{'' if 'ROWS' in asked else ' MINUTES'}",
        "USING": "USING PT_K(0.5)",
        "U_KRANKS": "USING U_KRANKS",
        "APPROXIMATE of groups": "APPROXIMATE",
        "APPROXIMATE of values": "APPROXIMATE",
        "APPROXIMATE of objects": "APPROXIMATE",
        "EMIT CHANGES": "EMIT CHANGES",
    }
    said = "\n".join(clause for word, clause in clauses.items() if not word or word in asked)
    tables = f"CREATE TABLE t FROM '{table}' KEY c;" if "JOIN" in asked else ""
    per = " PER d" if "PER" in asked else ""
    return f"{_stream(asked)}{tables}\nSELECT {limit}{per} c\nFROM s {_window(asked)}\n{said};"


Refused = dict[frozenset[str], sb.SkybandError]


def refused(folder: Path) -> Refused:
    """Pairs that are refused, with what they need, and how."""
    table = folder / "t.parquet"
    pq.write_table(pa.table({"c": ["x"], "rate": [1.5]}), table)
    known: Refused = {}
    for one, other in combinations(NEEDS, 2):
        if one in NEEDS[other] or other in NEEDS[one] or any({one, other} <= words for words in ONE_OF):
            continue
        try:
            sb.Workload.from_sql(text({one, other, *NEEDS[one], *NEEDS[other]}, str(table)))
        except sb.SkybandError as error:
            known[frozenset((one, other))] = error
    return known


def first_of_all(known: Refused) -> Refused:
    """Without those that are refused for what two others are that they need."""
    return {pair: error for pair, error in known.items() if not _needed(*pair) & known.keys() - {pair}}


def _needed(one: str, other: str) -> set[frozenset[str]]:
    return {frozenset((a, b)) for a in (one, *NEEDS[one]) for b in (other, *NEEDS[other])}
