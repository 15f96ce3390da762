"""What the runtime should have said: the oracle applied to whole tables, and strategies that make awkward ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import accumulate
from math import inf, nan
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import skyband as sb
from skyband.engines.oracle import complete as oracle
from skyband.language import canonical
from skyband.model import Query
from skyband.runtime.hashing import hash_rows
from tests.drawn import several

Row = dict[str, Any]


def number(value: Any) -> Any:
    """Times as whole numbers, which can be turned round; other scores as they are."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return value.toordinal() if isinstance(value, date) else value


SCORES: dict[str, Callable[[Row], float | None]] = {
    "score": lambda row: number(row["score"]),
    "score - bonus": lambda row: None if row["score"] is None else row["score"] - row["bonus"],
}
SECONDS: dict[str, Callable[[Row], float | None]] = SCORES | {"bonus": lambda row: row["bonus"]}
FILTERS: dict[str, Callable[[Row], bool]] = {"bonus > 0": lambda row: row["bonus"] > 0}
MICRO = pa.timestamp("us")
SCHEMA = pa.schema(
    [("ts", MICRO), ("id", pa.int64()), ("score", pa.float64()), ("bonus", pa.int64()), ("color", pa.string())]
)


@dataclass(frozen=True)
class Expected:
    """One result row, and the place its report has among all."""

    query: str
    start: Any
    end: int
    group: str
    rank: int
    score: float
    id: int


def expected_rows(workload: sb.Workload, tables: Sequence[pa.Table]) -> list[Expected]:
    """Every row of every window, recomputed from scratch, in the order a Monitor gives them after all pushes."""
    found = []
    for place, query in enumerate(workload.queries):
        records = oracle_records(query, workload.streams[0], tables)
        for report in oracle.answer(query, records, newest=newest(tables)):
            for rank, record in enumerate(report.best, 1):
                row = Expected(
                    query.name, report.start, report.end, report.group, rank, _shown(record), record.row["id"]
                )
                found.append(((query.window.kind == "rows", report.end, place, report.group, rank), row))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def newest(tables: Sequence[pa.Table]) -> int:
    """The newest time of a stream."""
    times = [table.column("ts").cast(pa.int64()).to_numpy() for table in tables]
    return max([-(2**62), *(int(each.max()) for each in times if len(each))])


def oracle_records(query: Query, stream: sb.Stream, tables: Sequence[pa.Table]) -> list[oracle.Record]:
    """The query's records with the watermark that held when each arrived."""
    watermark, seen, records = -(2**62), dict[str, int](), []
    for table in tables:
        hashes = hash_rows(table).tolist()
        rows = _plain(table)
        for row, hashed in zip(rows, hashes, strict=True):
            group = "|".join("\\N" if row[name] is None else str(row[name]) for name in query.per)
            position = seen[group] = seen.get(group, -1) + 1
            if query.where and not FILTERS[canonical(query.where)](row):
                continue
            in_rows = query.window.kind == "rows"
            tie = (row[stream.key] if stream.key else 0, hashed)
            reported = -(2**62) if in_rows else watermark
            at = position if in_rows else row["ts"]
            second = None if query.then is None else SECONDS[canonical(query.then.by)](row)
            score, category = SECONDS[canonical(query.by)](row), tuple(row[name] for name in query.categories)
            records.append(oracle.Record(at, score, tie, group, reported, row, second=second, category=category))
        watermark = max([watermark, *(row["ts"] - stream.lateness for row in rows)])
    return records


def _plain(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
    return rows


def _shown(record: oracle.Record) -> float:
    assert record.score is not None
    return record.score + 0


def actual_rows(rows: pa.Table) -> list[Expected]:
    """Result rows in the form of `expected_rows`."""
    found = []
    plain = rows
    for name in ("window_start", "window_end"):
        plain = plain.set_column(plain.column_names.index(name), name, plain.column(name).cast(pa.int64()))
    for row in plain.to_pylist():
        start = row["window_start"] if row["row_start"] is None else row["row_start"]
        end = row["window_end"] if row["row_end"] is None else row["row_end"]
        found.append(Expected(row["query"], start, end, row["group_key"], row["rank"], number(row["score"]), row["id"]))
    return found


def micros(count: int) -> timedelta:
    """A length of time: bare numbers are none."""
    return timedelta(microseconds=count)


def run_monitor(workload: sb.Workload, tables: Sequence[pa.Table], engine: str | None = None) -> list[Expected]:
    """All rows of all pushes and the close, in report order."""
    monitor, parts = sb.Monitor(workload, engine=engine), []
    for table in tables:
        parts.append(monitor.push(table))
        check_structures(monitor)
    return in_order(workload, actual_rows(pa.concat_tables([*parts, monitor.close()])))


def check_structures(monitor: sb.Monitor) -> None:
    """Every engine and table that a Monitor runs checks itself, if it can."""
    for stream in monitor._streams.values():
        for family in stream.families:
            executor: Any = family.executor
            engines = [member.engine for member in getattr(executor, "members", {}).values()]
            for structure in (executor, getattr(executor, "_table", None), *engines):
                if hasattr(structure, "check"):
                    structure.check()


def in_order(workload: sb.Workload, rows: list[Expected]) -> list[Expected]:
    """By report over all pushes: a Monitor orders the rows of one push."""
    place = {query.name: (query.window.kind == "rows", number) for number, query in enumerate(workload.queries)}
    return sorted(rows, key=lambda row: (place[row.query][0], row.end, place[row.query][1], row.group))


# --------------------------------------------------------------------------------------------------------- strategies

awkward_scores = st.one_of(
    st.sampled_from([None, nan, inf, -inf, 0.0, -0.0, 1.0, 2.0, 3.0]), st.floats(-5, 5, width=16), st.just(7.0)
)


AWKWARD = [
    *(each for each in (0.0, None, nan, inf, -inf, -0.0, 1.0, 2.0, 3.0) for _ in range(9)),
    *np.random.default_rng(1).uniform(-5, 5, 87).tolist(),
    *[7.0] * 88,
]
"""The same for whole columns."""


@st.composite
def queries(draw: st.DrawFn, number: int, kinds: Sequence[str] = ("range", "rows"), unit: int = 1) -> Query:
    """Any window, slide, k, filter, order and grouping; times in `unit` microseconds."""
    kind = draw(st.sampled_from(kinds))
    width = draw(st.integers(1, 12))
    slide = draw(st.integers(1, width))
    options: dict[str, Any] = {
        "where": draw(st.sampled_from([None, None, "bonus > 0"])),
        "per": draw(st.sampled_from([(), (), "color"])),
        "ascending": draw(st.booleans()),
        "then": draw(st.sampled_from([None, None, "bonus ASC", "bonus", "score ASC", "score - bonus DESC"])),
    }
    if kind == "range" and draw(st.integers(0, 4)) == 0:
        return draw(unbounded(f"q{number}", unit, options))
    if kind == "range":
        options |= draw(st.sampled_from([{}, {}, {"offset": micros(unit * draw(st.integers(0, 15)))}]))
        every = draw(st.sampled_from(["slide", "cumulate", *([] if options.get("offset") else ["frequency"])]))
        width = -(-width // slide) * slide if every == "cumulate" else width
        frame: dict[str, Any] = {"window": f"{unit * width} microseconds", every: micros(unit * slide)}
    else:
        frame = {"window": f"{width} rows", "slide": slide}
    by = draw(st.sampled_from(sorted(SCORES)))
    if draw(st.integers(0, 5)) == 0:
        return sb.Above(f"q{number}", threshold=draw(st.integers(-2, 3)), by=by, **frame, **options)
    if draw(st.integers(0, 3)) == 0:
        options["at_most"] = draw(st.integers(1, 2)), draw(st.sampled_from(["color", ("color", "bonus"), "bonus"]))
    ties = options["then"] is None and "at_most" not in options and draw(st.integers(0, 3)) == 0
    return sb.TopK(f"q{number}", k=draw(st.integers(1, 5)), by=by, ties=ties, **frame, **options)


@st.composite
def unbounded(draw: st.DrawFn, name: str, unit: int, options: dict[str, Any]) -> Query:
    """Of all time, every so often."""
    frame: dict[str, Any] = {
        "slide": micros(unit * draw(st.integers(2, 30))),
        "offset": micros(unit * draw(st.integers(-3, 3))),
    }
    k, by = draw(st.integers(1, 5)), draw(st.sampled_from(sorted(SCORES)))
    return sb.TopK(name, k, by, "unbounded", **frame, **options)


@st.composite
def workloads(draw: st.DrawFn, most: int = 6, kinds: Sequence[str] = ("range", "rows"), unit: int = 1) -> sb.Workload:
    """1 to `most` queries over one stream; several often fall into one family."""
    count = draw(st.integers(1, most))
    members = [draw(queries(number, kinds, unit)) for number in range(count)]
    key, lateness = draw(st.sampled_from([None, "id"])), micros(unit * draw(st.integers(0, 6)))
    stream = sb.Stream("s", time="ts", key=key, lateness=lateness)
    return sb.Workload(members, stream=stream)


@st.composite
def tables(draw: st.DrawFn, longest: int = 40, unit: int = 1) -> list[pa.Table]:
    """Pushes of a stream with ties, gaps, bursts and disorder; times may come later than any lateness."""
    first, n = draw(st.sampled_from([-20, 0, 1_000])), draw(st.integers(0, longest))
    at = (unit * (first + passed) for passed in accumulate(draw(several([0, 0, 1, 1, 2, 3, -1, -4, 25], n))))
    score, bonus = draw(several(AWKWARD, n)), draw(several([0, 1, 2, -1], n))
    rows = list(zip(at, range(n), score, bonus, draw(several(["red", "blue", None], n)), strict=True))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [table_of(rows[low:high]) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def table_of(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """(ts, id, score, bonus, color) tuples as a table."""
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)
