"""Records in whatever form people have them: the rows are those of a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import skyband as sb

TEXT = """CREATE STREAM trades WITH (TIME = ts, KEY = id);
SELECT TOP 2 id, symbol FROM trades [RANGE 4 SECONDS SLIDE 2 SECONDS] ORDER BY price DESC;"""
START = datetime(2026, 3, 1, tzinfo=UTC)
RECORDS = [
    {"ts": START + timedelta(seconds=n), "id": n, "symbol": ["A", "B", None][n % 3], "price": float((7 * n) % 10)}
    for n in range(12)
]
TABLE = pa.Table.from_pylist(
    RECORDS,
    pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.int64(), "symbol": pa.string(), "price": pa.float64()}),
)


class Capsule:
    """Somebody who speaks Arrow's interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "a batch": lambda table: table.combine_chunks().to_batches()[0],
    "a frame of pandas": lambda table: table.to_pandas(),
    "a frame of pandas with time as its index": lambda table: table.to_pandas().set_index("ts"),
    "a frame of pandas that was filtered": lambda table: table.to_pandas().pipe(lambda frame: frame[frame.id >= 0]),
    "a frame of Polars": pl.from_arrow,
    "a frame of Polars with categories": lambda table: pl.DataFrame(table).cast({"symbol": pl.Categorical}),
    "a capsule": Capsule,
    "a list of dicts": lambda table: table.to_pylist(),
    "dicts without what is NULL": lambda table: [
        {name: value for name, value in row.items() if value is not None} for row in table.to_pylist()
    ],
    "lists by name": lambda table: table.to_pydict(),
    "arrays by name": lambda table: {
        "ts": table["ts"].combine_chunks(),
        "id": np.array(table["id"]),
        "symbol": table["symbol"].to_pylist(),
        "price": np.array(table["price"]),
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_the_rows_are_those_of_a_table(form: str) -> None:
    expected, given = sb.Monitor(sb.Workload.from_sql(TEXT)), sb.Monitor(sb.Workload.from_sql(TEXT))
    for low in range(0, 12, 3):
        part = TABLE.slice(low, 3)
        assert shown(given.push(FORMS[form](part))) == shown(expected.push(part))
    assert shown(given.close()) == shown(expected.close())


def test_one_record_after_the_other() -> None:
    expected, given = sb.Monitor(sb.Workload.from_sql(TEXT)), sb.Monitor(sb.Workload.from_sql(TEXT))
    rows = [row for record in RECORDS for row in shown(given.push(record))]
    assert rows + shown(given.close()) == shown(expected.push(TABLE)) + shown(expected.close())


def test_later_records_take_the_types_of_the_first() -> None:
    """A whole number is no other type, and a value that is missing everywhere has one."""
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    monitor.push(RECORDS[0])
    monitor.push([RECORDS[1] | {"price": 9}, RECORDS[2] | {"symbol": None}])
    assert monitor.close().column("score")[0].as_py() == 9.0


def test_declared_types_are_those_of_the_first() -> None:
    declared = "CREATE STREAM trades (ts TIMESTAMP, id BIGINT, symbol STRING, price DOUBLE) WITH"
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT.replace("CREATE STREAM trades WITH", declared)))
    monitor.push({"ts": START, "id": 1, "price": 3})
    assert monitor.close().column("score").to_pylist() == [3.0, 3.0]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("price", [2.9, Decimal("2.9"), float("nan"), 2.0**70])
@pytest.mark.parametrize("form", [lambda row: row, lambda row: [row], lambda row: {k: [v] for k, v in row.items()}])
def test_nothing_is_cut_off(declared: bool, price: Any, form: Callable[[dict[str, Any]], Any]) -> None:
    """Arrow makes 2 of 2.9 where whole numbers are wanted; and 2.9 was ranked below 2."""
    text = "CREATE STREAM trades (ts TIMESTAMP, id BIGINT, symbol STRING, price BIGINT) WITH"
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT.replace("CREATE STREAM trades WITH", text) if declared else TEXT))
    monitor.push(form(RECORDS[0] | {"price": 1}))
    monitor.push(form(RECORDS[1] | {"price": 2.0}))
    with pytest.raises(sb.SkybandError, match="column 'price'") as caught:
        monitor.push(form(RECORDS[2] | {"price": price}))
    assert caught.value.expected == "values of type int64"
    monitor.push(form(RECORDS[3] | {"price": None}))
    assert monitor.close().column("score")[0].as_py() == 2


def test_nothing_is_no_row() -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    assert len(monitor.push([])) == len(monitor.push({})) == 0
    monitor.push(TABLE)
    assert len(monitor.push([])) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "a int was pushed"),
        ("a text", "a str was pushed"),
        ([1, 2], "a list was pushed"),
        ([RECORDS[0] | {"price": "much"}], "column 'price'"),
        ([RECORDS[0] | {"id": 2**70}], "column 'id'"),
        ({"ts": [START], "id": [1, 2], "symbol": ["A"], "price": [1.0]}, "columns of several lengths"),
        ({1: START}, "a name that is no text: 1"),
        (TABLE.to_pandas().assign(symbol=[START, "A", 3] * 4), "a DataFrame .* Arrow makes no table of"),
    ],
)
def test_what_is_no_record_is_refused(given: Any, said: str) -> None:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    monitor.push(TABLE.slice(0, 1))
    with pytest.raises(sb.SkybandError, match=said):
        monitor.push(given)


def shown(rows: pa.Table) -> list[dict[str, Any]]:
    """As pandas and Polars have them, text and times may be of another type; and pandas may know no NULL."""
    return [{name: None if value != value else value for name, value in row.items()} for row in rows.to_pylist()]


def test_a_lazy_frame_is_told_to_collect() -> None:
    frame: Any = pl.DataFrame({"ts": [1], "x": [1]}).lazy()
    monitor = sb.Monitor(sb.Workload([sb.TopK("q", 1, "x", "5 rows")], stream=sb.Stream("s", time="ts")))
    with pytest.raises(sb.SkybandError, match="a LazyFrame was pushed") as caught:
        monitor.push(frame)
    assert caught.value.hint == "it has no rows yet: push(frame.collect())"
