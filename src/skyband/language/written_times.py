"""Times that are written as numbers or as text: what a declared column says of them behind its type.

ts TIMESTAMP FROM UNIX_MILLIS
ts TIMESTAMP FORMAT 'yyyy-MM-dd HH:mm:ss.SSS'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError
from skyband.language.epoch_times import UNITS, EpochTimes
from skyband.language.expressions.types import declared_type, split_type
from skyband.language.pattern_times import PatternTimes
from skyband.model import Flags, Ints
from skyband.model.names import did_you_mean

EXPECTED = "FROM UNIX_SECONDS, UNIX_MILLIS, UNIX_MICROS or UNIX_NANOS, or FORMAT 'yyyy-MM-dd HH:mm:ss'"


class Written(Protocol):
    """How times are written."""

    def rises(self, kind: pa.DataType) -> bool:
        """Whether values of this type are in the order of the times, none of them wrong between two that are not."""
        ...

    @property
    def json(self) -> pa.DataType:
        """As what Arrow reads such values in JSON; where it refuses some they are text."""
        ...

    def accepts(self, kind: pa.DataType) -> bool:
        """Whether times may be written in a column of this type."""
        ...

    def micros(self, column: pa.Array) -> tuple[Ints, Flags]:
        """Microseconds since 1970, rounded down, and which values are no such times; NULL is anything but wrong."""
        ...


@dataclass(frozen=True)
class WrittenColumn:
    """A declared column of times, and how they are written."""

    name: str
    declared: str
    kind: pa.DataType
    """What is made of them."""
    written: Written

    def is_read(self, found: pa.DataType) -> bool:
        """Whether there are times in it already."""
        return bool(pa.types.is_timestamp(found) or pa.types.is_date(found))

    def check(self, found: pa.DataType, stream: str) -> None:
        kind = _plain_type(found)
        if not (self.is_read(kind) or pa.types.is_null(kind) or self.written.accepts(kind)):
            raise SkybandError(
                f"stream {stream}: column {self.name!r} is declared {self.declared}, and the data has {found}",
                expected="times, or numbers or text of which they can be made",
            )

    def read(self, column: pa.ChunkedArray | pa.Array) -> tuple[pa.ChunkedArray, Flags]:
        """The times, NULL where one cannot be read, and which those are."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        read = [self._read(chunk) for chunk in chunks]
        wrong = np.concatenate([each for _, each in read]) if read else np.zeros(0, bool)
        return pa.chunked_array([times for times, _ in read], self.kind), wrong

    def _read(self, values: pa.Array) -> tuple[pa.Array, Flags]:
        if (kind := _plain_type(values.type)) != values.type:
            values = values.cast(kind)
        if pa.types.is_null(kind):
            return pa.nulls(len(values), self.kind), np.zeros(len(values), bool)
        micros, wrong = self.written.micros(values)
        missing = wrong | np.asarray(values.is_null(nan_is_null=False))
        if pa.types.is_date(self.kind):
            days = pa.array((micros // 86_400_000_000).astype(np.int32), mask=missing)
            return days.cast(self.kind), wrong
        return pa.array(micros, mask=missing).cast(self.kind), wrong


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Text as it usually is, and not by numbers."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def written_columns(columns: Sequence[tuple[str, str]]) -> dict[str, WrittenColumn]:
    """The declared columns that say how their times are written."""
    found = {name: written_column(name, declared) for name, declared in columns}
    return {name: each for name, each in found.items() if each is not None}


def written_column(name: str, declared: str) -> WrittenColumn | None:
    """None where nothing is said behind the type."""
    type_name, word, how = split_type(declared)
    if not word:
        return None
    kind = declared_type(type_name)
    if kind is None or not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise SkybandError(
            f"column {name!r}: {type_name} {word}", expected=f"{word} behind TIMESTAMP, TIMESTAMP_NTZ or DATE"
        )
    return WrittenColumn(name, declared, kind, _epoch(how) if word == "FROM" else _pattern(how, type_name))


def _epoch(unit: str) -> EpochTimes:
    if unit.upper() not in UNITS:
        raise SkybandError(
            f"`{unit}` is no count of time since 1970",
            expected=", ".join(UNITS),
            hint=did_you_mean(unit.upper(), UNITS),
        )
    return EpochTimes(unit.upper())


def _pattern(quoted: str, type_name: str) -> PatternTimes:
    quote = quoted[:1]
    inside = quoted[1:-1].replace(quote * 2, "") if quote in ("'", '"') and len(quoted) > 2 else quote
    if quote not in ("'", '"') or quoted[-1] != quote or quote in inside:
        raise SkybandError(f"FORMAT {quoted}".rstrip(), expected="a format in quotes, as FORMAT 'yyyy-MM-dd HH:mm:ss'")
    found = PatternTimes.of(quoted[1:-1].replace(quote * 2, quote))
    if found.zone and type_name.upper() == "TIMESTAMP_NTZ":
        raise SkybandError(
            "a format with a zone, of times that have none", expected="TIMESTAMP in place of TIMESTAMP_NTZ"
        )
    return found
