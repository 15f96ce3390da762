"""Which streams an object of these streams also appears in, over the sliding window: theta sketches of panes.

One theta sketch (Apache DataSketches) per stream and pane; the union of a stream's panes is its window, intersections
of windows are joins of streams. |s ∩ t| / |s| is the probability that an object of s is in t, and the same for any set
of streams in place of s. Intersections of theta sketches keep the error relative to the join; the inclusion and
exclusion of the paper (§4, whose printed sign is reversed: |s| + |t| - |s ∪ t|) has the error of the union, however
small the join.

The library takes one object per call. A sketch is nothing but the smallest hashes of its objects and the bound below
which they are complete, so those are found with NumPy, and the library reads them in its own serial form.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

import datasketches
import numpy as np

from skyband.engines.kernels.objects.delays import Words
from skyband.model import Floats, Ints

LG_K = 10
"""Objects in a sketch, as a power of 2: 1,024, for an error of 3 %."""
PRIOR = 8.0
"""Weight of single streams in what a set of streams says, in objects of the sketch."""
FULL = np.uint64(2**63 - 1)
_COMPACT_ORDERED = 0b11010
_PLAIN, _ESTIMATING = 2, 3
"""Words of a sketch's preamble: exact, and with a bound on its hashes."""
_READ = datasketches.compact_theta_sketch.deserialize
_SEED_HASH = datasketches.update_theta_sketch(LG_K).get_seed_hash()
Sketch: TypeAlias = Any
"""A `compact_theta_sketch`; the library has no types."""


def sketch_of(marks: Words, bound: np.uint64 = FULL) -> Sketch:
    """The theta sketch of objects with these hashes (rising, distinct), complete below the bound."""
    words = _PLAIN if bound == FULL else _ESTIMATING
    head = struct.pack("<BBBBBBHII", words, 3, 3, 0, 0, _COMPACT_ORDERED, _SEED_HASH, len(marks), 0)
    if not len(marks):
        return datasketches.update_theta_sketch(LG_K).compact()
    limit = b"" if bound == FULL else struct.pack("<Q", bound)
    return _READ(head + limit + marks.astype("<u8").tobytes())


def united(sketches: list[Sketch]) -> Sketch:
    union = datasketches.theta_union(LG_K)
    for each in sketches:
        union.update(each)
    return union.get_result()


def joined(*sketches: Sketch) -> Sketch:
    both = datasketches.theta_intersection()
    for each in sketches:
        both.update(each)
    return both.get_result()


def join_by_union(one: Sketch, other: Sketch) -> float:
    """The size of the join as the paper has it, by inclusion and exclusion."""
    return float(one.get_estimate() + other.get_estimate() - united([one, other]).get_estimate())


@dataclass
class Smallest:
    """The smallest hashes of a stream in the open pane, and the bound below which they are all."""

    marks: Words
    bound: np.uint64 = FULL

    def add(self, marks: Words) -> None:
        most = 1 << LG_K
        found = np.unique(np.concatenate((self.marks, marks[marks < self.bound])))
        if len(found) > most:
            self.bound = found[most]
        self.marks = found[:most]


class Correlation:
    """Sketches of the streams' panes over a window, and what they say."""

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self._open = [Smallest(np.empty(0, np.uint64)) for _ in range(streams)]
        self._closed: list[tuple[int, list[Sketch]]] = []
        self.windows: list[Sketch] = []
        self.pair = np.zeros((streams, streams))

    def grow(self, streams: int) -> None:
        """Streams were met that were not known."""
        more = range(streams - self.streams)
        self._open += [Smallest(np.empty(0, np.uint64)) for _ in more]
        for _, pane in self._closed:
            pane += [sketch_of(np.empty(0, np.uint64)) for _ in more]
        self.streams = streams
        self.pair = np.pad(self.pair, (0, len(more)))

    def observe(self, marks: Words, stream: Ints) -> None:
        order = np.argsort(stream, kind="stable")
        cuts = np.searchsorted(stream[order], np.arange(self.streams + 1))
        for x in np.flatnonzero(np.diff(cuts)).tolist():
            self._open[x].add(marks[order[cuts[x] : cuts[x + 1]]])

    def close(self, end: int, oldest: int) -> None:
        """The pane ends; what the window from `oldest` on holds is counted anew."""
        self._closed.append((end, [sketch_of(each.marks, each.bound) for each in self._open]))
        self._open = [Smallest(np.empty(0, np.uint64)) for _ in range(self.streams)]
        self._closed = [(at, pane) for at, pane in self._closed if at > oldest]
        self._count()

    def distinct(self) -> Floats:
        """Objects of each stream in the window."""
        return np.array([each.get_estimate() for each in self.windows])

    def given(self, streams: int) -> Floats:
        """How probable each stream is for an object of all these streams (as bits). A small join is too little to go
        by: it is drawn to what the likeliest single stream of the set says."""
        mine = [x for x in range(self.streams) if streams >> x & 1]
        prior = self.pair[mine].max(axis=0) if mine else np.zeros(self.streams)
        if len(mine) < 2:
            return prior
        own = joined(*(self.windows[x] for x in mine))
        size = own.num_retained
        found = np.array([joined(own, each).num_retained for each in self.windows], np.float64)
        return np.asarray(np.minimum((found + PRIOR * prior) / (size + PRIOR), 1.0))

    def state(self) -> tuple[list[bytes], list[int]]:
        """Sketches as bytes: the open pane's, then pane by pane; and the ends of the panes."""
        closed = [sketch.serialize() for _, pane in self._closed for sketch in pane]
        return [sketch_of(each.marks, each.bound).serialize() for each in self._open] + closed, [
            end for end, _ in self._closed
        ]

    def resume(self, sketches: list[bytes], ends: list[int]) -> None:
        d = self.streams
        read = [_READ(each) for each in sketches]
        self._open = [_smallest(each) for each in read[:d]]
        self._closed = [(end, read[d * (n + 1) : d * (n + 2)]) for n, end in enumerate(ends)]
        self._count()

    def _count(self) -> None:
        self.windows = [united([pane[x] for _, pane in self._closed]) for x in range(self.streams)]
        size = np.maximum(self.distinct(), 1e-9)
        for i in range(self.streams):
            for j in range(i):
                both = joined(self.windows[i], self.windows[j]).get_estimate()
                self.pair[i, j], self.pair[j, i] = both / size[i], both / size[j]
        self.pair = np.minimum(self.pair, 1.0)


def _smallest(sketch: Sketch) -> Smallest:
    bound = np.uint64(sketch.theta64)
    return Smallest(np.sort(np.array(list(sketch), np.uint64)), bound)
