"""`skyband run` over files, and what it says when something is wrong: one message, exit code 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.spark import jobs

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LOCAL = ("--master", "local[2]")


@pytest.fixture(scope="module")
def tables() -> list[pa.Table]:
    return jobs.trades(files=3)


@pytest.fixture
def files(tmp_path: Path, tables: list[pa.Table]) -> Path:
    jobs.write_files(tmp_path / "in", tables)
    return tmp_path / "in"


@pytest.mark.smoke
def test_a_batch_of_files_is_what_a_monitor_says(tmp_path: Path, files: Path, tables: list[pa.Table]) -> None:
    workload = jobs.write_workload(tmp_path)
    done = jobs.skyband("run", workload, "--source", f"trades={files}", "--sink", tmp_path / "out", *LOCAL)
    assert (done.returncode, done.stdout) == (0, "")
    assert "stream trades: Spark reads the records: positions of ROWS are counted" in done.stderr
    assert "done in" in done.stderr
    assert jobs.bag(jobs.listed(tmp_path / "out").to_pylist()) == jobs.bag(jobs.monitored(tables).to_pylist())


def test_a_batch_without_spark_gives_the_same_rows(tmp_path: Path, tables: list[pa.Table]) -> None:
    """Also of files that are in no order, with times that several records share, and a column to be widened."""
    whole = pa.concat_tables(tables)
    second = pc.floor_temporal(whole.column("ts"), unit="second")
    whole = whole.set_column(0, "ts", second).set_column(4, "size", whole.column("size").cast(pa.int32()))
    whole = whole.take(np.random.default_rng(5).permutation(len(whole)))
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(whole.slice(400 * number, 400 if number < 2 else None), tmp_path / "in" / f"{number}.parquet")
    words = ("run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'in'}", "--sink")
    on_spark = jobs.warm(*words, tmp_path / "spark", *LOCAL)
    without = jobs.warm(*words, tmp_path / "monitor", "--monitor")
    assert (on_spark.returncode, without.returncode) == (0, 0), on_spark.stderr + without.stderr
    one, other = (jobs.listed(tmp_path / name) for name in ("spark", "monitor"))
    assert jobs.bag(one.to_pylist()) == jobs.bag(other.to_pylist())
    assert len(one) > 100
    assert one.schema.remove_metadata() == other.schema.remove_metadata()


def test_parquet_is_read_by_the_tasks_and_explain_says_so(tmp_path: Path, files: Path, tables: list[pa.Table]) -> None:
    workload = jobs.write_workload(tmp_path, jobs.RANGED)
    words = (workload, "--source", f"trades={files}")
    done = jobs.warm("run", *words, "--sink", tmp_path / "out", *LOCAL)
    said = "stream trades: tasks read the files with Arrow (3 files, 3 row groups, 1,236 records): "
    said += "ts, symbol, price, size first, and trade_id, change where some record is needed"
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    told = [row for row in jobs.monitored(tables).to_pylist() if row["query"] != "leaders"]
    assert jobs.bag(jobs.listed(tmp_path / "out").to_pylist()) == jobs.bag(told)
    explained = jobs.warm("explain", *words)
    assert explained.returncode == 0, explained.stderr
    assert said in explained.stdout
    assert explained.stdout.startswith("4 queries, ")


def test_a_batch_without_a_row_says_what_became_of_its_records(tmp_path: Path) -> None:
    """Of a newcomer's own file perhaps no time can be read. That was an AssertionError in Spark."""
    (tmp_path / "trades.csv").write_text("ts,id,price\n05.01.2026 10:00,1,1.5\n05.01.2026 10:01,2,2.5\n")
    workload = tmp_path / "none.sql"
    workload.write_text(
        "CREATE STREAM trades (ts TIMESTAMP, id BIGINT, price DOUBLE) WITH (TIME = ts, KEY = id);"
        "CREATE QUERY top AS SELECT TOP 2 id FROM trades [RANGE 1 MINUTE] ORDER BY price;"
    )
    done = jobs.warm("run", workload, "--source", f"trades={tmp_path / 'trades.csv'}", "--sink", "console", *LOCAL)
    assert done.returncode == 0, done.stderr
    assert done.stderr.rstrip().endswith(", 2 bad")


def test_csv_in_another_order_of_columns_to_the_console(tmp_path: Path, tables: list[pa.Table]) -> None:
    table = pa.concat_tables(tables)
    pyarrow.csv.write_csv(table.select(sorted(table.column_names)), tmp_path / "trades.csv")
    workload = jobs.write_workload(tmp_path)
    done = jobs.warm("run", workload, "--source", f"trades={tmp_path / 'trades.csv'}", "--sink", "console", *LOCAL)
    assert done.returncode == 0, done.stderr
    newest = max(table.column("ts").to_pylist()[-1] for table in tables)
    told = [row for row in jobs.monitored(tables).to_pylist() if row["query"] == "biggest"]
    best = [row for row in told if row["window_end"] <= newest][-1]
    assert "biggest at" in done.stdout
    assert str(best["trade_id"]) in done.stdout


@pytest.mark.smoke
def test_a_stream_goes_on_from_its_checkpoint(tmp_path: Path, files: Path, tables: list[pa.Table]) -> None:
    """Once without drain, more files, then to the end by another process; JSON out; notes beside the checkpoint."""
    words: list[str | Path] = [
        "run",
        jobs.write_workload(tmp_path),
        "--source",
        f"trades={files}",
        "--sink",
        f"json:{tmp_path / 'out'}",
    ]
    words += ["--stream", "--once", "--checkpoint", tmp_path / "checkpoint", *LOCAL]
    held_back = files / "0002.parquet"
    held_back.rename(tmp_path / "later.parquet")
    assert jobs.warm(*words).returncode == 0
    (tmp_path / "later.parquet").rename(held_back)
    done = jobs.skyband(*words, "--drain", "--metrics", "127.0.0.1:0")
    assert done.returncode == 0, done.stderr
    assert f"{len(tables[2]):,} records" in done.stderr
    rows = [row for path in (tmp_path / "out").rglob("*.json") for row in pa_json(path)]
    assert jobs.bag(rows) == jobs.bag(jobs.monitored(tables).to_pylist())
    refused = jobs.warm(*words[:1], another_stream(tmp_path), *words[2:])
    assert_refused(refused, "is of another stream: trades (TIME = ts, KEY = trade_id)")
    mixed = jobs.warm(*words[:-4], "--checkpoint", tmp_path / "new", *LOCAL)
    assert_refused(mixed, "out is not empty")


def pa_json(path: Path) -> list[dict[str, object]]:
    import json

    return [json.loads(line) for line in path.read_text().splitlines()]


def another_stream(folder: Path) -> Path:
    path = folder / "other.sql"
    path.write_text(jobs.WORKLOAD.replace("KEY = trade_id, ", ""))
    return path


def assert_refused(done: object, words: str) -> None:
    # Exit codes are tested by themselves.
    assert getattr(done, "returncode", None) in (2, 3, 4), done
    said = str(getattr(done, "stderr", ""))
    assert words in said
    assert "Traceback" not in said
    assert "JVM" not in said
    assert "\tat " not in said
    assert "An error occurred while calling" not in said


def test_a_wrong_word_is_one_message(tmp_path: Path) -> None:
    """`test_before_spark.py` has all there are."""
    words = ("run", jobs.write_workload(tmp_path), "--source", "trades=mysql://host/db", "--sink", "noop")
    assert_refused(jobs.warm(*words), "there is no scheme mysql://")


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("not a Parquet file at all")
    words = (
        "run",
        jobs.write_workload(tmp_path),
        "--source",
        f"trades={tmp_path / 'broken.parquet'}",
        "--sink",
        "noop",
    )
    assert_refused(jobs.warm(*words, *LOCAL), "broken.parquet")


def test_no_java_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    words = ("run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'in'}", "--sink", "noop")
    assert_refused(jobs.skyband(*words, JAVA_HOME="/nowhere"), "Spark needs Java 17 or newer, and none was found")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("size BIGINT", "sise BIGINT"), "there is no column `size`"),
        (("price DOUBLE", "price STRING"), "price"),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path: Path, files: Path, change: tuple[str, str], words: str) -> None:
    path = tmp_path / "wrong.sql"
    path.write_text(jobs.WORKLOAD.replace(*change))
    assert_refused(jobs.warm("run", path, "--source", f"trades={files}", "--sink", "noop", *LOCAL), words)


def test_data_without_a_declared_column_is_refused(tmp_path: Path, files: Path, tables: list[pa.Table]) -> None:
    pq.write_table(tables[0].drop_columns(["symbol"]), tmp_path / "thin.parquet")
    words = ("run", jobs.write_workload(tmp_path), "--source", f"trades={tmp_path / 'thin.parquet'}", "--sink", "noop")
    assert_refused(jobs.warm(*words, *LOCAL), "stream trades: the data has no column 'symbol'")
