"""Stop, edit the workload, start from the same checkpoint: what stayed goes on, what is new says that it is warming."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests import support
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
STREAM = sb.Stream("s", time="ts", key="id", lateness="2 milliseconds")


def _top(name: str, k: int, width: int, by: str = "score") -> sb.TopK:
    return sb.TopK(name, k, by, f"{width} milliseconds", "5 milliseconds")


def _write(folder: Path, numbers: range) -> list[pa.Table]:
    """One file of 50 records each, a millisecond apart."""
    tables = []
    for number in numbers:
        ids = range(50 * number, 50 * number + 50)
        table = support.table_of([(1_000 * id, id, float(id * 7919 % 1_000), 1, "red") for id in ids])
        path = folder / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        tables.append(table)
    return tables


def _run(spark: SparkSession, folder: Path, workload: sb.Workload, name: str) -> list[dict[str, object]]:
    schema = spark.read.parquet(str(folder / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found: list[pa.Table] = []
    writer = workload.over(df).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
    query.awaitTermination()
    return [row for table in found for row in table.to_pylist()]


def _lists(rows: list[dict[str, object]], query: str) -> dict[object, list[object]]:
    lists: dict[object, list[object]] = {}
    mine = [row for row in rows if row["query"] == query]
    for row in sorted(mine, key=lambda row: (str(row["window_end"]), int(str(row["rank"])))):
        lists.setdefault(row["window_end"], []).append(row["id"])
    return lists


def test_queries_that_stay_go_on_and_new_ones_warm_up(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    stays, goes, joins = _top("stays", 3, 40), _top("goes", 5, 60), _top("joins", 8, 100)
    tables = _write(source, range(4))
    first = _run(spark, tmp_path, sb.Workload([stays, goes], stream=STREAM), "check")
    tables += _write(source, range(4, 10))
    second = _run(spark, tmp_path, sb.Workload([stays, joins], stream=STREAM), "check")

    monitor = sb.Monitor(sb.Workload([stays, joins], stream=STREAM))
    expected = [row for table in tables for row in monitor.push(table).to_pylist()]
    assert _lists(first + second, "stays") == _lists(expected, "stays")
    assert not [row for row in second if row["query"] == "goes"]
    assert not [row for row in first + second if row["query"] != "joins" and row["warming"]]

    warm = [row for row in second if row["query"] == "joins" and row["warming"] is None]
    warming = [row for row in second if row["query"] == "joins" and row["warming"]]
    assert warm
    assert warming
    complete = {end: ids for end, ids in _lists(expected, "joins").items() if end in _lists(warm, "joins")}
    assert _lists(warm, "joins") == complete
    assert max(str(row["window_end"]) for row in warming) < min(str(row["window_end"]) for row in warm)


def started(spark: SparkSession, folder: Path, workload: sb.Workload, *forget: str) -> list[dict[str, object]]:
    """As `skyband run` starts it: the checkpoint's note says since when a query is there."""
    from skyband.spark.pipeline import over
    from skyband.spark.state.checkpoint import Checkpoint

    checkpoint = Checkpoint(spark, str(folder / "noted"))
    plan = workload.plan(placement=checkpoint.placement())
    joining = checkpoint.check(plan, forget=forget)
    schema = spark.read.parquet(str(folder / "in")).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found: list[pa.Table] = []
    rows = over(plan, df, joining)
    checkpoint.claim(plan, joining)
    writer = rows.writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", checkpoint.path).trigger(availableNow=True).start()
    query.awaitTermination()
    return [row for table in found for row in table.to_pylist()]


def test_a_query_that_was_away_has_joined_anew(spark: SparkSession, tmp_path: Path) -> None:
    """By time and by rows: what does not say `warming` is what a Monitor says that had it all along."""
    source = tmp_path / "in"
    source.mkdir()
    stays = _top("stays", 3, 40, by="score - bonus")
    away = [_top("away", 3, 40), sb.TopK("last", 3, "score", "30 rows", 10)]
    both, one = sb.Workload([stays, *away], stream=STREAM), sb.Workload([stays], stream=STREAM)
    tables = _write(source, range(2))
    found = started(spark, tmp_path, both)
    tables += _write(source, range(2, 3))
    found += started(spark, tmp_path, one)
    tables += _write(source, range(3, 6))
    found += started(spark, tmp_path, both)

    monitor = sb.Monitor(both)
    expected = [row for table in tables for row in monitor.push(table).to_pylist()]
    assert jobs.bag([row for row in found if row["query"] == "stays"]) == jobs.bag(
        [row for row in expected if row["query"] == "stays"]
    )
    for query in ("away", "last"):
        mine = [row for row in found if row["query"] == query]
        warm = jobs.bag([row for row in mine if not row["warming"]])
        assert set(warm) <= set(jobs.bag([row for row in expected if row["query"] == query]))
        assert [row for row in mine if row["warming"]], "windows that reach back to when it was away"
        assert len(warm) > 30


def test_state_of_queries_that_are_gone_lasts_as_long_as_their_windows(spark: SparkSession, tmp_path: Path) -> None:
    """By time until no window could hold a record; of ROWS until somebody says so. Seen before: it was cleared with the
    first report that was due, and what nobody knew of as well."""
    from pyspark.errors import PySparkException

    from skyband.spark.state.checkpoint import Checkpoint, operators, state_variable
    from skyband.spark.state.note import NOTE

    source = tmp_path / "in"
    source.mkdir()
    stays, away, last = _top("stays", 3, 40, "score - bonus"), _top("away", 3, 100), sb.TopK("last", 3, "id", "30 rows")
    all_three, one = sb.Workload([stays, away, last], stream=STREAM), sb.Workload([stays], stream=STREAM)
    names = {each.family.queries[0].name: each.family.fingerprint for each in all_three.plan().families}

    def held() -> set[str]:
        checkpoint = str(tmp_path / "noted")
        (operator,) = operators(spark, checkpoint)
        keys = state_variable(spark, checkpoint, operator, "clock").select("key.state_key").collect()
        found = {row.state_key.partition("/")[0] for row in keys}
        return {name for name, fingerprint in names.items() if fingerprint in found}

    tables = _write(source, range(2))
    found = started(spark, tmp_path, all_three)
    started(spark, tmp_path, one)
    tables += _write(source, range(2, 3))
    found += started(spark, tmp_path, all_three)
    monitor = sb.Monitor(all_three)
    told = [row for table in tables for row in monitor.push(table).to_pylist()]
    assert jobs.bag(found) == jobs.bag(told), "left and back before anything was done: as if it had stayed"
    _write(source, range(3, 4))
    started(spark, tmp_path, one)
    assert held() == {"stays", "away", "last"}
    _write(source, range(4, 7))
    started(spark, tmp_path, one)
    assert held() == {"stays", "last"}, "its longest window is over"
    with pytest.raises(sb.SkybandError, match=r"--forget stays: it is still among the queries\nexpected: .*away, last"):
        Checkpoint(spark, str(tmp_path / "noted")).check(one.plan(), forget=["stays"])
    _write(source, range(7, 8))
    started(spark, tmp_path, one, "last")
    assert held() == {"stays"}
    _write(source, range(8, 9))
    started(spark, tmp_path, all_three)
    note = tmp_path / "noted" / NOTE
    unknown = json.loads(note.read_text()) | {"gone": []}
    unknown["state"] = [each for each in unknown["state"] if each["queries"] != ["away"]]
    note.write_text(json.dumps(unknown))
    _write(source, range(9, 10))
    with pytest.raises(PySparkException, match="of queries that its note does not know"):
        started(spark, tmp_path, one)


@pytest.mark.parametrize("deletes", [True, False])
def test_queries_of_many_scores_go_on_whoever_comes_or_goes(spark: SparkSession, tmp_path: Path, deletes: bool) -> None:
    """Once: with other attributes, or fewer than eight scores, all of them began anew and said `warming`."""
    stream = sb.Stream("s", time="ts", key="id", op="op" if deletes else None, lateness="2 milliseconds")
    scores = [_top(f"q{number}", 3, 40, by=f"bonus + {number}.5 * score") for number in range(8)]
    first, stays = scores[0], scores[1:7]
    comes = _top("comes", 2, 40, by="id - score")
    source = tmp_path / "in"
    source.mkdir()
    tables = _written(source, range(2))
    found = started(spark, tmp_path, sb.Workload([_top("goes", 2, 40, by="score - bonus"), *scores], stream=stream))
    tables += _written(source, range(2, 4))
    found += started(spark, tmp_path, sb.Workload([first, *stays], stream=stream))
    tables += _written(source, range(4, 6))
    found += started(spark, tmp_path, sb.Workload([comes, *stays], stream=stream))

    monitor = sb.Monitor(sb.Workload(stays, stream=stream))
    told = [row for table in tables for row in monitor.push(table).to_pylist()]
    names = {query.name for query in stays}
    assert len(told) > 100
    assert jobs.bag([row for row in found if row["query"] in names]) == jobs.bag(told)
    assert {row["query"] for row in found if row["warming"]} == {"comes"}


def _written(folder: Path, numbers: range) -> list[pa.Table]:
    """As `_write`; every seventh record takes back the one before it, where somebody looks at `op`."""
    tables = _write(folder, numbers)
    for number, table in zip(numbers, tables, strict=True):
        ids = table.column("id").to_pylist()
        takes = [id % 7 == 0 and id > 0 for id in ids]
        table = table.set_column(1, "id", pa.array([id - take for id, take in zip(ids, takes, strict=True)]))
        tables[number - numbers.start] = table.append_column("op", pa.array(["d" if take else "i" for take in takes]))
        path = folder / f"{number:04}.parquet"
        pq.write_table(tables[number - numbers.start], path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    return tables
