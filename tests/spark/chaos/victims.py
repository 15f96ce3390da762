"""Who is killed, or cut off."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.spark.chaos import processes
from tests.spark.chaos.moments import COMMITTING, DRAINING, NOTING, WORKING, Moment

PATIENCE = 15.0
"""Seconds: the first worker of a start takes some."""


@dataclass(frozen=True)
class Victim:
    """Some processes of a job: all that `found` names, or one of them."""

    name: str
    found: Callable[[int], list[int]]
    moments: tuple[Moment, ...]
    one: bool = False
    fatal: bool = True
    """Whether the job cannot go on without."""

    def strike(self, job: int, draw: random.Random) -> bool:
        """Whether there was somebody, or somebody came."""
        late = time.monotonic() + PATIENCE
        while not (pids := self.found(job)) and time.monotonic() < late and processes.descendants(job):
            time.sleep(0.02)
        return processes.kill([draw.choice(pids)] if self.one and pids else pids)


@dataclass(frozen=True)
class Outage:
    """Nobody is killed: who takes the rows cannot be reached for a while."""

    cut: Callable[[], None]
    name: str = "sink"
    moments: tuple[Moment, ...] = (WORKING, COMMITTING)
    fatal: bool = False

    def strike(self, job: int, draw: random.Random) -> bool:
        self.cut()
        return True


def _everybody(job: int) -> list[int]:
    """Workers are no part of the driver's process group: named one by one, the driver first."""
    return [job, *processes.descendants(job)]


def _driver(job: int) -> list[int]:
    return [job]


ALWAYS = (NOTING, COMMITTING, WORKING, DRAINING)
EVERYBODY = Victim("all", _everybody, ALWAYS)
JVM = Victim("JVM", processes.jvms, ALWAYS)
DRIVER = Victim("driver", _driver, ALWAYS)
WORKER = Victim("worker", processes.workers, (WORKING, COMMITTING, DRAINING), one=True, fatal=False)
EXECUTOR = Victim("executor", processes.executors, (WORKING, COMMITTING, DRAINING), one=True, fatal=False)


@dataclass(frozen=True)
class Blow:
    victim: Victim | Outage
    moment: Moment

    def __str__(self) -> str:
        return f"{self.victim.name} at {self.moment.name}"


def named(victims: Sequence[Victim | Outage], names: Sequence[str]) -> list[Blow]:
    known = {str(blow): blow for each in victims for blow in (Blow(each, moment) for moment in each.moments)}
    return [known[name] for name in names]


def blows(victims: Sequence[Victim | Outage], count: int, draw: random.Random) -> list[Blow]:
    """So many: every victim as often as the others, at one of its moments after the other, in an order by chance; those
    that wait for the end come last."""
    moments = {number: draw.sample(each.moments, len(each.moments)) for number, each in enumerate(victims)}
    dealt = [
        Blow(victims[number], moments[number][turn % len(moments[number])])
        for turn in range(count)
        for number in draw.sample(range(len(victims)), len(victims))
    ]
    return sorted(dealt[:count], key=lambda blow: blow.moment is DRAINING)
