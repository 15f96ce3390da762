"""Which rows of a key are in which segment of its state.

A micro-batch writes one segment with what is new. Now and then those of about its size before it are written anew
together with it, so that a row is written a few times in its life, and there are never many segments to read.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

MERGED = 8
"""So many segments of about one size become one."""
UNKNOWN = 2**62


class Segment(NamedTuple):
    """Rows with ids from `first` on, up to where the next segment begins."""

    number: int
    first: int = 0
    rows: int = UNKNOWN
    """Not known where an earlier release wrote it; such a one is not merged."""


def read_segments(saved: Iterable[int | list[int]]) -> list[Segment]:
    """As the state names them: an earlier release wrote nothing but their numbers."""
    return [Segment(each) if isinstance(each, int) else Segment(*each) for each in saved]


def holding(segments: list[Segment], first: int) -> list[Segment]:
    """Those of these segments, in order, that hold rows with ids from this one on."""
    ends = [each.first for each in segments[1:]]
    return [each for each, end in zip(segments, [*ends, UNKNOWN], strict=True) if end > first]


def merged_with(segments: list[Segment], rows: int) -> list[Segment]:
    """The last of these segments, which a new one of so many rows takes in: none, or all that are alike."""
    begin = len(segments)
    while len(alike := _alike(segments[:begin], rows)) >= MERGED - 1:
        rows += sum(each.rows for each in alike)
        begin -= len(alike)
    return segments[begin:]


def _alike(segments: list[Segment], rows: int) -> list[Segment]:
    """The last ones, none of them much larger than that."""
    return list(takewhile(lambda each: each.rows <= 2 * rows, reversed(segments)))
