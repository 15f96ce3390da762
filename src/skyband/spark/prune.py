"""Stage 1: base columns in, scores by NumPy, what can never be reported dropped, packed rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Ints
from skyband.planner import PlannedFamily
from skyband.runtime.board_intake import BoardIntake, Intake
from skyband.runtime.hashing import hash_rows
from skyband.runtime.intake import FamilyIntake, Rejected, StreamIntake, group_text
from skyband.runtime.object_intake import ObjectIntake
from skyband.runtime.packed import AT, GROUP, HASH, KEY, RULE, SCORE, P, feed_order, floats, ints
from skyband.runtime.prune import prune, prune_worlds
from skyband.runtime.state import table_bytes
from skyband.spark.clock import SHIFT
from skyband.spark.keys import BUCKETS, state_key
from skyband.spark.lateness import KEY as LATE, Lateness
from skyband.spark.prune_board import PruneBoard
from skyband.spark.spread import by_object, is_spread

PENDING = 500_000
"""Packed rows of a partition that gather before they are pruned together once more."""
PACKED = pa.schema(
    {
        "family": pa.string(),
        "rows": pa.binary(),
        "chunk": pa.int64(),
        "size": pa.int64(),
        "unranked": pa.int64(),
        "bad": pa.int64(),
        "clock": pa.timestamp("us", "UTC"),
    }
)
PACKED_DDL = "family STRING, rows BINARY, chunk BIGINT, size BIGINT, unranked BIGINT, bad BIGINT, clock TIMESTAMP"
PIECE_BYTES = 16_000_000
"""Packed rows that cross in one row of Spark's; more make several."""
CHUNK = "#chunk"
_bad: dict[str, Counter[str]] = {}
"""Bad records that this worker has met, by stream: only the first few of each reason are logged."""


@dataclass
class Prune:
    """What `mapInArrow` calls on every partition. Compiled once per worker, from what can be sent there."""

    stream: StreamIntake
    families: Sequence[Intake]
    lateness: Lateness | None = None
    """For a stream; a batch has no late records."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranged = [intake for intake in self.families if intake.planned.family.kind == "range"]
        in_rows = [intake for intake in self.families if intake.planned.family.kind == "rows"]
        boards = {
            each.planned.family.fingerprint: PruneBoard(each) for each in self.families if isinstance(each, BoardIntake)
        }
        whole: list[pa.Table] = []
        pending: dict[str, list[pa.Table]] = {intake.planned.family.fingerprint: [] for intake in ranged}
        counts = _Counts()
        times: list[pa.Table] = []
        chunk = 0
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if CHUNK in table.column_names:
                chunk = table.column(CHUNK)[0].as_py() if len(table) else chunk
            table, at = self._clean(table, counts)
            counts.take(at)
            if self.lateness is not None and (seen := self.lateness.seen(at)) is not None:
                times.append(seen)
            for intake in ranged:
                known = intake.planned.family.fingerprint
                if isinstance(intake, BoardIntake):
                    counts.unranked += boards[known].add(table, at)
                else:
                    self._add(intake, table, at, pending[known], counts)
            if in_rows:
                whole.append(table)
        for intake in ranged:
            known = intake.planned.family.fingerprint
            if isinstance(intake, BoardIntake):
                for key, rows in boards[known].parts():
                    yield from rows_of(key, rows)
            else:
                yield from self._packed(intake, pending[known])
        if whole:
            yield from self._positions(in_rows, boards, pa.concat_tables(whole), chunk, counts)
        yield counts.row(pa.concat_tables(times) if times else None)

    def _clean(self, table: pa.Table, counts: _Counts) -> tuple[pa.Table, Ints]:
        self.stream.bad = _bad.setdefault(self.stream.stream.name, self.stream.bad)
        before = self.stream.bad.total()
        clean, at = self.stream.clean(table.cast(_same_zone(table.schema)))
        counts.bad += self.stream.bad.total() - before
        return clean, at

    def _reject(self, rejected: Rejected, counts: _Counts) -> None:
        """Records that are bad to one family alone."""
        for reason, records in rejected:
            self.stream.reject(reason, records)
            counts.bad += len(records)

    def _add(
        self, intake: FamilyIntake | ObjectIntake, table: pa.Table, at: Ints, into: list[pa.Table], counts: _Counts
    ) -> None:
        per = intake.planned.family.per
        packed = intake.pack(table, at, group_text(table, per) if per else None, int(NEVER))
        counts.unranked += packed.unranked * len(intake.planned.family.queries)
        self._reject(packed.rejected, counts)
        if len(packed.rows):
            into.append(packed.rows)
        if isinstance(intake, FamilyIntake) and not per and sum(map(len, into)) > PENDING:
            into[:] = [pruned(intake.planned, pa.concat_tables(into))]

    def _packed(self, intake: FamilyIntake | ObjectIntake, parts: list[pa.Table]) -> Iterator[pa.RecordBatch]:
        if not parts:
            return
        rows = pa.concat_tables(parts)
        if isinstance(intake, FamilyIntake) and not intake.planned.family.per:
            rows = pruned(intake.planned, rows)
        for bucket, part in by_bucket(intake.planned, rows):
            if len(part):
                yield from rows_of(state_key(intake.planned, bucket), part)

    def _positions(
        self,
        intakes: list[Intake],
        boards: dict[str, PruneBoard],
        table: pa.Table,
        chunk: int,
        counts: _Counts,
    ) -> Iterator[pa.RecordBatch]:
        """ROWS: this partition is a stretch of the stream; number it from 0, the next stage knows what came before."""
        _, at = self.stream.clean(table)
        table = table.take(pa.array(self._in_order(table, at)))
        place = np.arange(len(table))
        for intake in intakes:
            if isinstance(intake, BoardIntake):
                board = boards[intake.planned.family.fingerprint]
                unranked, size, parts = board.positions(table)
                counts.unranked += unranked
                for key, rows in parts:
                    yield from rows_of(key, rows, chunk, size)
                continue
            if intake.planned.family.per:
                yield from self._unnumbered(intake, table, chunk, counts)
                continue
            packed = intake.pack(table, place, None, int(NEVER), aligned=False)
            counts.unranked += packed.unranked * len(intake.planned.family.queries)
            self._reject(packed.rejected, counts)
            # Every bucket, also one without a row here, has to count the records of the stream.
            for bucket, part in by_bucket(intake.planned, packed.rows):
                yield from rows_of(state_key(intake.planned, bucket), part, chunk, len(table))

    def _in_order(self, table: pa.Table, at: Ints) -> Ints:
        """Stream order: by time, then key, then hash."""
        ranked = {AT: pa.array(at), SCORE: pa.array(np.zeros(len(at))), HASH: pa.array(hash_rows(table))}
        if self.stream.stream.key is not None:
            ranked[KEY] = table.column(self.stream.stream.key)
        return _stream_order(pa.table(ranked))

    def _unnumbered(
        self, intake: FamilyIntake | ObjectIntake, table: pa.Table, chunk: int, counts: _Counts
    ) -> Iterator[pa.RecordBatch]:
        """ROWS with PER: every record counts in its group, so all go on; those that do not qualify without a score."""
        group = group_text(table, intake.planned.family.per)
        rows, unranked, rejected = intake.pack_all(table, np.arange(len(table)), group)
        counts.unranked += unranked * len(intake.planned.family.queries)
        self._reject(rejected, counts)
        for bucket, part in by_bucket(intake.planned, rows):
            yield from rows_of(state_key(intake.planned, bucket), part, chunk, len(part))


def pruned(planned: PlannedFamily, rows: pa.Table) -> pa.Table:
    """What may be needed of packed rows of one group."""
    at, score = ints(rows, AT), floats(rows, SCORE)
    if planned.family.error is not None:
        return rows
    if planned.family.uncertain:
        p, rule = floats(rows, P), ints(rows, RULE)
        kept = prune_worlds(planned.meta, at, score, p, rule, fixed=planned.family.fixed)
    else:
        kept = prune(planned.meta, at, score)
    return rows.take(pa.array(kept))


def by_bucket(planned: PlannedFamily, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Rows by the bucket of their group or object; without PER and OBJECT there is one."""
    if is_spread(planned.family):
        yield from by_object(rows)
        return
    if GROUP not in rows.column_names:
        yield 0, rows
        return
    bucket = hash_rows(rows.select([GROUP])) % BUCKETS
    for number in np.unique(bucket).tolist():
        yield number, rows.filter(pa.array(bucket == number))


def rows_of(key: str, rows: pa.Table, chunk: int = 0, size: int = 0) -> Iterator[pa.RecordBatch]:
    """Packed rows for a key of the state, none of them too large for the JVM. The last says the size of the chunk."""
    each = max(len(rows) // max(-(-rows.nbytes // PIECE_BYTES), 1), 1)
    for first in range(0, max(len(rows), 1), each):
        yield _row(key, rows.slice(first, each), chunk, size if first + each >= len(rows) else 0)


def _row(key: str, rows: pa.Table | None, *numbers: int | None) -> pa.RecordBatch:
    data = table_bytes(None if rows is None else rows.combine_chunks())
    values = [key, data, *numbers, *[None] * (len(PACKED) - 2 - len(numbers))]
    columns = [pa.array([value], kind) for value, kind in zip(values, PACKED.types, strict=True)]
    return pa.record_batch(columns, schema=PACKED)


@dataclass
class _Counts:
    """What a partition saw and lost."""

    unranked: int = 0
    bad: int = 0
    records: int = 0
    newest: int = int(NEVER)

    def take(self, at: Ints) -> None:
        """Records that were let in."""
        self.records += len(at)
        self.newest = max([self.newest, *at.max(keepdims=True, initial=NEVER).tolist()])

    def row(self, times: pa.Table | None) -> pa.RecordBatch:
        """For `observe()`, for the watermark, and for whoever counts what came late."""
        clock = None if self.newest == NEVER else self.newest + SHIFT
        return _row(LATE, times, 0, self.records, self.unranked, self.bad, clock)


def _same_zone(schema: pa.Schema) -> pa.Schema:
    """Instants in UTC: Spark names the session's zone, which means nothing here."""
    fields = []
    for each in schema:
        zoned = pa.types.is_timestamp(each.type) and each.type.tz
        fields.append(each.with_type(pa.timestamp(each.type.unit, "UTC")) if zoned else each)
    return pa.schema(fields)


def _stream_order(rows: pa.Table) -> Ints:
    """Feed order puts the larger key first among equals in time; positions count the smaller first."""
    order = feed_order(rows)
    at = ints(rows, AT)[order]
    # Equal times stand together: turn each such run round.
    run = np.cumsum(np.append(True, at[1:] != at[:-1])) if len(at) else at
    return order[np.lexsort((-np.arange(len(at)), run))]
