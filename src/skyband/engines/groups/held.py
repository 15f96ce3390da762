"""Partial aggregates of the windows that are still to come, in feed order, each with the number of its group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from skyband.engines.groups.numbers import Numbers
from skyband.engines.groups.queues import Queue
from skyband.model import Ints
from skyband.model.partials import ANYONE, Last, Partials, Rules

NONE: Ints = np.empty(0, np.int64)
MIX = np.uint64(0x9E3779B97F4A7C15)


class Held:
    """They are counted from 1 on, and those that are here from `first` on."""

    def __init__(self) -> None:
        self.first = 1
        self.groups, self.pairs = Numbers(), dict[str, Numbers]()
        self.names: list[str] = []
        """Of the columns of `added`."""
        self.rules: Rules | None = None
        self._anyone = 0
        self._id, self._at, self._slot = (Queue(NONE) for _ in range(3))
        self._added = Queue(np.empty((0, 0), np.int64))
        self._least: dict[str, Queue] = {}
        self._largest: dict[str, Queue] = {}
        self._last: dict[str, tuple[Queue, Queue, Queue, Queue]] = {}
        self._pair: dict[str, Queue] = {}
        self._value: dict[str, Queue] = {}

    def __len__(self) -> int:
        return len(self._at)

    @property
    def id(self) -> Ints:
        return self._id.values

    @property
    def at(self) -> Ints:
        return self._at.values

    @property
    def slot(self) -> Ints:
        """The number of each one's group."""
        return self._slot.values

    @property
    def added(self) -> Ints:
        """A row of counts and digits for each."""
        return self._added.values

    @property
    def least(self) -> dict[str, Ints]:
        return {name: queue.values for name, queue in self._least.items()}

    @property
    def largest(self) -> dict[str, Ints]:
        return {name: queue.values for name, queue in self._largest.items()}

    @property
    def last(self) -> dict[str, Last]:
        return {name: Last(*(queue.values for queue in queues)) for name, queues in self._last.items()}

    @property
    def pair(self) -> dict[str, Ints]:
        """Of values that are counted once: the number of each for its group, -1 where there is none."""
        return {name: queue.values for name, queue in self._pair.items()}

    @property
    def value(self) -> dict[str, Ints]:
        return {name: queue.values for name, queue in self._value.items()}

    @property
    def anyone(self) -> int | None:
        """The number of what stands for any group, if it is here."""
        return self._anyone if self.groups.has(self._anyone, ANYONE) else None

    def add(self, batch: Partials) -> None:
        """More of them, all newer than those before."""
        if not len(batch):
            return
        self.rules = batch.rules
        self._widen(batch.added)
        self._id.put(batch.id)
        self._at.put(batch.at)
        slot = self.groups.enter(batch.group)
        self._slot.put(slot)
        if len(mine := np.flatnonzero(batch.group == ANYONE)):
            self._anyone = int(slot[mine[0]])
        rows = self._added.extended(len(batch))
        for place, name in enumerate(self.names):
            rows[:, place] = batch.added.get(name, 0)
        for kind, more in ((self._least, batch.least), (self._largest, batch.largest), (self._value, batch.distinct)):
            for name, values in more.items():
                kind.setdefault(name, Queue(NONE)).put(values)
        for name, last in batch.last.items():
            known = self._last.setdefault(name, (Queue(NONE), Queue(NONE), Queue(NONE), Queue(last.some)))
            for queue, column in zip(known, (last.at, last.tie, last.key, last.some), strict=True):
                queue.put(column)
        for name, values in batch.distinct.items():
            counts = batch.counts[name]
            pair = np.full(len(batch), -1)
            words = _mixed(batch.group[counts], values[counts])
            pair[counts] = self.pairs.setdefault(name, Numbers()).enter(words)
            self._pair.setdefault(name, Queue(NONE)).put(pair)

    def cut(self, count: int) -> None:
        """The first so many are needed no more."""
        if not count:
            return
        self.groups.cut(count)
        for name, pair in self.pair.items():
            self.pairs[name].cut(int(np.count_nonzero(pair[:count] >= 0)))
        self.first += count
        for queue in self._queues():
            queue.cut(count)

    def _queues(self) -> Iterator[Queue]:
        yield from (self._id, self._at, self._slot, self._added)
        for named in (self._least, self._largest, self._value, self._pair):
            yield from named.values()
        for queues in self._last.values():
            yield from queues

    def _widen(self, more: Mapping[str, Ints]) -> None:
        """Digits that nothing before had are zero there."""
        new = [name for name in more if name not in self.names]
        if new:
            self.names += new
            self._added.widen(len(self.names))


def _mixed(group: Ints, value: Ints) -> Ints:
    """One word of two."""
    mixed = (group.view(np.uint64) * MIX) ^ (value.view(np.uint64) + MIX)
    mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed * MIX).view(np.int64)
