"""Positions of records in a stream, or in their group: what ROWS windows are cut by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import lcm
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.codec import damaged
from skyband.model import Ints
from skyband.planner import Family
from skyband.runtime.clock import FOREVER
from skyband.runtime.stored_values import COUNT, PLACE, by_name, record

FARTHEST = 2**40
"""Slides whose common multiple is larger are not all kept: nobody would live to see the first window."""
EXPIRY = record({"last": by_name(PLACE), "began": by_name(COUNT), "records": COUNT, "oldest": PLACE, "unknown": COUNT})
"""What a state says of groups that expire."""


def first_position(records: int, *slides: int) -> int:
    """Where a group begins whose earlier records were not counted, in a stream of so many records.

    It has no more records than the stream, so from there on no position, and no end of a report, comes twice. Rounded
    up to a multiple of every slide its first record is the first of a window, for each of those who ask.
    """
    step = lcm(*slides)
    step = step if step <= FARTHEST else max(slides)
    return -(-records // step) * step


class Positions:
    """Counts the records of every group ('' in all without PER), before any filter. A group that was not seen yet
    begins at `first`: 0, unless there may have been records of it that were not counted."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.seen: dict[str, int] = {}
        self.began: dict[str, int] = {}
        """Of groups that began elsewhere than at `first`, where."""

    def count(self, records: int) -> dict[str, int]:
        """So many records more, of one group; how many it has seen with them."""
        self.seen[""] = self.seen.get("", self.first) + records
        return {"": self.seen[""]}

    def place(self, count: int, group: pa.Array, at: Ints) -> tuple[Ints, dict[str, int]]:
        """The position of each record, which is of the time `at`, and how many records each of these groups has seen
        with them."""
        coded = group.dictionary_encode()
        code, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
        before = np.array([self.seen.get(name, self.unknown) for name in names], np.int64)
        size = np.bincount(code, minlength=len(names))
        order = np.argsort(code, kind="stable")
        nth = np.empty(count, np.int64)
        nth[order] = np.arange(count) - np.repeat(np.cumsum(size) - size, size)
        now = dict(zip(names, (before + size).tolist(), strict=True))
        if count:
            self._noted(names, at[order], np.cumsum(size) - size)
        self.seen.update(now)
        return before[code] + nth, now

    def _noted(self, names: list[str], at: Ints, begin: Ints) -> None:
        """Times of these groups, one behind the other."""

    @property
    def unknown(self) -> int:
        """Where a group begins that is not known."""
        return self.first

    # ------------------------------------------------------------------------------------------ groups that expire

    def expires(self, watermark: int) -> bool:
        """Whether some group has been silent for too long."""
        return False

    def expire(self, watermark: int, slides: Sequence[int]) -> list[str]:
        """Forget such groups; which they are. Groups that are not known now begin where all slides do."""
        return []

    def pass_by(self, records: int, oldest: int) -> None:
        """So many records of the stream came, of whatever group, the oldest of that time."""

    def live(self, rows: int, group: pa.Array, at: Ints) -> Ints | None:
        """Places of those of so many rows, with positions `at`, that are not of a group that was forgotten; None for
        all."""
        return None

    def state(self) -> dict[str, Any]:
        """What is to be known beside the counts; mostly nothing."""
        return {}

    def restore(self, seen: dict[str, int], state: Mapping[str, Any] | None) -> None:
        """Go on from there."""
        self.seen = seen
        if state is not None:
            # Groups do not expire any more, but some have.
            self.began, self.first = dict(state["began"]), state["unknown"]


class ExpiringPositions(Positions):
    """A group without a record for `length`, by the watermark, is unknown again. An unknown group may have been there
    before as soon as any can have expired: it then begins at the stream's record count, rounded up."""

    def __init__(self, length: int, first: int = 0) -> None:
        super().__init__(first)
        self._length = length
        self.records, self._oldest, self._unknown = 0, FOREVER, first
        self._last: dict[str, int] = {}
        """The newest time of each group."""
        self._queue: list[tuple[int, str]] = []
        """One entry for each group, with a time of it that is not newer than its newest."""

    @property
    def unknown(self) -> int:
        return self._unknown

    def expires(self, watermark: int) -> bool:
        return bool(self._queue) and self._queue[0][0] + self._length <= watermark

    def expire(self, watermark: int, slides: Sequence[int]) -> list[str]:
        if len(self._last) < len(self.seen):
            self._last |= dict.fromkeys(self.seen.keys() - self._last.keys(), watermark)
            self._line_up()
        if watermark - self._length >= self._oldest:
            self._unknown = max(first_position(self.records, *slides), self.first)
        gone = []
        while self._queue and self._queue[0][0] + self._length <= watermark:
            name = heappop(self._queue)[1]
            if self._last[name] + self._length > watermark:
                heappush(self._queue, (self._last[name], name))
                continue
            del self._last[name], self.seen[name]
            self.began.pop(name, None)
            gone.append(name)
        return gone

    def pass_by(self, records: int, oldest: int) -> None:
        self.records += records
        self._oldest = min(self._oldest, oldest)

    def _noted(self, names: list[str], at: Ints, begin: Ints) -> None:
        for name, newest in zip(names, np.maximum.reduceat(at, begin).tolist(), strict=True):
            known = self._last.get(name)
            if known is None:
                heappush(self._queue, (newest, name))
            if known is None or known < newest:
                self._last[name] = newest
            if name not in self.seen and self._unknown != self.first:
                self.began[name] = self._unknown

    def _line_up(self) -> None:
        self._queue = [(at, name) for name, at in self._last.items()]
        heapify(self._queue)

    def live(self, rows: int, group: pa.Array, at: Ints) -> Ints | None:
        coded = group.dictionary_encode()
        names = coded.dictionary.to_pylist()
        first = [self.began.get(name, 0) if name in self.seen else FOREVER for name in names]
        found = np.flatnonzero(at >= np.array(first, np.int64)[np.asarray(coded.indices)])
        return None if len(found) == rows else found

    def state(self) -> dict[str, Any]:
        known = {"last": self._last, "began": self.began, "records": self.records}
        return {"expiry": known | {"oldest": self._oldest, "unknown": self._unknown}}

    def restore(self, seen: dict[str, int], state: Mapping[str, Any] | None) -> None:
        self.seen = seen
        if state is None:
            return
        last, began = state["last"], state["began"]
        if last.keys() != seen.keys() or any(at > seen.get(name, -1) for name, at in began.items()):
            raise damaged("stream", "it knows other groups than it has counted")
        self._last, self.began = dict(last), dict(began)
        self.records, self._oldest, self._unknown = state["records"], state["oldest"], state["unknown"]
        self._line_up()


def positions_of(family: Family, first: int = 0) -> Positions:
    """What counts for a family; of windows of time, nothing."""
    length = family.stream.expire if family.per and family.kind == "rows" else None
    return Positions(first) if length is None else ExpiringPositions(length, first)
