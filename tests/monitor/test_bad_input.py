"""Bad input: mistakes are refused before anything runs, bad records are counted and never stop a run."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest

import skyband as sb
from tests import support

STREAM = sb.Stream("s", time="ts", key="id")
GOOD = support.table_of([(1, 1, 5.0, 0, "red"), (2, 2, 4.0, 0, "red")])


def top(**changed: Any) -> sb.TopK:
    options: dict[str, Any] = {"name": "q", "k": 2, "by": "score", "window": "10 us", "slide": "5 us"}
    return sb.TopK(**(options | changed))


def monitor(*queries: Any, stream: sb.Stream = STREAM) -> sb.Monitor:
    return sb.Monitor(sb.Workload(list(queries), stream=stream))


def complaint(error: pytest.ExceptionInfo[sb.SkybandError]) -> str:
    return str(error.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"k": 0}, "query q: k must be a whole number from 1 on, not 0"),
        ({"k": 2.5}, "query q: k must be a whole number from 1 on, not 2.5"),
        (
            {"window": "ten minutes"},
            "query q: window='ten minutes' is not a length of time\nexpected: a number and a unit",
        ),
        (
            {"window": "0 minutes"},
            "query q: a window must be longer than zero and shorter than 36,000 years, not 0 microseconds",
        ),
        ({"slide": 0}, "query q: a slide must be longer than zero, not 0 microseconds"),
        ({"slide": "11 us"}, "query q: the slide (11 MICROSECONDS) is longer than the window (10 MICROSECONDS)"),
        ({"window": "10 rows", "slide": "1 minute"}, "query q: slide='1 minute' is not a number of rows"),
        ({"frequency": "5 us"}, "query q: both a slide and a frequency were given\nexpected: one of them"),
        (
            {"window": "10 rows", "slide": 5, "offset": 1},
            "query q: OFFSET goes with RANGE and SLIDE only, not with ROWS",
        ),
    ],
)
def test_a_query_that_cannot_be_says_why(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(sb.SkybandError) as error:
        top(**changed)
    assert said in complaint(error)


def test_a_threshold_must_be_a_number() -> None:
    with pytest.raises(sb.SkybandError) as error:
        sb.Above("q", float("nan"), "score", "10 rows")
    assert complaint(error) == "query q: the threshold must be a finite number, not nan"


def test_streams_are_checked() -> None:
    with pytest.raises(sb.SkybandError, match=r"has deletes \(OP = op\) but no key\nexpected: KEY as well"):
        sb.Stream("s", time="ts", op="op")
    with pytest.raises(sb.SkybandError, match="a lateness of -1 SECONDS is out of range"):
        sb.Stream("s", time="ts", lateness="-1 second")


@pytest.mark.parametrize("by", ["1", "2 * abs(-1)", "NULL", "'price'"])
def test_a_score_that_is_the_same_for_every_record_is_refused(by: str) -> None:
    with pytest.raises(sb.SkybandError, match="query q: every record has the same score") as error:
        sb.Workload([top(by=by)], stream=STREAM)
    assert error.value.hint == "name a column; `unix_micros(ts)` puts the newest first"
    with pytest.raises(sb.SkybandError, match="query r: every record has the same score"):
        sb.Monitor(sb.Workload([top()], stream=STREAM)).add(top(name="r", by=by))


def test_a_constant_is_fine_where_it_tells_records_apart() -> None:
    """Counted values of an object, and one standard error for all."""
    counted = top(by="SUM(1)", across=sb.Across("id", "color"))
    measured = top(name="r", error="0.5")
    assert len(sb.Workload([counted, measured], stream=STREAM).queries) == 2


def test_workloads_are_checked() -> None:
    with pytest.raises(sb.SkybandError, match="a workload without queries"):
        sb.Workload([], stream=STREAM)
    with pytest.raises(sb.SkybandError, match="two queries are called 'q'"):
        sb.Workload([top(), top()], stream=STREAM)
    with pytest.raises(sb.SkybandError, match="a workload needs a stream"):
        sb.Workload([top()])
    with pytest.raises(sb.SkybandError, match="query q names no stream, and there are 2"):
        sb.Workload([top()], streams=[STREAM, sb.Stream("other", time="ts")])
    with pytest.raises(sb.SkybandError, match="no such stream\nexpected: one of trades\nhint: did you mean 'trades'"):
        sb.Workload([top(stream="trade")], stream=sb.Stream("trades", time="ts"))


def test_a_syntax_error_in_a_score_is_found_before_any_data() -> None:
    with pytest.raises(sb.SkybandError) as error:
        monitor(top(by="score *"))
    assert "score *" in complaint(error)
    assert "^" in complaint(error)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (top(by="scor"), "did you mean"),
        (top(where="bonsu > 0"), "bonsu"),
        (top(select="scoer"), "query q, SELECT: there is no column 'scoer'"),
        (
            top(per="colour"),
            "query q, PER: there is no column 'colour'\nexpected: one of ts, id, score, bonus, color\nhint",
        ),
        (top(per="score"), "query q: PER score, which is of type double\nexpected: whole numbers, text"),
        (top(by="color"), "a score must be a number"),
        (top(where="score"), "a condition must be true or false"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused_at_the_first_table(query: sb.TopK, said: str) -> None:
    with pytest.raises(sb.SkybandError) as error:
        monitor(query).push(GOOD)
    assert said in complaint(error)
    assert complaint(error).startswith("query q")


def test_the_time_must_be_a_time() -> None:
    with pytest.raises(sb.SkybandError, match="stream s, TIME: there is no column 'when'"):
        monitor(top(), stream=sb.Stream("s", time="when")).push(GOOD)
    with pytest.raises(
        sb.SkybandError, match="the time column 'id' is of type int64\nexpected: a timestamp\nhint: declare how"
    ):
        monitor(top(), stream=sb.Stream("s", time="id")).push(GOOD)


def test_only_tables_can_be_pushed_and_only_of_one_schema() -> None:
    running = monitor(top())
    with pytest.raises(sb.SkybandError, match="a list was pushed\nexpected: a table or frame"):
        running.push([1, 2])
    running.push(GOOD)
    with pytest.raises(sb.SkybandError, match="column 'bonus' came as string\nexpected: int64, as before"):
        running.push(GOOD.set_column(3, "bonus", pa.array(["a", "b"])))
    with pytest.raises(sb.SkybandError, match="there is no column 'color'"):
        running.push(GOOD.drop_columns(["color"]))


def test_a_closed_monitor_takes_no_more() -> None:
    running = monitor(top())
    running.close()
    with pytest.raises(sb.SkybandError, match="this monitor was closed"):
        running.push(GOOD)


def test_several_streams_need_a_name() -> None:
    both = sb.Workload([top(stream="s"), top(name="r", stream="t")], streams=[STREAM, sb.Stream("t", time="ts")])
    with pytest.raises(
        sb.SkybandError, match="records for no stream, and there are several\nexpected: stream= one of s, t"
    ):
        sb.Monitor(both).push(GOOD)
    with pytest.raises(sb.SkybandError, match="records for stream 'u'"):
        sb.Monitor(both).push(GOOD, stream="u")


def test_a_snapshot_of_something_else_is_refused() -> None:
    workload = sb.Workload([top()], stream=STREAM)
    with pytest.raises(sb.SkybandError, match="these bytes are not a skyband snapshot"):
        sb.Monitor.restore(workload, b"nonsense")
    other = sb.Monitor(sb.Workload([top(k=3)], stream=STREAM)).snapshot()
    with pytest.raises(
        sb.SkybandError, match="the snapshot is of another workload\nexpected: the workload it was taken"
    ):
        sb.Monitor.restore(workload, other)


def test_bad_records_are_counted_and_the_first_few_logged(caplog: pytest.LogCaptureFixture) -> None:
    running = monitor(top())
    rows = [(None, number, 9.0, 0, "red") for number in range(5)] + [(1, 7, 1.0, 0, "red")]
    rows += [(far, 6, 9.0, 0, "red") for far in (2**62, -(2**62), -(2**63))]
    with caplog.at_level(logging.WARNING, "skyband"):
        running.push(support.table_of(rows))
    assert running.counters["bad"] == {"null time": 5, "time out of range": 3}
    assert running.counters["records"] == 1
    said = [record.getMessage() for record in caplog.records if "null time" in record.getMessage()]
    assert len(said) == 3
    assert "'id': 0" in said[0]
    assert [row["id"] for row in running.close().to_pylist()] == [7, 7]


def test_a_record_that_a_window_of_rows_reports_is_not_dropped() -> None:
    running = monitor(top(), sb.TopK("last", 5, "score", "5 rows", 1))
    running.push(support.table_of([(1_000, 0, 1.0, 0, "red")]))
    rows = running.push(support.table_of([(1, 1, 9.0, 0, "red")]))
    assert [row["id"] for row in rows.to_pylist() if row["query"] == "last"][:1] == [1]
    assert (running.counters["late"], running.counters["dropped"]) == (1, 0)
    assert {name: counts["dropped"] for name, counts in running.counters["queries"].items()} == {"q": 1, "last": 0}


def test_unranked_late_and_dropped_are_counted() -> None:
    running = monitor(top(), top(name="wide", window="100 us", slide="50 us"))
    running.push(support.table_of([(1, 1, None, 0, "red"), (30, 2, float("nan"), 0, "red"), (31, 3, 1.0, 0, "red")]))
    assert {name: counts["unranked"] for name, counts in running.counters["queries"].items()} == {"q": 2, "wide": 2}
    running.push(support.table_of([(2, 4, 7.0, 0, "red"), (27, 5, 7.0, 0, "red")]))
    by_query = running.counters["queries"]
    assert (by_query["q"]["late"], by_query["q"]["dropped"]) == (2, 1)
    assert (by_query["wide"]["late"], by_query["wide"]["dropped"]) == (0, 0)
    assert (running.counters["late"], running.counters["dropped"]) == (2, 0)
    best = {(row["query"], row["rank"]): row["id"] for row in running.close().to_pylist() if row["query"] == "wide"}
    assert best["wide", 1] == 5
