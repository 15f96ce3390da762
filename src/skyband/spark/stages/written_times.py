"""Times that are written as numbers or text, and have to be in order before the stage that reads them for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructType

from skyband.language import WrittenColumn
from skyband.runtime.reader import StreamReader, microseconds

MOMENT = "#moment"


@dataclass(frozen=True)
class WithMoments:
    """What `mapInArrow` calls to put the time of each record beside it; NULL where it cannot be read."""

    written: WrittenColumn

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            times, _ = self.written.read(batch.column(self.written.name))
            moments = pa.array(microseconds(times)[0], mask=times.combine_chunks().is_null().to_numpy(False))
            yield pa.RecordBatch.from_arrays([*batch.columns, moments], [*batch.schema.names, MOMENT])


def in_time(records: DataFrame, reader: StreamReader) -> tuple[DataFrame, str]:
    """Records with a column that they can be ordered by in time, and its name."""
    written, time = reader.written_time, reader.stream.time
    if written is None or time not in reader.unread:
        return records, time
    schema = StructType([*records.schema.fields]).add(MOMENT, LongType())
    return records.mapInArrow(WithMoments(written), schema), MOMENT
