"""Top groups in a Monitor: every row of every window is the oracle's."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, strategies as st

import skyband as sb
from skyband.engines.groups import chains
from skyband.model import Query
from skyband.runtime import partial_rows
from skyband.runtime.data_models.registry import data_model
from tests import groups, support
from tests.drawn import examples


@examples(300)
@given(workload=groups.workloads(), tables=groups.tables())
def test_every_row_is_the_oracles(workload: sb.Workload, tables: list[pa.Table]) -> None:
    assert groups.run_monitor(workload, tables) == groups.expected(workload, tables)


@examples(100)
@given(workload=groups.workloads(), tables=groups.tables())
def test_a_large_push_is_fed_in_pieces_and_says_the_same(workload: sb.Workload, tables: list[pa.Table]) -> None:
    sorted_tables = [table.sort_by("ts") for table in tables]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_rows, "BLOCK", 2)
        patch.setattr(chains, "MANY", 1)
        rows = groups.run_monitor(workload, sorted_tables)
    assert rows == groups.expected(workload, sorted_tables)


def test_pieces_end_with_a_pane() -> None:
    stream = sb.Stream("s", time="ts")
    plan = sb.Workload([sb.TopK("q", 1, "COUNT(*)", "10 us", "5 us", group_by="client")], stream=stream).plan()
    model = data_model(plan.families[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_rows, "BLOCK", 4)
        assert model.cuts(np.arange(23)) == [0, 5, 10, 15, 20, 23]
        assert model.cuts(np.arange(23)[::-1].copy()) == [0, 23]


@examples(80)
@given(workload=groups.workloads(), tables=groups.tables(), data=st.data())
def test_a_snapshot_at_any_point_changes_nothing(
    workload: sb.Workload, tables: list[pa.Table], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(tables)))
    monitor, parts = sb.Monitor(workload), []
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(workload, monitor.snapshot())
        parts.append(monitor.push(table))
    rows = groups.actual(workload, pa.concat_tables([*parts, monitor.close()]))
    assert rows == groups.run_monitor(workload, tables)


@examples(80)
@given(workload=groups.workloads(), tables=groups.tables(), cut=st.integers(0, 4))
def test_groups_without_a_score_are_counted(workload: sb.Workload, tables: list[pa.Table], cut: int) -> None:
    """In every report, whatever records are. (Changes of all time are told where there are some.)"""
    asked = [query for query in workload.queries if isinstance(query, sb.TopK)]
    asked = [query for query in asked if not (query.changes and query.window.unbounded)]
    assume(asked)
    stream = workload.streams[0]
    monitor = sb.Monitor(sb.Workload(asked, stream=stream))
    for number, table in enumerate(tables):
        if number == cut:
            monitor = sb.Monitor.restore(monitor.workload, monitor.snapshot())
        monitor.push(table)
    monitor.close()
    wanted = sum(groups.without_score(query, stream, tables) for query in asked)
    assert monitor.counters.get("unranked_groups", 0) == wanted
    assert monitor.counters["unranked"] == 0


@examples(60)
@given(first=groups.queries(0), second=groups.queries(1, ["range"]), tables=groups.tables(), data=st.data())
def test_queries_that_come_and_go(first: Query, second: Query, tables: list[pa.Table], data: st.DataObject) -> None:
    """The first is not disturbed, and leaves before the last push. What the second says that is not warming is the
    oracle's, and all that the oracle says of windows that begin later is there. (Its changes would be told against
    lists that were not complete.)"""
    stream, second = sb.Stream("s", time="ts", lateness=support.micros(2)), replace(second, changes=False)
    come = data.draw(st.integers(0, len(tables) - 1))
    monitor = sb.Monitor(sb.Workload([first], stream=stream))
    told: list[groups.Told] = []
    for number, table in enumerate(tables):
        if number == come:
            monitor.add(second)
        if number == len(tables) - 1:
            monitor.remove(first.name)
        told += complete(monitor.workload, monitor.push(table))
    told += complete(monitor.workload, monitor.close())
    alone = sb.Workload([first], stream=stream)
    other = sb.Monitor(alone)
    stays = [row for table in tables[:-1] for row in complete(alone, other.push(table))]
    assert [row for row in told if row[0] == first.name] == stays
    mine, wanted = ([row for row in rows if row[0] == second.name] for rows in (told, oracles(second, stream, tables)))
    seen = support.newest(tables[:come])
    assert all(row in wanted for row in mine)
    assert all(row in mine for row in wanted if row[2] is not None and row[2] > seen)


def complete(workload: sb.Workload, rows: pa.Table) -> list[groups.Told]:
    return groups.actual(workload, rows.filter(rows.column("warming").is_null()))


def oracles(query: Query, stream: sb.Stream, tables: list[pa.Table]) -> list[groups.Told]:
    return groups.expected(sb.Workload([query], stream=stream), tables)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "SUM(client)"}, "SUM or AVG of client"),
        ({"by": "MAX(client)"}, "MAX(client) of a column of type string"),
        ({"by": "COUNT(*)", "having": "LAST(client) = 'a'"}, "LAST(client) in HAVING or ORDER BY"),
        ({"by": "COUNT(*)", "group_by": "weight"}, "GROUP BY weight, which is of type double"),
        ({"by": "COUNT(*)", "group_by": "nobody"}, "there is no column 'nobody'"),
        ({"by": "SUM(nobody)"}, "there is no column `nobody`"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_does_not_fit_the_columns_is_refused_with_the_first_records(asked: dict[str, str], said: str) -> None:
    query = sb.TopK("q", 3, window="5 rows", **({"group_by": "host"} | asked))  # type: ignore[arg-type]
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    with pytest.raises(sb.SkybandError, match=re.escape(said)) as caught:
        monitor.push(groups.table_of([(0, "a", 1, 1, 1.0, "red")]))
    assert caught.value.message.startswith("query q")


def test_columns_are_found_in_any_letter_case() -> None:
    """In arguments, as in other expressions."""
    query = sb.TopK("q", 3, "SUM(BYTES)", "5 rows", group_by="client", select=["client", "LAST(Color) AS word"])
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    monitor.push(groups.table_of([(0, "a", 1, 7, 1.0, "red")]))
    assert [(row["score"], row["word"]) for row in monitor.close().to_pylist()] == [(7, "red")]


@pytest.mark.parametrize(("size", "most"), [(7, 2.0), (100, 1.2), (20_000, 1.2)])
def test_what_is_kept_is_a_partial_aggregate_of_each_group_and_pane(size: int, most: float) -> None:
    """Five groups, a window of eighty panes with fifty records each. Where a report is made in the middle of a push
    the pane that has begun is in two parts, and never in more: small pushes wait for a report."""
    query = sb.TopK("q", 3, "SUM(bytes)", "4000 microseconds", "50 microseconds", group_by="host")
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    table = groups.table_of([(at, "a", at % 5, at % 7, 1.0, "red") for at in range(20_000)])
    for first in range(0, len(table), size):
        monitor.push(table.slice(first, size))
    family = next(iter(monitor.counters["families"].values()))
    assert family["groups"] == 5
    assert 5 * 80 <= family["candidates"] + family["held_back"] <= most * 5 * 80


def test_values_of_one_argument_may_all_be_missing() -> None:
    """Of two that are counted once: its rows have no column for them then."""
    shown = ["client", "COUNT(DISTINCT host)", "COUNT(DISTINCT bytes)"]
    query = sb.TopK("q", 3, "COUNT(*)", "5 rows", group_by="client", select=shown)
    monitor = sb.Monitor(sb.Workload([query], stream=sb.Stream("s", time="ts")))
    monitor.push(groups.table_of([(0, "a", 1, None, 1.0, "red")]))
    (row,) = monitor.close().to_pylist()
    assert (row["count_distinct_host"], row["count_distinct_bytes"]) == (1, 0)


def test_a_report_of_nothing_by_whole_numbers_from_below() -> None:
    """Once: a TypeError, where nothing had been ranked since a late record."""
    text = """CREATE STREAM s WITH (TIME = ts, LATENESS = 1 MICROSECOND);
    SELECT ABOVE 0 client FROM s [RANGE 1 MICROSECOND] GROUP BY client ORDER BY COUNT(*) ASC FREQUENCY 1 MICROSECOND
      EMIT CHANGES"""
    workload = sb.Workload.from_sql(text)
    tables = [groups.table_of([(at, "a", 1, None, None, "red")]) for at in (-15, -17)]
    assert groups.run_monitor(workload, tables) == groups.expected(workload, tables)
