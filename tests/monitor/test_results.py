"""Each query has a schema of its own; the combined table holds all of them, and names the columns that clash."""

from __future__ import annotations

import pyarrow as pa
import pytest

import skyband as sb

MOMENT, INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
TWO_STREAMS = """
CREATE STREAM trades WITH (TIME = ts);
CREATE STREAM quotes WITH (TIME = at);
CREATE QUERY big AS SELECT TOP 1 venue, size FROM trades [ROWS 2] ORDER BY size;
CREATE QUERY tight AS SELECT TOP 1 size, rank, venue FROM quotes [ROWS 2] ORDER BY size ASC;
CREATE QUERY all AS SELECT TOP 1 * FROM trades [ROWS 2] ORDER BY size;
"""


def trades(sizes: list[int]) -> pa.Table:
    times = pa.array(range(len(sizes)), pa.timestamp("s"))
    return pa.table({"ts": times, "venue": ["X"] * len(sizes), "size": sizes})


def quotes(sizes: list[float]) -> pa.Table:
    times = pa.array(range(len(sizes)), pa.timestamp("s", "UTC"))
    return pa.table({"at": times, "rank": ["a"] * len(sizes), "venue": ["Y"] * len(sizes), "size": sizes})


def test_a_name_with_two_types_is_shown_under_two_names() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TWO_STREAMS))
    assert len(monitor.push(trades([7, 8]), stream="trades")) == 2
    rows = monitor.push(quotes([0.5, 0.25]), stream="quotes")
    assert rows.column_names[-5:] == ["venue", "size", "quotes_size", "record_rank", "ts"]
    assert rows.schema.field("size").type == pa.int64()
    assert rows.select(["size", "quotes_size", "record_rank", "venue"]).to_pylist() == [
        {"size": None, "quotes_size": 0.25, "record_rank": "a", "venue": "Y"}
    ]


def test_a_query_has_its_own_columns_in_its_own_order() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TWO_STREAMS))
    first = monitor.push(trades([7, 8]), stream="trades")
    assert monitor.results.of("big").rows(first).column("size").to_pylist() == [8]
    rows = pa.concat_tables(
        [monitor.push(quotes([0.5, 0.25]), stream="quotes"), monitor.push(trades([3, 4]), stream="trades")]
    )
    big, tight = monitor.results.of("big"), monitor.results.of("tight")
    assert big.schema.names[:4] == ["query", "window_start", "window_end", "row_start"]
    assert big.schema.names[-2:] == ["venue", "size"]
    assert tight.schema.names[-3:] == ["size", "record_rank", "venue"]
    assert [each.schema.field("window_end").type for each in (big, tight)] == [MOMENT, INSTANT]
    assert tight.schema.field("size").type == pa.float64()
    assert tight.rows(rows).schema == tight.schema
    assert tight.rows(rows).select(["query", "size", "record_rank"]).to_pylist() == [
        {"query": "tight", "size": 0.25, "record_rank": "a"}
    ]
    assert monitor.results.of("all").rows(rows).select(["ts", "venue", "size"]).num_rows == 1


def test_the_schemas_of_queries_hold_every_row_of_the_combined_table() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TWO_STREAMS))
    monitor.push(quotes([9.0]), stream="quotes")
    monitor.push(trades([1]), stream="trades")
    rows = monitor.close()
    apart = {name: monitor.results.of(name).rows(rows) for name in ("big", "tight", "all")}
    assert sum(map(len, apart.values())) == len(rows) == 3
    for name, mine in apart.items():
        # A BIGINT score beside DOUBLE ones is shown as the nearest double as well.
        told = rows.filter(pa.compute.equal(rows["query"], name)).drop_columns("score_bigint").to_pylist()[0].values()
        shown = [value for value in mine.to_pylist()[0].values() if value is not None]
        assert len(shown) == sum(value is not None for value in told)


def test_only_a_query_that_asks_for_expected_ranks_has_them() -> None:
    stream = sb.Stream("s", time="ts", probability="p")
    asks = sb.TopK("asks", k=1, by="p", window="2 rows", using="EXPECTED_RANK", select="p")
    other = sb.TopK("other", k=1, by="p", window="2 rows", select="expected_rank")
    monitor = sb.Monitor(sb.Workload([asks, other], stream=stream))
    times = pa.array([1, 2], pa.timestamp("s"))
    rows = monitor.push(pa.table({"ts": times, "p": [0.5, 0.25], "expected_rank": ["x", "x"]}))
    assert rows.column_names[-3:] == ["expected_rank", "p", "record_expected_rank"]
    assert monitor.results.of("asks").schema.names[-2:] == ["expected_rank", "p"]
    mine = monitor.results.of("other").rows(rows)
    assert mine.schema.field("expected_rank").type == pa.string()
    assert mine.column("expected_rank").to_pylist() == ["x"]


def test_a_name_that_is_taken_gets_a_number() -> None:
    best = sb.TopK("best", k=1, by="x", window="1 rows", select=["record_rank", "rank", "x"])
    monitor = sb.Monitor(sb.Workload([best], stream=sb.Stream("s", time="ts")))
    times = pa.array([1], pa.timestamp("s"))
    rows = monitor.push(pa.table({"ts": times, "x": [1.0], "rank": ["mine"], "record_rank": ["other"]}))
    assert rows.select(["record_rank", "record_rank_2"]).to_pylist() == [
        {"record_rank": "other", "record_rank_2": "mine"}
    ]
    assert monitor.results.of("best").rows(rows) == rows


def test_an_unknown_query_and_a_table_of_another_workload_are_refused() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TWO_STREAMS))
    rows = monitor.push(quotes([0.5, 0.25]), stream="quotes")
    with pytest.raises(sb.SkybandError, match="no query called 'tigth'") as refused:
        monitor.results.of("tigth")
    assert refused.value.hint == "did you mean 'tight'?"
    monitor.push(trades([7, 8]), stream="trades")
    with pytest.raises(sb.SkybandError, match="rows without a column 'quotes_size'"):
        monitor.results.of("tight").rows(rows)
    with pytest.raises(sb.SkybandError, match="rows in a list"):
        monitor.results.of("tight").rows([])
