"""EAA: early aggregation. Objects as windows to come will see them, and only those that may still be reported.

**Idea.** An object has an instance for every window start at which it loses a value: the values from there on. Its
current score can only rise while it lives, its best score (what is missing at its highest) only fall; it is dropped
when k distinct objects that live as long have current scores above its best (with a threshold instead of a k: when its
best is not above it). For one start that is a threshold, the
k-th best current score, so a single pass from the newest value back, with a heap of the k best objects, finds everyone
to drop: no list is scanned and no pair compared. Between such passes scores follow their values through two-part sums,
and a tournament tree gives the best k.

**Guarantee.** Exact. After `settle` it keeps no more than the k-dominance set of Theorem 1, values between two window
starts counting as one. Where nothing may be pruned (see `nothing_prunes`) it keeps the window and stays exact.

**Cost.** A value: O(log n) in the tournament when it comes and when it goes, O(log k) amortised for the passes, which
come when half of the values are new; O(streams of the object) for its score. A report: O(k log n). Space: linear in
what is kept.

**Source.** incomplete-cikm09 §3.2 and §5; the three orders of Figure 3 (time, current score, best score) are the feed
order, the heap of current scores and the threshold that best scores are held against.

**Errata.** The paper's best score gives a stream whose value the instance has lost nothing more, which holds only if
`times` bounds an object's whole life (`Assembly.ever`); if it bounds a window, the stream may send again while the
instance lives. An object with two instances above another is one dominator, not two. Dropping an instance must not drop
its values while an older instance uses them.

>>> import numpy as np
>>> from skyband.model import MetaQuery
>>> two = np.ones(2)
>>> how = Assembly("SUM", "SUM", two, 0 * two, 10 * two, np.ones(2, np.int64))
>>> one = np.array([0])
>>> engine = Eaa(MetaQuery("rows", one + 4, one + 4, one, one + 2, one, apart=how))
>>> fed = AttributeValues(*np.array([[1, 2, 3, 4], [0, 1, 2, 3], [7, 8, 9, 7], [0, 0, 1, 1]]), np.array([4, 5, 6, 3.0]))
>>> answers = engine.advance(fed, engine.meta.due_reports(fed.at, int(NEVER), int(NEVER), 4))
>>> answers.id.tolist(), answers.score.tolist()
([4, 3], [7.0, 6.0])
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.kernels.objects.compact import compact
from skyband.engines.kernels.objects.feed import GROW, SETTLE, expire, next_end, run
from skyband.engines.kernels.objects.settle import instance_scores, undominated, useful
from skyband.engines.kernels.objects.state import (
    BEYOND,
    CELLS,
    COMPARED,
    FRONT,
    INSERTED,
    LEAVES,
    NEXT_END,
    NOBODY,
    NUMBERS,
    OBJECTS,
    PEAK,
    SETTLED,
    SETTLINGS,
    STORED,
    VISITED,
    Answered,
    Cells,
    Due,
    Fed,
    Objects,
    Values,
)
from skyband.engines.objects.checks import check_objects, check_values
from skyband.engines.objects.family import (
    Family,
    Structure,
    answered,
    answers_of,
    beats_of,
    blank,
    due_of,
    grown,
    least_of,
    nothing_prunes,
    recipe_of,
    scale_of,
)
from skyband.model import NEVER, Answers, DueReports, Flags, Floats, Ints, MetaQuery
from skyband.model.apart import Assembly, AttributeValues

__all__ = ["Assembly", "Eaa", "Instances"]
LEAST = 256
SLACK = 1e-10
COUNTED = [COMPARED, INSERTED, BEYOND, SETTLINGS, VISITED, PEAK]
"""Numbers that go on when other values are loaded."""


class Instances:
    """The k-dominance set of one window width.

    To prune by another best score, subclass this and give `scores` (see there), then an `Eaa` that makes it.
    """

    least = LEAST
    """Values that come before the first settling, and at least between two."""

    def __init__(self, meta: MetaQuery, width: int) -> None:
        self.meta, self.recipe, self.least_score = meta, recipe_of(meta), least_of(meta, width)
        self.beats, self.k = beats_of(meta, width)
        self.prunes = nothing_prunes(meta) is None
        self.numbers = np.zeros(NUMBERS, np.int64)
        self.numbers[NEXT_END] = NEVER
        self.values, self.cells, self.objects = blank(Values, 0), blank(Cells, 0), blank(Objects, 0)
        self._make_room(2 * self.least)

    def scores(self, keep: Flags) -> tuple[Floats, Floats]:
        """The current and the best score of the instance at every stored value that `keep` names, by its place.

        The current score must be what its values make; the best score decides alone who stays."""
        return instance_scores(self.values, self.cells, self.objects, self.numbers, self.recipe, keep)

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        due = due_of(self.meta, due_reports)
        out, at = answered(len(due_reports)), np.zeros(2, np.int64)
        while why := self._run(values, due, at, out):
            if why == SETTLE:
                self.settle()
            elif why == GROW:
                out = grown(out, int(min(due_reports.k[at[1]], self.numbers[OBJECTS])))
        self._clock(due_reports.until)
        return answers_of(out)

    def load(self, values: AttributeValues, until: int) -> None:
        counted = self.numbers[COUNTED]
        self.numbers[:] = 0
        self.numbers[NEXT_END] = NEVER
        self.numbers[COUNTED] = counted
        self._make_room(2 * self.least)
        none = np.empty(0, np.int64)
        self.advance(values, DueReports(none, none, none, none, until))
        self.numbers[BEYOND] = counted[COUNTED.index(BEYOND)]

    def held(self) -> tuple[AttributeValues, Ints]:
        if 8 * (self.numbers[STORED] - self.numbers[SETTLED]) > self.numbers[STORED]:
            self.settle()
        part = slice(int(self.numbers[FRONT]), int(self.numbers[STORED]))
        values, cell = self.values, self.values.cell[part]
        key, stream = self.objects.key[self.cells.object[cell]], self.cells.stream[cell].astype(np.int64)
        columns = values.id[part].copy(), values.at[part].copy(), key, stream, values.value[part].copy()
        return AttributeValues(*columns), values.feed[part].copy()

    def tidy(self) -> None:
        self.settle()

    def check(self) -> None:
        check_values(self.values, self.cells, self.objects, self.numbers, self.recipe)
        check_objects(self.cells, self.objects, self.numbers)

    def settle(self) -> None:
        """Find everyone whose instances are dominated and hold the others only."""
        oldest = int(self.numbers[NEXT_END]) - self.beats.width
        keep = useful(self.values, self.cells, self.numbers, self.recipe.collect, oldest)
        wanted = keep
        if self.prunes and (self.numbers[OBJECTS] > self.k or self.least_score > -np.inf):
            slack = SLACK * scale_of(self.recipe) if self.recipe.combine == 0 else 0.0
            state = (self.values, self.cells, self.numbers, self.beats, self.k, *self.scores(keep))
            wanted = undominated(*state, keep, slack, self.least_score)
        self._compact(keep, wanted)
        n, room = int(self.numbers[STORED]), len(self.values.at)
        if not 2 * n + self.least + 2 <= room <= 10 * n + 8 * self.least:
            # The next settling comes with twice as many; after a burst the room is given back.
            self._make_room(5 * n // 2 + 2 * self.least)
            every = np.ones(n, np.bool_)
            self._compact(every, every)

    @property
    def counters(self) -> Counters:
        numbers = self.numbers
        return {
            "comparisons": int(numbers[COMPARED]),
            "insertions": int(numbers[INSERTED]),
            "candidates": int(numbers[STORED] - numbers[FRONT]),
            "candidates_peak": int(numbers[PEAK]),
            "objects": int(numbers[OBJECTS]),
            "beyond_declared": int(numbers[BEYOND]),
            "settlings": int(numbers[SETTLINGS]),
            "visited": int(numbers[VISITED]),
        }

    def _run(self, values: AttributeValues, due: Due, at: Ints, out: Answered) -> int:
        fed = Fed(values.id, values.at, values.object, values.stream, values.value)
        state = (self.values, self.cells, self.objects, self.numbers, self.recipe, self.beats)
        return run(*state, fed, due, at, self.least, out)

    def _clock(self, until: int) -> None:
        """No report up to `until` will be asked for again."""
        numbers = self.numbers
        numbers[NEXT_END] = max(int(numbers[NEXT_END]), next_end(self.beats, until))
        oldest = int(numbers[NEXT_END]) - self.beats.width
        expire(self.values, self.cells, self.objects, numbers, oldest)
        settled = int(numbers[SETTLED])
        if numbers[FRONT] == settled < numbers[STORED] and self.values.at[settled] < oldest:
            self.settle()

    def _compact(self, keep: Flags, wanted: Flags) -> None:
        state = (self.values, self.cells, self.objects, self.numbers, self.recipe)
        compact(*state, keep, wanted, self.least)

    def _make_room(self, room: int) -> None:
        """Arrays for so many values, with what is settled in the old ones; the caller rebuilds what links them."""
        size = 1 << max(room - 1, 1).bit_length()
        values, cells = blank(Values, room), blank(Cells, room)
        objects = blank(Objects, room, table=2 * size, winner=2 * size, frontier=size + 1)
        objects.table[:] = NOBODY
        objects.winner[:] = NOBODY
        n, m, w = (int(self.numbers[each]) for each in (STORED, CELLS, OBJECTS))
        if n:
            for name in Values._fields:
                getattr(values, name)[:n] = getattr(self.values, name)[:n]
            cells.object[:m], cells.stream[:m] = self.cells.object[:m], self.cells.stream[:m]
            objects.key[:w] = self.objects.key[:w]
            objects.waiting[:w] = True
        self.values, self.cells, self.objects = values, cells, objects
        self.numbers[LEAVES] = size


@register(
    "eaa",
    Capabilities(
        "objects aggregated as they come; the k-dominance set by thresholds of window starts",
        "incomplete-cikm09 §3.2, §5; the thresholds are ours",
        data="objects",
        thresholds=True,
        priority=1,
    ),
)
class Eaa(Family):
    """Keeps an object while fewer than k others are sure to stay ahead of it."""

    def structure(self, meta: MetaQuery, width: int) -> Structure:
        return Instances(meta, width)
