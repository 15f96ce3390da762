"""JSON values, read by Arrow where that is known to give what Spark's `from_json` gives. Others are left to Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as json
from pyarrow import types

from skyband.model import Flags
from skyband.model.plain import raw_bytes
from skyband.spark.io.json_times import dates, instants, moments

PARTS = 16
"""Of a block in which Arrow refuses a value and does not say which: each is tried for itself."""
FEW = 512
"""Values that are not parted any more: another try costs as much as Spark takes to read so many."""
PATIENCE = 2
"""Times that all values may be read in vain; after that what is left is left to Spark."""
LONG, LONGEST, NESTED = 1_000, 50_000, 500
"""Bytes of a value up to which nothing in it is too long for Spark's parser, those from which something may be, and how
many brackets are not too deep for it."""
_KNOWN = (
    types.is_boolean,
    types.is_signed_integer,
    types.is_floating,
    types.is_string,
    types.is_decimal,
    types.is_timestamp,
    types.is_date32,
)
_TIMES = (types.is_timestamp, types.is_date32)
_SPACE = " \t\r\n"
_BLANKS = np.frombuffer(_SPACE.encode(), np.uint8)
_OPENING, _CLOSING = map(ord, "{}")
_NO_NUMBER = r"[:\[,][ \t\r\n]*-?(NaN|Inf)"
_LONG_NUMBER = r"[0-9]{200}"
_ROW = re.compile(r"in row (\d+)$")


def is_known(kind: pa.DataType) -> bool:
    """Whether values of a type are read at all."""
    return any(each(kind) for each in _KNOWN)


@dataclass(frozen=True)
class JsonValues:
    """What makes records of values."""

    schema: pa.Schema
    """In which times that are declared to be written in some way are left so."""

    def read(self, values: pa.Array) -> tuple[pa.Table, Flags]:
        """The records of values that Arrow reads, in their order, and which values are left."""
        values = _trimmed(values)
        left = ~_plain(values)
        places = np.flatnonzero(~left)
        if len(places) < len(values):
            values = values.take(pa.array(places))
        tables, left[places] = self._read(values)
        return pa.concat_tables([self.schema.empty_table(), *tables]), left

    def _read(self, values: pa.Array) -> tuple[list[pa.Table], Flags]:
        """As many as can be: what Arrow refuses is cut out."""
        found, left, patience = [], np.ones(len(values), bool), PATIENCE * len(values)
        blocks = [(0, len(values))] if len(values) else []
        while blocks and patience > 0:
            first, size = blocks.pop()
            try:
                table, odd = self._table(values.slice(first, size))
            except pa.ArrowInvalid as error:
                read, parts = _parts(first, size, str(error))
                patience -= FEW + read
                blocks += reversed(parts)
            else:
                found.append(table)
                left[first : first + size] = odd
        return found, left

    def _table(self, values: pa.Array) -> tuple[pa.Table, Flags]:
        """Records, and of which values there is none because Spark might read another time there."""
        text = _lines(values.cast(pa.string()))
        reading = json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        found = json.read_json(pa.BufferReader(text), reading, self._parsing)
        if len(found) != len(values):
            raise pa.ArrowInvalid(f"{len(found)} records in {len(values)} values")
        read = [_column(found.column(each.name), each.type) for each in self.schema]
        table, odd = pa.table([column for column, _ in read], self.schema), np.zeros(len(values), bool)
        for _, mine in read:
            if mine is not None:
                odd |= mine
        return table.filter(pa.array(~odd)) if odd.any() else table, odd

    @property
    def _parsing(self) -> json.ParseOptions:
        """Times come as text: Arrow takes some forms that Spark does not."""
        fields = [(each.name, pa.string() if _is_time(each.type) else each.type) for each in self.schema]
        return json.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore")


def _is_time(kind: pa.DataType) -> bool:
    return any(each(kind) for each in _TIMES)


def _column(column: pa.ChunkedArray, wanted: pa.DataType) -> tuple[pa.Array | pa.ChunkedArray, Flags | None]:
    """The column in its type, and which values Spark might read in another way, None if none."""
    if types.is_decimal(wanted):
        # Arrow takes numbers with more digits than there is room for.
        column.validate(full=True)
    if types.is_floating(wanted):
        return column, _minus_zero(column)
    if not _is_time(wanted):
        return column, None
    text = column.combine_chunks()
    if types.is_date32(wanted):
        return dates(text), None
    return moments(text) if wanted.tz is None else instants(text)


def _minus_zero(column: pa.ChunkedArray) -> Flags | None:
    """To Spark -0 is a whole number, and has no sign."""
    number = np.asarray(column)
    zero = number == 0
    return zero & np.signbit(number) if zero.any() else None


def _parts(first: int, size: int, refusal: str) -> tuple[int, list[tuple[int, int]]]:
    """How many values of a refused block were read, and what to try in place of it."""
    said = _ROW.search(refusal)
    if said is not None and (row := int(said[1])) < size:
        around = [(first, row), (first + row + 1, size - row - 1)]
        return row, [(start, count) for start, count in around if count]
    each = max(-(-size // PARTS), FEW)
    parts = [(first + start, min(each, size - start)) for start in range(0, size, each)]
    return size, parts if size > FEW else []


def _lines(values: pa.Array) -> pa.Buffer:
    """The values with the end of a line between them. None can go on beyond it: plain ones begin and end with a brace,
    and where one closes and one opens there is the end of an object, or a text, in which no line may end. So there are
    as many records as values only if each value is one record."""
    ends = pa.array([0, len(values)], pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(ends, values), "\n")[0].as_buffer()


def _trimmed(values: pa.Array) -> pa.Array:
    """Without blanks around values."""
    ends, data = raw_bytes(values)
    some = np.flatnonzero(np.diff(ends))
    if not np.isin(data[np.concatenate((ends[some], ends[some + 1] - 1))], _BLANKS).any():
        return values
    return pc.ascii_trim(values.cast(pa.string(), safe=False), _SPACE).cast(pa.binary())


def _plain(values: pa.Array) -> Flags:
    """Which values may be given to Arrow: they look like objects (of a null that comes first it dies), and have nothing
    in them that it takes and Spark does not."""
    ends, data = raw_bytes(values)
    size = np.diff(ends)
    plain = size > 1
    plain[plain] = (data[ends[:-1][plain]] == _OPENING) & (data[ends[1:][plain] - 1] == _CLOSING)
    if _holds(data, b"NaN") or _holds(data, b"Inf"):
        _rule_out(plain, values, plain, lambda few: pc.match_substring_regex(few, _NO_NUMBER))
    _rule_out(plain, values, size > LONG, _too_much)
    return plain


def _rule_out(plain: Flags, values: pa.Array, doubtful: Flags, wrong: Callable[[pa.Array], pa.Array]) -> None:
    places = np.flatnonzero(plain & doubtful)
    if len(places):
        plain[places] = ~np.asarray(wrong(values.take(pa.array(places))))


def _too_much(values: pa.Array) -> pa.Array:
    """Which values may be beyond what Spark's parser allows for depth, names and digits."""
    nested = pc.add(pc.count_substring(values, "{"), pc.count_substring(values, "["))
    doubts = pc.greater(nested, NESTED), pc.greater(pc.binary_length(values), LONGEST)
    return pc.or_(pc.or_(*doubts), pc.match_substring_regex(values, _LONG_NUMBER))


def _holds(data: np.ndarray, word: bytes) -> bool:
    places = np.flatnonzero(data[: len(data) + 1 - len(word)] == word[0])
    for place, letter in enumerate(word):
        places = places[data[places + place] == letter]
    return bool(len(places))
