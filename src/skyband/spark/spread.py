"""Objects spread over keys of the state: who is where, and one list out of the lists of all.

Every key holds some of the objects, keeps of them what its own best k may need, and reports its own best k. Each of the
k best objects of all is among the k best of its key, so the k best of what was reported are the answer. All keys report
a window in the same micro-batch, the first whose watermark has reached its end (for ROWS: in which its last record
came); so merging needs no state of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Flags, Ints
from skyband.planner import Family, PlannedFamily
from skyband.runtime.family import END, QUERY, RANK, WARMING
from skyband.runtime.packed import AT, GROUP, OBJECT, SCORE, floats, ints, object_names, ranks

OBJECT_BUCKETS = 8
"""Objects are spread over so many keys of the state; fixed for ever, because checkpoints rely on it."""
_SHIFT = 61
"""The highest bits of an object's hash name its bucket; the others are left to the engines' tables."""


def is_spread(family: Family) -> bool:
    """Changes are told against the last list of all, and a number of objects to keep is one for all: these stay in one
    place. So do PER groups, which are spread already."""
    return family.across is not None and not (family.per or family.logged or family.approximate)


def by_object(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Rows by the bucket of their object, empty buckets too."""
    bucket = (ints(rows, OBJECT) >> _SHIFT) & (OBJECT_BUCKETS - 1)
    for number in range(OBJECT_BUCKETS):
        yield number, rows.filter(pa.array(bucket == number))


def merged(planned: PlannedFamily, parts: list[pa.Table]) -> pa.Table:
    """The answers of all buckets to the same reports as answers over all objects."""
    rows = pa.concat_tables(parts)
    group = ranks(rows, GROUP)
    query, end = ints(rows, QUERY), ints(rows, END)
    names = [ranks(rows, name) for name in reversed(object_names(rows))]
    order = np.lexsort((*names, -ints(rows, AT), -floats(rows, SCORE), group, end, query))
    report = np.stack((query, end, group))[:, order]
    first = np.append(True, (report[:, 1:] != report[:, :-1]).any(axis=0))
    begin = np.flatnonzero(first)
    rank = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order)))) + 1
    kept = rank <= _wanted(planned)[report[0]]
    rows = rows.take(pa.array(order))
    warming = _all_warming(rows, begin)
    rows = rows.set_column(rows.column_names.index(RANK), RANK, pa.array(rank))
    rows = rows.set_column(rows.column_names.index(WARMING), WARMING, pa.array(warming, mask=~warming))
    return rows.filter(pa.array(kept))


def _wanted(planned: PlannedFamily) -> Ints:
    """The k of every query of the family."""
    k = np.zeros(len(planned.family.queries), np.int64)
    k[planned.meta.query] = planned.meta.k
    return k


def _all_warming(rows: pa.Table, begin: Ints) -> Flags:
    """A new query is complete from where the first of its buckets says so: a quiet bucket meets the query later, but
    has dropped nothing since the others met it."""
    flags = np.asarray(pc.fill_null(rows.column(WARMING), False)).astype(bool)
    all_of = np.logical_and.reduceat(flags, begin)
    found: Flags = np.repeat(all_of, np.diff(np.append(begin, len(flags))))
    return found
