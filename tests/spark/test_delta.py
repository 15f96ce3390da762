"""Delta tables, written and read by `skyband run` with no option for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.spark.io import maven
from tests.spark import jobs
from tests.spark.test_run import assert_refused

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.smoke]
LOCAL = ("--master", "local[1]")
OVER_ROWS = """CREATE STREAM lists WITH (TIME = window_end);
CREATE QUERY highest AS SELECT TOP 2 PER query score FROM lists [RANGE 30 SECONDS SLIDE 10 SECONDS]
  WHERE query IN ('biggest', 'largest') ORDER BY score DESC;
"""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[jobs.Warm]:
    """Its JVM has Delta's jars from the first command on; its sessions know of them only where a command saw to it."""
    found = jobs.Warm(tmp_path_factory.mktemp("said"))
    yield found
    found.end()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, process: jobs.Warm) -> Path:
    """Written by a stream that was started twice, by two processes, and did one micro-batch twice."""
    folder = tmp_path_factory.mktemp("delta")
    if maven.CONNECTORS[maven.minor()].delta is None:
        refused_before_spark_starts(folder)
        pytest.skip(f"there is no Delta for Spark {maven.minor()}; seen: it is refused in one line")
    jobs.write_files(folder / "in", jobs.trades(files=3))
    held_back = folder / "in" / "0002.parquet"
    held_back.rename(folder / "later.parquet")
    words: list[str | Path] = ["run", jobs.write_workload(folder), "--source", f"trades={folder / 'in'}", *LOCAL]
    words += ["--sink", f"delta:{folder / 'table'}", "--stream", "--once", "--checkpoint", folder / "checkpoint"]
    ended_well(process.run(*words))
    last = max(folder.glob("checkpoint/commits/[0-9]*"), key=lambda path: int(path.name))
    for path in (last, last.with_name(f".{last.name}.crc")):
        path.unlink()
    (folder / "later.parquet").rename(held_back)
    ended_well(jobs.skyband(*words, "--drain"))
    return folder / "table"


def test_a_stream_into_a_table(table: Path) -> None:
    expected = jobs.monitored(jobs.trades(files=3)).to_pylist()
    assert jobs.bag(rows_of(table).to_pylist()) == jobs.bag(expected)


def test_a_table_as_a_stream(table: Path, process: jobs.Warm, tmp_path: Path) -> None:
    """The folder itself says what it is."""
    words: list[str | Path] = ["run", over_rows(tmp_path), "--source", f"lists={table}", "--sink", tmp_path / "out"]
    ended_well(process.run(*words, "--stream", "--once", "--drain", *LOCAL))
    assert jobs.bag(jobs.listed(tmp_path / "out").to_pylist()) == expected_over(table)


def test_a_batch_from_a_table_into_a_table(table: Path, process: jobs.Warm, tmp_path: Path) -> None:
    places = ("--source", f"lists=delta:{table}", "--sink", f"delta:{tmp_path / 'out'}")
    ended_well(process.run("run", over_rows(tmp_path), *places, *LOCAL))
    assert jobs.bag(rows_of(tmp_path / "out").to_pylist()) == expected_over(table)


def refused_before_spark_starts(folder: Path) -> None:
    (folder / "in").mkdir()
    words = ("run", jobs.write_workload(folder), "--source", f"trades={folder / 'in'}", "--sink", "delta:out")
    assert_refused(jobs.skyband(*words, JAVA_HOME="/nowhere"), f"made for Spark {maven.minor()}, and skyband knows")


def over_rows(folder: Path) -> Path:
    path = folder / "rows.sql"
    path.write_text(OVER_ROWS)
    return path


def expected_over(table: Path) -> list[str]:
    """What a Monitor says of the table's rows, without those that have no time."""
    rows, monitor = rows_of(table), sb.Monitor(sb.Workload.from_sql(OVER_ROWS))
    timed = rows.filter(rows["window_end"].is_valid()).sort_by("window_end")
    return jobs.bag(pa.concat_tables([monitor.push(timed), monitor.close()]).to_pylist())


def ended_well(done: CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr


def rows_of(folder: Path) -> pa.Table:
    """By the table's own log: the files that were added and not removed again."""
    files: set[str] = set()
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            files |= {action["add"]["path"]} if "add" in action else set()
            files -= {action["remove"]["path"]} if "remove" in action else set()
    found = pa.concat_tables([pq.read_table(folder / name, partitioning=None) for name in sorted(files)])
    return found.select([name for name in found.column_names if name != "micro_batch"])
