"""How far a family has come: in event time, which all its groups share, or in records, which each group counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Flags, Ints, Kind
from skyband.runtime.encoded import comes_in_order, feed_order

FOREVER = 2**61
"""A watermark, or position, behind every window."""


class Clock(Protocol):
    """Reports end at or before it; records from it on are held back."""

    def of(self, group: str, before: int = ...) -> int:
        """The clock of a group; `before`, what it was, where nothing is said of the group."""

    def each(self, groups: Sequence[str], before: Ints) -> Ints:
        """The same for many groups."""

    def among(self, groups: Collection[str]) -> Collection[str]:
        """Those of these groups whose clock is told here."""

    def told(self) -> Mapping[str, int]:
        """By group, '' for all where they share a clock."""

    def late(self, at: Ints) -> Flags:
        """Which of these times lie behind it: reports that they belong to are out."""

    def due(self, at: Ints) -> Flags:
        """Which of these it has reached: they can be fed."""

    def order(self, rows: pa.Table) -> Ints | None:
        """The feed order of rows that it has reached; None if they came in that order."""

    def later(self, other: Clock) -> Clock:
        """This clock, moved to the other."""

    @property
    def timer(self) -> int | None:
        """The moment after which the next report comes; None where reports wait for records."""


@dataclass(frozen=True)
class EventTime:
    """RANGE: the watermark, in microseconds."""

    now: int = int(NEVER)

    def of(self, group: str, before: int = int(NEVER)) -> int:
        return self.now

    def each(self, groups: Sequence[str], before: Ints) -> Ints:
        return np.full(len(groups), self.now)

    def among(self, groups: Collection[str]) -> Collection[str]:
        return groups

    def told(self) -> Mapping[str, int]:
        return {"": self.now}

    def late(self, at: Ints) -> Flags:
        return at < self.now

    def due(self, at: Ints) -> Flags:
        return at < self.now

    def order(self, rows: pa.Table) -> Ints | None:
        if comes_in_order(rows):
            return None
        order = feed_order(rows)
        return None if bool((np.diff(order) == 1).all()) else order

    def later(self, other: Clock) -> Clock:
        return EventTime(max(self.now, other.of("")))

    @property
    def timer(self) -> int:
        return self.now


@dataclass(frozen=True)
class RecordCounts:
    """ROWS: how many records some groups have seen by now. Records come numbered, in the order of their numbers."""

    seen: Mapping[str, int]

    def of(self, group: str, before: int = int(NEVER)) -> int:
        return self.seen.get(group, before)

    def each(self, groups: Sequence[str], before: Ints) -> Ints:
        return np.array([self.seen.get(name, old) for name, old in zip(groups, before.tolist(), strict=True)], np.int64)

    def among(self, groups: Collection[str]) -> Collection[str]:
        return [group for group in self.seen if group in groups]

    def told(self) -> Mapping[str, int]:
        return self.seen

    def late(self, at: Ints) -> Flags:
        return np.zeros(len(at), bool)

    def due(self, at: Ints) -> Flags:
        return np.ones(len(at), bool)

    def order(self, rows: pa.Table) -> Ints | None:
        return None

    def later(self, other: Clock) -> Clock:
        return other

    @property
    def timer(self) -> None:
        return None


def clock_at(kind: Kind, until: int = int(NEVER), seen: Mapping[str, int] = MappingProxyType({})) -> Clock:
    """The clock of RANGE or ROWS windows; before the first record unless something is said."""
    return EventTime(until) if kind == "range" else RecordCounts(seen)
