"""Stage 0 for values that are bytes: tasks make records of those that Arrow reads as Spark would. The others go on to
Spark, which reads them in the same task, and come back to be pruned as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.spark.io.json_values import JsonValues
from skyband.spark.stages.prune import ENCODED, ENCODED_DDL, Piece, Prune, in_utc
from skyband.spark.worker import settled

LEFT, RECORD = "left", "record"
LEFT_DDL = f"{ENCODED_DDL}, {LEFT} BINARY"
_WITH_LEFT = ENCODED.append(pa.field(LEFT, pa.binary()))


@dataclass(frozen=True)
class ReadValues:
    """What `mapInArrow` calls on values: encoded rows of what Arrow reads, and the values that it leaves."""

    prune: Prune
    values: JsonValues

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in settled(self.prune.pruned(lambda _: map(self._piece, batches))):
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
        return settled(self.prune.pruned(lambda _: map(self._piece, batches)))

    def _piece(self, batch: pa.RecordBatch) -> Piece:
        encoded = batch.column("state_key").is_valid()
        records = pa.table(batch.column(RECORD).flatten(), self._names(batch)).filter(pa.array(~np.asarray(encoded)))
        # Spark names the session's zone.
        aside = batch.filter(encoded).select(ENCODED.names).cast(ENCODED)
        return Piece(self.prune.reader, in_utc(records), aside=aside)

    def _names(self, batch: pa.RecordBatch) -> list[str]:
        return [each.name for each in batch.schema.field(RECORD).type]


def _left(values: pa.Array) -> pa.RecordBatch:
    """Rows without a key."""
    nothing = pa.record_batch([pa.nulls(len(values), each.type) for each in ENCODED], schema=ENCODED)
    return _beside(nothing, values)


def _beside(encoded: pa.RecordBatch, left: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([*encoded.columns, left], schema=_WITH_LEFT)
