"""Answers of one call in pieces: a stream that catches up reports hours at once, and nobody has to hold all of that.

What a family answers does not depend on how its input is cut, so a long stretch is walked in steps, each short enough
for the rows it can make at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.runtime.clock import FOREVER, EventTime, RecordCounts
from skyband.runtime.encoded import AT, SCORE, TIME, ints
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import Positions

STEP_BYTES = 16_000_000
"""A step makes about so much at the most, unless a single moment makes more."""
PIECE_BYTES = 32_000_000
"""No piece is larger, unless a single row is. What crosses to the JVM may take up twice that."""
FRAME_BYTES = 64
"""Of an answer: query, window, rank and the like, beside the columns shown."""


def feed(operator: FamilyOperator, rows: pa.Table | None, until: int) -> Iterator[pa.Table]:
    """RANGE: `operator.feed`, in pieces."""
    now = operator.clock.of("")
    if _length(operator, rows, until - now) == 1:
        yield from pieces(operator.feed(rows, EventTime(until)))
        return
    yield from pieces(operator.feed(rows, EventTime(now)))
    yield from _reports(operator, until)
    yield from pieces(operator.feed(None, EventTime(until)))


def feed_positions(operator: FamilyOperator, rows: pa.Table | None, before: int, now: int) -> Iterator[pa.Table]:
    """ROWS without PER: rows numbered by position, in rising order, of the records [before, now), in pieces. A delete
    stands where the next record will, so the last may stand at `now`."""
    at = np.empty(0, np.int64) if rows is None else ints(rows, AT)
    low = 0
    for end in _cuts(before, now, _length(operator, rows, now - before)):
        high = len(at) if end == now else int(np.searchsorted(at, end))
        part = None if rows is None else rows.slice(low, high - low)
        yield from pieces(operator.feed(part, RecordCounts({"": end})))
        low = high


def feed_groups(operator: FamilyOperator, rows: pa.Table, group: pa.Array, positions: Positions) -> Iterator[pa.Table]:
    """ROWS with PER: all records of the stream in their order, those that do not qualify without a score, in pieces."""
    before, at = 0, ints(rows, TIME if TIME in rows.column_names else AT)
    rows = rows.drop_columns([TIME]) if TIME in rows.column_names else rows
    for end in _cuts(0, len(rows), _length(operator, rows, len(rows))):
        size = end - before
        place, now = positions.place(size, group.slice(before, size), at[before:end])
        part = rows.slice(before, size).set_column(0, AT, pa.array(place))
        yield from pieces(operator.feed(part.filter(part.column(SCORE).is_valid()), RecordCounts(now)))
        before = end


def close(operator: FamilyOperator, seen: Mapping[str, int], newest: int) -> Iterator[pa.Table]:
    """`operator.close`, in pieces; `seen`, for ROWS, says how many records each group has seen, and `newest`, for
    RANGE, when the last record came."""
    operator.end(newest)
    beyond = operator.planned.meta.longest
    for end in _cuts(0, beyond, _length(operator, None, beyond * len(seen))) if seen else ():
        clock = RecordCounts({name: count + end for name, count in seen.items()})
        yield from pieces(operator.feed(None, clock))
    yield from _reports(operator, FOREVER)
    yield from pieces(operator.close())


def _reports(operator: FamilyOperator, until: int) -> Iterator[pa.Table]:
    """RANGE: what is due by then, but for the last step."""
    while (moment := operator.next_report()) is not None and moment <= until:
        step = max(int(STEP_BYTES / _bytes_per_unit(operator)), 1)
        yield from pieces(operator.feed(None, EventTime(min(moment + step, until))))


def pieces(answers: pa.Table | None) -> Iterator[pa.Table]:
    """None as none; a table that is too large in several."""
    if answers is None:
        return
    count = min(-(-answers.nbytes // PIECE_BYTES), len(answers))
    for low, high in _stretches(0, len(answers), max(count, 1)):
        yield answers.slice(low, high - low)


def _length(operator: FamilyOperator, rows: pa.Table | None, units: int) -> int:
    """In how many steps so many microseconds or positions are walked."""
    return max(-(-int(units * _bytes_per_unit(operator, rows)) // STEP_BYTES), 1)


def _bytes_per_unit(operator: FamilyOperator, rows: pa.Table | None = None) -> float:
    """What a microsecond or position adds to the answers at most, on average: every report lists k records, or all
    there are; a log of changes names each once as coming and once as going."""
    meta, stored = operator.planned.meta, operator.store.rows
    count = sum(len(table) for table in (stored, rows) if table is not None)
    size = sum(table.nbytes for table in (stored, rows) if table is not None)
    listed = float(np.sum(np.minimum(meta.k, count) / meta.period))
    twice = 2 if any(query.changes for query in operator.planned.family.queries) else 1
    width: float = size / max(count, 1) + FRAME_BYTES
    return twice * listed * width


def _cuts(first: int, last: int, count: int) -> list[int]:
    """Ends of about equal steps from `first` to `last`; one if there is nothing to walk."""
    return [high for _, high in _stretches(first, last, count)] or [last]


def _stretches(first: int, last: int, count: int) -> list[tuple[int, int]]:
    edges: Ints = np.unique(np.linspace(first, last, count + 1).astype(np.int64))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
