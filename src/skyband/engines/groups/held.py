"""Partial aggregates of the windows that are still to come, in feed order, each with the number of its group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skyband.engines.groups.numbers import Numbers
from skyband.model import Ints
from skyband.model.partials import Last, Partials, Rules

NONE: Ints = np.empty(0, np.int64)
MIX = np.uint64(0x9E3779B97F4A7C15)


class Held:
    """Arrays that grow at the end and are cut at the beginning; `first` says how many were cut."""

    def __init__(self) -> None:
        self.first = 0
        self.groups, self.pairs = Numbers(), dict[str, Numbers]()
        self.id, self.at, self.slot = NONE, NONE, NONE
        self.added: dict[str, Ints] = {}
        self.least: dict[str, Ints] = {}
        self.largest: dict[str, Ints] = {}
        self.last: dict[str, Last] = {}
        self.pair: dict[str, Ints] = {}
        """Of values that are counted once: the number of each for its group, -1 where there is none."""
        self.value: dict[str, Ints] = {}
        self.rules: Rules | None = None

    def __len__(self) -> int:
        return len(self.at)

    def add(self, batch: Partials) -> None:
        """More of them, all newer than those before."""
        if not len(batch):
            return
        before = len(self)
        self.rules = batch.rules
        self.id, self.at = np.concatenate((self.id, batch.id)), np.concatenate((self.at, batch.at))
        self.slot = np.concatenate((self.slot, self.groups.enter(batch.group)))
        self.added = _longer(self.added, batch.added, before, len(batch))
        self.least = _longer(self.least, batch.least, before, len(batch))
        self.largest = _longer(self.largest, batch.largest, before, len(batch))
        self.last = {
            name: Last.joined([self.last[name], more]) if name in self.last else more
            for name, more in batch.last.items()
        }
        for name, values in batch.distinct.items():
            counts = batch.counts[name]
            pair = np.full(len(batch), -1)
            words = _mixed(batch.group[counts], values[counts])
            pair[counts] = self.pairs.setdefault(name, Numbers()).enter(words)
            self.pair[name] = np.concatenate((self.pair.get(name, NONE), pair))
            self.value[name] = np.concatenate((self.value.get(name, NONE), values))

    def cut(self, count: int) -> None:
        """The first so many are needed no more."""
        if not count:
            return
        self.groups.leave(self.slot[:count])
        for name, pair in self.pair.items():
            gone = pair[:count]
            self.pairs[name].leave(gone[gone >= 0])
        self.first += count
        self.id, self.at, self.slot = self.id[count:], self.at[count:], self.slot[count:]
        for each in (self.added, self.least, self.largest, self.pair, self.value):
            each |= {name: array[count:] for name, array in each.items()}
        self.last = {name: last[count:] for name, last in self.last.items()}


def _longer(before: Mapping[str, Ints], more: Mapping[str, Ints], old: int, new: int) -> dict[str, Ints]:
    """Digits that only one of them has are zero in the other."""
    names = dict.fromkeys((*before, *more))
    first, second = np.zeros(old, np.int64), np.zeros(new, np.int64)
    return {name: np.concatenate((before.get(name, first), more.get(name, second))) for name in names}


def _mixed(group: Ints, value: Ints) -> Ints:
    """One word of two."""
    mixed = (group.view(np.uint64) * MIX) ^ (value.view(np.uint64) + MIX)
    mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed * MIX).view(np.int64)
