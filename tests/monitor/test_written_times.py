"""A Monitor over times that are written as numbers or text: the rows are those of times, what is none is left out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.runtime.arrow_files import ArrowFiles
from skyband.runtime.locations import Location

QUERIES = """
CREATE QUERY range AS SELECT TOP 2 * FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE seen > ts ORDER BY price DESC;
CREATE QUERY rows AS SELECT TOP 1 id FROM s [ROWS 3] ORDER BY price DESC;
CREATE QUERY newest AS SELECT TOP 1 id FROM s [RANGE 6 SECONDS] ORDER BY seen DESC;
"""
TYPED = "CREATE STREAM s (ts TIMESTAMP, id BIGINT, seen TIMESTAMP, price DOUBLE) WITH (TIME = ts, KEY = id);"
WRITTEN = """CREATE STREAM s (ts TIMESTAMP FROM UNIX_MILLIS, id BIGINT, seen TIMESTAMP FORMAT 'dd.MM.yyyy HH:mm:ss',
price DOUBLE) WITH (TIME = ts, KEY = id);"""
WORKLOAD, TIMES = sb.Workload.from_sql(WRITTEN + QUERIES), sb.Workload.from_sql(TYPED + QUERIES)
NUMBERS = [*range(8, 24)]
"""Seconds: as text they have another order."""
TABLE = pa.table(
    {
        "ts": pa.array([1_000_000 * n for n in NUMBERS], pa.timestamp("us", "UTC")),
        "id": NUMBERS,
        "seen": pa.array([1_000_000 * (n + (7 * n) % 5 - 1) for n in NUMBERS], pa.timestamp("us", "UTC")),
        "price": [float((7 * n) % 10) for n in NUMBERS],
    }
)


def written(table: pa.Table) -> pa.Table:
    seen = [f"{time:%d.%m.%Y %H:%M:%S}" for time in table["seen"].to_pylist()]
    ts = pa.array([time // 1_000 for time in table["ts"].cast(pa.int64()).to_pylist()])
    return table.set_column(0, "ts", ts).set_column(2, "seen", pa.array(seen))


def text(table: pa.Table) -> pa.Table:
    return table.set_column(0, "ts", table["ts"].cast(pa.string()))


FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "a table": lambda table: table,
    "a table of text": text,
    "a frame of pandas": lambda table: table.to_pandas(),
    "a frame of Polars": pl.from_arrow,
    "categories": lambda table: pl.DataFrame(text(table)).cast({"ts": pl.Categorical, "seen": pl.Categorical}),
    "a list of dicts": lambda table: table.to_pylist(),
    "lists by name": lambda table: table.to_pydict(),
    "now numbers and then text": lambda table: [
        row | {"ts": str(row["ts"]) if row["id"] % 2 else row["ts"]} for row in table.to_pylist()
    ],
    "doubles": lambda table: table.set_column(0, "ts", table["ts"].cast(pa.float64())),
}


def expected() -> list[dict[str, Any]]:
    monitor = sb.Monitor(TIMES)
    rows: list[dict[str, Any]] = pa.concat_tables([monitor.push(TABLE), monitor.close()]).to_pylist()
    return rows


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_records_gives_the_rows_of_times(form: str) -> None:
    monitor = sb.Monitor(WORKLOAD)
    rows = []
    for first in range(0, len(TABLE), 5):
        rows += monitor.push(FORMS[form](written(TABLE.slice(first, 5)))).to_pylist()
        monitor = sb.Monitor.restore(WORKLOAD, monitor.snapshot())
    rows += monitor.close().to_pylist()
    assert sorted(map(str, rows)) == sorted(map(str, expected()))
    assert monitor.counters["bad"] == {}


def test_what_is_no_time_is_a_bad_record_and_the_first_few_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    bad = [{"ts": "soon", "id": 90 + n, "seen": None, "price": 99.0} for n in range(5)]
    bad += [
        {"ts": 9_000, "id": 97, "seen": "31.02.1970 00:00:00", "price": 99.0},
        {"ts": None, "id": 98, "price": 99.0},
    ]
    monitor = sb.Monitor(WORKLOAD)
    with caplog.at_level(logging.WARNING, "skyband"):
        rows = monitor.push([*written(TABLE).to_pylist(), *bad]).to_pylist() + monitor.close().to_pylist()
    assert rows == expected()
    assert monitor.counters["bad"] == {"unreadable time": 6, "null time": 1}
    assert monitor.counters["records"] == len(TABLE)
    assert caplog.text.count("unreadable time, record left out: {'ts': 'soon', 'id': 9") == 3


def test_what_can_hold_no_time_is_refused() -> None:
    with pytest.raises(sb.SkybandError, match="'ts' is declared TIMESTAMP FROM UNIX_MILLIS, and the data has bool"):
        sb.Monitor(WORKLOAD).push(written(TABLE).set_column(0, "ts", pa.array([True] * len(TABLE))))


def test_a_time_that_is_not_declared_says_how_it_can_be() -> None:
    bare = sb.Workload.from_sql("CREATE STREAM s WITH (TIME = ts); SELECT TOP 1 FROM s [ROWS 2] ORDER BY price;")
    with pytest.raises(sb.SkybandError) as refused:
        sb.Monitor(bare).push(written(TABLE))
    assert "(ts TIMESTAMP FROM UNIX_MILLIS, ...)" in (refused.value.hint or "")


def write(path: Path, table: pa.Table) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_files_are_read_in_the_order_of_their_times(tmp_path: Path, suffix: str) -> None:
    """Of text that is not the order of the values, and a value that is no time is in nobody's way."""
    table = written(TABLE).take([*range(11, 16), *range(11)])
    table = text(table) if suffix == "parquet" else table
    write(tmp_path / f"1.{suffix}", table)
    more = table.slice(0, 1).set_column(0, "ts", pa.array(["soon"])).set_column(1, "id", pa.array([99]))
    write(tmp_path / f"2.{suffix}", more)
    monitor = sb.Monitor(WORKLOAD)
    files = ArrowFiles(Location("files", str(tmp_path), {}), WORKLOAD.streams[0])
    rows = [row for part in files.tables() for row in monitor.push(part).to_pylist()]
    assert sorted(map(str, rows + monitor.close().to_pylist())) == sorted(map(str, expected()))
    assert (monitor.counters["bad"], monitor.counters["late"]) == ({"unreadable time": 1}, 0)


def test_json_keeps_its_digits_where_some_value_is_no_number(tmp_path: Path) -> None:
    declared = "CREATE STREAM s (ts TIMESTAMP FROM UNIX_SECONDS, id BIGINT, price DECIMAL(18, 6)) WITH (TIME = ts);"
    workload = sb.Workload.from_sql(declared + "SELECT TOP 5 * FROM s [RANGE 1 HOUR] ORDER BY id ASC;")
    lines = ['{"ts": 1.5, "id": 9007199254740993, "price": 0.100001}', '{"ts": "2.000000001e0", "id": 2, "price": 1}']
    lines += ['{"ts": {"s": 1}, "id": 3}', "", '{"id": 4, "ts": null}', '{"ts": [3], "id": 5, "more": "x"}']
    (tmp_path / "a.json").write_text("\n".join(lines))
    monitor = sb.Monitor(workload)
    for table in ArrowFiles(Location("files", str(tmp_path / "a.json"), {}), workload.streams[0]).tables():
        monitor.push(table)
    rows = monitor.close()
    assert rows["ts"].cast(pa.int64()).to_pylist() == [2_000_000, 1_500_000]
    assert rows["id"].to_pylist() == [2, 9_007_199_254_740_993]
    assert [str(price) for price in rows["price"].to_pylist()] == ["1.000000", "0.100001"]
    assert monitor.counters["bad"] == {"unreadable time": 2, "null time": 1}
    (tmp_path / "a.json").write_text('{"ts": 1, "price": "x"}\nnothing\n')
    again = sb.Monitor(workload)
    for table in ArrowFiles(Location("files", str(tmp_path / "a.json"), {}), workload.streams[0]).tables():
        again.push(table)
    assert (again.counters["records"], again.counters["bad"]) == (1, {"null time": 1})
