"""A job on Spark through any life, as `tests.lives` tells it: what `skyband run --stream --once --checkpoint` does at
every start, in one JVM. A workload changes by a start with another one on the same checkpoint; what came in between are
files, one for each micro-batch; the last start has `--drain`.

A few lives here; `make lives SPARK_STEPS=2000` leads more. None is shrunk, which would take hours: the steps of the one
that failed are told, and the same SKYBAND_SEED leads it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

import skyband as sb
from skyband.model import Query
from tests import lives
from tests.spark.test_parity import MILLI, in_stream_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skyband.spark.job import Job
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
STEPS = int(os.environ.get("SKYBAND_SPARK_STEPS", "60"))
"""Of both machines together, about."""
SEED = int(os.environ.get("SKYBAND_SEED", "0"))
FEW = 3
"""Files for which a start is not worth its seconds."""


class Room:
    """Where lives are led: a folder for each, and what has been done so far."""

    folder: Path
    lives = count()
    partitions = 1
    """Of the state: a checkpoint keeps the number it began with."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.began = time.monotonic()

    def tell(self) -> None:
        seconds = time.monotonic() - self.began
        print(*(f"{many} {what}," for what, many in self.done.items()), f"{seconds:.0f} s", flush=True)  # noqa: T201


room = Room()


class OnSpark:
    """A folder of records, a checkpoint, and what its jobs have said. Who joins or leaves does so at the next start."""

    def __init__(self, workload: sb.Workload) -> None:
        from skyband.spark.io.sinks import Memory

        self._number, self._stream = next(room.lives), workload.streams[0]
        self._folder = room.folder / str(self._number)
        self._asked = {query.name: query for query in workload.queries}
        self._rows = Memory()
        self._files, self._waiting, self._other = 0, 0, False
        (self._folder / "in").mkdir(parents=True)

    @property
    def ready(self) -> bool:
        return not 0 < self._waiting < FEW

    def push(self, table: pa.Table) -> pa.Table:
        path = self._folder / "in" / f"{self._files:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1e9 + self._files, 1e9 + self._files))
        self._files += 1
        self._waiting += 1
        room.done["steps"] += 1
        return in_stream_order(table, self._stream.key)

    def add(self, query: Query) -> None:
        self._read()
        self._asked[query.name] = query
        self._changed()

    def remove(self, name: str) -> None:
        self._read()
        del self._asked[name]
        self._changed()

    def start_again(self) -> None:
        """Not where nothing has happened since the last time."""
        if self._waiting or self._other:
            self._start()
            room.done["steps"] += 1

    def close(self) -> pa.Table:
        self._start(drain=True)
        rmtree(self._folder)
        room.done.update({"lives": 1, "micro-batches": len(self._rows.tables) - 1})
        room.tell()
        return pa.concat_tables(self._rows.tables.values(), promote_options="permissive")

    def _changed(self) -> None:
        self._other = True
        room.done["steps"] += 1

    def _read(self) -> None:
        """What is there, with the queries of now."""
        if self._waiting:
            self._start()

    def _start(self, drain: bool = False) -> None:
        """Where there is no file yet it would not know any columns."""
        if self._files:
            job = self._job()
            try:
                self._run(job, drain)
            finally:
                job.release()
            room.done["starts"] += 1
            self._waiting, self._other = 0, False

    def _job(self) -> Job:
        """As `skyband run` makes it, but for where rows go."""
        from skyband.spark.job import Job, JobOptions

        room.partitions = 1 + self._number % 2
        workload = sb.Workload(list(self._asked.values()), stream=self._stream)
        options = JobOptions((f"s={self._folder / 'in'}?maxFilesPerTrigger=1",), "noop", streaming=True)
        job = Job(partial(workload.plan, None), options, {}, lambda rows: None, str(self._folder / "checkpoint"))
        job.sink = self._rows
        return job

    def _run(self, job: Job, drain: bool) -> None:
        running = job.start({"availableNow": True})
        while not running.over(60):
            pass
        if drain:
            running.drain()


@pytest.fixture
def one_jvm(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has a session of its own; what workers have at hand of an earlier start, none finds."""
    from skyband.spark import job, pipeline
    from skyband.spark.stages.processor import Maintain

    def maintain(*arguments: Any) -> Maintain:
        found = Maintain(*arguments)
        found._made_of += os.urandom(8)
        return found

    def session(*_: object, **__: object) -> SparkSession:
        found = spark.newSession()
        found.conf.set("spark.sql.shuffle.partitions", room.partitions)
        return found

    monkeypatch.setattr(job, "session", session)
    monkeypatch.setattr(pipeline, "Maintain", maintain)
    room.folder = tmp_path


class LifeOfRecords(lives.LifeOfRecords):
    unit = MILLI

    def process_of(self, workload: sb.Workload) -> lives.Process:
        return OnSpark(workload)


class LifeOfDeletes(lives.LifeOfDeletes):
    unit = MILLI

    def process_of(self, workload: sb.Workload) -> lives.Process:
        return OnSpark(workload)


@pytest.mark.parametrize("life", [LifeOfRecords, LifeOfDeletes])
@pytest.mark.usefixtures("one_jvm")
def test_every_row_is_the_oracles(life: type[lives.Life]) -> None:
    # Where nothing was tried yet, hypothesis begins with a life in which nothing happens.
    wanted = lives.thorough(STEPS // 2 + lives.A_LIFE)
    unshrunk = settings(wanted, phases=[Phase.generate], report_multiple_bugs=False, database=None)
    run_state_machine_as_test(seed(SEED)(life), settings=unshrunk)
