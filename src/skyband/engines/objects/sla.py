"""SLA: the whole window in one sorted list per stream, and a view of a few more than k objects; the baseline.

**Idea.** Every stream has a sorted list of its attributes. The best k_max > k objects are a view: an object whose score
changes is ranked anew, and enters if it is above the view's floor. When values have left and fewer than k are in the
view, the threshold algorithm goes down all lists at once until nobody unseen can be among the k_max best.

**Guarantee.** Exact, for every collection and combination.

**Cost.** A value costs its place in a sorted list when it comes and when it goes (in blocks of `block` entries:
O(log n + block); as one array, the paper's list taken literally, O(n)), a score and a place in the view. Space: the
window.

**Source.** incomplete-cikm09 §3.1 and §5.

**Errata.** A view admits only what ranks above its floor: one that is short because objects left it may not take in a
lower one, for others lie between. With several values in a stream "the largest value is used" (§5) is not the attribute
of a window; a list holds one entry per object, its attribute now.

>>> import numpy as np
>>> from skyband.model import NEVER, MetaQuery
>>> from skyband.model.apart import Assembly
>>> two, one = np.ones(2), np.array([0])
>>> how = Assembly("SUM", "SUM", two, 0 * two, 10 * two, np.ones(2, np.int64))
>>> engine = Sla(MetaQuery("rows", one + 4, one + 4, one, one + 2, one, apart=how))
>>> fed = AttributeValues(*np.array([[1, 2, 3, 4], [0, 1, 2, 3], [7, 8, 9, 7], [0, 0, 1, 1]]), np.array([4, 5, 6, 3.0]))
>>> answers = engine.advance(fed, engine.meta.due_reports(fed.at, int(NEVER), int(NEVER), 4))
>>> answers.id.tolist(), answers.score.tolist()
([4, 3], [7.0, 6.0])
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, Counters, register
from skyband.engines.kernels.objects.feed import next_end
from skyband.engines.kernels.objects.state import NOBODY, Answered, Due, Fed
from skyband.engines.kernels.sla.feed import GROW, ROOM, expire, run
from skyband.engines.kernels.sla.lists import MOVED, Sorted
from skyband.engines.kernels.sla.state import (
    BEYOND,
    COMPARED,
    FED,
    FIRST,
    FREE_CELLS,
    FREE_OBJECTS,
    INSERTED,
    NEXT,
    NEXT_END,
    NUMBERS,
    PEAK,
    READ,
    SEARCHES,
    Owners,
    View,
    Window,
)
from skyband.engines.objects.checks import check_lists, check_owners, check_view
from skyband.engines.objects.family import (
    Family,
    Structure,
    answered,
    answers_of,
    beats_of,
    blank,
    due_of,
    grown,
    recipe_of,
)
from skyband.model import NEVER, Answers, DueReports, Ints, MetaQuery
from skyband.model.apart import AttributeValues

LEAST = 256
BLOCK = 64
ONE_ARRAY = 0
"""As `block`: every list is one array, and an entry that comes or goes moves all behind it."""
COUNTED = [COMPARED, INSERTED, BEYOND, SEARCHES, READ]


class SortedLists:
    """The window of one width."""

    def __init__(self, meta: MetaQuery, width: int, block: int = BLOCK) -> None:
        self.meta, self.recipe = meta, recipe_of(meta)
        self.beats, self.k = beats_of(meta, width)
        self.block = block
        self.numbers = np.zeros(NUMBERS, np.int64)
        self._moved = 0
        self.lists = _lists(0, 1, 1)
        self._lay_out(LEAST, max(self.recipe.streams, 1), int(NEVER))

    def advance(self, values: AttributeValues, due_reports: DueReports) -> Answers:
        due = due_of(self.meta, due_reports)
        out, at = answered(len(due_reports)), np.zeros(2, np.int64)
        fed = Fed(values.id, values.at, values.object, values.stream, values.value)
        while why := self._run(fed, due, at, out):
            if why == ROOM:
                self._grow(int(values.stream[at[0]]))
            elif why == GROW:
                out = grown(out, int(self.view.number[0]))
        self._clock(due_reports.until)
        return answers_of(out)

    def load(self, values: AttributeValues, until: int) -> None:
        beyond = self.numbers[BEYOND]
        self.numbers[FED] = 0
        self._lay_out(max(2 * len(values), LEAST), len(self.lists.blocks), int(NEVER))
        none = np.empty(0, np.int64)
        self.advance(values, DueReports(none, none, none, none, until))
        self.numbers[BEYOND] = beyond

    def held(self) -> tuple[AttributeValues, Ints]:
        place = np.arange(self.numbers[FIRST], self.numbers[NEXT]) % len(self.window.at)
        window, cell = self.window, self.window.cell[place]
        key, stream = self.owners.key[self.owners.object[cell]], self.owners.stream[cell].astype(np.int64)
        return AttributeValues(window.id[place], window.at[place], key, stream, window.value[place]), window.feed[place]

    def tidy(self) -> None:
        """Nothing can be dropped."""

    def check(self) -> None:
        check_owners(self.window, self.owners, self.numbers)
        free = self.owners.free_cell[: self.numbers[FREE_CELLS]]
        check_lists(self.lists, self.owners, self.recipe, len(self.window.at), free)
        check_view(self.view, self.owners)

    @property
    def counters(self) -> Counters:
        numbers = self.numbers
        return {
            "comparisons": int(numbers[COMPARED]),
            "insertions": int(numbers[INSERTED]),
            "candidates": int(numbers[NEXT] - numbers[FIRST]),
            "candidates_peak": int(numbers[PEAK]),
            "objects": len(self.owners.key) - int(numbers[FREE_OBJECTS]),
            "beyond_declared": int(numbers[BEYOND]),
            "searches": int(numbers[SEARCHES]),
            "entries_read": int(numbers[READ]),
            "entries_moved": self._moved + int(self.lists.numbers[MOVED]),
        }

    def _run(self, fed: Fed, due: Due, at: Ints, out: Answered) -> int:
        state = (self.window, self.owners, self.lists, self.view, self.numbers, self.recipe, self.beats)
        return run(*state, fed, due, at, self.k, self._cursors, out)

    def _clock(self, until: int) -> None:
        numbers = self.numbers
        numbers[NEXT_END] = max(int(numbers[NEXT_END]), next_end(self.beats, until))
        oldest = int(numbers[NEXT_END]) - self.beats.width
        expire(self.window, self.owners, self.lists, self.view, numbers, self.recipe, oldest)

    def _grow(self, stream: int) -> None:
        """Room for another stream, or for twice as many values: everything in the window is fed again."""
        held, feed = self.held()
        counted, streams = self.numbers[COUNTED], len(self.lists.blocks)
        room = len(self.window.at)
        if stream < streams:
            room *= 2
        self.numbers[FED] = feed[0] - 1 if len(feed) else self.numbers[FED]
        self._lay_out(room, max(streams, 2 * (stream + 1) if stream >= streams else 0), int(self.numbers[NEXT_END]))
        none = np.empty(0, np.int64)
        fed = Fed(held.id, held.at, held.object, held.stream, held.value)
        self._run(fed, Due(none, none, none, np.empty(0)), np.zeros(2, np.int64), answered(0))
        self.numbers[COUNTED] = counted

    def _lay_out(self, room: int, streams: int, clock: int) -> None:
        """Empty structures."""
        self._moved += int(self.lists.numbers[MOVED])
        numbers = self.numbers
        numbers[[FIRST, NEXT]] = 0
        numbers[NEXT_END] = clock
        numbers[[FREE_CELLS, FREE_OBJECTS]] = room
        self.window = blank(Window, room)
        self.owners = blank(Owners, room, table=1 << (2 * room - 1).bit_length())
        self.owners.table[:] = NOBODY
        self.owners.free_cell[:] = self.owners.free_object[:] = np.arange(room - 1, -1, -1)
        self.lists = _lists(room, streams, self.block or room + 1)
        most = min(self.k, room)
        self.view = blank(View, 1, object=most + max(most // 2, 4) + 1, number=2)
        self.view.number[1] = 1
        self._cursors = np.zeros(streams, np.int32), np.zeros(streams, np.int32)


def _lists(room: int, streams: int, block: int) -> Sorted:
    blocks = 5 * (room // block) + 3 * streams + 8
    return Sorted(
        np.empty((blocks, block)),
        np.empty((blocks, block), np.int32),
        np.zeros(blocks, np.int32),
        np.zeros((streams, blocks), np.int32),
        np.zeros(streams, np.int32),
        np.arange(blocks - 1, -1, -1, dtype=np.int32),
        np.array([blocks, 0]),
    )


@register(
    "sla",
    Capabilities(
        "sorted lists, the threshold algorithm and a view of more than k objects; the baseline",
        "incomplete-cikm09 §3.1, §5",
        drops=False,
        data="objects",
    ),
)
class Sla(Family):
    """Keeps every value of the window."""

    block = BLOCK

    def structure(self, meta: MetaQuery, width: int) -> Structure:
        return SortedLists(meta, width, self.block)
