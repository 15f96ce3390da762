"""Stage 0 for values that are bytes: tasks make records of those that Arrow reads as Spark would. The others go on to
Spark, which reads them in the same task, and come back to be pruned as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Flags
from skyband.spark.io.decoding import MISSING
from skyband.spark.io.json_values import JsonValues
from skyband.spark.io.value_reader import UNDECODABLE
from skyband.spark.stages.prune import ENCODED, ENCODED_DDL, Piece, Prune, in_utc
from skyband.spark.worker import settled

OTHER_KEY = "key of another type"
LEFT, RECORD = "left", "record"
LEFT_DDL = f"{ENCODED_DDL}, {LEFT} BINARY"
_WITH_LEFT = ENCODED.append(pa.field(LEFT, pa.binary()))


@dataclass(frozen=True)
class ReadValues:
    """What `mapInArrow` calls on values: encoded rows of what Arrow reads, and the values that it leaves."""

    prune: Prune
    values: JsonValues

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in settled(self.prune.pruned(lambda _: map(self._piece, self.prune.told(batches)))):
            yield batch if batch.num_columns == len(_WITH_LEFT) else _beside(batch, pa.nulls(len(batch), pa.binary()))

    def _piece(self, batch: pa.RecordBatch) -> Piece:
        values = batch.column(0).cast(pa.binary())
        table, left = self.values.read(values)
        return Piece(self.prune.reader, table, aside=_left(values.filter(pa.array(left))) if left.any() else None)


@dataclass(frozen=True)
class PruneLeft:
    """What `mapInArrow` calls on the same rows when Spark has made records of the values that were left."""

    prune: Prune

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settled(self.prune.pruned(lambda _: map(self._piece, self.prune.told(batches))))

    def _piece(self, batch: pa.RecordBatch) -> Piece:
        encoded = batch.column("state_key").is_valid()
        # Spark names the session's zone.
        aside = batch.filter(encoded).select(ENCODED.names).cast(ENCODED)
        left = batch.filter(pc.invert(encoded))
        records = pa.table(left.column(RECORD).flatten(), self._names(batch))
        reasons = _reasons(left.column(LEFT), left.column(RECORD), records)
        refused = [(reason, pa.table({"value": left.column(LEFT).filter(pa.array(mine))})) for reason, mine in reasons]
        good = ~np.any([np.zeros(len(left), bool), *(mine for _, mine in reasons)], axis=0)
        return Piece(self.prune.reader, in_utc(records.filter(pa.array(good))), aside=aside, refused=refused)

    def _names(self, batch: pa.RecordBatch) -> list[str]:
        return [each.name for each in batch.schema.field(RECORD).type]


def _reasons(values: pa.Array, made: pa.Array, records: pa.Table) -> list[tuple[str, Flags]]:
    """Why values are no records: a tombstone, one of whose key Spark would make NULL, and one in which there is nothing
    that is declared."""
    none, wrong = np.asarray(values.is_null()), np.asarray(made.is_null())
    empty = np.ones(len(values), bool)
    for column in records.columns:
        empty &= np.asarray(column.is_null())
    found = [(MISSING, none), (OTHER_KEY, wrong & ~none), (UNDECODABLE, empty & ~wrong & ~none)]
    return [(reason, mine) for reason, mine in found if mine.any()]


def _left(values: pa.Array) -> pa.RecordBatch:
    """Rows without a key."""
    nothing = pa.record_batch([pa.nulls(len(values), each.type) for each in ENCODED], schema=ENCODED)
    return _beside(nothing, values)


def _beside(encoded: pa.RecordBatch, left: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([*encoded.columns, left], schema=_WITH_LEFT)
