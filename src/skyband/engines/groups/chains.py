"""All windows of a family at once, where a score is the sum of what partial aggregates bring: `COUNT`, and `SUM` of
whole numbers that are not negative. A group's partial aggregates are a chain, and all that is shown of it is found by
walking along (kernels/groups/chains.py)."""

from __future__ import annotations

import numpy as np

from skyband.engines.groups.held import NONE, Held
from skyband.engines.groups.queues import Queue
from skyband.engines.kernels.groups.chains import (
    DONE,
    NO_ROOM,
    NOBODY,
    Due,
    Lists,
    Marks,
    Rows,
    add_links,
    count_links,
    list_links,
    report_chains,
)
from skyband.model import Answers, DueReports, Ints, MetaQuery
from skyband.model.partials import Last, Listed, Totals

LARGEST = 2**62
"""All gains together stay below, so no score leaves 64 bits."""
ROOM = 256
MANY = 4
"""From so many boards on sums are remembered: it costs a look at the link before each."""


class Chains:
    """Boards are windows of one length, or those of a query whose windows grow."""

    def __init__(self, held: Held, meta: MetaQuery) -> None:
        self._held = held
        self._gain, self._link = Queue(NONE), Queue(np.empty((0, 4), np.int64))
        self._group, self._work = np.empty((0, 8), np.int64), np.empty((5, 0), np.int64)
        self._linked, self._tick, self._largest = held.first, 0, 0
        self.steps = 0
        self._board, width, most = _boards(meta)
        self._sums = Queue(np.empty((0, 0), np.int64))
        """What is added before each, where many windows ask for that."""
        self._remembers = len(width) >= MANY
        boards, lowest = len(width), np.full(len(width), NOBODY)
        who = np.empty((boards, ROOM), np.int32)
        self._marks = Marks(width, most, lowest, np.zeros(boards, np.int64), lowest.copy(), who, np.zeros(boards, int))

    def add(self, gain: Ints | None) -> bool:
        """More of them were put into `held`, and bring this. Whether the scores can be found here, now and later."""
        if gain is None or int(gain.min(initial=0)) < 0:
            return False
        self._gain.put(gain)
        self._link.extended(len(gain))
        if self._remembers:
            self._sums.widen(len(self._held.names))
        self._sums.extended(len(gain))
        self._largest = max(self._largest, int(gain.max(initial=0)))
        return self._largest * len(self._link) < LARGEST

    def cut(self, count: int) -> None:
        """The first so many, which `held` has let go, are needed no more."""
        self._linked = max(self._linked, self._held.first)
        self._gain.cut(count)
        self._link.cut(count)
        self._sums.cut(count)

    def answers(self, due: DueReports) -> Answers:
        self._grow()
        rows, lists = self._rows(), self._lists(len(due), int(due.k.sum(dtype=np.float64).clip(max=2**20)))
        reports = Due(due.start, due.end, due.k, self._board[due.query])
        report = used = 0
        while True:
            self._linked, report, used, self._tick, reason, steps = report_chains(
                rows, self._marks, reports, lists, self._linked, report, used, self._tick
            )
            self.steps += steps
            if reason == DONE:
                break
            if reason == NO_ROOM:
                who = self._marks.who
                self._marks = self._marks._replace(who=np.concatenate((who, np.empty_like(who)), axis=1))
            else:
                longer = {name: _longer(getattr(lists, name), len(rows.group)) for name in ("head", "score", "oldest")}
                lists = lists._replace(**longer)
        head = lists.head[:used].copy()
        listed = self._listed(rows, head, lists.oldest[:used])
        ids = self._held.id[head - rows.first]
        return Answers(lists.begin, lists.size, ids, lists.score[:used].copy(), listed)

    def _rows(self) -> Rows:
        held = self._held
        gain, link, sums = (queue.values for queue in (self._gain, self._link, self._sums))
        return Rows(held.first, held.at, held.slot, gain, held.added, link, sums, self._group)

    def _lists(self, reports: int, entries: int) -> Lists:
        sizes = (reports, reports, entries, entries, entries)
        return Lists(*(np.empty(size, np.int64) for size in sizes), *self._work)

    def _grow(self) -> None:
        room = self._held.groups.room
        if room > len(self._group):
            groups, self._group = self._group, _in_lines(room)
            self._group[: len(groups)] = groups
            self._work = np.empty((5, room), np.int64)

    def _listed(self, rows: Rows, head: Ints, oldest: Ints) -> Listed:
        """The aggregates of the groups with these newest and oldest ones."""
        held = self._held
        total = np.zeros((len(head), len(held.names)), np.int64)
        add_links(rows, head, oldest, total)
        added = {name: total[:, place] for place, name in enumerate(held.names)}
        totals = Totals(added, {}, {}, {}, {})
        if held.least or held.largest or held.last or held.pair:
            size = np.empty(len(head), np.int64)
            place = np.empty(count_links(rows, head, oldest, size), np.int64)
            list_links(rows, head, size, place)
            totals = _compared(held, place, size, added)
        return Listed(totals, np.zeros(len(head), bool))


def _in_lines(rows: int) -> Ints:
    """Rows of eight zeros, each in a cache line of its own: they are looked at in no order."""
    room = np.zeros(8 * rows + 8, np.int64)
    begin = -room.ctypes.data // 8 % 8
    return room[begin : begin + 8 * rows].reshape(rows, 8)


def _boards(meta: MetaQuery) -> tuple[Ints, Ints, Ints]:
    """By query its board; of each board, the shortest first, the length of its windows and the largest k."""
    queries = int(meta.query.max()) + 1
    longest, shortest = np.zeros(queries, np.int64), np.full(queries, meta.longest)
    np.maximum.at(longest, meta.query, meta.width)
    np.minimum.at(shortest, meta.query, meta.width)
    own = np.where(longest == shortest, -1, np.arange(queries))
    kinds, board = np.unique(np.stack((longest, own), axis=1), axis=0, return_inverse=True)
    most = np.zeros(len(kinds), np.int64)
    np.maximum.at(most, board.ravel()[meta.query], meta.k)
    return board.ravel(), kinds[:, 0].copy(), most


def _longer(array: Ints, more: int) -> Ints:
    """Twice as long, and more."""
    return np.append(array, np.empty(len(array) + more, np.int64))


def _compared(held: Held, place: Ints, size: Ints, added: dict[str, Ints]) -> Totals:
    """With what is not added up: of each chain the least, the largest, the last, and how many different ones."""
    if not len(size):
        return Totals(added, {}, {}, {}, {})
    begin, chain = np.cumsum(size) - size, np.repeat(np.arange(len(size)), size)
    least = {name: np.minimum.reduceat(keys[place], begin) for name, keys in held.least.items()}
    largest = {name: np.maximum.reduceat(keys[place], begin) for name, keys in held.largest.items()}
    last, labels = dict[str, Last](), dict[str, Ints]()
    for name, values in held.last.items():
        each = values[place]
        order = np.lexsort((each.tie, each.at, each.some, chain))
        newest = place[order[begin + size - 1]]
        last[name], labels[name] = values[newest], held.id[newest]
    for name, pair in held.pair.items():
        some = pair[place] >= 0
        once = np.unique(np.stack((chain[some], pair[place][some])), axis=1)[0]
        added[f"x{name}"] = np.bincount(once, minlength=len(size))
    return Totals(added, least, largest, last, labels)
