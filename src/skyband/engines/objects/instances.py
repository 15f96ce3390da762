"""The structure of `eaa`: instances of objects, their scores, and who is dominated; its card is in `eaa.py`."""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.kernels.objects.compact import compact
from skyband.engines.kernels.objects.feed import GROW, RATE, SETTLE, expire, next_end, run
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
from skyband.model.apart import AttributeValues

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

    def rate(self) -> None:
        """Score the objects that changed, before a report, where the kernels leave that to this class."""
        raise NotImplementedError

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        due = due_of(self.meta, due_reports)
        out, at = answered(len(due_reports)), np.zeros(2, np.int64)
        while why := self._run(values, due, at, out):
            if why == SETTLE:
                self.settle()
            elif why == GROW:
                out = grown(out, int(min(due_reports.k[at[1]], self.numbers[OBJECTS])))
            elif why == RATE:
                self.rate()
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
