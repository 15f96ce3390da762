"""Row groups that no window needs, as their statistics and what a task has seen before prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.model import Ints, Keys
from skyband.runtime.encoded import AT, ints, keys
from skyband.runtime.encoder import ScoreColumn

OFTEN = 4_000_000
"""Records that are read before what was seen is looked through anew, at most."""
MOST_WINDOWS = 100_000
"""A row group that touches more of them is read."""


@dataclass(frozen=True)
class Extremes:
    """What is known of records that were not read: between which times they lie, how many they are, and by column the
    least and the greatest value."""

    first: int
    last: int
    rows: int
    values: pa.Table


Hopeless = Callable[[Extremes], bool]
"""Whether no family needs any of these records; if one may, they are taken as read."""


def hopeless(bounds: Sequence[RisingBounds], known: Extremes) -> bool:
    if all(each.rule_out(known) for each in bounds):
        return True
    for each in bounds:
        each.take(known)
    return False


class RisingBounds:
    """Of one family, in one task: what was seen is a bound for what comes."""

    def __init__(self, score: ScoreColumn | None, seen: Callable[[], list[pa.Table]]) -> None:
        self._score, self._seen = score, seen
        self._read: Extremes | None = None
        self._due = 0
        self._at: Ints = np.empty(0, np.int64)
        self._key: Keys = np.empty(0)

    def take(self, known: Extremes) -> None:
        """These are read."""
        before = self._read or known
        first, last = min(before.first, known.first), max(before.last, known.last)
        self._read = Extremes(first, last, known.rows + (self._read.rows if self._read else 0), known.values)

    def rule_out(self, known: Extremes) -> bool:
        """Whether none of these records can be reported."""
        score, read = self._score, self._read
        if score is None:
            return False
        best = score.keys(known.values).max()
        if score.threshold is not None:
            return bool(best <= score.threshold.max())
        # Files in the order of time mostly end here: what lies beside all that was read was not outranked.
        if read is None or known.first < read.first or known.last > read.last:
            return False
        self._look(read.rows)
        return self._outranked(score, known, best)

    def _outranked(self, score: ScoreColumn, known: Extremes, best: float) -> bool:
        """Every window that may hold one of these records holds k better ones."""
        windows = score.meta.windows_between(known.first, known.last, MOST_WINDOWS)
        if windows is None:
            return False
        start, end, k = windows
        better = self._at[self._key > best]
        return bool((np.searchsorted(better, end) - np.searchsorted(better, start) >= k).all())

    def _look(self, records: int) -> None:
        """Whenever as much was read again: what that costs is a share of the reading."""
        if records < self._due:
            return
        self._due = records + min(records, OFTEN)
        at, key = self._rows()
        order = np.argsort(at, kind="stable")
        self._at, self._key = at[order], key[order]

    def _rows(self) -> tuple[Ints, Keys]:
        tables = self._seen()
        if not tables:
            return np.empty(0, np.int64), np.empty(0)
        rows = pa.concat_tables(tables)
        return ints(rows, AT), keys(rows)
