"""How the state of a family may be split into parts that know nothing of each other, and how their answers merge.

Checkpoints rely on which part keeps what: how many parts there are is said when one is begun, and never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Flags, Ints
from skyband.model.arrays import turned
from skyband.planner import PlannedFamily
from skyband.runtime.encoded import (
    AT,
    END,
    GROUP,
    HASH,
    KEY,
    OBJECT,
    QUERY,
    RANK,
    WARMING,
    coded_groups,
    ints,
    keys,
    object_names,
    ranks,
)
from skyband.runtime.hashing import hash_rows

GROUP_PARTS, QUERY_PARTS, OBJECT_PARTS = 16, 8, 8
"""Where nobody said how many."""
MOST_QUERY_PARTS = 62
"""A record has a bit for each part of the queries that may need it."""


class Partitioning:
    """Everything in one place. Parts are called buckets, and numbered."""

    merges = False
    """The answers of all buckets to a report make one list."""

    def buckets(self, planned: PlannedFamily) -> dict[int, PlannedFamily]:
        """What each bucket serves."""
        return {0: planned}

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Rows by bucket. Where records are counted, every bucket has to know of them, also one without rows."""
        yield 0, rows


class ByGroup(Partitioning):
    """PER groups, by a hash of their names."""

    def __init__(self, parts: int | None = None) -> None:
        self.parts = parts or GROUP_PARTS

    def buckets(self, planned: PlannedFamily) -> dict[int, PlannedFamily]:
        return dict.fromkeys(range(self.parts), planned)

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        group, names = coded_groups(rows)
        bucket = (hash_rows(pa.table({GROUP: names})) % self.parts).astype(np.uint16)[group]
        order = np.argsort(bucket, kind="stable")
        sorted_rows, end = rows.take(pa.array(order)), np.cumsum(np.bincount(bucket, minlength=self.parts))
        for number, (low, high) in enumerate(pairwise([0, *end.tolist()])):
            if low < high:
                yield number, sorted_rows.slice(low, high - low)


class ByObject(Partitioning):
    """Objects, by the highest bits of their hash; the others are left to the engines' tables.

    Every bucket keeps of its objects what its own best k may need, and reports its own best k. Each of the k best
    objects of all is among the k best of its bucket, so the k best of what was reported are the answer. All buckets
    report a window in the same micro-batch, the first whose watermark has reached its end (for ROWS: in which its last
    record came); so merging needs no state of its own.
    """

    merges = True

    def __init__(self, parts: int | None = None) -> None:
        self.parts = parts or OBJECT_PARTS

    def buckets(self, planned: PlannedFamily) -> dict[int, PlannedFamily]:
        return dict.fromkeys(range(self.parts), planned)

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        high = ints(rows, OBJECT).view(np.uint64) >> np.uint64(32)
        bucket = high * np.uint64(self.parts) >> np.uint64(32)
        for number in range(self.parts):
            yield number, rows.filter(pa.array(bucket == number))


class ByKey(Partitioning):
    """Records of a stream with deletes, and what takes them back, by a hash of their key.

    As objects are merged: what is listed of all is among the k best of its bucket. Bucket 0 is that of a family which
    is in one place: it may become one when its queries change, and would take a part of the records for all.
    """

    merges = True

    def __init__(self, parts: int) -> None:
        self.parts = parts

    def buckets(self, planned: PlannedFamily) -> dict[int, PlannedFamily]:
        return dict.fromkeys(range(1, self.parts + 1), planned)

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        bucket = 1 + hash_rows(rows.select([KEY])) % self.parts
        for number in range(1, self.parts + 1):
            yield number, rows.filter(pa.array(bucket == number))


def bucket_of_query(name: str, parts: int | None) -> int:
    """Where the query of a multi-score family is."""
    word = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
    return word % min(parts or QUERY_PARTS, MOST_QUERY_PARTS)


def by_query(planned: PlannedFamily) -> dict[int, list[int]]:
    """The queries in each bucket."""
    members: dict[int, list[int]] = {}
    for number, query in enumerate(planned.family.queries):
        members.setdefault(bucket_of_query(query.name, planned.parts), []).append(number)
    return members


def merged(planned: PlannedFamily, parts: list[pa.Table]) -> pa.Table:
    """The answers of all buckets to the same reports as answers over all objects, or groups."""
    rows = pa.concat_tables(parts)
    group = ranks(rows, GROUP)
    query, end = ints(rows, QUERY), ints(rows, END)
    ties = [ranks(rows, name) for name in reversed(object_names(rows) or [KEY, HASH])]
    order = np.lexsort((*ties, -ints(rows, AT), turned(keys(rows)), group, end, query))
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
