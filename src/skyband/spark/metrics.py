"""What a running job does, in numbers: for the status line, Prometheus and the page."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as f
from pyspark.sql.streaming.query import StreamingQuery

from skyband.planner import Plan
from skyband.runtime.fates import FATES
from skyband.spark.event_time import from_watermark, micros
from skyband.spark.inputs import OBSERVED
from skyband.spark.progress import Progress

COUNTED = ("records", "bad", "future", "late", "dropped")
"""Observed per micro-batch and added up."""


@dataclass
class FamilyMeasures:
    engine: str
    kept: dict[str, int] = field(default_factory=dict)
    """Candidates by key of the state, as far as this start has looked at them."""
    rows: int = 0
    """Result rows sent."""
    precision: float | None = None
    """Of an approximate answer: the share of the true lists that it lately had, as its sample says."""
    delay: float | None = None
    """Seconds from the end of the newest window reported to the moment it was sent."""


@dataclass
class Measures:
    """The job so far, since this start."""

    families: dict[str, FamilyMeasures]
    counts: Counter[str] = field(default_factory=Counter)
    reports: Counter[str] = field(default_factory=Counter)
    """By query: those that the watermark has reached, also without rows."""
    fates: dict[str, Counter[str]] = field(default_factory=dict)
    """By query: what became of the records."""
    batches: int = 0
    records_per_second: float = 0.0
    batch_seconds: float = 0.0
    state_bytes: int = 0
    watermark: int | None = None
    """In microseconds of the stream's time."""
    batch: int = -1
    """The last micro-batch that was counted."""
    last_success: float | None = None
    """When that was, by the wall clock."""
    heard: float = field(default_factory=time.time)
    """When Spark last said that a micro-batch was done, or that there was nothing to do."""
    ended: bool = False
    told: Callable[[Measures, Mapping[str, int]], None] | None = field(default=None, repr=False)
    """Who wants to know of each micro-batch, and of what it has counted more."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @staticmethod
    def of(plan: Plan) -> Measures:
        families = {each.family.fingerprint: FamilyMeasures(each.choice.engine) for each in plan.families}
        return Measures(families, reports=Counter({query.name: 0 for query in plan.queries}))

    def take(self, progress: Progress) -> None:
        """A micro-batch is done. Who says so twice is heard once."""
        with self._lock:
            if progress.batch > self.batch:
                self.batch = progress.batch
                self._take(progress)

    def idle(self) -> None:
        """There is nothing to do."""
        self.records_per_second, self.heard = 0.0, time.time()

    def settle(self, query: StreamingQuery) -> None:
        """Count what the query has done and the listener has not heard of yet: Spark tells it in its own time."""
        for done in query._jsq.recentProgress():
            if done.batchId() > self.batch:
                self.take(Progress.of(done))

    def _take(self, progress: Progress) -> None:
        self.batches += 1
        self.last_success = self.heard = time.time()
        self.batch_seconds = progress.seconds
        before = self.counts.copy()
        self.state_bytes = progress.state_bytes
        for name, seen in progress.observed.items():
            if name.startswith(f"{OBSERVED}:"):
                self._observe(seen)
        # Spark's own figure counts a record as often as it was read.
        more = {name: count - before[name] for name, count in self.counts.items()}
        self.records_per_second = more.get("records", 0) / max(self.batch_seconds, 1e-3)
        self.watermark = _watermark(progress.watermark) if progress.watermark else None
        if self.told is not None:
            self.told(self, more)

    def _observe(self, seen: Mapping[str, Any]) -> None:
        # What is not observed is not there: a zero would say that nothing was late.
        self.counts.update({name: int(seen[name] or 0) for name in COUNTED if name in seen})
        for query, reports in seen.get("reports") or ():
            self.reports[query] += int(reports)
        for query, *counts in seen.get("fates") or ():
            mine = dict(zip(FATES, map(int, counts), strict=True))
            self.fates.setdefault(query, Counter()).update(mine)
            self.counts["unranked"] += mine["unranked"]
        for key, candidates, precision in seen.get("kept") or ():
            family = self.families.get(key.partition("/")[0])
            if family is not None:
                family.kept[key] = int(candidates)
                family.precision = family.precision if precision is None else precision / 1e6

    @property
    def lag(self) -> float | None:
        """Seconds from the watermark to now; None before there is one."""
        return None if self.watermark is None else time.time() - self.watermark / 1e6

    @property
    def candidates(self) -> int | None:
        """Records that may still be reported; None before the first micro-batch."""
        known = [count for family in self.families.values() for count in family.kept.values()]
        return sum(known) if known else None

    def sent(self, family: str, rows: int, newest: int | None) -> None:
        found = self.families[family]
        found.rows += rows
        if newest is not None:
            found.delay = time.time() - newest / 1e6


def _watermark(text: str) -> int | None:
    """Spark's own text of it (ISO, UTC) as a time of the stream."""
    # Not a datetime, which ends with the year 9999; and Spark's watermark is a thousand years ahead of the stream's.
    whole = int(np.datetime64(text.lstrip("+").removesuffix("Z"), "ms").astype(np.int64))
    return from_watermark(whole) if whole > 0 else None


class Reports:
    """Counts the rows of a micro-batch by family while they are written: no pass of its own."""

    def __init__(self, plan: Plan, measures: Measures) -> None:
        self._queries = {
            each.family.fingerprint: [query.name for query in each.family.queries] for each in plan.families
        }
        self._measures = measures
        self._wanted: list[Column] = []

    def watch(self, rows: DataFrame) -> tuple[DataFrame, Observation]:
        seen = Observation()
        # Made once: every name in it is five calls into the JVM.
        self._wanted = self._wanted or list(self._counts(micros("window_end", rows.schema["window_end"].dataType)))
        return rows.observe(seen, *self._wanted), seen

    def _counts(self, ended: Column) -> Iterator[Column]:
        for family, queries in self._queries.items():
            mine = f.col("query").isin(queries)
            yield f.count_if(mine).alias(f"rows {family}")
            yield f.max(f.when(mine, ended)).alias(f"newest {family}")

    def tally(self, rows: DataFrame) -> None:
        """The same by a pass of its own, for rows that are cached."""
        ended = micros("window_end", rows.schema["window_end"].dataType)
        found = rows.groupBy("query").agg(f.count(f.lit(1)).alias("rows"), f.max(ended).alias("newest")).collect()
        family_of = {query: family for family, queries in self._queries.items() for query in queries}
        for row in found:
            self._measures.sent(family_of[row["query"]], row["rows"], row["newest"])

    def count(self, seen: Observation) -> None:
        found = seen.get
        for family in self._queries:
            self._measures.sent(family, int(found[f"rows {family}"] or 0), found[f"newest {family}"])


class Tasks:
    """How far Spark is with what it was asked for: (tasks done, tasks known of)."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._stages: dict[int, tuple[int, int]] = {}

    def done(self) -> tuple[int, int]:
        with suppress(Py4JError, ConnectionError):  # Whoever waits for the job learns what happened.
            self._look()
        return sum(done for done, _ in self._stages.values()), sum(total for _, total in self._stages.values())

    def _look(self) -> None:
        active = set()
        for job in self._tracker.getActiveJobsIds():
            info = self._tracker.getJobInfo(job)
            active |= set(info.stageIds) if info else set()
        for stage in active:
            known = self._tracker.getStageInfo(stage)
            if known is not None:
                self._stages[stage] = known.numCompletedTasks, known.numTasks
        for stage in self._stages.keys() - active:
            self._stages[stage] = (self._stages[stage][1],) * 2
