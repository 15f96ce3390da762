"""How the suites feed engines, and what they compare them with: the whole stream sorted for every window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from skyband.engines.base import AnyEngine, Registration
from skyband.engines.lift import lifted
from skyband.model import NEVER, Floats, Ints, Kind, MetaQuery, Records

EVERYTHING = 2**31 - 1
Beat = tuple[int, int, int, int]
"""width, period, phase, k"""
Answered = dict[tuple[int, int], list[int]]
"""The ids of every report, best first, by (query, end)."""


def family(
    beats: Sequence[Beat], thresholds: Sequence[float] | None = None, ascending: bool = False, kind: Kind = "range"
) -> MetaQuery:
    """A meta query with one query per beat."""
    width, period, phase, k = (np.array(column, np.int64) for column in zip(*beats, strict=True))
    threshold = None if thresholds is None else np.array(thresholds, np.float64)
    return MetaQuery(kind, width, period, phase, k, np.arange(len(beats)), threshold, ascending)


@dataclass(frozen=True)
class Case:
    """A family, a stream, and the moments to which the clock is moved, call by call."""

    meta: MetaQuery
    at: Ints
    score: Floats
    untils: tuple[int, ...]

    def wanted(self, start: int, end: int, beat: int) -> list[int]:
        """The answer of one window by sorting it, best first."""
        ids = [i for i, at in enumerate(self.at.tolist()) if start <= at < end]
        if self.meta.threshold is not None:
            sign = -1 if self.meta.ascending else 1
            ids = [i for i in ids if sign * self.score[i] > self.meta.threshold[beat]]
        return sorted(ids, key=lambda i: (-self.score[i], -i))[: int(self.meta.k[beat])]

    def windows(self, after: int, until: int) -> Iterator[tuple[int, int, int]]:
        """(beat, start, end) of all windows that end in (after, until]."""
        for beat, (width, period, phase) in enumerate(
            zip(self.meta.width.tolist(), self.meta.period.tolist(), self.meta.phase.tolist(), strict=True)
        ):
            for end in range(after + 1 + (phase - after - 1) % period, until + 1, period):
                yield beat, end - width, end

    def expected(self) -> Answered:
        """Every report of a window that holds a record."""
        if not len(self.at):
            return {}
        first, held = int(self.at[0]), set(self.at.tolist())
        return {
            (beat, end): self.wanted(start, end, beat)
            for beat, start, end in self.windows(first, self.untils[-1])
            if any(at in held for at in range(start, end))
        }

    def minimal(self, until: int) -> list[int]:
        """Theorem 5.1: who would be in the answer of some window still to come, should nothing more arrive."""
        fed = Case(self.meta, self.at[self.at < until], self.score, self.untils)
        if not len(fed.at):
            return []
        horizon = int(fed.at[-1]) + self.meta.longest
        return sorted({i for beat, start, end in self.windows(until, horizon) for i in fed.wanted(start, end, beat)})


@dataclass
class Part:
    """An engine and the queries it serves."""

    meta: MetaQuery
    engine: AnyEngine


@dataclass
class Feed:
    """Engines under test, the clock, and what they answered so far. An engine for one query is run once per beat."""

    case: Case
    parts: list[Part]
    previous: int = int(NEVER)
    after: int = int(NEVER)
    fed: int = 0
    answered: Answered = field(default_factory=dict)

    @staticmethod
    def of(case: Case, registration: Registration) -> Feed:
        return Feed(case, parts_of(case.meta, registration))

    def advance(self, until: int) -> None:
        stop = int(np.searchsorted(self.case.at, until))
        labels = np.arange(self.fed, stop)
        records = Records(self.case.at[self.fed : stop], self.case.score[self.fed : stop], labels)
        for part in self.parts:
            moments = part.meta.moments(records.at, self.previous, self.after, until)
            answers = part.engine.advance(records, moments)
            assert len(answers) == len(moments)
            assert answers.score.tolist() == self.case.score[answers.id].tolist()
            for i, (query, end) in enumerate(zip(moments.query.tolist(), moments.end.tolist(), strict=True)):
                assert (query, end) not in self.answered
                self.answered[query, end] = answers.id[answers[i]].tolist()
        if len(records):
            self.previous = int(records.at[-1])
        self.after, self.fed = until, stop

    def run(self, untils: Iterable[int] | None = None) -> Feed:
        for until in self.case.untils if untils is None else untils:
            self.advance(until)
        return self

    def candidates(self) -> list[int]:
        return sorted({int(i) for part in self.parts for i in part.engine.candidates()})

    def move_to(self, registration: Registration) -> None:
        """Go on with new engines, built from what the old ones held."""
        fresh = parts_of(self.case.meta, registration)
        for old, new in zip(self.parts, fresh, strict=True):
            new.engine.rebuild(old.engine.held(), self.after)
        self.parts = fresh


def whole(meta: MetaQuery, registration: Registration) -> Part:
    """One engine for the family, an engine for one query being lifted."""
    several = registration.capabilities.several_queries
    return Part(meta, registration.build(meta) if several else lifted(meta, registration.build))


def parts_of(meta: MetaQuery, registration: Registration) -> list[Part]:
    if registration.capabilities.several_queries:
        return [whole(meta, registration)]
    return [Part(meta.beat(i), registration.build(meta.beat(i))) for i in range(len(meta))]
