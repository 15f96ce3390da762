"""EXPIRE: a group that has been silent for so long is unknown again; and nothing is kept of it."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from tests import expiring
from tests.drawn import examples
from tests.expiring import LENGTH, QUERIES, UNCERTAIN, bag, table_of, workload

steps = st.sampled_from([0, 1, 1, 2, 5, LENGTH // 2, LENGTH, 3 * LENGTH, -LENGTH])
pushes = st.lists(st.lists(st.tuples(steps, st.sampled_from("rgb"), st.integers(0, 5)), max_size=8), max_size=8)


def tables_of(drawn: list[list[tuple[int, str, int]]]) -> list[pa.Table]:
    at, first, tables = 1_000_000, 0, []
    for push in drawn:
        records = [(at := at + step, color, score) for step, color, score in push]
        tables.append(table_of(records, first))
        first += len(records)
    return tables


@pytest.mark.parametrize("queries", [QUERIES, UNCERTAIN], ids=["certain", "uncertain"])
@examples(30)
@given(drawn=pushes, restarts=st.sets(st.integers(0, 8)))
def test_every_life_of_a_group_is_a_stream_of_its_own(
    queries: dict[str, str], drawn: list[list[tuple[int, str, int]]], restarts: set[int]
) -> None:
    tables = tables_of(drawn)
    asked = workload(queries)
    monitor, rows = sb.Monitor(asked), []
    for number, table in enumerate(tables):
        if number in restarts:
            monitor = sb.Monitor.restore(asked, monitor.snapshot())
        rows += monitor.push(table).to_pylist()
    rows += monitor.close().to_pylist()
    assert bag(rows) == bag(expiring.expected(queries, tables))
    told = {name: sum(row["query"] == name for row in rows) for name in queries}
    assert {name: counts["rows"] for name, counts in monitor.counters["queries"].items()} == told


def test_reports_of_groups_that_are_gone_stay_counted() -> None:
    query = {"best": QUERIES["best"]}
    monitor = sb.Monitor(workload(query))
    for number, at in enumerate((0, 1, 10 * LENGTH, 10 * LENGTH + 1, 20 * LENGTH)):
        monitor.push(table_of([(at, "r", 1), (at, "r", 2)], 2 * number))
        assert monitor.counters["queries"]["best"]["reports"] == number + 1


def test_state_is_that_of_the_groups_there_are() -> None:
    """Ever new groups: before, the count of each was kept for good."""
    monitor, sizes = sb.Monitor(workload(QUERIES)), []
    for number in range(400):
        at = 1_000_000 + number * LENGTH // 4
        monitor.push(table_of([(at, f"color {number} {each}", each) for each in range(10)], 10 * number))
        sizes.append(len(monitor.snapshot()))
    assert max(sizes[100:]) < 1.1 * max(sizes[:100])


def test_a_length_as_text_as_an_option_and_in_python() -> None:
    (stream,) = workload(QUERIES).streams
    assert stream == sb.Stream("s", "ts", "id", expire=timedelta(microseconds=LENGTH))
    assert "EXPIRE = 20 MILLISECONDS" in str(stream)
    assert "groups of rows forgotten after 20 MILLISECONDS of silence" in workload(QUERIES).explain()
    for length in ("0 SECONDS", "20000000 DAYS"):
        with pytest.raises(sb.SkybandError, match=r"EXPIRE = .* is out of range") as refused:
            workload(QUERIES, f", EXPIRE = {length}")
        assert refused.value.span is not None
    with pytest.raises(sb.SkybandError, match="stream s: EXPIRE = 0 SECONDS is out of range"):
        sb.Stream("s", "ts", expire=timedelta(0))
