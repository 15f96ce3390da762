"""Stage 1 for a board: of what a task sees, the union of what its queries may need, dealt to the buckets they are in.

A stream with deletes goes on whole, to one bucket: nothing may be dropped because it is outranked, for the better
record may be deleted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.engines.many.sieve import Sieve
from skyband.model import NEVER, Ints
from skyband.runtime.board import asked_of
from skyband.runtime.board_intake import BoardIntake
from skyband.runtime.intake import DELETE, operations
from skyband.runtime.packed import AT, ints, values
from skyband.runtime.prune import prune_board
from skyband.spark.keys import query_buckets, state_key

PENDING = 100_000
"""Packed rows that gather before they are sifted together once more."""
Part = tuple[str, pa.Table]
"""A key of the state, and rows for it."""


class PruneBoard:
    """What one task has seen of a board."""

    def __init__(self, intake: BoardIntake) -> None:
        family = intake.planned.family
        self._intake, self._planned = intake, intake.planned
        self._buckets = query_buckets(family)
        asked = [asked_of(family, *each) for each in zip(family.queries, family.shapes, strict=True)]
        self._sieve = None if family.stream.op else Sieve(len(family.attributes), asked, self._buckets)
        self._rows: list[pa.Table] = []

    def add(self, table: pa.Table, at: Ints) -> int:
        """Records of a RANGE stream; how often one had no score."""
        if self._sieve is None:
            packed = self._intake.pack(table, at, None, int(NEVER))
            self._rows.append(packed.rows)
            return int(packed.unranked.sum())
        rows, _, unranked = self._intake.sifted(table, at, self._sieve)
        if len(rows):
            self._rows.append(rows)
        if sum(map(len, self._rows)) > PENDING:
            whole = pa.concat_tables(self._rows)
            self._rows = [whole.take(pa.array(self._sifted(whole)[0]))]
        return unranked

    def parts(self) -> list[Part]:
        """All that was added, by key."""
        if not self._rows:
            return []
        whole = pa.concat_tables(self._rows)
        if self._sieve is None:
            return [(state_key(self._planned, 0), whole)]
        chosen, wanted = self._sifted(whole)
        return [part for part in self._dealt(whole.take(pa.array(chosen)), wanted) if len(part[1])]

    def positions(self, table: pa.Table) -> tuple[int, int, list[Part]]:
        """A stretch of a ROWS stream, in its order: how often a record had no score, how many records there are, and
        the rows for every bucket, numbered from 0. A bucket without rows has to know of the records too."""
        if self._sieve is not None:
            place = np.arange(len(table))
            rows, wanted, unranked = self._intake.sifted(table, place, self._sieve, aligned=False)
            return unranked, len(table), self._dealt(rows, wanted)
        op = self._planned.family.stream.op
        assert op is not None
        record = operations(table, op) != DELETE
        packed = self._intake.pack(table, np.cumsum(record) - record, None, int(NEVER))
        return int(packed.unranked.sum()), int(record.sum()), [(state_key(self._planned, 0), packed.rows)]

    def _sifted(self, rows: pa.Table) -> tuple[Ints, Ints]:
        assert self._sieve is not None
        x = values(rows, len(self._planned.family.attributes))
        return prune_board(self._planned.meta, self._sieve, ints(rows, AT), x)

    def _dealt(self, rows: pa.Table, wanted: Ints) -> list[Part]:
        return [
            (state_key(self._planned, bucket), rows.filter(pa.array(wanted >> bucket & 1 == 1)))
            for bucket in sorted(set(self._buckets))
        ]
