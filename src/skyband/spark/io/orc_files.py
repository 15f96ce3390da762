"""ORC files: sections are stripes. Arrow does not tell what is known of columns, so the file's tail is read here."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from skyband.spark.io.file_parts import Format, InexactError

if TYPE_CHECKING:
    from pyarrow.orc import ORCFile

ZULU = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "Zulu", "Universal", "Etc/Universal")
SAID = b"spark.sql.catalyst.type"
"""Under which Spark writes what a column is that ORC has no type for."""
NTZ = b"timestamp_ntz"
TIMESTAMP, DATE, VARCHAR, CHAR, INSTANT = 9, 15, 16, 17, 18
"""Numbers of types in a tail."""
FIRST_DAY = (date(1582, 10, 15) - date(1970, 1, 1)).days
"""Before it ORC's days are of the old calendar, or not, and Arrow does not ask."""
FIRST, LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1000 for year in (1678, 2262))
"""Between them times have nanoseconds in Arrow, in milliseconds."""


class OrcReader:
    """`zone`: the JVM's. Spark reads the clock's time that was written as one of that zone."""

    def __init__(self, zone: str | None, file: pa.NativeFile, is_near: bool) -> None:
        from pyarrow.orc import ORCFile  # Arrow may have been built without.

        self._file, self._source = ORCFile(file), file
        self.footer = OrcFooter.of(self._file)
        if zone not in ZULU and any(map(types.is_timestamp, self._file.schema.types)):
            raise InexactError(f"has times in the zone of the JVM, which is {zone or 'not known'}")

    def rows(self, section: int) -> int:
        return self.footer.sizes[section]

    def read(self, section: int, names: list[str]) -> pa.Table:
        found = self._file.read_stripe(section, names)
        wanted = pa.schema([self.footer.schema.field(name) for name in found.schema.names])
        return pa.table([_as_spark_has_it(found.column(each.name), each.type) for each in wanted], wanted)

    def close(self) -> None:
        self._source.close()


@dataclass(frozen=True)
class OrcFooter:
    schema: pa.Schema
    sizes: Sequence[int]
    mark: Hashable

    @classmethod
    def of(cls, file: ORCFile) -> OrcFooter:
        """InexactError where Arrow would read other values than Spark does."""
        tail = file.reader.serialized_file_tail()
        footer = _messages(next(_inside(tail, 2)), 3, 4, 7)
        kinds = [_number(each, 1) for each in footer[4]]
        if any(name.startswith("_col") for name in file.schema.names):
            raise InexactError("has columns without names, as Hive writes them")
        if {VARCHAR, CHAR} & set(kinds):
            raise InexactError("has columns of CHAR or VARCHAR")
        for kind, known in zip(kinds, footer[7], strict=True):
            _check_range(kind, known)
        sizes = tuple(_number(each, 5) for each in footer[3])
        return cls(pa.schema(map(_typed, file.schema)), sizes, crc32(tail))

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    def extremes(self, section: int, name: str, wanted: pa.DataType) -> pa.Array | None:
        """Arrow keeps what stripes say of them to itself."""
        return None


def orc_files(zone: str | None) -> Format:
    plain = {f"{where}orc.force.positional.evolution": "false" for where in ("", "spark.hadoop.")}
    settings = {"spark.sql.orc.impl": "native", **plain}
    return Format("orc", partial(OrcReader, zone), ("stripe", "stripes"), settings, ("orc.force.positional.evolution",))


def _typed(field: pa.Field) -> pa.Field:
    """What a column is to Spark."""
    if types.is_timestamp(field.type):
        return pa.field(field.name, pa.timestamp("us", "UTC"))
    if (field.metadata or {}).get(SAID) == NTZ and types.is_int64(field.type):
        return pa.field(field.name, pa.timestamp("us"))
    return field.remove_metadata()


def _as_spark_has_it(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if types.is_timestamp(column.type):
        # Spark leaves nanoseconds out, and before 1970 too that is the time before.
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(kind)


def _check_range(kind: int, known: bytes) -> None:
    """Whether a column's dates or times are all of the years in which Arrow and Spark agree."""
    if kind not in (DATE, TIMESTAMP, INSTANT) or not _number(known, 1):
        return
    told = next(_inside(known, 7 if kind == DATE else 9), b"")
    found = {number: _signed(value) for number, value in _fields(told) if isinstance(value, int)}
    least, most = found.get(3, found.get(1)), found.get(4, found.get(2))
    first, last = (FIRST_DAY, None) if kind == DATE else (FIRST, LAST)
    if least is None or least < first or (last is not None and (most is None or most > last)):
        what = "dates before 1582" if kind == DATE else "times before 1678 or after 2261"
        raise InexactError(f"has {what}, or does not say that it has none")


# ------------------------------------------------------------------------------------------------- Google's wire format


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of a message, of those kinds that a tail has."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        size, place = (8, place) if key & 7 == 1 else (4, place) if key & 7 == 5 else _varint(message, place)
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _inside(message: bytes, number: int) -> Iterator[bytes]:
    return (value for found, value in _fields(message) if found == number and isinstance(value, bytes))


def _messages(message: bytes, *numbers: int) -> dict[int, list[bytes]]:
    return {number: list(_inside(message, number)) for number in numbers}


def _number(message: bytes, number: int) -> int:
    """Zero where there is none, as always."""
    return next((value for found, value in _fields(message) if found == number and isinstance(value, int)), 0)
