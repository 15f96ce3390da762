"""What a stream with EXPIRE should say: every life of a group alone, as a stream that has no other group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any

import pyarrow as pa

import skyband as sb

LENGTH = 20_000
"""Microseconds of silence, by the watermark."""
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id{}{});"
QUERIES = {
    "best": "SELECT TOP 2 PER color id FROM s [ROWS 4 SLIDE 2] ORDER BY score DESC",
    "longer": "SELECT TOP 1 PER color id FROM s [ROWS 6 SLIDE 3] ORDER BY score DESC",
    "high": "SELECT ABOVE 2 PER color id FROM s [ROWS 3 SLIDE 1] WHERE id % 3 > 0 ORDER BY score DESC",
    "turns": "SELECT TOP 2 PER color id FROM s [ROWS 4 SLIDE 2] ORDER BY score ASC EMIT CHANGES",
    "kinds": "SELECT TOP 2 PER color kind, COUNT(*) AS n FROM s [ROWS 5 SLIDE 2] GROUP BY kind ORDER BY n DESC",
    "apart": "SELECT TOP 1 PER color kind FROM s [ROWS 5 SLIDE 3] OBJECT kind ACROSS kind (MAX) ORDER BY SUM(score)",
}
UNCERTAIN = {"likely": "SELECT TOP 2 PER color id FROM s [ROWS 4 SLIDE 2] ORDER BY score DESC"}
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "id": pa.int64(),
        "score": pa.float64(),
        "color": pa.string(),
        "kind": pa.string(),
        "p": pa.float64(),
    }
)
Record = tuple[int, str, int]
"""Time, color and score."""


def workload(queries: dict[str, str], expire: str = f", EXPIRE = {LENGTH} MICROSECONDS") -> sb.Workload:
    uncertain = ", PROBABILITY = p" if queries is UNCERTAIN else ""
    text = "".join(f"CREATE QUERY {name} AS {query};\n" for name, query in queries.items())
    return sb.Workload.from_sql(STREAM.format(expire, uncertain) + text)


def table_of(records: Sequence[Record], first: int) -> pa.Table:
    """Records with ids from `first` on."""
    rows = [
        {
            "ts": at,
            "id": id,
            "score": float(score),
            "color": color,
            "kind": "xyz"[(id + score) % 3],
            "p": 0.25 + id % 3 / 4,
        }
        for id, (at, color, score) in enumerate(records, first)
    ]
    columns = [pa.array([row[name] for row in rows], pa.int64()) for name in ("ts",)]
    columns[0] = columns[0].view(pa.timestamp("us"))
    columns += [pa.array([row[field.name] for row in rows], field.type) for field in list(SCHEMA)[1:]]
    return pa.table(columns, schema=SCHEMA)


@dataclass
class Life:
    """Of a group: from where on it counts, its records, and whether it ended in silence."""

    first: int
    last: int
    tables: list[pa.Table] = field(default_factory=list)
    over: bool = False


def expected(queries: dict[str, str], pushes: Sequence[pa.Table]) -> list[dict[str, Any]]:
    """All rows, in no order."""
    rows = []
    for family in workload(queries).plan().families:
        slide = lcm(*(query.window.slide for query in family.family.queries))
        mine = {query.name for query in family.family.queries}
        for lives in lives_of(pushes, slide).values():
            for life in lives:
                rows += [row for row in _rows_of(queries, life) if row["query"] in mine]
    return rows


def lives_of(pushes: Sequence[pa.Table], slide: int) -> dict[str, list[Life]]:
    found: dict[str, list[Life]] = defaultdict(list)
    watermark, oldest, records = -(2**61), 2**61, 0
    for table in pushes:
        for lives in found.values():
            lives[-1].over |= lives[-1].last + LENGTH <= watermark
        unknown = -(-records // slide) * slide if watermark - LENGTH >= oldest else 0
        times, colors = table.column("ts").cast(pa.int64()).to_pylist(), table.column("color").to_pylist()
        for color in dict.fromkeys(colors):
            chosen = [place for place, each in enumerate(colors) if each == color]
            if not found[color] or found[color][-1].over:
                found[color].append(Life(unknown, -(2**61)))
            life = found[color][-1]
            life.last = max(life.last, *(times[place] for place in chosen))
            life.tables.append(table.take(chosen))
        records += len(times)
        oldest, watermark = min([oldest, *times]), max([watermark, *times])
    return found


def _rows_of(queries: dict[str, str], life: Life) -> list[dict[str, Any]]:
    alone = sb.Monitor(workload(queries, expire=""))
    parts = [alone.push(table) for table in life.tables]
    if not life.over:
        parts.append(alone.close())
    rows: list[dict[str, Any]] = pa.concat_tables(parts).to_pylist()
    for row in rows:
        row["row_start"], row["row_end"] = row["row_start"] + life.first, row["row_end"] + life.first
        row["warming"] = True if life.first and row["row_start"] < life.first else None
    return rows


def bag(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted((name, value) for name, value in row.items() if value is not None)) for row in rows)
