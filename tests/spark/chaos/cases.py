"""Which workload is killed with which sink, and on what kind of Spark."""

from __future__ import annotations

from dataclasses import dataclass

from tests.spark.chaos.victims import DRIVER, EVERYBODY, EXECUTOR, JVM, WORKER, Victim
from tests.spark.chaos.workloads import (
    CHANGES,
    DELETES,
    GROUPS,
    MIXED,
    MULTI_SCORE,
    OBJECTS,
    PER,
    RANGED,
    UNCERTAIN,
    Workload,
)

ONCE, AGAIN, CLUSTER = "local[1]", "local[1,4]", "local-cluster[1,1,1024]"
"""A job whose tasks have one try, four tries, and an executor of its own besides."""


@dataclass(frozen=True)
class Case:
    workload: Workload
    sink: str
    master: str = AGAIN

    @property
    def victims(self) -> tuple[Victim, ...]:
        return (EVERYBODY, DRIVER, JVM, WORKER, *((EXECUTOR,) * 3 if self.master == CLUSTER else ()))

    def __str__(self) -> str:
        return f"{self.workload.name}-{self.sink}{'-cluster' * (self.master == CLUSTER)}"


SHORT = {
    Case(UNCERTAIN, "parquet"): ("all at note", "worker at work", "JVM at commit"),
    Case(DELETES, "postgres"): ("sink at work", "driver at drain"),
    Case(RANGED, "kafka"): ("worker at commit", "all at work"),
}
"""Of the test command, with the blows that fall: few starts, and every victim and moment once."""
CASES = [
    *SHORT,
    Case(MIXED, "parquet", ONCE),
    Case(MIXED, "postgres"),
    Case(UNCERTAIN, "postgres"),
    Case(OBJECTS, "json"),
    Case(OBJECTS, "postgres"),
    Case(DELETES, "parquet"),
    Case(MULTI_SCORE, "csv"),
    Case(MULTI_SCORE, "postgres"),
    Case(PER, "parquet"),
    Case(PER, "json", ONCE),
    Case(CHANGES, "postgres"),
    Case(CHANGES, "csv"),
    Case(GROUPS, "parquet"),
    Case(GROUPS, "postgres"),
    Case(MIXED, "parquet", CLUSTER),
    Case(PER, "postgres", CLUSTER),
]
