"""The aggregates of all groups over one window that moves on: what comes in is added, what leaves is taken away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skyband.engines.groups.extremes import LARGEST, LEAST, Extremes
from skyband.engines.groups.held import Held
from skyband.engines.kernels.groups.sums import add_rows
from skyband.model import Flags, Ints, Keys
from skyband.model.partials import COUNT, SAMPLED, SPAN, UNSEEN, Last, Totals

AHEAD = 3
"""So many times k groups are known to be ahead, when they are looked for."""


@dataclass
class _Ahead:
    """The groups with at least a certain key; when they are more than `most`, the key is too low."""

    least: float
    slots: Ints
    most: int


class Board:
    """Windows of one width. Arrays are by the number of a group."""

    def __init__(self, held: Held, havings: int, edges: Callable[[Ints], Ints]) -> None:
        self._held, self._edges = held, edges
        self.low, self.high = held.first, held.first
        """The partial aggregates that are in, counted from the first ever held."""
        self.sums = np.empty((0, 0), np.int64)
        """A row for each group, with the columns of `held.added`."""
        self.whole = np.empty(0, np.int64)
        """Of all groups together."""
        self.once: dict[str, Ints] = {}
        """How many different values each group has."""
        self.newest = np.empty(0, np.int64)
        self.least: dict[str, Extremes] = {}
        self.largest: dict[str, Extremes] = {}
        self.last: dict[str, Ints] = {}
        """What has the newest value of each group, counted as above."""
        self.paired: dict[str, Ints] = {}
        """By pair of a group and a value: how often it is in."""
        self.keys: Keys = np.empty(0)
        self.ranked = [np.empty(0, bool) for _ in range(havings + 1)]
        """Who has a score and is let in: by HAVING, and at last without any."""
        self.scoreless = np.empty(0, bool)
        """Who has records and no score."""
        self._ahead: dict[int, _Ahead] = {}
        """By HAVING."""

    def move(self, start: int, end: int) -> int:
        """On to the window [start, end). How many groups came and went, each as often as it did."""
        held = self._held
        low = held.first + int(np.searchsorted(held.at, start))
        high = held.first + int(np.searchsorted(held.at, end))
        low, high = max(low, self.low), max(high, self.high)
        self._grow()
        leave = slice(self.low - held.first, min(low, self.high) - held.first)
        enter = slice(max(self.high, low) - held.first, high - held.first)
        old, self.low, self.high = (self.low, self.high), low, high
        came, went = held.slot[enter], held.slot[leave]
        if not len(came) and not len(went):
            return 0
        slot, rows = held.slot, held.added
        after = np.empty((len(came) + len(went), rows.shape[1]), np.int64)
        add_rows(self.sums, slot, rows, enter.start, enter.stop, 1, after[: len(came)])
        add_rows(self.sums, slot, rows, leave.start, leave.stop, -1, after[len(came) :])
        self.whole += rows[enter].sum(axis=0) - rows[leave].sum(axis=0)
        self.newest[came] = np.arange(enter.start, enter.stop) + held.first
        for kind, mine in ((held.least, self.least), (held.largest, self.largest)):
            for name, keys in kind.items():
                mine[name].move(held, keys, old, (low, high), self._edges)
        for name, last in held.last.items():
            _follow(self.last[name], came, last[enter], enter.start + held.first)
        for name, pair in held.pair.items():
            self._count_pairs(name, pair[enter], came, 1)
            self._count_pairs(name, pair[leave], went, -1)
        self._rank(np.concatenate((came, went)), after)
        return len(came) + len(went)

    def best(self, having: int, k: int) -> Ints:
        """The groups that HAVING lets in with one of the k highest keys, and those that are equal to the last of them.
        Who is far ahead is known; where these are too few, all are looked at."""
        ahead = self._ahead.get(having)
        if ahead is None or len(ahead.slots) < k or len(ahead.slots) > ahead.most:
            slots = np.flatnonzero(self.ranked[having]) if ahead is None or len(ahead.slots) < k else ahead.slots
            enough = max(AHEAD * k, 0 if ahead is None else ahead.most // 2)
            if len(slots) > enough:
                mine = self.keys[slots]
                least = np.partition(mine, len(mine) - enough)[len(mine) - enough]
                slots = slots[mine >= least]
                self._ahead[having] = _Ahead(least, slots, max(2 * enough, 2 * len(slots)))
            else:
                self._ahead.pop(having, None)
        else:
            slots = ahead.slots
        if len(slots) <= k:
            return slots
        mine = self.keys[slots]
        return np.asarray(slots[mine >= np.partition(mine, len(mine) - k)[len(mine) - k]])

    def totals(self, slots: Ints, sums: Ints | None = None) -> Totals:
        """Of these groups; `sums`, if somebody has their rows at hand."""
        held = self._held
        last, labels = {}, {}
        for name, place in self.last.items():
            at = np.clip(place[slots] - held.first, 0, max(len(held) - 1, 0))
            last[name], labels[name] = held.last[name][at], held.id[at]
        rows = self.sums[slots] if sums is None else sums
        added = {name: rows[:, place] for place, name in enumerate(held.names)}
        if held.anyone is not None:
            for name in added.keys() & UNSEEN:
                added[name] = added[name] + self.sums[held.anyone, held.names.index(name)]
        return Totals(
            added | {f"x{name}": self._counted(name, slots) for name in self.once},
            {name: each.of(slots) for name, each in self.least.items()},
            {name: each.of(slots) for name, each in self.largest.items()},
            last,
            labels,
        )

    def labels(self, slots: Ints) -> Ints:
        """Of the newest of each group."""
        return self._held.id[self.newest[slots] - self._held.first]

    def rest(self, listed: Ints) -> Totals | None:
        """Of all other groups together, if there are some: one place."""
        part = self.totals(listed)
        names = dict(zip(self._held.names, self.whole.tolist(), strict=True))
        added = {name: np.array([total]) - part.added[name].sum(keepdims=True) for name, total in names.items()}
        if not added[COUNT][0]:
            return None
        others = self._others(listed)
        rest = self.totals(np.flatnonzero(others))
        for name in self.paired:
            added[f"x{name}"] = np.array([self._distinct(name, others)])
        last, labels = {}, {}
        for name, each in rest.last.items():
            some = rest.counted(name) > 0
            newest = np.lexsort((each.tie, each.at, some))[-1:]
            last[name], labels[name] = each[newest], rest.last_id[name][newest]
        least = {name: keys.min(keepdims=True) for name, keys in rest.least.items()}
        largest = {name: keys.max(keepdims=True) for name, keys in rest.largest.items()}
        return Totals(added, least, largest, last, labels)

    def any_of(self, listed: Ints) -> Ints:
        """A group that is not listed, the newest."""
        slots = np.flatnonzero(self._others(listed))
        return np.asarray(slots[np.argmax(self.newest[slots], keepdims=True)])

    def _others(self, listed: Ints) -> Flags:
        others: Flags = self.sums[:, self._held.names.index(COUNT)] > 0
        others[listed] = False
        return others

    def _count_pairs(self, name: str, pair: Ints, slot: Ints, by: int) -> None:
        """A value counts from when it comes in for the first time until it is gone for the last."""
        some = pair >= 0
        pair, slot = pair[some], slot[some]
        counted = self.paired[name]
        before = counted[pair] == 0
        np.add.at(counted, pair, by)
        changed = before if by > 0 else counted[pair] == 0
        _, once = np.unique(pair[changed], return_index=True)
        np.add.at(self.once[name], slot[changed][once], by)

    def _counted(self, name: str, slots: Ints) -> Ints:
        """How many different values these groups have. Of a group with a sample of them: as many as there are in it
        below the first that is missing, over the share of all that are."""
        found: Ints = self.once[name][slots]
        sampled = self.least.get(SAMPLED.format(name))
        if sampled is None or not len(slots):
            return found
        bound = sampled.of(slots)
        some = bound < LEAST.none
        if some.any():
            below = np.zeros(len(self.newest), np.int64)
            below[slots[some]] = bound[some]
            count = self._values_below(name, below)[slots[some]]
            found[some] = np.rint(count / (bound[some] / SPAN)).astype(np.int64)
        return found

    def _values_below(self, name: str, bound: Ints) -> Ints:
        """By group: how many different values there are in the window below a bound of the group."""
        held, part = self._held, slice(self.low - self._held.first, self.high - self._held.first)
        pair, slot = held.pair[name][part], held.slot[part]
        mine = (pair >= 0) & (held.value[name][part] < bound[slot])
        owner = np.full(len(self.paired[name]), -1)
        owner[pair[mine]] = slot[mine]
        return np.bincount(owner[owner >= 0], minlength=len(bound))

    def _distinct(self, name: str, groups: Flags) -> int:
        held, part = self._held, slice(self.low - self._held.first, self.high - self._held.first)
        mine = (held.pair[name][part] >= 0) & groups[held.slot[part]]
        return len(np.unique(held.value[name][part][mine]))

    def _rank(self, slots: Ints, sums: Ints) -> None:
        """These have other totals now. One that came and went is here twice: what is said of it last is true."""
        rules = self._held.rules
        assert rules is not None
        totals = self.totals(slots, sums)
        keys, some = rules.keys(totals)
        if self.keys.dtype != keys.dtype:
            self.keys, self._ahead = np.zeros(len(self.keys), keys.dtype), {}
        self.keys[slots] = np.where(some, keys, 0)
        present = totals.added[COUNT] > 0
        alive = some & present
        self.scoreless[slots] = present & ~some
        for number, ranked in enumerate(self.ranked[:-1]):
            ranked[slots] = alive & rules.passes(number, totals)
        self.ranked[-1][slots] = alive
        for having, ahead in self._ahead.items():
            hopeful = np.concatenate((ahead.slots, slots[self.keys[slots] >= ahead.least]))
            ahead.slots = self._reaching(having, ahead.least, np.unique(hopeful))

    def _reaching(self, having: int, least: float, slots: Ints) -> Ints:
        """Of these groups those that are let in with at least this key."""
        return np.asarray(slots[self.ranked[having][slots] & (self.keys[slots] >= least)])

    def _grow(self) -> None:
        held = self._held
        room = held.groups.room
        wide = len(held.names)
        if self.sums.shape != (room, wide):
            rows, columns = self.sums.shape
            self.sums = np.pad(self.sums, ((0, room - rows), (0, wide - columns)))
            self.whole = np.pad(self.whole, (0, wide - columns))
        self.once = {name: _roomy(self.once.get(name), room) for name in held.pair}
        self.least = {name: self.least.get(name) or Extremes(LEAST, self.low) for name in held.least}
        self.largest = {name: self.largest.get(name) or Extremes(LARGEST, self.low) for name in held.largest}
        self.last = {name: _roomy(self.last.get(name), room) for name in held.last}
        self.paired = {name: _roomy(self.paired.get(name), held.pairs[name].room) for name in held.pair}
        self.newest = _roomy(self.newest, room)
        self.keys = _roomy(self.keys, room)
        self.ranked = [_roomy(each, room) for each in self.ranked]
        self.scoreless = _roomy(self.scoreless, room)


def _roomy(array: np.ndarray | None, room: int) -> np.ndarray:
    """With zeros for what is new."""
    if array is None:
        return np.zeros(room, np.int64)
    return array if len(array) >= room else np.append(array, np.zeros(room - len(array), array.dtype))


def _follow(newest: Ints, slots: Ints, last: Last, first: int) -> None:
    """What came in now is newer than all before it."""
    order = np.lexsort((last.tie, last.at))
    order = order[last.some[order]]
    newest[slots[order]] = order + first
