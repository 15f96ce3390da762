"""How good the answers of a running approximate query are: a sample of the objects, followed beside it.

Objects are sampled by hash, each with the same chance, and followed without forgetting: until an estimate twenty times
as generous as the engine's sees no chance for them, or, without a guide, exactly. A report is compared with what the
sample says it should have held: every sampled object that is missing stands for as many as the sample is thin. Over the
recent reports that gives the precision. One object is missing in many reports in a row, so the uncertainty is about the
number of objects, not of reports: as many as were found, give or take what Poisson allows, each as long as those found
were and one unknown for half a window. None found does not mean none missed.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from math import ceil, sqrt
from statistics import fmean

import numpy as np

from skyband.engines.kernels.objects.delays import marks
from skyband.engines.kernels.objects.rate import rate
from skyband.engines.limits import FARTHEST, MOST_SEEN, ArrayLimits, Limits, check_arrays, check_number
from skyband.engines.objects.eaa import Eaa
from skyband.engines.objects.estimated import Estimated, Guide
from skyband.engines.objects.family import Family, resume, saved
from skyband.engines.objects.statistics import Statistics
from skyband.model import Answers, DueReports, Flags, Floats, Ints, MetaQuery
from skyband.model.apart import AttributeValues

FIRST_SHIFT, LAST_SHIFT = 2, 12
"""The sample begins with one object in 4 and is halved while it is too large for its share of the memory."""
LEAST, SHARE = 96, 2
"""Objects the sample may always have, and its share of what the engine keeps."""
GENEROUS = 20.0
"""The knob of the sample over the engine's."""
KIND = "precision sample"
REMEMBERED = 64
"""Panes whose reports count: eight windows."""


@dataclass(frozen=True)
class Live:
    """Estimates over the recent reports: precision with its interval (two standard deviations), and the error of the
    paper, the mean distance of the true scores from the reported ones by rank; `relative` is that over the true
    mean."""

    precision: float
    low: float
    high: float
    error: float
    relative: float
    reports: int
    missed: int
    """Distinct objects of the sample that were missing in some report."""


@dataclass
class Stretch:
    """What was seen in one pane, and when it ended."""

    end: int = 0
    reports: int = 0
    rows: float = 0.0
    lost: float = 0.0
    above: float = 0.0
    total: float = 0.0

    def add(self, board: Floats) -> None:
        self.reports += len(board)
        rows, lost, above, total = board.sum(axis=0).tolist()
        self.rows += rows
        self.lost += lost
        self.above += above
        self.total += total


class Careful(Family):
    """Follows objects until an estimate far more generous than the engine's sees no chance for them."""

    def __init__(self, meta: MetaQuery, guide: Guide) -> None:
        self._guide = guide
        super().__init__(meta)

    @property
    def statistics(self) -> Statistics:
        return self._guide.statistics

    @property
    def knob(self) -> float:
        return GENEROUS * max(self._guide.knob, 1.0)

    @property
    def aged(self) -> bool:
        return self._guide.aged

    def settling(self, objects: int) -> None:
        """The sample is kept small by thinning it."""

    def structure(self, meta: MetaQuery, width: int) -> Estimated:
        return Estimated(meta, width, self)


class PrecisionSample:
    """Fed with what the engine is fed and answers."""

    def __init__(self, meta: MetaQuery, guide: Guide | None, shift: int = FIRST_SHIFT) -> None:
        self._meta = meta
        self.shift = self._first = shift
        self._fewer = _fewer(meta.k, shift)
        own = replace(meta, k=self._fewer)
        self.engine: Family = Eaa(own) if guide is None else Careful(own, guide)
        self._stretches: deque[tuple[Stretch, Counter[int]]] = deque(maxlen=REMEMBERED)
        self._stretches.append((Stretch(), Counter()))
        self._usual = 1.0

    def sampled(self, objects: Ints) -> Flags:
        """Other bits than those by which sketches and delays are sampled."""
        return np.asarray(marks(objects ^ 0x5DEECE66D) >> np.uint64(63 - self.shift) == 0)

    def watch(self, values: AttributeValues, due_reports: DueReports, answers: Answers, reported: Ints) -> None:
        """`reported` are the objects of the answers' entries. The sample's own labels are its objects."""
        mine = np.flatnonzero(self.sampled(values.object))
        own = values[mine]
        own = AttributeValues(own.object, own.at, own.object, own.stream, own.value)
        due = DueReports(
            due_reports.start, due_reports.end, _fewer(due_reports.k, self.shift), due_reports.query, due_reports.until
        )
        true = self.engine.advance(own, due)
        if not len(due_reports):
            return
        weight = float(1 << self.shift)
        sign = -1.0 if self._meta.ascending else 1.0
        board, missed, stands = rate(
            answers.begin, answers.size, reported, sign * answers.score, due_reports.k,
            true.begin, true.size, true.id, sign * true.score, weight, self._usual,
        )  # fmt: skip
        stretch, lost = self._stretches[-1]
        stretch.add(board)
        for who, part in zip(missed.tolist(), stands.tolist(), strict=True):
            lost[who] += part

    def close(self, end: int, kept: int) -> None:
        """A pane ends. The sample is thinned while it holds more than its share of what the engine keeps, and may grow
        again when it holds little of it; objects that enter it late are known in part for one window."""
        self._stretches[-1][0].end = end
        self._stretches.append((Stretch(), Counter()))
        live = self.live
        self._usual = 1.0 if live is None else max(live.precision, 0.2)
        self.engine.settle()
        share = max(LEAST, kept // SHARE)
        while self.objects > share and self.shift < LAST_SHIFT:
            self.shift += 1
            held = self.engine.held()
            self.engine.load(held[np.flatnonzero(self.sampled(held.object))], self.engine.until)
            self.engine.settle()
        if 4 * self.objects < share and self.shift > self._first:
            self.shift -= 1

    def rebuild(self, late: AttributeValues) -> None:
        """Values that came late."""
        own = late[np.flatnonzero(self.sampled(late.object))]
        if not len(own):
            return
        held = self.engine.held()
        both = [
            np.concatenate((getattr(held, name), getattr(own, name))) for name in ("at", "object", "stream", "value")
        ]
        at, who, stream, value = both
        order = np.lexsort((-who, at))
        self.engine.load(
            AttributeValues(who[order], at[order], who[order], stream[order], value[order]), self.engine.until
        )

    def state(self) -> list[bytes]:
        """For a snapshot: the engine's, and what was seen pane by pane."""
        panes = [[part.end, part.reports, part.rows, part.lost, part.above, part.total] for part, _ in self._stretches]
        lost = [(n, who, part) for n, (_, each) in enumerate(self._stretches) for who, part in each.items()]
        who = np.array([[n, who] for n, who, _ in lost], np.int64)
        seen = np.array(panes, np.float64), who, np.array([part for *_, part in lost], np.float64)
        return [saved(self.engine), np.int64(self.shift).tobytes(), *(each.tobytes() for each in seen)]

    def resume(self, parts: list[bytes]) -> None:
        resume(self.engine, parts[0])
        (self.shift,) = np.frombuffer(parts[1], np.int64).tolist()
        panes = np.frombuffer(parts[2]).reshape(-1, 6)
        who, lost = np.frombuffer(parts[3], np.int64).reshape(-1, 2), np.frombuffer(parts[4])
        check_number(KIND, "its shift", self.shift, self._first, LAST_SHIFT)
        check_number(KIND, "the number of its panes", len(panes), 1, REMEMBERED)
        check_arrays(KIND, zip((panes, panes[:, 1:], who[:, 0], lost), _limits(len(panes)), strict=True))
        self._stretches.clear()
        for end, reports, *rest in panes.tolist():
            self._stretches.append((Stretch(int(end), int(reports), *rest), Counter()))
        for (n, each), part in zip(who.tolist(), lost.tolist(), strict=True):
            self._stretches[n][1][each] += part

    @property
    def objects(self) -> int:
        return self.engine.counters["objects"]

    @property
    def live(self) -> Live | None:
        """None before the first report."""
        parts = [stretch for stretch, _ in self._stretches]
        reports, rows = sum(part.reports for part in parts), sum(part.rows for part in parts)
        if not rows:
            return None
        lost: Counter[int] = Counter()
        for _, each in self._stretches:
            lost.update(each)
        ends = [part.end for part in parts[:-1]]
        often = len(ends) - 1 if len(ends) < 2 else (ends[-1] - ends[0]) / self._meta.longest
        usual, uneven = _usual(lost, float(1 << self.shift) * reports / max(often, 1.0) / 2)
        fewest, most = _between(len(lost))
        missed = min(sum(part.lost for part in parts), rows)
        low = max(1.0 - max(most * usual * uneven, missed) / rows, 0.0)
        high = 1.0 - min(fewest * usual / uneven, missed) / rows
        above, total = sum(part.above for part in parts), sum(part.total for part in parts)
        relative = above / abs(total) if total else 0.0
        return Live(1.0 - missed / rows, low, high, above / rows, relative, reports, len(lost))


def _limits(panes: int) -> list[ArrayLimits]:
    counts = Limits(-MOST_SEEN, MOST_SEEN)
    return [
        ArrayLimits("the panes of its sample", np.float64, (panes, 6), Limits(-FARTHEST, FARTHEST)),
        ArrayLimits("what a pane has seen", np.float64, (panes, 5), counts),
        ArrayLimits("who was missed when", np.int64, (-1,), Limits(0, panes - 1)),
        ArrayLimits("what was missed", np.float64, (-1,), Limits(0.0, MOST_SEEN)),
    ]


def _between(found: int) -> tuple[float, float]:
    """The numbers that a count of this many is within two standard deviations of, if it is Poisson's (Wilson and
    Hilferty)."""
    more = found + 1
    most = more * (1 - 1 / (9 * more) + 2 / (3 * sqrt(more))) ** 3
    return (found * (1 - 1 / (9 * found) - 2 / (3 * sqrt(found))) ** 3 if found else 0.0), most


def _usual(lost: Counter[int], unknown: float) -> tuple[float, float]:
    """What a missed object of the sample stands for, counting one of unknown weight, and how much that varies."""
    weights = [*lost.values(), unknown]
    mean = fmean(weights)
    return mean, sqrt(fmean([each * each for each in weights])) / mean


def _fewer(k: Ints, shift: int) -> Ints:
    """Of the best k objects the sample has about k / 2^shift; room for that and three standard deviations."""
    share = k / (1 << shift)
    return np.minimum(k, np.array([ceil(each + 3 * sqrt(each)) + 1 for each in share.tolist()], np.int64))
