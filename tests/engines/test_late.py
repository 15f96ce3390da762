"""Late records: they count in every report still to come, and in none that is out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from skyband.engines.base import Registration, registered
from skyband.model import NEVER, MetaQuery, Moments, Records
from tests.engines.cases import GAPS, SCORES, WIDEST, beats
from tests.engines.feeding import EVERYTHING, Beat, family, whole


@dataclass(frozen=True)
class Arrival:
    at: int
    score: float
    number: int
    reported: int
    """Reports up to this moment were out when it came."""


@dataclass
class Desk:
    """Feeds an engine, knows which of its ids is which arrival, and answers by sorting."""

    meta: MetaQuery
    registration: Registration
    until: int = int(NEVER)
    arrivals: list[Arrival] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = whole(self.meta, self.registration).engine

    def arrive(self, at: int, score: float) -> Arrival:
        self.arrivals.append(Arrival(at, score, len(self.arrivals), self.until))
        return self.arrivals[-1]

    def on_time(self, rows: list[tuple[int, float]], until: int) -> None:
        new = [self.arrive(at, score) for at, score in rows]
        first = min((arrival.at for arrival in self.arrivals), default=until)
        moments = self.all_moments(max(self.until, first), until)
        answers = self.engine.advance(columns(new), moments)
        for i in range(len(moments)):
            ids = answers.id[answers[i]].tolist()
            assert [self.arrivals[id] for id in ids] == self.wanted(moments, i)
        self.until = until

    def late(self, rows: list[tuple[int, float]]) -> None:
        old = [self.arrivals[id] for id in self.engine.held().id.tolist()]
        new = [self.arrive(at, score) for at, score in rows]
        both = sorted(old + new, key=lambda arrival: (arrival.at, arrival.number))
        self.engine.rebuild(columns(both), self.until, np.array([arrival.number for arrival in new], np.int64))

    def all_moments(self, after: int, until: int) -> Moments:
        """Every report in (after, until], also of empty windows; over one window the largest k first, as promised."""
        rhythm = zip(self.meta.period.tolist(), self.meta.phase.tolist(), strict=True)
        rows = [
            (end, beat)
            for beat, (period, phase) in enumerate(rhythm)
            for end in range(after + 1 + (phase - after - 1) % period, until + 1, period)
        ]
        end, beat = (
            (np.array(column, np.int64) for column in zip(*sorted(rows, key=self.turn), strict=True))
            if rows
            else NOTHING
        )
        return Moments(end - self.meta.width[beat], end, self.meta.k[beat], self.meta.query[beat], until)

    def turn(self, row: tuple[int, int]) -> tuple[int, int, int]:
        end, beat = row
        return end, -int(self.meta.width[beat]), -int(self.meta.k[beat])

    def wanted(self, moments: Moments, i: int) -> list[Arrival]:
        start, end, beat = int(moments.start[i]), int(moments.end[i]), int(moments.query[i])
        inside = [a for a in self.arrivals if start <= a.at < end and a.reported < end]
        if self.meta.threshold is not None:
            inside = [a for a in inside if a.score > self.meta.threshold[beat]]
        return sorted(inside, key=lambda a: (-a.score, -a.at, -a.number))[: int(moments.k[i])]


NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))


def columns(arrivals: list[Arrival]) -> Records:
    at, score = np.array([a.at for a in arrivals], np.int64), np.array([a.score for a in arrivals], np.float64)
    return Records(at, score, np.array([a.number for a in arrivals], np.int64))


@st.composite
def families(draw: st.DrawFn, thresholds: bool) -> MetaQuery:
    k = st.just(EVERYTHING) if thresholds else st.sampled_from([1, 2, 3, 8, EVERYTHING])
    members: list[Beat] = draw(st.lists(beats(k), min_size=1, max_size=6))
    levels = [float(draw(st.integers(-3, 3))) for _ in members] if thresholds else None
    return family(members, levels)


@pytest.mark.nojit
@pytest.mark.parametrize("registration", registered().values(), ids=lambda r: r.name)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_late_records_count_in_reports_to_come(registration: Registration, data: st.DataObject) -> None:
    desk = Desk(data.draw(families(registration.capabilities.thresholds)), registration)
    now = 0
    for _ in range(data.draw(st.integers(1, 4))):
        rows = []
        for gap, score in data.draw(st.lists(st.tuples(GAPS, SCORES), max_size=15)):
            now += gap
            rows.append((now, score))
        now += 1
        desk.on_time(rows, now)
        late = data.draw(st.lists(st.tuples(st.integers(now - 2 * WIDEST, now - 1), SCORES), max_size=5))
        if late:
            desk.late(late)
    desk.on_time([], now + 2 * WIDEST)
    assert desk.engine.counters["records"] == len(desk.arrivals)
