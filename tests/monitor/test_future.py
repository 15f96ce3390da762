"""A record whose time cannot be true costs that record: not one other row changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import skyband as sb
from skyband.model import Query
from tests import support

STREAMS = int(os.environ.get("POISONED_STREAMS", "200"))
"""`make poisoned` sets it."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
FAR = datetime(9999, 12, 1)


def bounded(stream: sb.Stream, **bounds: Any) -> sb.Stream:
    return sb.Stream(stream.name, stream.time, stream.key, support.micros(stream.lateness), **bounds)


@st.composite
def poisoned(draw: st.DrawFn, tables: Sequence[pa.Table]) -> tuple[list[pa.Table], dict[str, Any], datetime]:
    """The same tables with a record more, whose time is out of bounds; the bounds, and what the clock says."""
    times = [int(at) for table in tables for at in table.column("ts").cast(pa.int64()).to_pylist()]
    first, last = min(times, default=0), max(times, default=0)
    further = draw(st.sampled_from([1, 2, 50, 10**6, 86_400 * 10**6, 2**60]))
    if draw(st.booleans()):
        bounds: dict[str, Any] = {"between": (EPOCH + support.micros(first), EPOCH + support.micros(last))}
        at = draw(st.sampled_from([first - further, last + further]))
    else:
        ahead = draw(st.sampled_from([0, 1, 20]))
        bounds, at = {"ahead": support.micros(ahead)}, last + ahead + further
    where = draw(st.integers(0, len(tables) - 1))
    row = support.table_of([(at, draw(st.integers(-1, 50)), draw(support.awkward_scores), 1, "red")])
    place = draw(st.integers(0, len(tables[where])))
    more = pa.concat_tables([tables[where].slice(0, place), row, tables[where].slice(place)])
    return [*tables[:where], more, *tables[where + 1 :]], bounds, EPOCH + support.micros(last)


@settings(max_examples=STREAMS, deadline=None)
@given(workload=support.workloads(), tables=support.tables(), data=st.data())
def test_one_poisoned_record_changes_no_other_row(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    found, bounds, now = data.draw(poisoned(tables))
    mine = sb.Workload(workload.queries, stream=bounded(workload.streams[0], **bounds))
    monitor, cut, parts = sb.Monitor(mine, clock=lambda: now), data.draw(st.integers(0, len(found))), []
    for number, table in enumerate(found):
        if number == cut:
            monitor = sb.Monitor.restore(mine, monitor.snapshot(), clock=lambda: now)
        parts.append(monitor.push(table))
    rows = support.in_order(mine, support.actual_rows(pa.concat_tables([*parts, monitor.close()])))
    assert rows == support.expected_rows(workload, tables)
    assert (monitor.counters["future"], monitor.counters["records"]) == (1, sum(map(len, tables)))


def best(**bounds: Any) -> sb.Workload:
    query: Query = sb.TopK("best", 1, "x", "10 seconds")
    return sb.Workload([query], stream=sb.Stream("s", time="ts", **bounds))


def pushed(monitor: sb.Monitor, *times: datetime) -> int:
    monitor.push({"ts": list(times), "x": [1.0] * len(times)})
    future: int = monitor.counters["future"]
    return future


def test_a_day_ahead_unless_said_and_the_clock_goes_on() -> None:
    clock = NOW
    monitor = sb.Monitor(best(), clock=lambda: clock)
    day = datetime(2026, 5, 2)
    assert pushed(monitor, datetime(1871, 1, 1), day, day + timedelta(microseconds=1), FAR) == 2
    clock = NOW + timedelta(microseconds=1)
    assert pushed(monitor, day + timedelta(microseconds=1)) == 2
    assert pushed(monitor, day + timedelta(microseconds=2)) == 3


def test_the_wall_clock_unless_one_is_given() -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    assert pushed(sb.Monitor(best()), now + timedelta(hours=23), now + timedelta(hours=25)) == 1


@pytest.mark.parametrize(("bounds", "future"), [({"ahead": None}, 0), ({"between": ("2026-01-01", "9999-12-31")}, 0)])
def test_no_bound_or_another_one(bounds: dict[str, Any], future: int) -> None:
    assert pushed(sb.Monitor(best(**bounds), clock=lambda: NOW), datetime(2026, 5, 1), FAR) == future


def test_the_first_few_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    monitor = sb.Monitor(best(), clock=lambda: NOW)
    with caplog.at_level(logging.WARNING, "skyband"):
        pushed(monitor, *[FAR] * 5)
    said = [record.getMessage() for record in caplog.records]
    row = "{'ts': 9999-12-01 00:00:00, 'x': 1.0}"
    assert said == [f"stream s: time more than 1 DAY ahead of the clock, record left out: {row}"] * 3
    assert monitor.counters["bad"] == {}


def test_bad_comes_before_future() -> None:
    query = sb.TopK("best", 1, "x", "10 seconds")
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts", probability="p"))
    monitor = sb.Monitor(workload, clock=lambda: NOW)
    monitor.push({"ts": [FAR, FAR, None], "x": [1.0] * 3, "p": [0.0, 0.5, 0.5]})
    assert monitor.counters["bad"] == {"null time": 1, "probability outside (0, 1]": 1}
    assert (monitor.counters["future"], monitor.counters["records"]) == (1, 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ahead": "-1 day"}, "stream s: AHEAD = -1 DAYS is out of range"),
        ({"between": ("2026-01-02", "2026-01-01")}, "stream s: no time is between TIMESTAMP '2026-01-02 00:00:00'"),
        ({"between": ("2026-01-02", "soon")}, "stream s: 'soon' is not a time"),
        ({"between": ("2026-01-01", "2026-01-02"), "ahead": None}, "stream s: both AHEAD and BETWEEN were given"),
    ],
)
def test_bounds_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(sb.SkybandError) as error:
        best(**options)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("TIME = ts, AHEAD = 2 HOURS", {"ahead": "2 hours"}),
        ("TIME = ts, AHEAD = NONE", {"ahead": None}),
        ("TIME = ts, AHEAD = 1 DAY", {}),
        (
            "TIME = ts BETWEEN TIMESTAMP '2026-01-01 00:00:00' AND TIMESTAMP '2026-01-31 12:00:00.500000'",
            {"between": (datetime(2026, 1, 1), datetime(2026, 1, 31, 12, 0, 0, 500_000))},
        ),
        (
            "TIME = ts BETWEEN DATE '2026-01-01' AND TIMESTAMP '2026-01-31T13:00:00+01:00'",
            {"between": ("2026-01-01", "2026-01-31 12:00")},
        ),
    ],
)
def test_text_and_python_say_the_same(written: str, bounds: dict[str, Any]) -> None:
    text = f"CREATE STREAM s WITH ({written}); CREATE QUERY best AS SELECT TOP 1 FROM s [RANGE 10 SECONDS] ORDER BY x;"
    workload = sb.Workload.from_sql(text)
    assert workload.streams[0] == best(**bounds).streams[0]
    told = {"2 HOURS": "up to 2 HOURS ahead of the clock", "NONE": "however far ahead of the clock"}
    said = next(
        (words for key, words in told.items() if key in written), "times BETWEEN" if "BETWEEN" in written else ""
    )
    assert (f"stream s: time ts, in time order{', ' + said if said else ''}") in workload.explain()
    assert sb.Workload.from_sql(str(workload)).streams == workload.streams


@pytest.mark.parametrize(
    ("written", "said", "marked"),
    [
        ("TIME = ts, AHEAD = -2 HOURS", "AHEAD = -2 HOURS is out of range", "-2 HOURS"),
        ("TIME = ts, AHEAD = soon", "found `soon` in place of how far ahead", "soon"),
        ("TIME = ts BETWEEN 1 AND 2", "found `1` in place of a time", "1"),
        ("TIME = ts BETWEEN DATE '2026-01-01'", "found `)` after the first time of BETWEEN", ")"),
        (
            "TIME = ts BETWEEN DATE '2026-01-01' AND DATE '2026-01-02', AHEAD = NONE",
            "both AHEAD and BETWEEN were given",
            "DATE '2026-01-01' AND DATE '2026-01-02'",
        ),
    ],
)
def test_text_that_is_refused_points_at_the_place(written: str, said: str, marked: str) -> None:
    text = f"CREATE STREAM s WITH ({written}); SELECT TOP 1 FROM s [ROWS 2] ORDER BY x;"
    with pytest.raises(sb.SkybandError) as error:
        sb.Workload.from_sql(text)
    assert said in error.value.message
    span = error.value.span
    assert span is not None
    assert span.source[span.start : span.end] == marked
