"""A Monitor through any life, as `tests.lives` tells it; it starts again from a snapshot."""

from __future__ import annotations

import os

import pyarrow as pa

import skyband as sb
from skyband.model import Query
from tests import lives

STEPS = int(os.environ.get("SKYBAND_STEPS", "1500"))
"""Of each machine, about; `make lives STEPS=100000` takes more."""


class InMonitor:
    """A Monitor, and what it has said."""

    ready = True

    def __init__(self, workload: sb.Workload) -> None:
        self._monitor = sb.Monitor(workload)
        self._parts: list[pa.Table] = []

    def push(self, table: pa.Table) -> pa.Table:
        self._parts.append(self._monitor.push(table))
        return table

    def add(self, query: Query) -> None:
        self._monitor.add(query)

    def remove(self, name: str) -> None:
        self._monitor.remove(name)

    def start_again(self) -> None:
        self._monitor = sb.Monitor.restore(self._monitor.workload, self._monitor.snapshot())

    def close(self) -> pa.Table:
        return pa.concat_tables([*self._parts, self._monitor.close()], promote_options="permissive")


class LifeOfRecords(lives.LifeOfRecords):
    def process_of(self, workload: sb.Workload) -> lives.Process:
        return InMonitor(workload)


class LifeOfDeletes(lives.LifeOfDeletes):
    def process_of(self, workload: sb.Workload) -> lives.Process:
        return InMonitor(workload)


TestLifeOfRecords = LifeOfRecords.TestCase
TestLifeOfRecords.settings = lives.thorough(STEPS)
TestLifeOfDeletes = LifeOfDeletes.TestCase
TestLifeOfDeletes.settings = lives.thorough(STEPS)
