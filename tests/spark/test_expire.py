"""EXPIRE on Spark: lives of groups are those that the micro-batches make, over restarts and drained; state of ROWS
windows that are gone goes with it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.model.times import Times
from skyband.runtime.steps import feed
from skyband.spark.state.store import FamilyStateStore, read_stored
from tests import expiring
from tests.expiring import LENGTH, QUERIES as ALL, UNCERTAIN, bag, table_of, workload
from tests.spark.test_damaged_state import Variables
from tests.spark.test_workload_change import started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
FILES = 8
QUERIES = {name: ALL[name] for name in ("best", "longer", "turns", "kinds")}
STEPS = [0, 1_000, 2_000, 5_000, LENGTH // 2, LENGTH]


def tables() -> list[pa.Table]:
    """Some groups are silent for longer than others; times inside of one rise, as positions on Spark do."""
    draw, at, found = random.Random(16), 1_000_000, list[pa.Table]()
    for number in range(FILES):
        colors = draw.sample(["red", "green", "blue", "black", "white"], 2)
        records = []
        for _ in range(10):
            at += draw.choice(STEPS) if draw.random() < 0.2 else 1_000
            records.append((at, draw.choice(colors), draw.randrange(6)))
        found.append(table_of(records, 10 * number))
    return found


def write(folder: Path, some: list[pa.Table], first: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for number, table in enumerate(some, first):
        path = folder / "in" / f"{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1e9 + number, 1e9 + number))


@pytest.mark.parametrize("queries", [QUERIES, UNCERTAIN], ids=["certain", "uncertain"])
def test_lives_of_groups_are_those_of_a_monitor(spark: SparkSession, tmp_path: Path, queries: dict[str, str]) -> None:
    from skyband.spark.state.checkpoint import Checkpoint
    from skyband.spark.state.drain import drain

    asked, given = workload(queries), tables()
    rows: list[dict[str, Any]] = []
    for low, high in ((0, 4), (4, FILES)):
        write(tmp_path, given[low:high], low)
        rows += started(spark, tmp_path, asked)
    plan, checkpoint = asked.plan(), Checkpoint(spark, str(tmp_path / "noted"))
    records = spark.read.parquet(str(tmp_path / "in"))
    rows += drain(spark, plan, {"s": records}, checkpoint.path, checkpoint.check(plan)).toArrow().to_pylist()
    expected = expiring.expected(queries, given)
    assert sum(bool(row["warming"]) for row in expected) > 3, "a group came back"
    assert bag(rows) == bag(expected)


def test_a_batch_has_no_watermark_by_which_groups_expire(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, tables(), 0)
    records = spark.read.parquet(str(tmp_path / "in"))
    rows = workload(QUERIES).over(records).toArrow().to_pylist()
    assert bag(rows) == bag(workload(QUERIES, expire="").over(records).toArrow().to_pylist())
    monitor = sb.Monitor(workload(QUERIES))
    assert bag(rows) == bag(monitor.push(pa.concat_tables(tables())).to_pylist() + monitor.close().to_pylist())


def test_state_of_rows_windows_that_are_gone_expires(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.state.checkpoint import operators, state_variable

    stays = {"turns": QUERIES["turns"]}
    given = tables()
    write(tmp_path, given[:3], 0)
    started(spark, tmp_path, workload({"best": QUERIES["best"]} | stays))

    def keys() -> set[str]:
        path = str(tmp_path / "noted")
        (operator,) = operators(spark, path)
        return {row[0] for row in state_variable(spark, path, operator, "clock").select("key.state_key").collect()}

    (family,) = workload(stays).plan().families
    before = keys()
    last = table_of([(given[2].column("ts").cast(pa.int64())[-1].as_py() + 1_000, "red", 1)], 1_000)
    write(tmp_path, [last], 3)
    started(spark, tmp_path, workload(stays))
    assert keys() == before, "not yet"
    later = [table_of([(4_000_000 + number, "red", 1)], 2_000 + number) for number in range(3)]
    write(tmp_path, later, 4)
    started(spark, tmp_path, workload(stays))
    assert {key.partition("/")[0] for key in keys()} - {"late"} == {family.family.fingerprint}


def test_windows_of_time_keep_what_they_have() -> None:
    """Groups of theirs are not counted, and so none of them is unknown."""
    queries = {"range": "SELECT TOP 2 PER color id FROM s [RANGE 1 SECOND SLIDE 100 MILLISECONDS] ORDER BY score DESC"}
    (planned,) = workload(queries).plan().families
    table, state = tables()[0], Variables()
    store = FamilyStateStore(state, state)
    operator = store.load(planned, read_stored(state))
    operator.bind(table.schema)
    rows = operator.encode(
        table, Times(table["ts"].cast(pa.int64()).to_numpy()), table["color"].combine_chunks(), 0
    ).rows
    for _ in feed(operator, rows, 1_005_000):
        pass
    store.save()
    again = FamilyStateStore(state, state).load(planned, read_stored(state))
    assert len(again.store) == len(operator.essential()) > 2
