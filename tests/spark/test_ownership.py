"""A checkpoint and a sink belong to one job, and one process of it writes at a time."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs
from tests.spark.test_run import assert_refused

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
TEXT = ";".join(jobs.WORKLOAD.split(";")[:2]) + ";"
"""One query."""
Run = Callable[..., CompletedProcess[str]]


def told(tables: list[pa.Table]) -> list[str]:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    return jobs.bag(pa.concat_tables([*map(monitor.push, tables), monitor.close()]).to_pylist())


def rows(folder: Path) -> list[str]:
    return jobs.bag(jobs.listed(folder).to_pylist())


@pytest.fixture(scope="module")
def tables() -> list[pa.Table]:
    return jobs.trades(files=6, rate=5.0)


@pytest.fixture
def run(tmp_path: Path, tables: list[pa.Table]) -> Run:
    """A start of a job: its checkpoint, its sink, how many files there are by then, more words."""
    workload = jobs.write_workload(tmp_path, TEXT)
    jobs.write_files(tmp_path / "later", tables)
    (tmp_path / "in").mkdir()

    def started(checkpoint: str, sink: str, files: int, *more: str, source: str = "in") -> CompletedProcess[str]:
        for number in range(files):
            path = tmp_path / "in" / f"{number:04d}.parquet"
            if not path.exists():
                shutil.copy2(tmp_path / "later" / path.name, path)
        words: list[str | Path] = [
            "run",
            workload,
            "--source",
            f"trades={tmp_path / source}?maxFilesPerTrigger=1",
            "--sink",
        ]
        words += [sink if "://" in sink else tmp_path / sink, "--checkpoint", tmp_path / checkpoint]
        return jobs.warm(*words, "--stream", "--once", "--master", "local[1]", *more)

    return started


def test_a_checkpoint_from_a_copy_is_noticed(tmp_path: Path, run: Run, tables: list[pa.Table]) -> None:
    """Once: exit code 0, and 36 rows twice."""
    assert run("ck", "out?every=batch", 2).returncode == 0
    shutil.copytree(tmp_path / "ck", tmp_path / "copy")
    assert run("ck", "out?every=batch", 6).returncode == 0
    shutil.rmtree(tmp_path / "ck")
    (tmp_path / "copy").rename(tmp_path / "ck")
    assert_refused(run("ck", "out", 6), "the checkpoint is an older copy")
    done = run("ck", "out", 6, "--accept", "rewind", "--drain")
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "out") == told(tables)


def test_a_checkpoint_that_was_moved_goes_on(tmp_path: Path, run: Run, tables: list[pa.Table]) -> None:
    """Once: Spark looked for parts of it where it had been."""
    assert run("ck", "out", 2).returncode == 0
    (tmp_path / "ck").rename(tmp_path / "state")
    schemas = next((tmp_path / "state" / "state" / "0").glob("_stateSchema/default/0_*"))
    away = schemas.rename(tmp_path / "away")
    assert_refused(run("state", "out", 2), "is not whole: state/0/_stateSchema/default/0_")
    away.rename(schemas)
    done = run("state", "out", 6, "--drain")
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "out") == told(tables)


def test_the_sink_of_another_job_is_not_touched(tmp_path: Path, run: Run) -> None:
    """Once: its `batch=2` was overwritten."""
    for name in ("one", "two"):
        assert run(f"ck {name}", name, 3).returncode == 0
    before = rows(tmp_path / "one")
    assert_refused(run("ck two", "one", 6), "one is the sink of another job, whose checkpoint is")
    assert_refused(run("ck two", "three", 6), "three is empty, and the checkpoint has written")
    assert rows(tmp_path / "one") == before
    (tmp_path / "two").rename(tmp_path / "moved")
    assert run("ck two", "moved", 6).returncode == 0, "a folder that was moved has its mark"


def test_another_source_and_another_type_are_refused(
    tmp_path: Path, run: Run, tables: list[pa.Table], postgres: str
) -> None:
    """Once: `INT` that has become `DOUBLE` stopped the job for good, with a stack trace of Arrow's."""
    sink = f"{postgres}?table=owned"
    assert run("ck", sink, 2).returncode == 0
    assert_refused(run("ck", f"{postgres}?table=other", 2), "table owned, and now they are to go to postgresql://")
    assert_refused(run("ck", sink, 2, source="later"), "has read stream trades from")
    jobs.write_workload(tmp_path, TEXT.replace(re.findall(r"\(ts .*\)", TEXT)[0], ""))
    for number in (2, 3):
        floats = tables[number].set_column(4, "size", tables[number].column("size").cast(pa.float64()))
        pq.write_table(floats, tmp_path / "in" / f"{number:04d}.parquet")
    (tmp_path / "in" / "0000.parquet").unlink()
    (tmp_path / "in" / "0001.parquet").unlink()
    assert_refused(run("ck", sink, 0), "column size of stream trades is of type double")


def test_rows_of_two_jobs_lie_side_by_side_in_a_table(tmp_path: Path, run: Run, postgres: str) -> None:
    """Once: they took each other's place."""
    for name in ("one", "two"):
        assert run(f"ck {name}", f"{postgres}?table=shared", 3).returncode == 0
    with psycopg.connect(postgres) as connection:
        counts = connection.execute("SELECT identity::jsonb->>'job', count(*) FROM shared GROUP BY 1").fetchall()
    assert len(counts) == 2
    assert len({count for _, count in counts}) == 1
