"""What engines see: arrays of records, report moments and answers. No columns, no names, no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skyband.model.partials import Listed
from skyband.model.types import NEVER, Flags, Floats, Ints, Keys

__all__ = ["NEVER", "Answers", "DueReports", "Flags", "Floats", "Ints", "Keys", "Records"]


@dataclass(frozen=True)
class Records:
    """Records of one family in feed order: by time (or position), and of equal times the worse of a tie first.

    So of two records with equal scores the one fed later ranks higher, and engines need no other tie rule. `score` is
    the order key: doubles, or 64-bit integers where doubles would not tell all scores apart; every batch of a family
    has the same type. Higher keys rank first. For ASC the runtime turns the sign of doubles, and all bits of integers
    (~score), since the least integer has no negative; NaN never gets here. `id` labels records; without labels the n-th
    record ever fed is called n.

    A `second` key, of either type, ranks records with equal scores, before the tie rule does; NaN ranks last in it.
    Only engines that declare `second_key` are given one. A `category`, a number for each, is what AT MOST n PER counts:
    of one category a list has no more than n records. Only engines that declare `at_most` are given categories.
    """

    at: Ints
    score: Keys
    id: Ints | None = None
    second: Keys | None = None
    category: Ints | None = None

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, part: slice | Ints) -> Records:
        id, category = (None if each is None else each[part] for each in (self.id, self.category))
        second = None if self.second is None else self.second[part]
        return Records(self.at[part], self.score[part], id, second, category)


def turned(keys: Keys) -> Keys:
    """Order keys in the other direction: the sign of doubles, and all bits of integers."""
    return np.invert(keys) if keys.dtype == np.int64 else -keys


@dataclass(frozen=True)
class DueReports:
    """Reports due, by end: row i asks for the best `k[i]` records with `start[i] <= at < end[i]`.

    Those of one window stand side by side, the largest k first.

    Every report up to and including `until` is in this batch or an earlier one: what only those need may be dropped.
    """

    start: Ints
    end: Ints
    k: Ints
    query: Ints
    until: int

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, part: slice | Ints) -> DueReports:
        return DueReports(self.start[part], self.end[part], self.k[part], self.query[part], self.until)


@dataclass(frozen=True)
class Answers:
    """Row i of the DueReports is answered by `size[i]` entries of `id` and `score` from `begin[i]` on, best first.
    Scores have the type of the records' own; over possible worlds `score` is what the semantics computes: a
    probability, or an expected rank.

    Answers may share entries: of two reports over one window, the smaller is the beginning of the larger.
    """

    begin: Ints
    size: Ints
    id: Ints
    score: NDArray[Any]
    listed: Listed | None = None
    """Of groups: the aggregates of each entry."""

    def __len__(self) -> int:
        return len(self.begin)

    def __getitem__(self, report: int) -> slice:
        """Where the entries of one report are."""
        return slice(int(self.begin[report]), int(self.begin[report] + self.size[report]))

    def entries(self) -> Ints:
        """The entry of every row of every report, in their order."""
        first = np.cumsum(self.size) - self.size
        return np.repeat(self.begin - first, self.size) + np.arange(self.size.sum())

    @staticmethod
    def woven(own: Sequence[Ints], parts: Sequence[Answers]) -> Answers:
        """Answers to parts of the moments (`own[i]` says which) in the order of all moments."""
        place = np.argsort(np.concatenate(own), kind="stable")
        before = np.cumsum([0, *(len(part.id) for part in parts)])
        begin = np.concatenate([part.begin + skipped for part, skipped in zip(parts, before, strict=False)])
        size = np.concatenate([part.size for part in parts])
        id, score = np.concatenate([part.id for part in parts]), np.concatenate([part.score for part in parts])
        listed = [part.listed for part in parts if part.listed is not None]
        return Answers(begin[place], size[place], id, score, Listed.joined(listed) if listed else None)
