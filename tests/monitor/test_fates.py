"""What becomes of every record, for every query: one of six, told one by one, and they add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st

import skyband as sb
from skyband.language import canonical
from skyband.model import Query
from skyband.runtime.fates import FATES
from tests import support
from tests.drawn import examples

NOW = datetime(2026, 5, 1, tzinfo=UTC)
FAR = 2**58


@st.composite
def troubled(draw: st.DrawFn, tables: Sequence[pa.Table]) -> list[pa.Table]:
    """The same tables; some records lose their time, some are of the future."""
    found = []
    for table in tables:
        times = table.column("ts").cast(pa.int64()).to_pylist()
        times = [draw(st.sampled_from([at, at, at, None, FAR])) for at in times]
        found.append(table.set_column(0, "ts", pa.array(times).cast(support.MICRO)))
    return found


def expected(query: Query, stream: sb.Stream, tables: Sequence[pa.Table]) -> Counter[str]:
    """One record after the other."""
    watermark, found = -(2**62), Counter[str]()
    for table in tables:
        rows = table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pylist()
        found.update(_fate(query, row, watermark) for row in rows)
        good = [row["ts"] for row in rows if row["ts"] is not None and row["ts"] != FAR]
        watermark = max([watermark, *(at - stream.lateness for at in good)])
    return found


def _fate(query: Query, row: support.Row, watermark: int) -> str:
    if row["ts"] is None:
        return "bad"
    if row["ts"] == FAR:
        return "future"
    if query.window.kind == "range" and _last_end(query, row["ts"]) <= watermark:
        return "dropped"
    if query.where and not support.FILTERS[canonical(query.where)](row):
        return "filtered"
    score = support.SCORES[canonical(query.by)](row)
    return "unranked" if score is None or isnan(score) else "ranked"


def _last_end(query: Query, at: int) -> int:
    window = query.window
    if "UNBOUNDED" in str(window):
        return 2**62
    step = window.width if "CUMULATE" in str(window) else window.slide
    return (at - window.offset) // step * step + window.offset + window.width


@examples(150)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_every_record_has_one_fate(workload: sb.Workload, tables: list[pa.Table], data: st.DataObject) -> None:
    found, cut = data.draw(troubled(tables)), data.draw(st.integers(0, len(tables)))
    monitor = sb.Monitor(workload, clock=lambda: NOW)
    for number, table in enumerate(found):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot(), clock=lambda: NOW)
        monitor.push(table)
    told = monitor.counters["queries"]
    for query in workload.queries:
        mine = {what: told[query.name][what] for what in FATES}
        assert sum(mine.values()) == sum(map(len, tables))
        if not query.window.at_least_every:
            wanted = expected(query, workload.streams[0], found)
            assert mine == {what: wanted[what] for what in FATES}, str(query)


def test_a_query_that_joins_counts_from_then_on() -> None:
    best = sb.TopK("best", 1, "x", "10 seconds")
    monitor = sb.Monitor(sb.Workload([best], stream=sb.Stream("s", time="ts")), clock=lambda: NOW)
    records: dict[str, Any] = {"ts": [datetime(2026, 1, 1), None, datetime(9999, 1, 1)], "x": [1.0, 2.0, 3.0]}
    monitor.push(records)
    monitor.add(sb.TopK("later", 1, "x", "20 seconds", where="x > 5"))
    monitor.push(records)
    told = {name: [counts[what] for what in FATES] for name, counts in monitor.counters["queries"].items()}
    assert told == {"best": [2, 2, 0, 0, 0, 2], "later": [1, 1, 0, 1, 0, 0]}


OTHERS = """CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY objects AS SELECT TOP 2 color FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] WHERE bonus > 0
  OBJECT color ACROSS bonus (SUM) ORDER BY SUM(score);
CREATE QUERY groups AS SELECT TOP 2 color, COUNT(*) AS many FROM s [RANGE 9 MICROSECONDS] WHERE bonus > 0
  GROUP BY color ORDER BY many;
CREATE QUERY fading AS SELECT TOP 2 FROM s [RANGE 9 MICROSECONDS] ORDER BY score DECAY HALF LIFE 1 SECOND;
"""
MANY = "CREATE QUERY many{0} AS SELECT TOP 2 FROM s [RANGE 8 MICROSECONDS SLIDE 2 MICROSECONDS] ORDER BY {0}.5 * score;"


def test_other_records_add_up_too() -> None:
    """Objects may be bad to a query; groups have no score of a record; of many scores filters are not told."""
    workload = sb.Workload.from_sql(OTHERS + "".join(map(MANY.format, range(4))))
    rows = [(n % 40, n, float(n % 7 - 1) if n % 5 else None, n % 3, "red" if n % 4 else None) for n in range(90)]
    monitor = sb.Monitor(workload, clock=lambda: NOW)
    for low in range(0, len(rows), 30):
        monitor.push(support.table_of(rows[low : low + 30]))
    told = monitor.counters["queries"]
    for name, counts in told.items():
        assert sum(counts[what] for what in FATES) == len(rows), name
        assert min(counts["ranked"], counts["dropped"]) > 0, name
    assert min(told["objects"][what] for what in ("bad", "filtered", "unranked")) > 0
    assert told["groups"]["filtered"] > 0
    assert min(told["fading"]["unranked"], told["many1"]["unranked"]) > 0
