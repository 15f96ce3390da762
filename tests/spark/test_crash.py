"""Kill the whole process group again and again: the rows are those of an undisturbed run, none lost, none twice.

Three times here, with files, PostgreSQL and Kafka; `make chaos` does it twenty times each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark import jobs

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KILLS = int(os.environ.get("SKYBAND_KILLS", "3"))
SEED = int(os.environ.get("SKYBAND_SEED", "0"))
HITS = max(1, KILLS // 2)


def words(folder: Path, source: str, sink: str | Path, text: str = jobs.WORKLOAD) -> list[str | Path]:
    return [
        "run", jobs.write_workload(folder, text), "--source", f"trades={source}", "--sink", sink,
        "--checkpoint", folder / "checkpoint", "--master", "local[1]", "--stream", "--once", "--drain",
    ]  # fmt: skip


def stream_of_files(folder: Path) -> tuple[list[pa.Table], str]:
    tables = jobs.trades(files=3 + 2 * KILLS)
    jobs.write_files(folder / "in", tables)
    return tables, f"{folder / 'in'}?maxFilesPerTrigger=1"


def test_a_reader_that_lists_the_folder_sees_every_row_once(tmp_path: Path) -> None:
    tables, source = stream_of_files(tmp_path)
    with polled(tmp_path / "out") as seen:
        # A second: so that folders of several micro-batches are among them.
        job = words(tmp_path, source, f"{tmp_path / 'out'}?every=1 second")
        hits = jobs.run_with_kills(job, tmp_path / "checkpoint", KILLS, SEED)
    assert hits >= HITS
    assert seen
    assert all("_SUCCESS" in names and any(map(is_part, names)) for names in seen), "a folder was seen half written"
    rows = jobs.listed(tmp_path / "out")
    assert jobs.bag(rows.to_pylist()) == jobs.bag(jobs.monitored(tables).to_pylist())


def is_part(name: str) -> bool:
    return name.startswith("part-")


@contextmanager
def polled(out: Path) -> Iterator[set[frozenset[str]]]:
    """What a reader sees in folders of rows who looks again and again."""
    seen: set[frozenset[str]] = set()
    ended = Event()

    def look() -> None:
        while not ended.wait(0.002):
            for folder in out.glob("batch=*"):
                with suppress(FileNotFoundError):
                    names = frozenset(os.listdir(folder))
                    if folder.exists():
                        seen.add(names)

    reader = Thread(target=look)
    reader.start()
    try:
        yield seen
    finally:
        ended.set()
        reader.join()


def test_postgres_holds_every_row_once(tmp_path: Path, postgres: str) -> None:
    """Without windows of rows the tasks read the files."""
    tables, source = stream_of_files(tmp_path)
    job = words(tmp_path, source, f"{postgres}?table=top", jobs.RANGED)
    hits = jobs.run_with_kills(job, tmp_path / "checkpoint", KILLS, SEED + 1)
    assert hits >= HITS
    told = [row for row in jobs.monitored(tables).to_pylist() if row["query"] != "leaders"]
    assert jobs.bag(table_rows(postgres, "top")) == jobs.bag(told)


@pytest.mark.kafka
def test_kafka_in_and_out_holds_every_row_under_its_identity(tmp_path: Path, kafka: str, topics: jobs.Warm) -> None:
    """Without windows of rows the tasks read the values."""
    tables = jobs.trades(files=3 + 2 * KILLS)
    pq.write_table(pa.concat_tables(tables), tmp_path / "all.parquet")
    topics.run("fill", "trades", tmp_path / "all.parquet")
    each = sum(map(len, tables)) // len(tables)
    source, sink = f"kafka://{kafka}/trades?maxOffsetsPerTrigger={each}", f"kafka://{kafka}/top"
    job = words(tmp_path, source, sink, jobs.RANGED)
    hits = jobs.run_with_kills(job, tmp_path / "checkpoint", KILLS, SEED + 2)
    assert hits >= HITS
    topics.run("read", "top", tmp_path / "top")
    told = jobs.listed(tmp_path / "top").sort_by("offset").to_pylist()
    rows = {message["key"]: json.loads(message["value"]) for message in told}
    expected = [row for row in jobs.monitored(tables).to_pylist() if row["query"] != "leaders"]
    assert jobs.bag(list(rows.values())) == jobs.bag(expected)


def table_rows(address: str, name: str) -> list[dict[str, Any]]:
    import psycopg
    from psycopg.rows import dict_row
    from psycopg.sql import SQL, Identifier

    with psycopg.connect(address, row_factory=dict_row) as connection:
        rows = connection.execute(SQL("SELECT * FROM {}").format(Identifier(name))).fetchall()
    return [{column: value for column, value in row.items() if column != "identity"} for row in rows]
