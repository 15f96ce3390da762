"""Approximate: objects dropped as soon as they will probably not be reported.

**Idea.** As `eaa`, with another best score: for a stream that an object may still appear in, not the highest value but
that value times the chance that it comes there soon, times a knob. The chance knows the streams the object was seen in
(joins of theta sketches) and how long ago (delays between streams): an object that should have shown up elsewhere and
did not will probably never. A small knob forgets early, an infinite one is `eaa`.

**Guarantee.** None for one report. A score is what the values kept make: right for an object never dropped, too low for
one that was dropped and came back. With the knob at infinity, which is its upper end, before the first pane is full,
and where `eaa` could not prune because a score may fall, everything is kept that `eaa` keeps. `live` says how precise
the recent reports were, with its uncertainty; the knob follows it (precision wanted) or the number of objects kept
(objects allowed).

**Cost.** As `eaa`, plus about a microsecond a value for the statistics; a pass costs the streams of every value kept.
Space: what is kept, a sample of the objects for `live` (at most half as many, or 96), and statistics whose size
depends on the number of streams only.

**Source.** incomplete-cikm09 §4 and §5; the age, the horizon, sets of streams, the knob and the sample are ours.

**Errata.** The join of two streams is |s| + |t| - |s ∪ t|, the printed sign is reversed; in the estimate "p.t_y >" must
be >=.

Metrics: `counters` has `precision_ppm`, `precision_low_ppm`, `precision_high_ppm` and `relative_error_ppm` (parts per
million, once there was a report), `knob_ppm`, `sampled_objects`; `live` is the same as floats.

>>> import numpy as np
>>> from skyband.model import NEVER, MetaQuery
>>> from skyband.model.apart import Assembly
>>> two, one = np.ones(2), np.array([0])
>>> how = Assembly("SUM", "SUM", two, 0 * two, 10 * two, np.ones(2, np.int64))
>>> engine = ApproximateEngine(
...     MetaQuery("rows", one + 4, one + 4, one, one + 2, one, apart=how, approximate=Approximate(precision=0.9))
... )
>>> fed = AttributeValues(*np.array([[1, 2, 3, 4], [0, 1, 2, 3], [7, 8, 9, 7], [0, 0, 1, 1]]), np.array([4, 5, 6, 3.0]))
>>> answers = engine.advance(fed, engine.meta.due_reports(fed.at, int(NEVER), int(NEVER), 4))
>>> answers.id.tolist(), answers.score.tolist()
([4, 3], [7.0, 6.0])
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.codec import pack, unpack
from skyband.engines.kernels.objects.estimate import sets_of
from skyband.engines.kernels.objects.state import OBJECTS
from skyband.engines.limits import ArrayLimits, Limits, check_arrays
from skyband.engines.objects.estimated import HIGHEST, MOST_STREAMS, Estimated
from skyband.engines.objects.family import COLUMNS, NONE, Family, resume, saved
from skyband.engines.objects.precision_sample import Live, PrecisionSample
from skyband.engines.objects.statistics import Statistics
from skyband.model import Answers, DueReports, Ints, MetaQuery
from skyband.model.apart import Approximate, AttributeValues

KIND = "approximate"
USUAL = 0.95
"""The precision wanted where the query names neither a precision nor a number of objects."""
LOWEST = 1e-3
"""Where the knob ends below."""


@register(
    "approximate",
    Capabilities(
        "as eaa, forgetting objects that will probably not be reported; says how precise it is",
        "incomplete-cikm09 §4, §5; age, knob and sample are ours",
        data="objects",
        exact=False,
        priority=1,
    ),
)
class ApproximateEngine(Family):
    """Keeps an object while fewer than k others are ahead of what it will probably become."""

    aged = True
    """Whether the estimate knows how long ago an object was seen; the paper's does not."""

    def __init__(self, meta: MetaQuery) -> None:
        self.wanted = meta.approximate or Approximate()
        if self.wanted.objects is None and self.wanted.precision is None:
            self.wanted = Approximate(precision=USUAL)
        self.knob = self._first = _first_knob(self.wanted)
        self._turning = self.knob < inf
        self.statistics = Statistics(len(meta.apart or ()), meta.longest)
        self.sample = PrecisionSample(meta, self)
        super().__init__(meta)

    def structure(self, meta: MetaQuery, width: int) -> Estimated:
        return Estimated(meta, width, self)

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        """As `eaa`, pane by pane of the statistics."""
        parts, pane, low, first = [], self.statistics.pane, 0, 0
        while low < len(values):
            end = (int(values.at[low]) // pane + 1) * pane
            high = int(np.searchsorted(values.at, end))
            last = int(np.searchsorted(due_reports.end, end, side="right"))
            due = replace(due_reports[first:last], until=min(end, due_reports.until))
            parts.append(self._piece(values[low:high], due))
            if high < len(values) or due_reports.until >= end:
                self._close(end)
            low, first = high, last
        parts.append(self._piece(values[low:], due_reports[first:]))
        return _joined(parts)

    def rebuild(self, values: AttributeValues, until: int, fresh: Ints = NONE) -> None:
        if len(fresh):
            self.sample.rebuild(_missing(values, self.held()))
        super().rebuild(values, until, fresh)

    @property
    def live(self) -> Live | None:
        """How good the recent reports were; None before the first."""
        return self.sample.live

    def hold(self, knob: float) -> None:
        """Put the knob there and leave it: what it does can then be measured."""
        self.knob, self._turning = knob, False

    def settling(self, objects: int) -> None:
        """Before a pass, when there are most: fewer or more objects than allowed turn the knob."""
        allowed = self.wanted.objects
        if allowed is not None and self.statistics.forecast is not None:
            self._turn(0.1 * float(np.clip(log(allowed / max(objects, 1)), -1.0, 1.0)))

    def snapshot(self) -> bytes:
        """What it holds, and all that it has learnt from values that are gone."""
        parts = [saved(self), self.statistics.state(), *self.sample.state(), np.float64(self.knob).tobytes()]
        return pack(KIND, {"part": parts}, {})

    def restore(self, state: bytes) -> None:
        """Go on where a snapshot was taken."""
        parts = list(unpack(KIND, state)[0]["part"])
        self.statistics = Statistics.resumed(parts[1], len(self.meta.apart or ()), self.meta.longest)
        (self.knob,) = np.frombuffer(parts[-1]).tolist()
        check_arrays(KIND, [(np.array([self.knob]), ArrayLimits("the knob", np.float64, (1,), Limits(LOWEST)))])
        resume(self, parts[0])
        self.sample.resume(parts[2:-1])

    @property
    def counters(self) -> Counters:
        found = super().counters
        found["sampled_objects"] = self.sample.objects
        found["knob_ppm"] = int(1e6 * min(self.knob, 2 * HIGHEST))
        live = self.live
        if live is not None:
            for name in ("precision", "low", "high", "relative"):
                found[_PPM[name]] = round(1e6 * getattr(live, name))
        return found

    def _piece(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        before = self.held() if len(due_reports) else AttributeValues.none()
        answers = super().advance(values, due_reports)
        label = np.concatenate((before.id, values.id))
        owner = np.concatenate((before.object, values.object))
        order = np.argsort(label, kind="stable")
        place = np.searchsorted(label[order], answers.id)
        self.sample.watch(values, due_reports, answers, owner[order][place] if len(answers.id) else answers.id)
        self.statistics.observe(values)
        return answers

    def _close(self, end: int) -> None:
        kept = [each for each in self.structures if isinstance(each, Estimated)]
        few = self.statistics.streams <= MOST_STREAMS
        sets = [sets_of(each.cells, each.objects, each.numbers) for each in kept if few]
        if not self.statistics.close(end, np.concatenate(sets or [np.empty(0, np.int64)])):
            return
        self.sample.close(end, max(int(each.numbers[OBJECTS]) for each in kept))
        live = self.live
        if self.wanted.precision is not None and live is not None:
            self._turn(_correction(self.wanted.precision, live), 8.0)

    def _turn(self, by: float, most: float = inf) -> None:
        """Turn the knob by a factor of e to this power, at most `most` away from where it began. At its upper end it is
        infinite: where the estimate cannot give what is wanted, nothing is left to it."""
        if self._turning:
            low, high = max(LOWEST, self._first / most), min(2 * HIGHEST, self._first * most)
            turned = min(self.knob, high) * exp(by)
            self.knob = inf if turned >= high else max(turned, low)


_PPM = {
    "precision": "precision_ppm",
    "low": "precision_low_ppm",
    "high": "precision_high_ppm",
    "relative": "relative_error_ppm",
}


def _first_knob(wanted: Approximate) -> float:
    """By trial on the paper's streams; feedback does the rest."""
    if wanted.precision is None:
        return 2.0
    return inf if wanted.precision >= 1.0 else 0.25 / (1.0 - wanted.precision)


def _correction(wanted: float, live: Live) -> float:
    """How much to turn the knob: up when too much seems to be missed, down only when that is beyond doubt."""
    may = max(1.0 - wanted, 1e-3)
    if live.precision < wanted:
        return 0.03 * min((wanted - live.precision) / may, 3.0)
    return -0.03 if live.low > wanted else -0.005 * (live.precision - wanted) / may


def _missing(all_values: AttributeValues, held: AttributeValues) -> AttributeValues:
    """Those that are not held: in both, values of one object, stream and time stand in the same order."""
    names = [name for name in COLUMNS if name != "id"]
    known = set(zip(*(getattr(held, name).tolist() for name in names), strict=True))
    rows = zip(*(getattr(all_values, name).tolist() for name in names), strict=True)
    return all_values[np.flatnonzero([row not in known for row in rows])]


def _joined(parts: list[Answers]) -> Answers:
    before = np.cumsum([0, *(len(part.id) for part in parts)])
    begin = np.concatenate([part.begin + skipped for part, skipped in zip(parts, before, strict=False)])
    return Answers(
        begin,
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.id for part in parts]),
        np.concatenate([part.score for part in parts]),
    )
