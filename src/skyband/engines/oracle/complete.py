"""The slow, obvious answer for complete data: every window recomputed from SEMANTICS by plain sorting.

Written from the semantics alone; no engine, planner or kernel is used. Times, positions and widths are whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

from skyband.model import Above, CumulatingWindow, Query, TopK, UnboundedWindow


class Record(NamedTuple):
    """A record that passed the query's WHERE. `at` is its time or position, `tie` its (key, hash).

    `reported` is the watermark when it arrived: windows that ended by then do not count it.
    """

    at: int
    score: float | None
    tie: Any = 0
    group: str = ""
    reported: int = -(2**62)
    row: Any = None
    key: Any = None
    second: float | None = None
    category: Any = None


class Delete(NamedTuple):
    """Takes the older records of a key out of every window that ends after it. `at` is its time, or the position that
    the next record will have; `reported` as for records."""

    at: int
    key: Any
    reported: int = -(2**62)


@dataclass(frozen=True)
class Report:
    start: Any
    """A number; None where the window has no start."""
    end: int
    group: str
    best: tuple[Record, ...]


def windows(query: Query, at: int, newest: int = -(2**62)) -> Iterable[tuple[Any, int]]:
    """The windows [start, end) that contain `at`. Of those without a start the one that ends first behind the `newest`
    record of the stream is the last."""
    window = query.window
    if isinstance(window, UnboundedWindow):
        end = at - (at - window.offset) % window.slide + window.slide
        while end <= newest:
            yield None, end
            end += window.slide
        yield None, end
        return
    if isinstance(window, CumulatingWindow):
        start = at - (at - window.offset) % window.width
        ends = range(start + window.slide, start + window.width + 1, window.slide)
        yield from ((start, end) for end in ends if end > at)
        return
    if window.at_least_every:
        end = at - at % window.slide + window.slide
        start = end - window.width
    else:
        start = at - (at - window.offset) % window.slide
        while start + window.width - window.slide > at:
            start -= window.slide
    while start <= at:
        if start + window.width > at:
            yield start, start + window.width
        start += window.slide


def ranked(query: Query, records: Iterable[Record]) -> list[Record]:
    """Best first: by score, then by the second key, where records without one are last; then newer first, then the
    smaller key and hash."""
    sign = 1 if query.ascending else -1
    return sorted(records, key=lambda r: (sign * (r.score or 0), *_second(query, r), -r.at, r.tie))


def _second(query: Query, record: Record) -> tuple[bool, float]:
    if record.second is None or isnan(record.second):
        return True, 0
    return False, record.second if query.then is None or query.then.ascending else -record.second


def first(query: TopK, best: list[Record]) -> list[Record]:
    """The first k; WITH TIES also what has the score of the k-th, and with AT MOST without those that have as many of
    their category above them."""
    if query.at_most is not None:
        best = capped(best, query.at_most.count)
    size = query.k
    while query.ties and query.k <= size < len(best) and best[size].score == best[query.k - 1].score:
        size += 1
    return best[:size]


def capped(best: list[Record], count: int) -> list[Record]:
    """By rank, skipping a record whose category has so many above it already."""
    above: dict[Any, int] = {}
    kept = []
    for record in best:
        above[record.category] = above.get(record.category, 0) + 1
        if above[record.category] <= count:
            kept.append(record)
    return kept


def deleted(record: Record, end: int, deletes: Iterable[Delete]) -> bool:
    """Whether the window that ends at `end` is without the record, because of a delete that came in time."""
    return any(each.key == record.key and record.at < each.at < end and end > each.reported for each in deletes)


def answer(
    query: Query, records: Sequence[Record], deletes: Sequence[Delete] = (), newest: int = -(2**62)
) -> list[Report]:
    """Every report of the query that holds a ranked record, by end, then group. `newest` is the time of the stream's
    newest record, whether it qualifies or not."""
    inside: dict[tuple[int, Any, str], list[Record]] = {}
    for record in records:
        if record.score is None or isnan(record.score):
            continue
        for start, end in windows(query, record.at, newest):
            if end > record.reported and not deleted(record, end, deletes):
                inside.setdefault((end, start, record.group), []).append(record)
    reports = []
    for (end, start, group), members in sorted(inside.items()):
        best = ranked(query, members)
        if isinstance(query, TopK):
            best = first(query, best)
        elif isinstance(query, Above):
            best = [record for record in best if record.score is not None and record.score > query.threshold]
        if best:
            reports.append(Report(start, end, group, tuple(best)))
    return reports
