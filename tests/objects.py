"""Objects whose values arrive apart: what the runtime should have said of whole tables, by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isinf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import skyband as sb
from skyband.engines.oracle import objects as oracle
from skyband.model import Above, Floats, Query, TopK
from skyband.model.across import combination_word
from skyband.runtime.hashing import hash_rows

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")), ("id", pa.int64()), ("client", pa.string()), ("port", pa.int64()),
        ("server", pa.string()), ("x", pa.float64()), ("color", pa.string()),
    ]
)  # fmt: skip
EXPRESSIONS: dict[str, Callable[..., float]] = {
    "2 * a + sqrt(b) + least(c, 2)": lambda a, b, c: 2 * a + (sqrt(b) if b >= 0 else nan) + min(c, 2),
    "sqrt(a - 1) + b": lambda a, b, c: sqrt(a - 1) + b if a >= 1 else nan,
    "greatest(a, b, c) / 3": lambda a, b, c: max(a, b, c) / 3,
    "a * b + c": lambda a, b, c: a * b + c,
}
"""Over the streams a, b and c; the last is monotone where no attribute is negative."""
Report = tuple[str, int, str]
"""Query, end and group."""
Listed = list[tuple[int, float]]
"""The newest record of each object, and its score; best first."""


class Plain(NamedTuple):
    """One of `EXPRESSIONS`, for one object after the other."""

    text: str

    def __call__(self, attributes: Floats) -> Floats:
        return np.array([EXPRESSIONS[self.text](*column) for column in attributes.T.tolist()])

    def steady(self, highest: Floats) -> bool:
        raise NotImplementedError


def table_of(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(values, each.type) for values, each in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def expected(workload: sb.Workload, pushes: Sequence[pa.Table]) -> dict[Report, Listed]:
    """Every report with a row, recomputed from the records that count in it."""
    found: dict[Report, Listed] = {}
    for query in workload.queries:
        assert query.across is not None
        assert isinstance(query, TopK | Above)
        made = Plain(query.by) if query.across.named else None
        assembly = query.across.assembly(combination_word(query.across, query.by), made)
        for (end, group), members in _windows(query, workload.streams[0], pushes).items():
            best = oracle.ranking(assembly, _in_feed_order(query, members), query.ascending)
            best = oracle.above(best, query.threshold) if isinstance(query, Above) else best[: query.k]
            if best:
                found[query.name, end, group] = [(each.newest.row, each.score) for each in best]
    return found


def reported(rows: pa.Table) -> dict[Report, Listed]:
    """The same of result rows."""
    found: dict[Report, Listed] = {}
    for row in rows.set_column(2, "window_end", rows.column("window_end").cast(pa.int64())).to_pylist():
        end = row["window_end"] if row["row_end"] is None else row["row_end"]
        listed = found.setdefault((row["query"], end, row["group_key"]), [])
        listed.append((row["id"], row["score"]))
        assert row["rank"] == len(listed)
    return found


def _windows(query: Query, of: sb.Stream, pushes: Sequence[pa.Table]) -> dict[tuple[int, str], list[dict[str, Any]]]:
    frame, in_rows = query.window, query.window.kind == "rows"
    watermark, seen, inside = -(2**62), dict[str, int](), dict[tuple[int, str], list[dict[str, Any]]]()
    for table in pushes:
        rows = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
        for row, hashed in zip(rows, hash_rows(table).tolist(), strict=True):
            group = row["color"] if query.per else ""
            position = seen[group] = seen.get(group, -1) + 1
            at = position if in_rows else row["ts"]
            if not _counts(query, row):
                continue
            end = at + 1 + (frame.end_phase() - at - 1) % frame.slide
            while end <= at + frame.width:
                if in_rows or end > watermark:
                    inside.setdefault((end, group), []).append(row | {"at": at, "tie": (row["id"], hashed)})
                end += frame.slide
        watermark = max([watermark, *(row["ts"] - of.lateness for row in rows)])
    return inside


def _counts(query: Query, row: dict[str, Any]) -> bool:
    across = query.across
    assert across is not None
    if row["x"] is None or (isinf(row["x"]) and not across.counts) or any(row[name] is None for name in across.object):
        return False
    if query.where == "port > 1" and not row["port"] > 1:
        return False
    feeds = {feed.name: feed for feed in across.resolved().streams}
    if not feeds:
        return row["server"] is not None
    feed = feeds.get(row["server"])
    if feed is None:
        return False
    if across.counts:
        return True
    low, high = feed.between or (0 if query.by.startswith("PRODUCT") else -1e9, 1e9)
    return bool(low <= _value(query, row) <= high)


def _in_feed_order(query: Query, members: list[dict[str, Any]]) -> list[oracle.Sighting]:
    """By time; of equal times the larger object first; of one object the larger key first."""
    across = query.across
    assert across is not None
    names = [feed.name for feed in across.streams]
    for row in members:
        row["object"] = tuple(row[name] for name in across.object)
    last_first = sorted(members, key=lambda row: (row["object"], row["tie"]), reverse=True)
    ordered = sorted(last_first, key=lambda row: row["at"])
    if not names:
        names = list(dict.fromkeys(row["server"] for row in ordered))
    return [
        oracle.Sighting(row["at"], row["object"], names.index(row["server"]), _value(query, row), row["id"])
        for row in ordered
    ]


def _value(query: Query, row: dict[str, Any]) -> float:
    value: float = row["x"]
    assert query.across is not None
    if query.across.counts:
        return 1.0
    return {"x": value, "abs(x)": abs(value)}[query.value]
