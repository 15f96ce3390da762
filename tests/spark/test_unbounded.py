"""Groups of all time in Spark's state: what is stored stays small, and rows that stand for others count once.

Batches, streams and drains of such queries are in `test_windows_and_lists.py` and `test_groups.py`, random ones in
`test_parity.py` and `test_processor.py`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, strategies as st

import skyband as sb
from skyband.engines.codec import table_of, unsealed
from skyband.runtime import operator
from skyband.spark.state.joining import Joining
from skyband.spark.state.keys import LATE
from skyband.spark.state.store import ROWS
from skyband.spark.state.warm import WarmFamilies
from tests import groups
from tests.drawn import examples
from tests.spark.test_parity import MILLI
from tests.spark.test_processor import Played
from tests.spark.test_warm import counted_segments, on


@examples(25, suppress_health_check=list(HealthCheck))
@given(workload=groups.workloads(kinds=["range"], unit=MILLI), tables=groups.tables(unit=MILLI), data=st.data())
def test_a_stream_is_the_monitor_also_after_a_restart(
    monkeypatch: pytest.MonkeyPatch, workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    """Rows are put together as soon as there are some."""
    monkeypatch.setattr(operator, "SLACK", 1)
    cut, parts = data.draw(st.integers(0, len(tables))), data.draw(st.integers(1, 3))
    played, monitor = Played(workload, groups.SCHEMA), sb.Monitor(workload)
    said = [monitor.push(table) for table in tables]
    for number, table in enumerate(tables):
        if number == cut:
            played = played.restarted(workload)
        played.push(table, parts)
    assert groups.actual(workload, played.table()) == groups.actual(workload, pa.concat_tables(said))


def test_any_worker_may_go_on_and_reads_what_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two take turns. What was put together the other worker has to read; all rows, each time, would be more."""
    monkeypatch.setattr(operator, "SLACK", 20)
    query = sb.TopK("q", 3, "SUM(bytes)", "unbounded", "2 milliseconds", group_by="host", changes=True)
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts", lateness="1 millisecond"))
    played, monitor, told = Played(workload, groups.SCHEMA), sb.Monitor(workload), []
    pool = [WarmFamilies(), WarmFamilies()]
    with counted_segments() as found:
        for number in range(150):
            hosts = [(4 * number + host) % 50 for host in range(4)]
            table = groups.table_of([((2 * number - host % 3) * MILLI, "a", host, host, 1.0, "red") for host in hosts])
            with on(pool[number % 7 % 2]):
                played.push(table)
            told.append(monitor.push(table))
    assert groups.actual(workload, played.table()) == groups.actual(workload, pa.concat_tables(told))
    assert 0 < found["rows"] < 150 * 50 / 2


def stored_rows(played: Played) -> int:
    """In all segments of all keys."""
    blobs = [bytes(value[0]) for key in played.keys - {LATE} for value in played.segments(key).values()]
    return sum(len(table_of(unsealed(ROWS, blob)["rows"]) or ()) for blob in blobs)


def test_about_one_row_of_each_group_is_stored() -> None:
    """Sixty groups in 600 panes, twenty in a micro-batch; 36,000 partial aggregates came."""
    query = sb.TopK("q", 3, "SUM(bytes)", "unbounded", "10 milliseconds", group_by=("client", "host"))
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts"))
    played, most = Played(workload, groups.SCHEMA), 0
    for number in range(30):
        if number == 20:
            played = played.restarted(workload)
        times = range(200 * number, 200 * (number + 1), 10)
        who = [(f"c{client}", host) for client in range(6) for host in range(10)]
        played.push(groups.table_of([(at * MILLI, *each, 1, 1.0, "red") for at in times for each in who]))
        most = max(most, stored_rows(played))
    # In each of eight keys: twice what there has to be, or that much more, and what a micro-batch brings.
    assert most <= 2 * 60 + 8 * operator.SLACK + 20 * 60
    last = played.table().to_pylist()[-1]
    assert last["score"] == 600 - 1


def test_a_query_that_joins_is_warming_unless_all_it_needs_is_there() -> None:
    """Of records, those with no larger k; of groups, all that share their aggregates."""
    ever: dict[str, Any] = {"window": "unbounded", "slide": "10 milliseconds"}
    summed: dict[str, Any] = {"by": "SUM(bytes)", **ever, "group_by": "host"}
    first = [sb.TopK("q", 2, "bytes", **ever), sb.TopK("g", 1, **summed)]
    later = [
        sb.TopK("less", 1, "bytes", **ever),
        sb.TopK("more", 3, "bytes", **ever),
        sb.TopK("sums", 5, **summed),
        sb.TopK("counts", 5, **summed | {"by": "COUNT(*)"}),
    ]
    stream = sb.Stream("s", time="ts")
    table = groups.table_of([(at * MILLI, "a", at % 7, at, 1.0, "red") for at in range(100)])
    played, both = (
        Played(sb.Workload(first, stream=stream), groups.SCHEMA),
        sb.Workload([*first, *later], stream=stream),
    )
    played.push(table.slice(0, 60))
    joining = Joining({str(query): int(place >= 2) for place, query in enumerate(both.queries)})
    played = played.restarted(both, joining)
    played.push(table.slice(60))
    rows = played.table().to_pylist()
    assert {row["query"] for row in rows if row["warming"]} == {"more", "counts"}
    assert {row["query"] for row in rows if not row["warming"]} == {"q", "g", "less", "sums"}
