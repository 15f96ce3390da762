"""PER with many groups: one pass over all of them, and rows in the order in which they are told."""

from __future__ import annotations

import sys
from types import FrameType

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb

STREAM = sb.Stream("s", time="ts", key="id")
RECORDS = 20_000


def records(groups: int) -> pa.Table:
    """One every millisecond."""
    draw = np.random.default_rng(groups)
    return pa.table(
        {
            "ts": pa.array(np.arange(RECORDS), pa.timestamp("ms")),
            "id": np.arange(RECORDS),
            "score": draw.random(RECORDS),
            "key": draw.integers(0, groups, RECORDS),
        }
    )


def workload() -> sb.Workload:
    queries = [
        sb.TopK("short", 2, "score", "4 seconds", "1 second", per="key"),
        sb.TopK("long", 3, "score", "8 seconds", "1 second", per="key"),
    ]
    return sb.Workload(queries, stream=STREAM)


def python_calls(groups: int) -> int:
    """Calls of Python functions in a push with some twenty reports of every group."""
    monitor, table, calls = sb.Monitor(workload()), records(groups), 0
    monitor.push(table.slice(0, RECORDS // 2))

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        rows = monitor.push(table.slice(RECORDS // 2))
    finally:
        sys.setprofile(before)
    assert len(rows) > groups
    return calls


def test_a_push_calls_no_function_for_each_group() -> None:
    python_calls(10)  # What is imported or compiled at first use.
    few, many = python_calls(10), python_calls(2_000)
    assert many <= 1.2 * few


@pytest.mark.parametrize("groups", [10, 2_000])
def test_rows_are_told_by_time_query_group_and_rank(groups: int) -> None:
    monitor, table = sb.Monitor(workload()), records(groups)
    for rows in (monitor.push(table.slice(0, 7_000)), monitor.push(table.slice(7_000)), monitor.close()):
        told = [
            (row["window_end"], row["query"] == "long", row["group_key"], row["rank"])
            for row in rows.select(["window_end", "query", "group_key", "rank"]).to_pylist()
        ]
        assert told == sorted(told)


def test_rows_of_groups_are_those_of_sorting() -> None:
    table = records(300)
    monitor = sb.Monitor(workload())
    rows = pa.concat_tables([monitor.push(table.slice(0, 7_000)), monitor.push(table.slice(7_000)), monitor.close()])
    second = (rows["window_end"].cast(pa.int64()).to_numpy() // 1_000_000).tolist()
    told = zip(rows["query"].to_pylist(), second, rows["group_key"].to_pylist(), rows["id"].to_pylist(), strict=True)
    at, key, score = np.arange(RECORDS), table["key"].to_numpy(), table["score"].to_numpy()
    expected = []
    for end in range(1, RECORDS // 1_000 + 8):
        for name, k, width in (("short", 2, 4), ("long", 3, 8)):
            inside = np.flatnonzero((at >= 1_000 * (end - width)) & (at < 1_000 * end))
            for group in sorted(set(key[inside].tolist()), key=str):
                mine = inside[key[inside] == group]
                best = mine[np.argsort(-score[mine])][:k].tolist()
                expected += [(name, end, str(group), place) for place in best]
    assert list(told) == expected
