"""The tables of a stream: checked against it, the time taken out, bad records and those of the future counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language import WrittenColumn, written_columns
from skyband.model import NEVER, Flags, Ints, Stream
from skyband.model.plain import plain_ints
from skyband.model.readable import shown_rows
from skyband.model.times import Times
from skyband.runtime.clock import FOREVER
from skyband.runtime.columns import column_field
from skyband.runtime.data_models.marks import marks_of, record_positions
from skyband.runtime.lookups import extended, lookups
from skyband.runtime.written_schema import read_schema

SHOWN = 3
log = logging.getLogger("skyband")


class Clean(NamedTuple):
    """Good records, their times in microseconds, and the first and the last of these: there is none if the first is
    behind the last."""

    table: pa.Table
    times: Times
    oldest: int
    newest: int


class StreamReader:
    """Checks tables against the stream, takes the time out, counts bad records and those of the future."""

    def __init__(self, stream: Stream, schema: pa.Schema) -> None:
        self.stream = stream
        self._written = written_columns(stream.columns)
        read = read_schema(stream, schema)
        self.unread = frozenset(each.name for each, came in zip(read, schema, strict=True) if each.type != came.type)
        """Columns that come as numbers or text, and have to be made times of."""
        self.schema = schema = read
        self.joined = extended(stream, schema)
        """With the columns that are looked up."""
        self._lookups = lookups(stream)
        self.bad: Counter[str] = Counter()
        self.future: Counter[str] = Counter()
        """Those with a time out of bounds, by what the bound is."""
        time = column_field(schema, stream.time, f"stream {stream.name}, TIME")
        if not (pa.types.is_timestamp(time.type) or pa.types.is_date(time.type)):
            raise SkybandError(
                f"stream {stream.name}: the time column {stream.time!r} is of type {time.type}",
                expected="a timestamp",
                hint=f"declare how it is written: CREATE STREAM {stream.name} ({stream.time} TIMESTAMP FROM UNIX_MILLIS"
                ", ...), or FORMAT 'yyyy-MM-dd HH:mm:ss'",
            )
        if stream.key is not None:
            column_field(schema, stream.key, f"stream {stream.name}, KEY")
        self._marks = marks_of(stream, schema)
        self._shown: Callable[[pa.Table], pa.Table] = _as_it_is

    @property
    def zone(self) -> str | None:
        """UTC where the stream's times are instants; None where they are taken as they stand."""
        kind = self.schema.field(self.stream.time).type
        return "UTC" if pa.types.is_timestamp(kind) and kind.tz else None

    @property
    def columns(self) -> frozenset[str]:
        """What `clean` looks at."""
        stream = self.stream
        marks = (stream.probability, stream.rule, stream.source, stream.op)
        keys = [name for used in stream.tables for name in used.table.key]
        return frozenset(name for name in (stream.time, *marks, *self._written, *keys) if name is not None)

    @property
    def looks_up(self) -> bool:
        """Whether records get columns that no source has."""
        return bool(self._lookups)

    @property
    def written_time(self) -> WrittenColumn | None:
        """How the time is written, where that is said."""
        return self._written.get(self.stream.time)

    def narrowed(self, schema: pa.Schema, shown: Callable[[pa.Table], pa.Table]) -> StreamReader:
        """For tables with these columns, among them all that `clean` looks at. Counts on where this one does; `shown`
        makes whole records of those that are logged."""
        found = copy(self)
        found.schema, found._shown = read_schema(self.stream, schema), shown
        return found

    def without_tables(self) -> StreamReader:
        """One that says what the columns are, and looks nothing up: it is sent to tasks that read no records."""
        found = copy(self)
        found._lookups = []
        return found

    def read(self, table: pa.Table) -> pa.Table:
        """Good records with times in place of what is written, and what is looked up."""
        return self._looked_up(self._times(table)[0])

    def in_time(self, values: pa.Array) -> pa.Array | None:
        """The times of some values of TIME, the first and the last among them; None where their order does not say
        which those are."""
        written = self.written_time
        if written is None or written.is_read(values.type):
            return values
        times, wrong = written.read(values)
        return None if wrong.any() or not written.written.rises(values.type) else times.combine_chunks()

    def clean(self, table: pa.Table, now: int) -> Clean:
        """The good records and their times. `now`: what the clock says, by which a time may be too far ahead."""
        if self._written:
            table = self._with_times(table)
        table = self._checked(table)
        column = table.column(self.stream.time)
        at, far, span = microseconds(column)
        came = len(at)
        if column.null_count:
            missing = np.asarray(column.is_null())
            table, at = self._without(table, missing, "null time"), at[~missing]
            far = None if far is None else far[~missing]
        if far is not None:
            table, at = self._without(table, far, "time out of range"), at[~far]
        for mark in self._marks:
            wrong = mark.wrong(table)
            table, at = self._without(table, wrong, mark.reason), at[~wrong]
        if len(at) < came:
            span = _span(at)
        first, last = self.stream.bounds.limits(now)
        if span.oldest < first or span.newest > last:
            wrong = (at < first) | (at > last)
            table, at = self._without(table, wrong, self.stream.bounds.broken, self.future), at[~wrong]
            span = _span(at)
        return Clean(self._looked_up(table), Times(at, known_to_rise=span.rises), span.oldest, span.newest)

    def times(self, table: pa.Table) -> Ints:
        """Of clean records."""
        return microseconds(table.column(self.stream.time))[0]

    def positions(self, table: pa.Table) -> tuple[Ints, int]:
        """The positions of clean records, from 0 on, and how many have one."""
        return record_positions(self.stream, table)

    def count(self, table: pa.Table) -> int:
        """How many clean records have a position."""
        return len(table) if self.stream.op is None else self.positions(table)[1]

    def _looked_up(self, table: pa.Table) -> pa.Table:
        for each in self._lookups:
            table = each.beside(table)
        return table

    def _with_times(self, table: pa.Table) -> pa.Table:
        """What is no time makes a bad record."""
        found, wrong = self._times(table)
        if wrong is None or not wrong.any():
            return found
        mine = [name for name in table.column_names if name in self.schema.names]
        self.reject("unreadable time", table.select(mine).filter(pa.array(wrong)))
        return found.filter(pa.array(~wrong))

    def _times(self, table: pa.Table) -> tuple[pa.Table, Flags | None]:
        """Times in place of what is written, and in which records some is none; None if there is nothing to read."""
        wrong = None
        for number, field in enumerate(table.schema):
            written = self._written.get(field.name)
            if written is not None and not written.is_read(field.type):
                times, mine = written.read(table.column(number))
                table = table.set_column(number, field.name, times)
                wrong = mine if wrong is None else wrong | mine
        return table, wrong

    def _checked(self, table: pa.Table) -> pa.Table:
        for field in self.schema:
            found = column_field(table.schema, field.name, f"stream {self.stream.name}")
            if found.type != field.type:
                raise SkybandError(
                    f"stream {self.stream.name}: column {field.name!r} came as {found.type}",
                    expected=f"{field.type}, as before",
                    hint="cast the table to one schema before pushing it",
                )
        return table.select(self.schema.names)

    def _without(self, table: pa.Table, wrong: Flags, reason: str, counted: Counter[str] | None = None) -> pa.Table:
        if not wrong.any():
            return table
        self.reject(reason, table.filter(pa.array(wrong)), counted)
        return table.filter(pa.array(~wrong))

    def reject(self, reason: str, rejected: pa.Table, counted: Counter[str] | None = None) -> None:
        """Count records that are left out, as bad unless said otherwise; the first few of each reason are shown."""
        counted = self.bad if counted is None else counted
        few = rejected.slice(0, max(0, SHOWN - counted[reason]))
        for row in shown_rows(self._shown(few)) if len(few) else ():
            log.warning("stream %s: %s, record left out: %s", self.stream.name, reason, row)
        counted[reason] += len(rejected)


class _Span(NamedTuple):
    oldest: int
    newest: int
    rises: bool


def _span(at: Ints) -> _Span:
    """The first and the last. Times mostly come in order: one look instead of two."""
    if len(at) and Times(at).rise:
        return _Span(int(at[0]), int(at[-1]), True)
    return _Span(int(at.min(initial=FOREVER)), int(at.max(initial=NEVER)), False)


def _as_it_is(table: pa.Table) -> pa.Table:
    return table


def microseconds(column: pa.ChunkedArray) -> tuple[Ints, Flags | None, _Span]:
    """Times, rounded down; which are too far away to be windowed, None if none is; and the first and the last, if so.
    Null counts as zero."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s") if pa.types.is_date32(kind) else pa.timestamp("ms"))
        kind = column.type
    number = plain_ints(column)
    if number is None:
        number = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[kind.unit]
    if kind.unit == "ns":
        number = number // 1_000
    most = FOREVER // scale
    first, last, rises = _span(number)
    if not len(number) or (first >= -most and last <= most):
        return number if scale == 1 else number * scale, None, _Span(first * scale, last * scale, rises)
    far = (number > most) | (number < -most)
    return np.where(far, 0, number) * scale, far, _Span(int(FOREVER), int(NEVER), False)
