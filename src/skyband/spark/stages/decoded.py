"""Stage 0 for values that are bytes and have a schema: tasks make records of them and prune these on the spot, or hand
them to Spark as rows."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.model.readable import shown_rows
from skyband.runtime.reader import SHOWN
from skyband.spark.io.decoding import Decoded, Decoding
from skyband.spark.stages.prune import Piece, Prune
from skyband.spark.worker import settled

TOGETHER = 20_000
"""Values that are read together: each is a few Python objects for a moment."""
log = logging.getLogger("skyband")
_logged: Counter[tuple[str, str]] = Counter()
"""Values that this worker has told of, by stream and reason."""


@dataclass(frozen=True)
class PruneDecoded:
    """What `mapInArrow` calls on values: encoded rows."""

    prune: Prune
    decoding: Decoding

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settled(self.prune.pruned(lambda _: map(self._piece, _values(self.prune.told(batches)))))

    def _piece(self, values: pa.Array) -> Piece:
        found = self.decoding.read(values)
        return Piece(self.prune.reader, found.table, refused=found.refused)


@dataclass(frozen=True)
class DecodedRows:
    """What `mapInArrow` calls on values: a row for each, of NULLs where the value is no record. It has no time then,
    and is counted as bad by who looks at the rows."""

    stream: str
    decoding: Decoding

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for values in settled(_values(batches)):
            found = self.decoding.read(values)
            self._tell(found)
            yield from _rows(found, len(values)).to_batches()

    def _tell(self, found: Decoded) -> None:
        for reason, values in found.refused:
            few = values.slice(0, max(0, SHOWN - _logged[self.stream, reason]))
            for row in shown_rows(few):
                log.warning("stream %s: %s, record left out: %s", self.stream, reason, row)
            _logged[self.stream, reason] += len(values)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Array]:
    for batch in batches:
        for first in range(0, len(batch), TOGETHER):
            yield batch.column(0).slice(first, TOGETHER).cast(pa.binary())


def _rows(found: Decoded, count: int) -> pa.Table:
    if len(found.places) == count:
        return found.table
    where = np.full(count, -1)
    where[found.places] = np.arange(len(found.places))
    return found.table.take(pa.array(where, mask=where < 0)).combine_chunks()
