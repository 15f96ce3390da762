"""A second key for engines that know none: equal scores are ranked by it, and only then is the newer record better.

An engine for TOP is given, in place of scores, whole numbers that rise with (score, second key). They are given out as
pairs come up, with room between them; where that is used up, everything held is numbered anew. An engine for ABOVE
lists all that is above, so it is enough to put equal scores in order in what it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skyband.engines.base import Counters, Engine
from skyband.engines.candidates import NONE, SPARE, CandidateEngine
from skyband.model import NEVER, Answers, DueReports, Flags, Ints, Keys, MetaQuery, Records

FARTHEST, STEP = 2**61, 2**32
"""Numbers are no farther from 0, and those beyond all known ones so far apart."""


NO_KEYS: Keys = np.empty(0)


def by_second_key(meta: MetaQuery, build: Callable[[], Engine[Records]]) -> Engine[Records]:
    """The engine, behind a face that takes a second key if it does not itself."""
    engine = build()
    if getattr(engine, "second_key", False):
        return engine
    return NumberedPairs(engine) if meta.threshold is None else ReorderedLists(engine)


def sort_keys(score: Keys, second: Keys | None) -> tuple[Keys | Flags, ...]:
    """What ranks records, as `lexsort` wants it; a second key that is missing, NaN, is worse than every other."""
    if second is None:
        return (score,)
    missing = np.isnan(second)
    return np.where(missing, 0, second), ~missing, score


def dense_ranks(score: Keys, second: Keys | None) -> Ints:
    """Whole numbers from 0 on that rank records as their keys do."""
    keys = sort_keys(score, second)
    order = np.lexsort(keys)
    rises = np.zeros(len(order), bool)
    for key in keys:
        rises[1:] |= key[order[1:]] != key[order[:-1]]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(rises)
    return rank


def reordered(size: Ints, score: Keys, second: Keys) -> Ints:
    """Lists by falling score, one behind the other: the row that each place gets, so that of equal scores the better
    second key is first; what is equal in both stays as it is."""
    other = np.ones(len(score), bool)
    other[1:] = score[1:] != score[:-1]
    other[(np.cumsum(size) - size)[size > 0]] = True
    return np.lexsort((-dense_ranks(np.zeros(len(second)), second), np.cumsum(other)))


class Pairs:
    """Pairs of a score and a second key, worst first, each with its number."""

    def __init__(self, score: Keys, second: Keys) -> None:
        """Numbered evenly, with much room between them."""
        first = np.unique(dense_ranks(score, second), return_index=True)[1]
        self.score, self.second = score[first], second[first]
        self.number = (np.arange(len(first)) - len(first) // 2) * (FARTHEST // (len(first) + 1))

    def __len__(self) -> int:
        return len(self.number)

    def add(self, score: Keys, second: Keys) -> Ints | None:
        """The numbers of these; new ones get theirs. None if there is no room for them."""
        known = len(self)
        score, second = np.append(self.score, score), np.append(self.second, second)
        rank = dense_ranks(score, second)
        first = np.unique(rank, return_index=True)[1]
        number = self._between(rank[:known], len(first))
        if number is None:
            return None
        self.score, self.second, self.number = score[first], second[first], number
        return number[rank[known:]]

    def _between(self, rank: Ints, count: int) -> Ints | None:
        """Numbers of so many pairs, of which those at `rank` have theirs; the others lie evenly between them."""
        ends = np.array([rank[0] + 1, count - rank[-1]]) if len(rank) else np.array([1, count])
        outer = self.number[[0, -1]] if len(rank) else np.zeros(2, np.int64)
        low, high = (outer + STEP * ends * [-1, 1]).tolist()
        if low < -FARTHEST or high > FARTHEST:
            return None
        anchor, number = np.concatenate(([-1], rank, [count])), np.concatenate(([low], self.number, [high]))
        step = np.diff(number) // np.diff(anchor)
        if not step.all():
            return None
        before = np.searchsorted(anchor, np.arange(count), side="right") - 1
        found: Ints = number[before] + (np.arange(count) - anchor[before]) * step[before]
        return found

    def keep(self, number: Keys) -> None:
        """Forget all others."""
        kept = np.isin(self.number, number)
        self.score, self.second, self.number = self.score[kept], self.second[kept], self.number[kept]

    def of(self, number: Keys) -> tuple[Keys, Keys]:
        """The pairs with these numbers."""
        place = np.searchsorted(self.number, number)
        return self.score[place], self.second[place]


class _Behind:
    """An engine that knows records by their labels, and what both faces of it have in common."""

    second_key = True

    def __init__(self, member: Engine[Records]) -> None:
        self.member = member
        self._room = SPARE

    def candidates(self) -> Ints:
        return self.member.candidates()

    def __len__(self) -> int:
        return len(self.member)

    @property
    def counters(self) -> Counters:
        return self.member.counters

    def check(self) -> None:
        """Assert what must hold of the structure, for tests."""
        if isinstance(self.member, CandidateEngine):
            self.member.check()


class NumberedPairs(_Behind):
    """For TOP."""

    def __init__(self, member: Engine[Records]) -> None:
        super().__init__(member)
        self._pairs: Pairs | None = None

    def advance(self, records: Records, due_reports: DueReports) -> Answers:
        answers = self.member.advance(Records(records.at, self._numbers(records), records.id), due_reports)
        pairs = self._pairs
        if pairs is None:
            return answers
        answers = replace(answers, score=pairs.of(answers.score)[0])
        if len(pairs) > self._room:
            pairs.keep(self.member.held().score)
            self._room = 2 * len(pairs) + SPARE
        return answers

    def held(self) -> Records:
        held = self.member.held()
        if self._pairs is None:
            return held
        score, second = self._pairs.of(held.score)
        return Records(held.at, score, held.id, second)

    def rebuild(self, records: Records, until: int, fresh: Ints = NONE) -> None:
        self._pairs = None
        self.member.rebuild(Records(records.at, self._numbers(records), records.id), until, fresh)

    def check(self) -> None:
        super().check()
        number = NONE if self._pairs is None else self._pairs.number
        assert (np.diff(number) > 0).all(), "second key: numbers that do not rise"
        assert np.isin(self.member.held().score, number).all(), "second key: a number without its pair"

    def _numbers(self, records: Records) -> Ints:
        """In place of their scores. Where there is no room between two, all are numbered anew."""
        if not len(records):
            return NONE
        assert records.second is not None
        if self._pairs is None:
            self._pairs = Pairs(records.score, records.second)
        numbers = self._pairs.add(records.score, records.second)
        return self._anew(records) if numbers is None else numbers

    def _anew(self, records: Records) -> Ints:
        held = self.held()
        assert held.second is not None
        assert records.second is not None
        pairs = Pairs(np.append(held.score, records.score), np.append(held.second, records.second))
        before, numbers = pairs.add(held.score, held.second), pairs.add(records.score, records.second)
        assert before is not None
        assert numbers is not None
        self.member.rebuild(Records(held.at, before, held.id), int(NEVER))
        self._pairs = pairs
        return numbers


class ReorderedLists(_Behind):
    """For ABOVE: the second keys of what is held, by label."""

    def __init__(self, member: Engine[Records]) -> None:
        super().__init__(member)
        self._id, self._second = NONE, NO_KEYS

    def advance(self, records: Records, due_reports: DueReports) -> Answers:
        self._learn(records)
        answers = self.member.advance(replace(records, second=None), due_reports)
        entry = answers.entries()
        id, score, size = answers.id[entry], answers.score[entry], answers.size
        order = reordered(size, score, self._of(id))
        if len(self._id) > self._room:
            kept = np.isin(self._id, self.candidates())
            self._id, self._second = self._id[kept], self._second[kept]
            self._room = 2 * len(self._id) + SPARE
        return Answers(np.cumsum(size) - size, size, id[order], score[order])

    def held(self) -> Records:
        held = self.member.held()
        assert held.id is not None
        return replace(held, second=self._of(held.id))

    def rebuild(self, records: Records, until: int, fresh: Ints = NONE) -> None:
        self._id, self._second = NONE, NO_KEYS
        self._learn(records)
        self.member.rebuild(replace(records, second=None), until, fresh)

    def _learn(self, records: Records) -> None:
        if not len(records):
            return
        assert records.id is not None
        assert records.second is not None
        # None at all are of whatever type.
        both = np.append(self._second, records.second) if len(self._id) else records.second
        id = np.append(self._id, records.id)
        order = np.argsort(id, kind="stable")
        self._id, self._second = id[order], both[order]

    def _of(self, id: Ints) -> Keys:
        return self._second[np.searchsorted(self._id, id)]
