"""Random records, most of them odd, through a Monitor and each sink: nothing ends, and no row of others changes.

`SKYBAND_FUZZ` says how many records each sink gets (in batches), `SKYBAND_SEED` which."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import skyband as sb
from skyband.cli.lists import Lists
from skyband.cli.row_files import row_writer
from tests import poisoned
from tests.spark import jobs, servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = int(os.environ.get("SKYBAND_FUZZ", 300))
TOGETHER = 10_000
SEED = int(os.environ.get("SKYBAND_SEED", 16))
TIMES = [poisoned.LEAST, poisoned.MOST, poisoned.FAR, -poisoned.FAR, 2**61, -(2**61), 2**61 + 1, None, 0, -1]
YEARS = [-62_135_596_800_000_000, -62_135_596_800_000_001, 253_402_300_799_999_999, 253_402_300_800_000_000]
"""The first microsecond of the year 1, the last of 9999, and those beside them."""
NUMBERS = [poisoned.LEAST, poisoned.MOST, None, 0, -1, 2**53 + 1]
SIGNS = [
    "\0",
    "\x1b[31m",
    "[/x]",
    "[bold]",
    "\n",
    "\r",
    "\t",
    "|",
    "\\",
    "\\N",
    '"',
    "'",
    ",",
    "é",
    "日",
    "\u202e",
    "\U0001f600",
]


def text(draw: random.Random) -> str | None:
    if draw.random() < 0.1:
        return draw.choice([None, "", "a", "x" * draw.randrange(100_000)])
    return "".join(draw.choice([*SIGNS, chr(draw.randrange(0xD800)), "a"]) for _ in range(draw.randrange(6)))


def moment(draw: random.Random) -> int | None:
    return draw.choice([*TIMES, *YEARS, draw.randrange(-(2**63), 2**63), draw.randrange(10**15)])


def record(draw: random.Random, number: int) -> dict[str, Any]:
    """Its windows are apart from those of clean records, wherever it has a time that it might share with them."""
    at = (poisoned.ALONE + draw.randrange(500)) * poisoned.SECOND
    odd = moment(draw) if draw.random() < 0.05 else at
    clean = odd is not None and -60 * poisoned.SECOND < odd < poisoned.ALONE * poisoned.SECOND
    whole = draw.choice([*NUMBERS, draw.randrange(-(2**63), 2**63), draw.randrange(100)])
    return {
        "ts": at if clean else odd,
        "id": draw.choice([1_000 + number, whole]),
        "n": whole,
        "small": draw.choice([-(2**31), 2**31 - 1, None, draw.randrange(100)]),
        "x": draw.choice([float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324, None, draw.gauss(0, 100)]),
        "amount": draw.choice([None, Decimal(draw.randrange(-(10**18) + 1, 10**18)).scaleb(-6)]),
        "at": moment(draw),
        "zoned": moment(draw),
        "day": draw.choice([-(2**31), 2**31 - 1, None, 0, draw.randrange(-(2**31), 2**31)]),
        "name": text(draw),
    }


@cache
def undisturbed() -> pa.Table:
    running = sb.Monitor(poisoned.workload())
    return poisoned.others(pa.concat_tables([running.push(poisoned.clean()), running.close()]))


def batches() -> Iterator[pa.Table]:
    """Tables of random records; that the Monitor is right with them is seen at once."""
    for first in range(0, RECORDS, TOGETHER):
        draw = random.Random(f"{SEED} {first}")
        yield poisoned.table([record(draw, number) for number in range(min(TOGETHER, RECORDS - first))])


def rows() -> Iterator[pa.Table]:
    for table in batches():
        running = sb.Monitor(poisoned.workload())
        told = pa.concat_tables([running.push(poisoned.clean()), running.push(table), running.close()])
        assert poisoned.others(told).equals(undisturbed())
        taken = running.counters
        assert taken["records"] + taken["future"] + sum(taken["bad"].values()) == 40 + len(table)
        yield told


def test_a_console() -> None:
    for told in rows():
        lists, console = Lists(), Console(width=200, color_system=None, force_terminal=False)
        lists.take(told)
        with console.capture() as said:
            console.print(lists.page())
        assert said.get().replace("\n", "").isprintable()


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_files(kind: str, tmp_path: Path) -> None:
    for told in rows():
        writer = row_writer(tmp_path / "out", kind, told.schema)
        writer.write(told)
        writer.close()
        (file,) = (tmp_path / "out").glob("part-*")
        if kind == "parquet":
            assert poisoned.others(pq.read_table(file)).equals(undisturbed())
        elif kind == "json":
            assert len([json.loads(line) for line in file.read_bytes().split(b"\n") if line]) == len(told)
        else:
            read = csv.read_csv(file, parse_options=csv.ParseOptions(newlines_in_values=True))
            assert len(read) == len(told)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with servers.postgres() as address:
        yield address


OTHERS = "SELECT * FROM top WHERE window_end > '1970-01-01' AND window_end < '1970-01-01 00:07:30' OR row_end <= 40"


@pytest.mark.slow
def test_postgres(postgres: str) -> None:
    """As the tasks and the driver do it, without Spark between them."""
    from psycopg.rows import dict_row

    from skyband.spark.io.postgres import Copy, Table, _merge, _prepare

    table = Table(postgres, "top")
    for told in rows():
        named = told.append_column("identity", pa.array(map(str, range(len(told)))))
        with table.connect() as connection:
            _prepare(connection, table, named.schema)
            connection.commit()
            list(Copy(table)(iter(named.combine_chunks().to_batches())))
            connection.execute(_merge(table, named.column_names))
            connection.row_factory = dict_row
            assert connection.execute("SELECT count(*) FROM top").fetchone() == {"count": len(told)}
            found = connection.execute(OTHERS).fetchall()
            assert jobs.bag([{**row, "identity": None} for row in found]) == jobs.bag(undisturbed().to_pylist())
            connection.execute("TRUNCATE top")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Records read by tasks and by Spark, and rows in folders of text."""
    from skyband.spark.io.sinks import sink

    names = ("whole", "parts", "groups")
    queries = poisoned.STREAM + "".join(f"CREATE QUERY {name} AS {poisoned.QUERIES[name]};\n" for name in names)
    workload = poisoned.workload(queries)
    running = sb.Monitor(workload)
    expected = jobs.bag(
        poisoned.others(pa.concat_tables([running.push(poisoned.clean()), running.close()])).to_pylist()
    )
    for table in batches():
        pq.write_table(pa.concat_tables([poisoned.clean(), table]), tmp_path / "in.parquet")
        for read in (sb.scan(str(tmp_path / "in.parquet")), spark.read.parquet(str(tmp_path / "in.parquet"))):
            found = workload.over(read).cache()
            assert jobs.bag(poisoned.others(found.toArrow()).to_pylist()) == expected
            for kind in ("csv", "json"):
                sink(f"{kind}:{tmp_path / kind}", workload.plan()).write_batch(found, 0)
            found.unpersist()
