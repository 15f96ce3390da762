"""Kill a job, or parts of it, again and again: the rows are those of an undisturbed run, none lost, none twice; no
start is refused, and who reads all the while never sees a part of a micro-batch.

A few times here; `make chaos` does it 300 times, over all workloads and sinks.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark import jobs
from tests.spark.chaos.cables import Cable
from tests.spark.chaos.cases import CASES, SHORT, Case
from tests.spark.chaos.lives import Life
from tests.spark.chaos.targets import Folder, PostgresTable, Target, Topic, polled
from tests.spark.chaos.victims import Outage, Victim, blows

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KILLS = int(os.environ.get("SKYBAND_KILLS", "0"))
"""In all; of each case of the short form three."""
SEED = int(os.environ.get("SKYBAND_SEED", "0"))
TRIED = CASES if KILLS else SHORT


def share(number: int) -> int:
    """Of the kills, as even as can be."""
    return (KILLS + number) // len(TRIED) if KILLS else 3


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    """How many hit, by workload, sink and victim."""
    counted = Counter[str]()
    yield counted
    print("\n" + ", ".join(f"{what} {count}" for what, count in sorted(counted.items())))  # noqa: T201


@pytest.fixture
def target(request: pytest.FixtureRequest, case: Case, tmp_path: Path) -> Iterator[Target]:
    name = f"{case}".replace("-", "_")
    if case.sink == "kafka":
        yield Topic(request.getfixturevalue("kafka"), request.getfixturevalue("topics"), name, tmp_path)
    elif case.sink == "postgres":
        server = request.getfixturevalue("postgres")
        cable = Cable(server)
        yield PostgresTable(server, cable, name)
        cable.close()
    else:
        yield Folder(tmp_path / "out", case.sink)


@pytest.mark.parametrize(("number", "case"), list(enumerate(TRIED)), ids=map(str, TRIED))
def test_rows_are_those_of_an_undisturbed_run(
    number: int, case: Case, target: Target, tmp_path: Path, tally: Counter[str]
) -> None:
    kills, draw = share(number), random.Random(f"{SEED} {case}")
    tables = case.workload.tables(files=3 + kills)
    life = Life(words(case, tmp_path, target, tables), tmp_path, len(tables) - 1, draw)
    try:
        with polled(target):
            hits = [life.suffer(blow) for blow in blows(victims(case, target), kills, draw)]
            life.end()
    finally:
        life.clear()
        count(tally, case, life)
    assert sum(hits) >= kills // 2
    expected = case.workload.rows(tables)
    assert jobs.bag(target.rows(expected.schema)) == jobs.bag(expected.to_pylist())
    target.check()


def victims(case: Case, target: Target) -> list[Victim | Outage]:
    return [*case.victims, *([Outage(target.cable.cut)] if isinstance(target, PostgresTable) else [])]


def words(case: Case, folder: Path, target: Target, tables: list[pa.Table]) -> list[str | Path]:
    return [
        "run", jobs.write_workload(folder, case.workload.text), "--source", f"trades={source(folder, target, tables)}",
        "--sink", target.address(), "--checkpoint", folder / "checkpoint", "--master", case.master,
        "--stream", "--once", "--drain", "--log", "text",
    ]  # fmt: skip


def source(folder: Path, target: Target, tables: list[pa.Table]) -> str:
    if isinstance(target, Topic):
        return target.source(tables)
    jobs.write_files(folder / "in", tables)
    return f"{folder / 'in'}?maxFilesPerTrigger=1"


def count(tally: Counter[str], case: Case, life: Life) -> None:
    tally["starts"] += life.starts
    for blow, hits in life.hits.items():
        for what in ("hits", case.workload.name, case.sink, *blow.split(" at ")):
            tally[what] += hits
    print(f"{case}: {life.starts} starts, {dict(life.hits)}")  # noqa: T201
