"""Random records, most of them odd, by `skyband run` into Kafka, Delta and a folder: no job ends, and no row of others
changes. Part of `make fuzz` alone: each sink wants a JVM of its own.

As `tests/fuzz/test_records.py`: `SKYBAND_FUZZ` says how many records each sink gets, `SKYBAND_SEED` which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests import poisoned
from tests.fuzz.test_records import batches
from tests.spark import jobs
from tests.spark.test_delta import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TABLES = 10
"""Of a job."""
NAMES = ("whole", "real", "amounts", "moments", "days", "parts", "per", "groups")
TEXT = poisoned.STREAM + "".join(f"CREATE QUERY {name} AS {poisoned.QUERIES[name]};\n" for name in NAMES)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[jobs.Warm]:
    folder = tmp_path / "said"
    folder.mkdir()
    found = jobs.Warm(folder)
    yield found
    found.end()


def sources(folder: Path) -> Iterator[Path]:
    """Folders of files, each with the clean records and many odd ones."""
    odd = batches()
    for number, tables in enumerate(iter(lambda: list(islice(odd, TABLES)), [])):
        place = folder / f"in-{number}"
        jobs.write_files(place, [poisoned.clean(), *tables])
        yield place


def expected() -> list[dict[str, Any]]:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    rows: list[dict[str, Any]] = pa.concat_tables([monitor.push(poisoned.clean()), monitor.close()]).to_pylist()
    return rows


def in_json(value: object) -> object:
    """As JSON has it; times are `jobs.bag`'s."""
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value


def run(process: jobs.Warm, folder: Path, source: Path, sink: str) -> None:
    (folder / "odd.sql").write_text(TEXT)
    done = process.run("run", folder / "odd.sql", "--source", f"s={source}", "--sink", sink, "--master", "local[2]")
    assert done.returncode == 0, done.stderr


def test_kafka(kafka: str, topics: jobs.Warm, process: jobs.Warm, tmp_path: Path) -> None:
    told = jobs.bag([{name: in_json(value) for name, value in row.items()} for row in expected()])
    for source in sources(tmp_path):
        run(process, tmp_path, source, f"kafka://{kafka}/{source.name}")
        topics.run("read", source.name, tmp_path / "read" / source.name)
        messages = jobs.listed(tmp_path / "read" / source.name).column("value").to_pylist()
        rows = [json.loads(message) for message in messages]
        first, last = "1970-01-01T00:00:00", "1970-01-01T00:07:30"
        assert jobs.bag([row for row in rows if first < row.get("window_end", "") < last]) == told


def test_delta(process: jobs.Warm, tmp_path: Path) -> None:
    for source in sources(tmp_path):
        run(process, tmp_path, source, f"delta:{tmp_path / 'out' / source.name}")
        rows = rows_of(tmp_path / "out" / source.name)
        assert jobs.bag(poisoned.others(rows).to_pylist()) == jobs.bag(expected())


def test_parquet(process: jobs.Warm, tmp_path: Path) -> None:
    for source in sources(tmp_path):
        run(process, tmp_path, source, str(tmp_path / "out" / source.name))
        rows = pq.read_table(tmp_path / "out" / source.name)
        assert jobs.bag(poisoned.others(rows).to_pylist()) == jobs.bag(expected())
