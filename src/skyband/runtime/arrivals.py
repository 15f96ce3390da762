"""Tables that were pushed and that some family has not taken in yet: as long as no report of it is due, it need not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.model.times import Times
from skyband.runtime.columns import group_text
from skyband.runtime.positions import Positions

MOST_RECORDS, MOST_TABLES = 16_384, 1_024
"""More than these nobody waits for: what a family takes in is mostly what it costs by then, and memory is bounded."""


class Arrival:
    """Clean records that came one after the other, as one table, with their times, and the least of these; `position`
    records came before."""

    def __init__(self, table: pa.Table, times: Times, oldest: int, position: int) -> None:
        self.table, self.times, self.oldest, self.position = table, times, oldest, position
        self._groups: dict[tuple[str, ...], pa.Array] = {}
        self._places: dict[int, Ints] = {}

    @staticmethod
    def joined(some: Sequence[Arrival]) -> Arrival:
        """These, as one."""
        if len(some) == 1:
            return some[0]
        table = pa.concat_tables([each.table for each in some]).combine_chunks()
        at, oldest = np.concatenate([each.times.at for each in some]), min(each.oldest for each in some)
        found = Arrival(table, Times(at), oldest, some[0].position)
        known = set.intersection(*(set(each._groups) for each in some))
        found._groups = {per: pa.concat_arrays([each._groups[per] for each in some]) for per in known}
        found._places = {who: np.concatenate([each._places[who] for each in some]) for who in some[0]._places}
        return found

    def copied(self) -> Arrival:
        """The same, wherever the table lay."""
        table = pa.concat_tables([self.table, self.table.slice(0, 0)]).combine_chunks()
        found = Arrival(table, self.times.copied(), self.oldest, self.position)
        found._groups, found._places = self._groups, self._places
        return found

    def groups(self, per: tuple[str, ...]) -> pa.Array | None:
        """The group of each record; made once, whoever asks."""
        if not per:
            return None
        if per not in self._groups:
            self._groups[per] = group_text(self.table, per)
        return self._groups[per]

    def count(self, positions: Positions, per: tuple[str, ...]) -> Ints:
        """How many records of its group there are with each record; counted once, whoever asks."""
        who = id(positions)
        if who not in self._places:
            self._places[who] = positions.place(len(self.table), self.groups(per), self.times.at)[0]
        return self._places[who] + 1

    def placed(self, positions: Positions, per: tuple[str, ...]) -> tuple[Ints, dict[str, int]]:
        """Where each record stands in its group, and how many records these groups have seen."""
        groups = self.groups(per)
        assert groups is not None
        return self._places[id(positions)], {name: positions.seen[name] for name in groups.unique().to_pylist()}


class Arrivals:
    """What came, in the order in which it came, under the number of its push."""

    def __init__(self) -> None:
        self._pushed: list[Arrival] = []
        self._known: dict[int, Arrival] = {}
        self.first = self.next = 0
        self.records = 0

    def add(self, arrival: Arrival) -> None:
        self._pushed.append(arrival)
        self._known.clear()
        self.next += 1
        self.records += len(arrival.times)

    @property
    def many(self) -> bool:
        """Whether they have waited long enough."""
        return self.records >= MOST_RECORDS or len(self._pushed) >= MOST_TABLES

    def since(self, number: int) -> Arrival:
        """Everything from a push on."""
        if number not in self._known:
            self._known[number] = Arrival.joined(self._pushed[number - self.first :])
        return self._known[number]

    def keep(self) -> None:
        """The last one outlives its push: whoever made it may write where its columns lie (NumPy's arrays are not
        copied when a table is made of them)."""
        self._pushed[-1] = self._pushed[-1].copied()
        self._known.clear()

    def forget(self, before: int) -> None:
        """All families have taken in what came before that push."""
        gone = before - self.first
        self.records -= sum(len(each.times) for each in self._pushed[:gone])
        del self._pushed[:gone]
        self.first = before
