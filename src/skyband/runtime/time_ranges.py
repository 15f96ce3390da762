"""A batch cut by time: the reports of a family by when they end, each range of them answered apart from the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Ints
from skyband.runtime.clock import FOREVER
from skyband.runtime.data_models.registry import DataModel
from skyband.runtime.encoded import AT, ints

LEAST = 4
"""A range is at least so many times as long as the longest window: a record goes to every range that one of its windows
ends in, so at most a quarter of them goes to two."""
UNKNOWN = "how far the times of the records reach is not known before they are read"
SHORT = "the times of the records do not reach far beyond the longest window"
SPREAD = "there is work for every task without that"


class Reach(NamedTuple):
    """The times of a batch's records, as far as that is known before they are read."""

    first: int
    last: int


class Ends(NamedTuple):
    """The reports that end after `after` and by `until`."""

    after: int = int(NEVER)
    until: int = FOREVER


EVERY_END = Ends()


@dataclass(frozen=True)
class TimeRanges:
    """Range i has the reports that end in (first + i * length, first + (i + 1) * length]; the outer two go on for ever.
    So every report is in one range, also where a record lies outside of what was known of the times before."""

    first: int = 0
    length: int = 1
    count: int = 1

    @staticmethod
    def of(model: DataModel, reach: Reach | None, tasks: int) -> TimeRanges:
        """As many for each bucket of a family as keep so many tasks busy, and are long enough."""
        if reach is None or why_one(model, reach, tasks) is not None:
            return WHOLE
        length = _length(model, reach)
        count = _count(model, reach, tasks)
        return TimeRanges(reach.first, -(-length // count), count)

    def ends(self, number: int) -> Ends:
        low, high = (self.first + place * self.length for place in (number, number + 1))
        return Ends(low if number else EVERY_END.after, high if number + 1 < self.count else EVERY_END.until)

    def split(self, rows: pa.Table, longest: int) -> Iterator[tuple[int, pa.Table]]:
        """To every range the encoded rows that a window of its reports may hold."""
        if self.count == 1:
            yield 0, rows
            return
        at = ints(rows, AT)
        low, high = self._of(at + 1), self._of(at + longest)
        for number in range(self.count):
            yield number, rows.filter(pa.array((low <= number) & (number <= high)))

    def _of(self, end: Ints) -> Ints:
        return np.clip((end - self.first - 1) // self.length, 0, self.count - 1)


WHOLE = TimeRanges()


def why_one(model: DataModel, reach: Reach | None, tasks: int) -> str | None:
    """Why all reports of (a bucket of) a family are one range; None if they are cut."""
    if model.why_in_order is not None:
        return model.why_in_order
    if reach is None:
        return UNKNOWN
    if _buckets(model) >= tasks:
        return SPREAD
    return SHORT if _count(model, reach, tasks) < 2 else None


def _count(model: DataModel, reach: Reach, tasks: int) -> int:
    return min(-(-tasks // _buckets(model)), _length(model, reach) // (LEAST * model.meta.longest))


def _length(model: DataModel, reach: Reach) -> int:
    """From the first report that there may be to the last."""
    return reach.last + model.meta.longest - reach.first


def _buckets(model: DataModel) -> int:
    return len(model.partitioning.buckets(model.planned))
