"""What an engine for groups sees: partial aggregates of groups, as whole numbers, and what is asked of them.

Every number is an integer. Counts and the digits of sums are added up (`added`); of values that are compared there is
an order key, whose smallest and largest are kept (`least`, `largest`); and the newest value of a group (`last`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from skyband.model.types import Flags, Ints, Keys

COUNT = "n"
"""In `added`: how many records."""
UNSEEN = ("u.0", "u.1")
"""In `added`, where groups are left out: how much more than what was counted there may be, as digits (see `exact_sum`);
of a group beyond what any may have."""
ANYONE = -(2**63)
"""Stands for a group: what it has, any group may have besides. It is never ranked."""
SAMPLED = "t{}"
"""In `least`, where values that are counted once are left out: the smallest of those; all that count are below it.
Values are 63 bits that look random then."""
SPAN = 2.0**63
"""What all of them are below."""
Named = Mapping[str, Ints]


@dataclass(frozen=True)
class Last:
    """Of each partial aggregate (or group): when its newest value came, what decides among equal times (higher wins),
    the value's order key, and whether there is one."""

    at: Ints
    tie: Ints
    key: Ints
    some: Flags

    def __getitem__(self, part: slice | Ints) -> Last:
        return Last(self.at[part], self.tie[part], self.key[part], self.some[part])

    @staticmethod
    def joined(parts: Sequence[Last]) -> Last:
        """One after the other."""
        at, tie, key = (np.concatenate([getattr(each, name) for each in parts]) for name in ("at", "tie", "key"))
        return Last(at, tie, key, np.concatenate([each.some for each in parts]))


@dataclass(frozen=True)
class Totals:
    """Aggregates of groups, one in each place of the arrays."""

    added: Named
    least: Named
    largest: Named
    last: Mapping[str, Last]
    last_id: Named
    """The label of what has the newest value."""

    def __len__(self) -> int:
        return len(self.added[COUNT])

    def counted(self, argument: int | str) -> Ints:
        """How many values of an argument there are: all records but those where it is NULL."""
        unknown = self.added.get(f"null{argument}")
        return self.added[COUNT] if unknown is None else self.added[COUNT] - unknown


class Rules(Protocol):
    """What a family makes of aggregates."""

    def keys(self, totals: Totals) -> tuple[Keys, Flags]:
        """How groups rank, higher first, and which have a score."""

    def passes(self, having: int, totals: Totals) -> Flags:
        """Which groups HAVING number `having` lets in."""

    def above(self, query: int, keys: Keys) -> Flags:
        """Which keys are of scores above what the query asks for."""

    def gains(self, added: Named) -> Ints | None:
        """What partial aggregates bring, if keys are the sums of that; else None."""


@dataclass(frozen=True)
class Partials:
    """Partial aggregates in feed order: by their newest record, and of equal times the larger group first. No window of
    the family begins or ends between the records of one."""

    id: Ints
    at: Ints
    """When the newest record came."""
    group: Ints
    """Which group, as a number that stays."""
    added: Named
    least: Named = field(default_factory=dict)
    largest: Named = field(default_factory=dict)
    last: Mapping[str, Last] = field(default_factory=dict)
    distinct: Named = field(default_factory=dict)
    """Where there is a value to be counted once: which one; 0 in `counts` where there is none."""
    counts: Mapping[str, Flags] = field(default_factory=dict)
    rules: Rules | None = None
    """None only where there is nothing."""

    def __len__(self) -> int:
        return len(self.at)

    @staticmethod
    def none() -> Partials:
        empty = np.empty(0, np.int64)
        return Partials(empty, empty, empty, {})


@dataclass(frozen=True)
class Asked:
    """By query: which HAVING it has (-1: none), and whether it wants to know of the rest."""

    having: Ints
    rest: Flags


@dataclass(frozen=True)
class Listed:
    """Beside the entries of answers: the aggregates of each, and whether it is about the rest."""

    totals: Totals
    rest: Flags

    @staticmethod
    def joined(parts: Sequence[Listed]) -> Listed:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        totals, sizes = [part.totals for part in parts], [len(part.rest) for part in parts]
        added, least, largest, labels = (
            _joined([getattr(each, kind) for each in totals], sizes)
            for kind in ("added", "least", "largest", "last_id")
        )
        last = {name: Last.joined([each.last[name] for each in totals]) for name in totals[0].last}
        rest = np.concatenate([part.rest for part in parts])
        return Listed(Totals(added, least, largest, last, labels), rest)


def _joined(parts: Sequence[Named], sizes: Sequence[int]) -> dict[str, Ints]:
    """Digits that one of them has no number of are zero there."""
    names = dict.fromkeys(name for part in parts for name in part)
    none = [np.zeros(size, np.int64) for size in sizes]
    return {
        name: np.concatenate([part.get(name, zeros) for part, zeros in zip(parts, none, strict=True)]) for name in names
    }
