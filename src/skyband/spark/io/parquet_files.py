"""Parquet files: sections are row groups, whose statistics tell of columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from skyband.spark.io.file_parts import Format, InexactError

OLD_WRITERS = ("2.", "3.0")
"""Releases of Spark whose times may be in the old calendar."""


class ParquetReader:
    def __init__(self, file: pa.NativeFile, is_near: bool) -> None:
        # INT96 in microseconds, as Spark has it: its nanoseconds would end in 2262. Far away a request costs more than
        # the bytes between two columns.
        self._file = pq.ParquetFile(file, coerce_int96_timestamp_unit="us", pre_buffer=not is_near)
        self.footer = ParquetFooter(self._file.metadata, self._file.schema_arrow)
        if old_calendar(self._file.metadata):
            self.close()
            raise InexactError("was written with the old calendar")

    def rows(self, section: int) -> int:
        return int(self._file.metadata.row_group(section).num_rows)

    def read(self, section: int, names: list[str]) -> pa.Table:
        return self._file.read_row_group(section, names, use_threads=False)

    def close(self) -> None:
        self._file.close(force=True)


@dataclass(frozen=True)
class ParquetFooter:
    metadata: pq.FileMetaData
    schema: pa.Schema

    @property
    def rows(self) -> int:
        return int(self.metadata.num_rows)

    @property
    def sizes(self) -> Sequence[int]:
        return [self.metadata.row_group(group).num_rows for group in range(self.metadata.num_row_groups)]

    @property
    def mark(self) -> Hashable:
        return self.metadata.num_rows, self.metadata.num_row_groups, self.metadata.serialized_size

    def extremes(self, section: int, name: str, wanted: pa.DataType) -> pa.Array | None:
        found, columns = self.schema.field(name).type, self.metadata.schema.names
        if name not in columns or types.is_nested(found) or types.is_unsigned_integer(found):
            return None
        known = self.metadata.row_group(section).column(columns.index(name)).statistics
        if known is None or not known.has_min_max or not known.has_null_count or known.null_count:
            return None
        try:
            values = pa.array([known.min, known.max], found.value_type if types.is_dictionary(found) else found)
            return values.cast(wanted)
        except (pa.ArrowException, ValueError, OverflowError):
            # Python's times end sooner than Parquet's.
            return None


def old_calendar(metadata: pq.FileMetaData) -> bool:
    """Whether Spark would move its dates and times from the calendar of before 1582."""
    said = {name.decode(): text.decode() for name, text in (metadata.metadata or {}).items()}
    legacy = {"org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"} & said.keys()
    return bool(legacy) or said.get("org.apache.spark.version", "").startswith(OLD_WRITERS)


PARQUET = Format(
    "parquet",
    ParquetReader,
    ("row group", "row groups"),
    {
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96TimestampConversion": "false",
        "spark.sql.parquet.fieldId.read.enabled": "false",
    },
    ("datetimeRebaseMode", "int96RebaseMode"),
)
