"""Kill a job, or parts of it, again and again: the rows are those of an undisturbed run, none lost, none twice; no
start is refused, and who reads all the while never sees a part of a micro-batch.

A few times here; `make chaos` does it 300 times, over all workloads and sinks.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark import jobs
from tests.spark.chaos.cables import Cable
from tests.spark.chaos.cases import CASES, SHORT, Case
from tests.spark.chaos.lives import Life
from tests.spark.chaos.targets import Folder, PostgresTable, Target, Topic, polled
from tests.spark.chaos.victims import Blow, Outage, Victim, blows, named

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KILLS = int(os.environ.get("SKYBAND_KILLS", "0"))
"""In all; 0 for the short form."""
SEED = int(os.environ.get("SKYBAND_SEED", "0"))
TRIED = CASES if KILLS else list(SHORT)


Tally = dict[str, Counter[str]]


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    """How many hit, by victim, moment, workload and sink."""
    counted: Tally = defaultdict(Counter)
    yield counted
    told = (f"{kind}: " + ", ".join(f"{name} {hits}" for name, hits in by.items()) for kind, by in counted.items())
    print(f"\n{counted['sink'].total()} kills hit. " + "; ".join(told))  # noqa: T201


@pytest.fixture
def target(request: pytest.FixtureRequest, case: Case, tmp_path: Path) -> Iterator[Target]:
    name = f"{case}".replace("-", "_")
    if case.sink == "kafka":
        topic = Topic(request.getfixturevalue("kafka"), request.getfixturevalue("topics"), name, tmp_path)
        topic.make()
        yield topic
    elif case.sink == "postgres":
        server = request.getfixturevalue("postgres")
        cable = Cable(server)
        yield PostgresTable(server, cable, name)
        cable.close()
    else:
        yield Folder(tmp_path / "out", case.sink)


@pytest.mark.parametrize(("number", "case"), list(enumerate(TRIED)), ids=map(str, TRIED))
def test_rows_are_those_of_an_undisturbed_run(
    number: int, case: Case, target: Target, tmp_path: Path, tally: Tally
) -> None:
    """To the last bit, probabilities too: state that is read back is the same numbers, and the same code counts on."""
    draw = random.Random(f"{SEED} {case}")
    dealt = suffered(number, case, target, draw)
    tables = case.workload.tables(files=3 + len(dealt))
    life = Life(words(case, tmp_path, target, tables), tmp_path, len(tables) - 1, draw)
    try:
        with polled(target):
            hits = [life.suffer(blow) for blow in dealt]
            life.end()
    finally:
        life.clear()
        count(tally, case, life)
    assert sum(hits) >= len(dealt) // 2
    expected = case.workload.rows(tables)
    assert jobs.bag(target.rows(expected.schema)) == jobs.bag(expected.to_pylist())
    target.check()


def suffered(number: int, case: Case, target: Target, draw: random.Random) -> list[Blow]:
    """Its share of the kills, as even as can be."""
    victims: list[Victim | Outage] = list(case.victims)
    if isinstance(target, PostgresTable):
        victims.append(Outage(target.cable.cut))
    return blows(victims, (KILLS + number) // len(TRIED), draw) if KILLS else named(victims, SHORT[case])


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


def count(tally: Tally, case: Case, life: Life) -> None:
    tally["in all"]["starts"] += life.starts
    for blow, hits in life.hits.items():
        victim, _, moment = blow.partition(" at ")
        for kind, name in {"victim": victim, "at": moment, "workload": case.workload.name, "sink": case.sink}.items():
            tally[kind][name] += hits
    print(f"{case}: {life.starts} starts, {dict(life.hits)}")  # noqa: T201
