"""One engine for complete data, fed by hand: what it answered, by record, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from skyband.model import NEVER, Ints, Keys, Kind, MetaQuery
from tests.engines.conformance.complete import EVERYTHING, Complete, CompleteCase
from tests.engines.conformance.desk import Build, Subject

__all__ = ["EVERYTHING", "Answered", "Beat", "Feed", "case_of", "expected", "family", "minimal"]
Beat = tuple[int, int, int, int]
"""width, period, phase, k"""
Answered = dict[tuple[int, int], list[int]]
"""The records of every report, best first, by (query, end)."""


def family(
    beats: Sequence[Beat], thresholds: Sequence[float] | None = None, ascending: bool = False, kind: Kind = "range"
) -> MetaQuery:
    """A meta query with one query per beat."""
    width, period, phase, k = (np.array(column, np.int64) for column in zip(*beats, strict=True))
    threshold = None if thresholds is None else np.array(thresholds)
    return MetaQuery(kind, width, period, phase, k, np.arange(len(beats)), threshold, ascending)


def case_of(meta: MetaQuery, at: Ints, score: Keys, untils: Iterable[int]) -> CompleteCase:
    """Nobody is late."""
    return CompleteCase(meta, at, tuple(untils), np.zeros(len(at), np.int64), score)


def expected(case: CompleteCase) -> Answered:
    """Every report of a window that holds a record, by sorting it."""
    found: Answered = {}
    for query, start, end in case.windows(int(case.at[0]), case.untils[-1]):
        low, high = np.searchsorted(case.at, [start, end])
        if low < high:
            found[query, end] = case.best(query, np.arange(low, high)).tolist()
    return found


def minimal(case: CompleteCase, until: int) -> list[int]:
    """Theorem 5.1: who would be in the answer of some window still to come, should nothing more arrive."""
    return sorted(Complete().needed("", case, until, np.flatnonzero(case.at < until))[0])


class Feed:
    """An engine, by its name or how it is built, and what it answered so far."""

    def __init__(self, case: CompleteCase, engine: str | Build) -> None:
        self.case = case
        self.subject = Subject(case, engine)
        self.after = int(NEVER)
        self.answered: Answered = {}

    def advance(self, until: int) -> None:
        fed = np.flatnonzero((self.case.at >= self.after) & (self.case.at < until))
        for report, listed in self.subject.advance(fed, until).items():
            assert report not in self.answered
            self.answered[report] = [number for number, _ in listed]
        self.after = until

    def run(self, untils: Iterable[int] | None = None) -> Feed:
        for until in self.case.untils if untils is None else untils:
            self.advance(until)
        return self

    def move_to(self, build: Build) -> None:
        """Go on with an engine made of what this one holds."""
        self.subject = self.subject.successor(build)

    def candidates(self) -> list[int]:
        return sorted(self.subject.held())
