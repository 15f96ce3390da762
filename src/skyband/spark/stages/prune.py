"""Stage 1: base columns in, scores by NumPy, what can never be reported dropped, encoded rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from skyband.engines.codec import one_value, table_buffer
from skyband.model import NEVER, Ints
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.runtime.clock import FOREVER
from skyband.runtime.columns import group_text
from skyband.runtime.data_models.registry import DataModel, data_model
from skyband.runtime.encoded import AT, HASH, KEY, SCORE, TIME, feed_order, ints, joined
from skyband.runtime.encoder import Encoded, Encoder, Take
from skyband.runtime.fates import BAD
from skyband.runtime.hashing import hash_rows
from skyband.runtime.lateness import Lateness
from skyband.runtime.lookups import joined_schema
from skyband.runtime.reader import StreamReader
from skyband.runtime.time_ranges import WHOLE, TimeRanges
from skyband.spark.event_time import NOW, SHIFT
from skyband.spark.stages.rising_bounds import Hopeless, RisingBounds, hopeless
from skyband.spark.stages.stream_fates import FUTURE, counted_once, fates_in, times_of
from skyband.spark.stages.twins import without_twins
from skyband.spark.state.keys import LATE, range_key, state_key
from skyband.spark.worker import settled

ENCODED = pa.schema(
    {
        "state_key": pa.string(),
        "rows": pa.binary(),
        "slice": pa.int64(),
        "size": pa.int64(),
        "unranked": pa.int64(),
        "bad": pa.int64(),
        "future": pa.int64(),
        "records": pa.int64(),
        "oldest": pa.int64(),
        "clock": pa.timestamp("us", "UTC"),
    }
)
ENCODED_DDL = "state_key STRING, rows BINARY, slice BIGINT, size BIGINT, unranked BIGINT, bad BIGINT, future BIGINT, "
ENCODED_DDL += "records BIGINT, oldest BIGINT, clock TIMESTAMP"
PIECE_BYTES = 16_000_000
"""Encoded rows that cross in one row of Spark's; more make several."""
SLICE = "#slice"
PLACE = "#place"
"""Where a record stands among those that its piece was made of."""
_bad: dict[str, Counter[str]] = {}
"""Bad records that this worker has met, by stream: only the first few of each reason are logged."""
_future: dict[str, Counter[str]] = {}
"""The same of records with a time out of bounds."""


@dataclass(frozen=True)
class Bound:
    """A family with its expressions compiled for the columns."""

    model: DataModel
    encoder: Encoder
    ranges: TimeRanges = WHOLE
    """Of its reports, in a batch."""
    ends: bool = False
    """Every key is told of the newest record: of a batch whose windows have no start. A key sees its own rows only, and
    reports go on as long as there are records of any."""
    expires: bool = False
    """Every key is told of all records: of a stream whose groups expire, and then begin anew where the stream is."""

    @staticmethod
    def of(planned: PlannedFamily, schema: pa.Schema) -> Bound:
        model = data_model(planned)
        return Bound(model, model.encoder(joined_schema(schema, planned.family.join)))

    def in_stream(self) -> Bound:
        """The same in a stream."""
        family = self.model.planned.family
        return replace(self, expires=family.kind == "rows" and bool(family.per) and family.stream.expire is not None)

    def in_batch(self, ranges: TimeRanges) -> Bound:
        """The same in a batch, where reports are cut so."""
        return replace(self, ranges=ranges, ends=self.model.meta.unbounded)

    def sent(self, parts: Iterable[tuple[int, pa.Table]], newest: int) -> Iterator[pa.RecordBatch]:
        """What a task sends on of the rows of buckets: RANGE. `newest` is the time of the newest record it saw."""
        planned, longest = self.model.planned, self.model.meta.longest
        for bucket, rows in parts:
            for number, mine in self.ranges.split(rows, longest):
                if len(mine):
                    yield from encoded_rows(range_key(planned, bucket, self.ranges, number), mine)
        if self.ends and newest != NEVER:
            for bucket in self.model.partitioning.buckets(planned):
                yield _row(state_key(planned, bucket), None, 0, 0, None, None, None, None, None, newest + SHIFT)


@dataclass(frozen=True)
class Piece:
    """Records that are looked at together, and who reads them."""

    reader: StreamReader
    table: pa.Table
    whole: Take | None = None
    """By place in the table: all columns, where the table has but those that tell which records are needed."""
    aside: pa.RecordBatch | None = None
    """What came with them and goes on as it is."""
    refused: Sequence[tuple[str, pa.Table]] = ()
    """What came with them and is no record: why, and what is shown of it."""

    @property
    def came(self) -> int:
        return len(self.table) + sum(len(values) for _, values in self.refused)

    def clean(self, now: int) -> tuple[Piece, Times]:
        """Without records that are bad or of the future; and the times of the others."""
        for reason, values in self.refused:
            self.reader.reject(reason, values)
        clean = self.reader.clean(self.table, now)
        return replace(self, table=clean.table, whole=self._of_clean(clean.table)), clean.times

    def _of_clean(self, table: pa.Table) -> Take | None:
        whole, before = self.whole, len(self.table)
        if whole is None or len(table) == before:
            return whole
        place = ints(table, PLACE)
        return lambda chosen: whole(place[chosen])


@dataclass
class Prune:
    """What `mapInArrow` calls on every partition. Compiled once per worker, from what can be sent there."""

    reader: StreamReader
    families: Sequence[Bound]
    lateness: Lateness | None = None
    """For a stream; a batch has no late records."""
    now: int | None = None
    """What the clock says, once a task was told."""
    called: frozenset[str] = frozenset()
    """State keys that are called though no record is theirs any more: who is not called keeps what it has."""

    @property
    def columns(self) -> frozenset[str]:
        """What tells which records are needed."""
        return self.reader.columns.union(*(each.encoder.columns for each in self.families))

    @property
    def counts_rows(self) -> bool:
        """Whether positions in the stream matter."""
        return any(each.model.planned.family.kind == "rows" for each in self.families)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = (Piece(self.reader, in_utc(pa.Table.from_batches([batch]))) for batch in self.told(batches))
        return settled(self.pruned(lambda _: pieces))

    def told(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What a task is sent, without what the clock says, which is noted."""
        for batch in batches:
            if NOW in batch.schema.names:
                self.now = batch.column(NOW)[0].as_py() if len(batch) else self.now
                batch = batch.drop_columns([NOW])
            yield batch

    def pruned(self, pieces: Callable[[Hopeless], Iterable[Piece]]) -> Iterator[pa.RecordBatch]:
        """The encoded rows of a partition, and what was counted. Who makes the pieces is told which records are
        hopeless by what was seen before."""
        self.reader.bad = _bad.setdefault(self.reader.stream.name, self.reader.bad)
        self.reader.future = _future.setdefault(self.reader.stream.name, self.reader.future)
        ranged = [(each, _Gathered(each.model)) for each in self.families if each.model.planned.family.kind == "range"]
        counted = [each for each in self.families if each.model.planned.family.kind == "rows"]
        whole: list[pa.Table] = []
        counts = _Counts()
        number = 0
        bounds = [RisingBounds(each.encoder.score_column(), gathered.rows) for each, gathered in ranged]
        for piece in pieces(partial(hopeless, bounds)):
            if piece.aside is not None:
                yield piece.aside
            if SLICE in piece.table.column_names:
                number = piece.table.column(SLICE)[0].as_py() if len(piece.table) else number
            piece, when = self._clean(piece, counts)
            at = when.at
            counts.take(at, self.reader.count(piece.table))
            if self.lateness is not None and (times := self.lateness.times(at)) is not None:
                counts.times.append(times_of(times))
            for each, gathered in ranged:
                gathered.add(self._encoded(each, piece, when, counts).rows)
            if counted:
                whole.append(piece.table)
        for each, gathered in ranged:
            yield from each.sent(gathered.parts(), counts.newest)
        if whole:
            table = self._in_order(pa.concat_tables(whole))
            for each in counted:
                yield from self._positions(each, table, number, counts)
        for key in sorted(self.called):
            yield _row(key, None, 0, 0)
        yield counts.row()

    def _clean(self, piece: Piece, counts: _Counts) -> tuple[Piece, Times]:
        counts.came += piece.came
        assert self.now is not None or not self.reader.stream.bounds.by_clock, "nobody said what time it is"
        bad, future = self.reader.bad.total(), self.reader.future.total()
        clean, times = piece.clean(self.now or 0)
        bad, future = self.reader.bad.total() - bad, self.reader.future.total() - future
        counts.bad, counts.future = counts.bad + bad, counts.future + future
        counts.times += [counted_once(count, fate) for count, fate in ((bad, BAD), (future, FUTURE)) if count]
        return clean, times

    def _encoded(self, each: Bound, piece: Piece, times: Times, counts: _Counts) -> Encoded:
        per, table = each.model.planned.family.per, piece.table
        group = group_text(table, per) if per else None
        with each.model.first_use("prune"):
            encoded = each.encoder.encode(table, times, group, int(NEVER), piece.whole)
        self._count(each, encoded, times.at, counts, piece.reader)
        return encoded

    def _count(self, each: Bound, encoded: Encoded, at: Ints, counts: _Counts, reader: StreamReader) -> None:
        counts.unranked += int(encoded.lost.unranked.sum())
        for reason, records in encoded.rejected:
            reader.reject(reason, records)
            counts.bad += len(records)
        if self.lateness is not None:
            counts.times += fates_in(encoded, at, each.model.planned, self.lateness)

    def _positions(self, each: Bound, table: pa.Table, number: int, counts: _Counts) -> Iterator[pa.RecordBatch]:
        """ROWS: this partition is a slice of the stream; number it from 0, the next stage knows what came before.

        With PER every record counts in its group, so all go on; those that do not qualify without a score. Without it
        every bucket, also one without a row here, has to count the records of the stream.
        """
        planned = each.model.planned
        if planned.family.per:
            group = group_text(table, planned.family.per)
            encoded = each.encoder.encode_all(table, np.arange(len(table)), group)
            self._count(each, encoded, np.arange(len(table)), counts, self.reader)
            if each.expires:
                yield from self._told_of_all(each, encoded.rows, self.reader.times(table), number)
                return
            for bucket, rows in each.model.partitioning.split(encoded.rows):
                yield from encoded_rows(state_key(planned, bucket), rows, number, len(rows))
            return
        place, size = self.reader.positions(table)
        encoded = self._encoded(each, Piece(self.reader, table), Times(place, aligned=False), counts)
        for bucket, rows in each.model.parts(encoded.rows, aligned=False):
            yield from encoded_rows(state_key(planned, bucket), rows, number, size)

    def _told_of_all(self, each: Bound, rows: pa.Table, at: Ints, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of each bucket with their times; and for all buckets, how many there are and the oldest."""
        planned, partitioning = each.model.planned, each.model.partitioning
        mine = dict(partitioning.split(rows.append_column(TIME, pa.array(at)))) if len(at) else {}
        oldest = int(at.min(initial=FOREVER))
        for bucket in partitioning.buckets(planned):
            key = state_key(planned, bucket)
            if bucket in mine:
                yield from encoded_rows(key, mine[bucket], number)
            yield _row(key, None, number, len(at), None, None, None, None, oldest)

    def _in_order(self, table: pa.Table) -> pa.Table:
        """Stream order: by time, then key, then hash."""
        at = self.reader.times(table)
        ranked = {
            AT: pa.array(at),
            SCORE: pa.array(np.zeros(len(at))),
            HASH: pa.array(hash_rows(table.select(self.reader.schema.names))),
        }
        if self.reader.stream.key is not None:
            ranked[KEY] = table.column(self.reader.stream.key)
        return table.take(pa.array(_stream_order(pa.table(ranked))))


class _Gathered:
    """Encoded rows of a partition, pruned together now and then: not before there are twice as many as were left the
    last time, or rows that no rule drops would be looked at again with every piece; four times where few were dropped,
    and then not once more at the end. Where many are left though some were dropped they are set aside: of PER with many
    keys every stretch of time leaves its share, and nobody looks at one again because of the next."""

    def __init__(self, model: DataModel) -> None:
        self._model = model
        self._tables: list[pa.Table] = []
        self._aside: list[pa.Table] = []
        self._room, self._pays = model.pending, True

    def add(self, rows: pa.Table) -> None:
        if len(rows):
            self._tables.append(rows)
        came = sum(map(len, self._tables))
        if came > self._room:
            rows = self._model.prune(joined(self._tables))
            left = len(rows)
            self._pays = 4 * left < 3 * came
            if self._pays and left > self._model.pending:
                self._aside.append(rows)
                self._tables, self._room = [], 2 * came
            else:
                self._tables, self._room = [rows], max(self._model.pending, (2 if self._pays else 4) * left)

    def rows(self) -> list[pa.Table]:
        """What may be needed of all that was seen so far."""
        return self._aside + self._tables

    def parts(self) -> Iterator[tuple[int, pa.Table]]:
        """All that is to be sent on, by bucket."""
        for rows in self._aside:
            yield from self._model.pruned_parts(rows)
        if self._tables:
            rows = joined(self._tables)
            yield from self._model.parts(rows) if self._pays else self._model.pruned_parts(rows)


def encoded_rows(key: str, rows: pa.Table, slice: int = 0, size: int = 0) -> Iterator[pa.RecordBatch]:
    """Rows for a state key, none of them too large for the JVM. The last says the size of the slice."""
    rows = without_twins(rows)
    each = max(len(rows) // max(-(-rows.nbytes // PIECE_BYTES), 1), 1)
    for first in range(0, max(len(rows), 1), each):
        yield _row(key, rows.slice(first, each), slice, size if first + each >= len(rows) else 0)


def _row(key: str, rows: pa.Table | None, *numbers: int | None) -> pa.RecordBatch:
    values = [key, b"", *numbers, *[None] * (len(ENCODED) - 2 - len(numbers))]
    columns = [pa.array([value], kind) for value, kind in zip(values, ENCODED.types, strict=True)]
    if rows is not None:
        columns[1] = one_value(table_buffer(rows))
    return pa.record_batch(columns, schema=ENCODED)


@dataclass
class _Counts:
    """What a partition saw and lost."""

    came: int = 0
    unranked: int = 0
    bad: int = 0
    future: int = 0
    records: int = 0
    newest: int = int(NEVER)
    times: list[pa.Table] = field(default_factory=list)

    def take(self, at: Ints, records: int) -> None:
        """Rows that were let in, so many of them records: a delete has no position."""
        self.records += records
        self.newest = max([self.newest, *at.max(keepdims=True, initial=NEVER).tolist()])

    def row(self) -> pa.RecordBatch:
        """For `observe()`, for the watermark, and for the count of what came late."""
        clock = None if self.newest == NEVER else self.newest + SHIFT
        times = pa.concat_tables(self.times) if self.times else None
        return _row(LATE, times, 0, self.records, self.unranked, self.bad, self.future, self.came, None, clock)


def in_utc(table: pa.Table) -> pa.Table:
    """Spark names the session's zone, which means nothing here."""
    fields = []
    for each in table.schema:
        zoned = pa.types.is_timestamp(each.type) and each.type.tz
        fields.append(each.with_type(pa.timestamp(each.type.unit, "UTC")) if zoned else each)
    return table.cast(pa.schema(fields))


def _stream_order(rows: pa.Table) -> Ints:
    """Feed order puts the larger key first among equals in time; positions count the smaller first."""
    order = feed_order(rows)
    at = ints(rows, AT)[order]
    # Equal times stand together: turn each such run round.
    run = np.cumsum(np.append(True, at[1:] != at[:-1])) if len(at) else at
    return order[np.lexsort((-np.arange(len(at)), run))]
