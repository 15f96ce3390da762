"""TOP k WITH TIES: whatever has the score of the k-th is listed, also where much is dropped before it is kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb
from tests import support

STREAM = sb.Stream("s", time="ts", key="id", lateness="9 microseconds")


def crowd(count: int, scores: int) -> pa.Table:
    """Few scores, so that many records have the same, in some disorder."""
    draw = np.random.default_rng(11)
    at = np.arange(count) + draw.integers(-9, 10, count)
    columns = at.tolist(), range(count), draw.integers(0, scores, count).tolist(), draw.integers(-1, 9, count).tolist()
    return support.table_of(list(zip(*columns, draw.choice(list("abcdef"), count).tolist(), strict=True)))


def tied(name: str, k: int, window: str, slide: str, per: tuple[str, ...] = (), where: str | None = None) -> sb.TopK:
    return sb.TopK(name, k, "score", window, slide, ties=True, per=per, where=where)


@pytest.mark.parametrize("kind", ["microseconds", "rows"])
@pytest.mark.parametrize("per", [(), ("color",)])
def test_ties_survive_whatever_is_pruned(kind: str, per: tuple[str, ...]) -> None:
    """Long lists and short ones are pruned otherwise, and so are groups."""
    queries = [
        tied("few", 3, f"900 {kind}", f"300 {kind}", per=per),
        tied("many", 30, f"600 {kind}", f"70 {kind}", per=per, where="bonus > 0"),
        sb.TopK("k", 3, "score", f"900 {kind}", f"300 {kind}", per=per),
    ]
    workload, table = sb.Workload(queries, stream=STREAM), crowd(3_000, 60)
    assert support.run_monitor(workload, [table]) == support.expected_rows(workload, [table])


def test_what_ties_with_nobody_listed_is_dropped() -> None:
    """Of 3,000 records in a window with as many scores hardly more is kept than k ask for."""
    monitor = sb.Monitor(sb.Workload([tied("q", 5, "3000 microseconds", "1000 microseconds")], stream=STREAM))
    table = crowd(9_000, 100_000)
    for low in range(0, len(table), 500):
        monitor.push(table.slice(low, 500))
    (family,) = monitor.counters["families"].values()
    assert family["candidates"] < 100


def test_the_best_of_a_thousand_equals_are_all_of_them() -> None:
    monitor = sb.Monitor(sb.Workload([tied("q", 2, "1 second", "1 second")], stream=STREAM))
    rows = pa.concat_tables([monitor.push(crowd(1_000, 1)), monitor.close()])
    by_end = rows.group_by("window_end").aggregate([("rank", "count"), ("rank", "max")]).to_pylist()
    assert all(each["rank_count"] == each["rank_max"] for each in by_end)
    assert sum(each["rank_count"] for each in by_end) == 1_000


@pytest.mark.parametrize(
    ("options", "query", "why"),
    [
        (", PROBABILITY = p", "TOP 2 WITH TIES FROM s [ROWS 5] ORDER BY x", "no record's own .PROBABILITY"),
        ("", "TOP 2 WITH TIES FROM s [ROWS 5] ORDER BY x WITH ERROR y", "no record's own .WITH ERROR"),
        ("", "TOP 2 WITH TIES FROM s [ROWS 5] OBJECT a ACROSS b (SUM) ORDER BY SUM(x)", "no record's own .OBJECT"),
        (", KEY = id, OP = op", "TOP 2 WITH TIES FROM s [ROWS 5] ORDER BY x", "WITH TIES over stream s, which has del"),
    ],
)
def test_ties_are_those_of_scores_that_records_have(options: str, query: str, why: str) -> None:
    with pytest.raises(sb.SkybandError, match=why):
        sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts{options}); SELECT {query};").explain()


def test_explain_says_that_ties_have_no_bound() -> None:
    workload = sb.Workload([tied("q", 2, "1 second", "1 second"), sb.TopK("k", 2, "score", "1 second")], stream=STREAM)
    said = workload.explain()
    assert "where many records have one score, lists and state grow with them" in said
    assert "and what ties with the last" in said
    assert "family 2 of 2" in said, "lists of k records are kept apart"
