"""Top groups: workloads, streams, and what the oracle says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf, isnan, nan
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import skyband as sb
from skyband.engines.oracle import groups as oracle
from skyband.model import Query
from skyband.runtime.hashing import hash_rows
from tests.drawn import several
from tests.group_log import Told as Changed, log_of
from tests.support import micros, newest

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("client", pa.string()),
        ("host", pa.int32()),
        ("bytes", pa.int64()),
        ("weight", pa.float64()),
        ("color", pa.string()),
    ]
)
ASKED = {
    "n": "COUNT(*)",
    "weights": "COUNT(weight)",
    "total": "SUM(bytes)",
    "sum": "SUM(weight)",
    "mean": "AVG(weight)",
    "whole_mean": "AVG(bytes)",
    "least": "MIN(weight)",
    "most": "MAX(weight)",
    "last_seen": "MAX(ts)",
    "largest": "MAX(bytes)",
    "recent": "LAST(bytes)",
    "word": "LAST(color)",
    "hosts": "COUNT(DISTINCT host)",
    "twice": "SUM(bytes * 2)",
}
"""By name in the result."""
SCORES: dict[str, Callable[[Any], Any]] = {
    "COUNT(*)": lambda it: it["n"],
    "SUM(bytes)": lambda it: it["total"],
    "SUM(weight)": lambda it: it["sum"],
    "AVG(weight)": lambda it: it["mean"],
    "MIN(weight)": lambda it: it["least"],
    "MAX(weight)": lambda it: it["most"],
    "COUNT(DISTINCT host)": lambda it: it["hosts"],
    "SUM(weight) / COUNT(*)": lambda it: None if it["sum"] is None else it["sum"] / it["n"],
    "LAST(bytes)": lambda it: it["recent"],
}
HAVING: dict[str | None, Callable[[Any], bool | None]] = {
    None: lambda it: True,
    "COUNT(*) > 1": lambda it: it["n"] > 1,
    "MAX(bytes) >= 2 AND COUNT(DISTINCT host) < 3": lambda it: (
        it["largest"] is not None and it["largest"] >= 2 and it["hosts"] < 3
    ),
}
WHERE: dict[str | None, Callable[[Any], bool]] = {
    None: lambda row: True,
    "bytes > 0": lambda row: row["bytes"] is not None and row["bytes"] > 0,
}

awkward = st.one_of(
    st.sampled_from([None, nan, inf, -inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 0.1, 0.2, 0.3, 1e16]),
    st.floats(-5, 5, width=16),
)
counts = st.one_of(st.none(), st.integers(-2, 4), st.sampled_from([2**62, 2**63 - 1, -(2**63), 2**53 + 1]))


@st.composite
def queries(draw: st.DrawFn, number: int, kinds: Sequence[str] = ("range", "rows"), unit: int = 1) -> Query:
    """Any window, slide, k, filter, order, HAVING, PER and aggregates."""
    kind = draw(st.sampled_from(kinds))
    width = draw(st.integers(1, 12))
    slide = draw(st.integers(1, width))
    columns = draw(st.sampled_from([("client",), ("client", "host"), ("host",)]))
    names = draw(st.lists(st.sampled_from(sorted(ASKED)), unique=True, max_size=5))
    by = draw(st.sampled_from(sorted(SCORES)))
    options: dict[str, Any] = {
        "group_by": columns,
        "select": {name: name for name in columns} | {name: ASKED[name] for name in names},
        "where": draw(st.sampled_from(list(WHERE))),
        "having": draw(st.sampled_from(list(HAVING))),
        "per": draw(st.sampled_from([(), (), "color"])),
        "ascending": draw(st.booleans()),
        **draw(st.sampled_from([{}, {"rest": True}, {"changes": True}])),
    }
    frame: dict[str, Any] = {"window": f"{width} rows", "slide": slide}
    if kind == "range":
        frame = {"window": f"{unit * width} microseconds", "slide": micros(unit * slide)}
        if width % slide == 0 and draw(st.booleans()):
            frame = {"window": frame["window"], "cumulate": frame["slide"]}
        if draw(st.integers(0, 3)) == 0:
            frame = {"window": "unbounded", "slide": micros(unit * draw(st.integers(2, 30)))}
        frame |= draw(st.sampled_from([{}, {"offset": micros(unit * 3)}]))
        if draw(st.integers(0, 5)) == 0:
            # All of one: queries that share their moments report at those of the others as well.
            frame = {"window": f"{unit * width} microseconds", "frequency": micros(unit)}
    if draw(st.integers(0, 4)) == 0:
        return sb.Above(f"q{number}", threshold=draw(st.integers(-1, 3)), by=by, **frame, **options)
    return sb.TopK(f"q{number}", k=draw(st.integers(1, 4)), by=by, **frame, **options)


@st.composite
def workloads(draw: st.DrawFn, most: int = 4, kinds: Sequence[str] = ("range", "rows"), unit: int = 1) -> sb.Workload:
    members = [draw(queries(number, kinds, unit)) for number in range(draw(st.integers(1, most)))]
    lateness = micros(unit * draw(st.integers(0, 6)))
    return sb.Workload(members, stream=sb.Stream("s", time="ts", lateness=lateness))


@st.composite
def tables(draw: st.DrawFn, longest: int = 30, unit: int = 1) -> list[pa.Table]:
    """Pushes with ties, gaps, bursts and disorder; times may come later than any lateness."""
    first, n = draw(st.sampled_from([-20, 0, 1_000])), draw(st.integers(0, longest))
    at = (unit * (first + passed) for passed in accumulate(draw(several([0, 0, 1, 1, 2, 3, -1, -4, 25], n))))
    client, host = draw(several(["a", "b", "c", None], n)), draw(several([1, 2, None], n))
    color, some = draw(several(["red", "blue", None], n)), range(n)
    rows = list(zip(at, client, host, [draw(counts) for _ in some], [draw(awkward) for _ in some], color, strict=True))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [table_of(rows[low:high]) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def table_of(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def plain(value: Any) -> Any:
    """What can be compared: NaN is equal to NaN, 0 to -0."""
    if isinstance(value, float):
        return "nan" if isnan(value) else value + 0.0
    return value


Told = tuple[Any, ...]


def tie(value: Any) -> Any:
    """The larger number is the last of a moment, and of texts the one with the larger hash."""
    if isinstance(value, str):
        return int(hash_rows(pa.table({"x": [value]}))[0])
    return (True, 0) if isinstance(value, float) and isnan(value) else (False, value)


def expected(workload: sb.Workload, tables: Sequence[pa.Table]) -> list[Told]:
    """Every row of every window."""
    found: list[Told] = []
    for query in workload.queries:
        assert query.grouping is not None
        asked = [(name, *_taken(text)) for name, text in ASKED.items()]
        records = records_of(query, workload.streams[0], tables)
        having = HAVING[_spelt(HAVING, query.grouping.having)]
        reports = oracle.answer(query, records, asked, SCORES[query.by], having, tie, newest(tables))
        rows: Iterable[Changed] = ((report, row, None) for report in reports for row in report.rows)
        if query.changes:
            mine = set(map(str, query.grouping.aggregates or ()))
            told = [name for name, text in ASKED.items() if text in mine]
            rows = log_of(query, reports, told, newest(tables))
        for report, row, change in rows:
            names = dict(zip(query.grouping.columns, row.group, strict=True))
            shown = {item.name: names.get(item.name, row.aggregates.get(item.name)) for item in query.grouping.items}
            # The rest may have no score.
            score = None if row.score is None or isnan(row.score) else plain(row.score)
            values = [(name, plain(value)) for name, value in sorted(shown.items())]
            found.append((query.name, report.end, report.start, report.part, row.rank, change, score, *values))
    return sorted(found, key=_in_order)


def without_score(query: sb.TopK, stream: sb.Stream, tables: Sequence[pa.Table]) -> int:
    """How many groups of all its reports have none, let in by HAVING or not."""
    asked = [(name, *_taken(text)) for name, text in ASKED.items()]

    def missing(it: Any) -> float | None:
        score = SCORES[query.by](it)
        return 1.0 if score is None or isnan(score) else None

    records, everyone = records_of(query, stream, tables), replace(query, k=10_000)
    reports = oracle.answer(everyone, records, asked, missing, HAVING[None], tie, newest(tables))
    return sum(row.rank is not None for report in reports for row in report.rows)


def _in_order(row: Told) -> tuple[Any, ...]:
    return (*row[:4], row[4] is None, row[4] or 0, repr(row[5:]))


def _spelt(known: Iterable[str | None], text: str | None) -> str | None:
    return next(each for each in known if (each or "").lower() == (text or "").lower())


def _taken(text: str) -> tuple[str, str, bool]:
    function, _, argument = text.rstrip(")").partition("(")
    return function, argument.removeprefix("DISTINCT "), argument.startswith("DISTINCT ")


def records_of(query: Query, stream: sb.Stream, tables: Sequence[pa.Table]) -> list[oracle.Record]:
    watermark, seen, records = -(2**62), dict[str, int](), []
    for table in tables:
        rows = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
        for row in rows:
            part = "|".join("\\N" if row[name] is None else str(row[name]) for name in query.per)
            position = seen[part] = seen.get(part, -1) + 1
            if not WHERE[_spelt(WHERE, query.where)](row):
                continue
            in_rows = query.window.kind == "rows"
            twice = None if row["bytes"] is None or not -(2**63) <= row["bytes"] * 2 < 2**63 else row["bytes"] * 2
            assert query.grouping is not None
            group = tuple(row[name] for name in query.grouping.columns)
            at, met = (position, -(2**62)) if in_rows else (row["ts"], watermark)
            records.append(oracle.Record(at, group, row | {"bytes * 2": twice}, part, met))
        watermark = max([watermark, *(row["ts"] - stream.lateness for row in rows)])
    return records


def actual(workload: sb.Workload, rows: pa.Table) -> list[Told]:
    """Result rows in the form of `expected`."""
    found = []
    for query in workload.queries:
        mine = workload_results(workload, rows, query.name)
        for row in mine.to_pylist():
            kind = "window" if row["row_end"] is None else "row"
            start, end = row[f"{kind}_start"], row[f"{kind}_end"]
            assert query.grouping is not None
            names = sorted(item.name for item in query.grouping.items)
            shown = [(name, plain(row[name])) for name in names]
            front = query.name, end, start, row["group_key"], row["rank"], row["change"], plain(row["score"])
            found.append((*front, *shown))
    return sorted(found, key=_in_order)


def workload_results(workload: sb.Workload, rows: pa.Table, query: str) -> pa.Table:
    monitor = sb.Monitor(workload)
    monitor.push(table_of([]))
    mine = monitor.results.of(query).rows(rows)
    for name in mine.column_names:
        if pa.types.is_timestamp(mine.schema.field(name).type):
            place = mine.column_names.index(name)
            mine = mine.set_column(place, name, mine.column(name).cast(pa.timestamp("us")).cast(pa.int64()))
    return mine


def run_monitor(workload: sb.Workload, tables: Sequence[pa.Table]) -> list[Told]:
    monitor = sb.Monitor(workload)
    parts = [monitor.push(table) for table in tables]
    return actual(workload, pa.concat_tables([*parts, monitor.close()]))
