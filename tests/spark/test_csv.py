"""CSV files whose columns come in any order: each file's own header says which is which."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import skyband as sb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
COLUMNS = [("ts", "TIMESTAMP"), ("id", "BIGINT"), ("price", "DOUBLE"), ("name", "STRING")]
DECLARED = sb.Stream("s", time="ts", key="id", columns=COLUMNS)
BARE = sb.Stream("s", time="ts", key="id")
ORDERS = (["ts", "id", "price", "name"], ["price", "name", "ts", "id"], ["more", "id", "name", "ts", "price"])


def write(folder: Path, number: int, order: list[str], rows: int = 3) -> None:
    """A file with `rows` rows, ids from 100 * number on."""
    ids = range(100 * number, 100 * number + rows)
    columns: dict[str, list[str]] = {
        "ts": [f"2026-01-01 00:{number:02}:{each % 60:02}" for each in ids],
        "id": [str(each) for each in ids],
        "price": [f"{each}.5" for each in ids],
        "name": [f'"n, {each}"' for each in ids],
        "more": ["?"] * rows,
    }
    lines = [",".join(order), *(",".join(columns[name][row] for name in order) for row in range(rows))]
    path, text = folder / f"{number:03}.csv{'.gz' if number == 2 else ''}", "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    os.utime(path, (1e9 + number, 1e9 + number))


def expected(*numbers: int, rows: int = 3) -> list[tuple[int, float, str]]:
    ids = [each for number in numbers for each in range(100 * number, 100 * number + rows)]
    return [(each, each + 0.5, f"n, {each}") for each in ids]


def opened(spark: SparkSession, folder: Path, stream: sb.Stream, streaming: bool, options: str = "") -> DataFrame:
    from skyband.spark.io.locations import source_locations
    from skyband.spark.io.sources import open_source

    location = source_locations([f"s=csv:{folder}{options}"], [stream], None, streaming)["s"]
    return open_source(spark, location, stream, streaming).frame


def streamed(df: DataFrame, folder: Path) -> list[dict[str, Any]]:
    found: list[pa.Table] = []
    writer = df.writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow())).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    return [row for table in found for row in table.to_pylist()]


def told(rows: list[dict[str, Any]]) -> list[tuple[int, float, str]]:
    assert all((row["ts"].minute, row["ts"].second) == (row["id"] // 100, row["id"] % 60) for row in rows)
    return sorted((row["id"], row["price"], row["name"]) for row in rows)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "in folder"
    folder.mkdir()
    for number, order in enumerate(ORDERS):
        write(folder, number, order)
    return folder


@pytest.mark.parametrize("stream", [DECLARED, BARE], ids=["declared", "bare"])
@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_every_file_has_its_own_order(
    spark: SparkSession, tmp_path: Path, files: Path, stream: sb.Stream, streaming: bool
) -> None:
    df = opened(spark, files, stream, streaming)
    rows = streamed(df, tmp_path) if streaming else df.toArrow().to_pylist()
    assert told(rows) == expected(0, 1, 2)


def test_the_first_file_of_a_stream_is_still_to_come(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    df = opened(spark, tmp_path / "in", DECLARED, streaming=True)
    for number, order in enumerate(ORDERS[::-1]):
        write(tmp_path / "in", number, order)
    assert told(streamed(df, tmp_path)) == expected(0, 1, 2)


def test_a_large_file_of_a_stream_is_read_in_pieces_or_named(spark: SparkSession, tmp_path: Path) -> None:
    """Pieces without the header count on the others' order; where that is wrong, nothing of the file is read."""
    (tmp_path / "in").mkdir()
    for number in (0, 1):
        write(tmp_path / "in", number, ORDERS[1], rows=90)
    small = {"spark.sql.files.maxPartitionBytes": "500", "spark.sql.files.openCostInBytes": "1"}
    for name, value in small.items():
        spark.conf.set(name, value)
    try:
        df = opened(spark, tmp_path / "in", DECLARED, streaming=True)
        assert told(streamed(df, tmp_path)) == expected(0, 1, rows=90)
        write(tmp_path / "in", 3, ORDERS[0], rows=90)
        with pytest.raises(Exception, match=r"003\.csv has its columns in another order .* expected: price, name"):
            streamed(df, tmp_path)
    finally:
        for name in small:
            spark.conf.unset(name)


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_a_value_that_cannot_be_read_costs_itself(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    (tmp_path / "in").mkdir()
    lines = ["id;price;ts;name", "1;0.5;01.02.2026 03:04;a", "x;1.5;01.02.2026 03:04;b", '3;?;-;"c']
    (tmp_path / "in" / "a.csv").write_text("\n".join(lines) + "\n4;2.5;01.02.2026 03:04;d\n")
    df = opened(spark, tmp_path / "in", DECLARED, streaming, "?sep=%3B&timestampFormat=dd.MM.yyyy HH:mm")
    rows = streamed(df, tmp_path) if streaming else df.toArrow().to_pylist()
    found = [(row["id"], row["price"], row["ts"] is not None, row["name"]) for row in rows]
    assert found == [(1, 0.5, True, "a"), (None, 1.5, True, "b"), (3, None, False, "c"), (4, 2.5, True, "d")]


def test_files_without_names_are_in_the_declared_order(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("2026-01-01 00:00:07,7,0.5,a\n")
    for streaming in (False, True):
        df = opened(spark, tmp_path / "in", DECLARED, streaming, "?header=false")
        (row,) = streamed(df, tmp_path) if streaming else df.toArrow().to_pylist()
        assert (row["id"], row["price"], row["name"], row["ts"].second) == (7, 0.5, "a", 7)


def test_folders_that_say_a_column_keep_it(spark: SparkSession, tmp_path: Path) -> None:
    for number, order in enumerate(ORDERS[:2]):
        folder = tmp_path / "in" / f"day={number}"
        folder.mkdir(parents=True)
        write(folder, number, order)
    for streaming in (False, True):
        df = opened(spark, tmp_path / "in", BARE, streaming)
        rows = streamed(df, tmp_path) if streaming else df.toArrow().to_pylist()
        assert told(rows) == expected(0, 1)
        assert {(row["id"] // 100, row["day"]) for row in rows} == {(0, 0), (1, 1)}
