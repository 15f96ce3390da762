"""The state that engines for complete data have in common: the candidates and the clock.

Whatever an engine builds around its candidates (views, pointers, counters of dominance) follows from them and the meta
query. So any of these engines can go on from what another one held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skyband.engines.base import Counters
from skyband.engines.checks import check_rising
from skyband.model import NEVER, Answers, DueReports, Flags, Ints, MetaQuery, Records
from skyband.model.types import Keys

NONE: Ints = np.empty(0, np.int64)
DOUBLE, INTEGER = np.dtype(np.float64), np.dtype(np.int64)
SPARE = 1_024
"""Labels of records that are no candidates any more, before they are looked for."""


@dataclass(frozen=True)
class Candidates:
    """Records that may still be reported, by the number under which they were fed."""

    id: Ints
    at: Ints
    score: Keys
    second: Keys | None = None
    category: Ints | None = None

    def __len__(self) -> int:
        return len(self.id)

    def since(self, start: int) -> Candidates:
        return self.part(self.at >= start)

    def part(self, part: slice | Ints | Flags) -> Candidates:
        second = None if self.second is None else self.second[part]
        category = None if self.category is None else self.category[part]
        return Candidates(self.id[part], self.at[part], self.score[part], second, category)

    def followed_by(self, newer: Candidates) -> Candidates:
        """Both, of which one may be empty: only then may it lack the second key and category of the other."""
        if not len(self) or not len(newer):
            return newer if len(newer) else self
        id, at = np.concatenate((self.id, newer.id)), np.concatenate((self.at, newer.at))
        score = np.concatenate((self.score, newer.score))
        return Candidates(id, at, score, _both(self.second, newer.second), _both(self.category, newer.category))

    @staticmethod
    def sorted(id: Ints, at: Ints, score: Keys) -> Candidates:
        order = np.argsort(id)
        return Candidates(id[order], at[order], score[order])


def _both(older: NDArray[Any] | None, newer: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if older is None or newer is None else np.concatenate((older, newer))


class CandidateEngine:
    """Keeps the clock, and knows records by their labels; an algorithm adds `answer`, `kept`, `build` and counters, and
    knows them by the numbers under which they were fed. One that takes integer keys adds `clear`."""

    second_key = False
    """Takes records with one, as its capabilities say."""
    categories = False
    """Takes records with one; an engine that counts them, as its capabilities say."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        # The type of the scores: that of the first records, or of those it was last rebuilt with.
        self.key: np.dtype[Any] = DOUBLE
        # Numbers given so far, and records among them: what is rebuilt gets new numbers.
        self.fed = 0
        self.taken = 0
        self.last = int(NEVER)
        self.until = int(NEVER)
        # By number, the label; where there are none, a label is its number and so much more.
        self._number: Ints = NONE
        self._label: Ints | None = None
        self._shift = 0
        self._room = SPARE

    # ------------------------------------------------------------------------------------------ what an algorithm adds

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        """`advance`, with numbers for labels: the first of these records is number `self.fed`. The algorithm calls
        `self._clock(records, due_reports)` once, when it has answered."""
        raise NotImplementedError

    def kept(self) -> Candidates:
        """The candidates, by rising number."""
        raise NotImplementedError

    def build(self, kept: Candidates) -> None:
        """Build the structure around these candidates; the clock is set already."""
        raise NotImplementedError

    def clear(self) -> None:
        """Begin with an empty structure, whose scores have the type `key`."""
        raise AssertionError(f"{type(self).__name__} does not take scores of the type {self.key}")

    def recount(self, counters: Counters) -> None:
        """Take over the work counted before the structure was built anew: every counter that there is, or zeros.
        Without this it counts from there."""

    @property
    def counters(self) -> Counters:
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------- what it gets

    def advance(self, records: Records, due_reports: DueReports) -> Answers:
        base = self.fed
        self._check_taken(records)
        if self._label is None and not self._goes_on(base, records.id, first=not base):
            self._number = self.kept().id
            self._label = self._number + self._shift
        answers = self.answer(self._of_one_type(records), due_reports)
        if self.fed != base + len(records):
            raise AssertionError(f"{type(self).__name__}.answer has to call self._clock(records, due_reports) once")
        if self._label is None:
            return replace(answers, id=answers.id + self._shift) if self._shift else answers
        label = base + np.arange(len(records)) if records.id is None else records.id
        named = self._named(answers.id, base, label)
        self._remember(base, label)
        return replace(answers, id=named)

    def held(self) -> Records:
        kept = self.kept()
        label = kept.id + self._shift if self._label is None else self._named(kept.id, self.fed, NONE)
        return Records(kept.at, kept.score, label, kept.second, kept.category)

    def rebuild(self, records: Records, until: int, fresh: Ints = NONE) -> None:
        counters, base = self.counters, self.fed
        number = base + np.arange(len(records))
        self.fed += len(records)
        self.taken += len(fresh)
        self.until = max(self.until, until)
        if len(records):
            self.last = max(self.last, int(records.at[-1]))
        if len(records) or not base:
            self.rank_by(records.score.dtype)
        self._check_taken(records)
        score = records.score.astype(self.key, copy=False)
        self.build(Candidates(number, records.at, score, records.second, records.category))
        self.recount(counters)
        self._number, self._label, self._shift = NONE, None, 0
        if records.id is not None and not self._goes_on(base, records.id, first=True):
            self._label = NONE
            self._remember(base, records.id)

    def check(self) -> None:
        """Assert what must hold of the structure, for tests; an algorithm adds what it knows of its own."""
        kept = self.kept()
        check_rising(kept.id, "candidates: numbers", strictly=True)
        check_rising(kept.at, "candidates: times")
        assert self._label is None or set(kept.id.tolist()) <= set(self._number.tolist()), "candidates: without a label"
        check_rising(self._number, "candidates: labelled numbers", strictly=True)

    def candidates(self) -> Ints:
        return self.kept().id + self._shift if self._label is None else np.sort(self._forget())

    def __len__(self) -> int:
        return len(self.kept())

    def rank_by(self, key: np.dtype[Any]) -> None:
        """Scores of this type are to come, and nothing is held, or nothing that will be."""
        if key != self.key:
            if key not in (DOUBLE, INTEGER):
                raise AssertionError(f"scores of the type {key}: doubles or 64-bit integers were expected")
            self.key = key
            self.clear()

    def _check_taken(self, records: Records) -> None:
        if records.second is not None and not self.second_key:
            raise AssertionError(f"{type(self).__name__} does not take a second key")
        if records.category is not None and not self.categories:
            raise AssertionError(f"{type(self).__name__} does not count categories")

    def _of_one_type(self, records: Records) -> Records:
        """The records, if their scores can be compared with those before; none are of whatever type."""
        if records.score.dtype == self.key:
            return records
        if not self.fed:
            self.rank_by(records.score.dtype)
            return records
        if len(records):
            raise AssertionError(f"scores of the type {records.score.dtype} after scores of the type {self.key}")
        return replace(records, score=np.empty(0, self.key))

    def _clock(self, records: Records, due_reports: DueReports) -> None:
        self.fed += len(records)
        self.taken += len(records)
        if len(records):
            self.last = int(records.at[-1])
        self.until = due_reports.until

    def _goes_on(self, base: int, label: Ints | None, first: bool) -> bool:
        """Labels rise by one from record to record, and go on where those before `base` ended, unless these are the
        first: nobody has to remember them."""
        if label is None:
            return not self._shift
        if not len(label):
            return True
        if first:
            self._shift = int(label[0]) - base
        return bool(label[0] == base + self._shift and (np.diff(label) == 1).all())

    def _named(self, number: Ints, base: int, label: Ints) -> Ints:
        """Labels of records by number; those from `base` on have the labels given."""
        first = int(self._number[0]) if len(self._number) else base
        if self._label is not None and base + len(label) - first <= 4 * len(number):
            # Many answers about few records: a table finds a label at once.
            table = np.empty(base + len(label) - first, np.int64)
            table[self._number - first], table[base - first :] = self._label, label
            return table[number - first]
        fresh = number >= base
        found = np.empty(len(number), np.int64)
        found[fresh] = label[number[fresh] - base]
        old = number[~fresh]
        if len(old):
            assert self._label is not None
            found[~fresh] = self._label[np.searchsorted(self._number, old)]
        return found

    def _remember(self, base: int, label: Ints) -> None:
        """The labels of records from number `base` on. Those of what is no candidate any more are forgotten now and
        then: finding the candidates costs more than a small batch."""
        number = base + np.arange(len(label))
        assert self._label is not None
        self._number, self._label = np.concatenate((self._number, number)), np.concatenate((self._label, label))
        if len(self._label) > self._room:
            self._forget()
            self._room = 2 * len(self._label) + SPARE

    def _forget(self) -> Ints:
        """The labels of the candidates, by number, and of nothing else."""
        assert self._label is not None
        number = self.kept().id
        if len(number) < len(self._number):
            self._label = self._label[np.searchsorted(self._number, number)]
            self._number = number
        return self._label

    def open_windows(self, kept: Candidates) -> tuple[Ints, Ints, Ints]:
        """(start, end, k) of the windows still to be reported that hold a candidate, by start."""
        start, end, k = self.meta.openings(kept.at, int(NEVER))
        due = end > self.until
        return start[due], end[due], k[due]
