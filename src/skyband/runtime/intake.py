"""From a table of a stream to packed rows of a family: check, filter, score, drop what can never be reported."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language import Filter, Score, compile_filter, compile_score
from skyband.model import Flags, Floats, Ints, MetaQuery, Stream
from skyband.planner import Family, PlannedFamily
from skyband.runtime.hashing import hash_rows
from skyband.runtime.packed import AT, ERROR, GROUP, HASH, KEY, RULE, SCORE, SOURCE, P
from skyband.runtime.prune import prune, prune_groups, prune_worlds
from skyband.runtime.rules import numbered

LONGEST = 2**61
SHOWN = 3
INSERT, DELETE, UPDATE = range(3)
OPS = {"i": INSERT, "insert": INSERT, "+": INSERT, "c": INSERT, "create": INSERT, "r": INSERT}
OPS |= {"d": DELETE, "delete": DELETE, "-": DELETE, "u": UPDATE, "update": UPDATE}
"""What an OP column may say, in any letter case: also the letters of change-data capture."""
T = TypeVar("T")
log = logging.getLogger("skyband")


def column_field(schema: pa.Schema, name: str, where: str) -> pa.Field:
    """The column called `name`; an unknown one is refused with the nearest there is."""
    if name in schema.names:
        return schema.field(name)
    near = get_close_matches(name, schema.names, 1)
    raise SkybandError(
        f"{where}: there is no column {name!r}",
        expected="one of " + ", ".join(schema.names),
        hint=f"did you mean {near[0]!r}?" if near else None,
    )


class StreamIntake:
    """Checks tables against the stream, takes the time out, counts bad records."""

    def __init__(self, stream: Stream, schema: pa.Schema) -> None:
        self.stream = stream
        self.schema = schema
        self.bad: Counter[str] = Counter()
        time = column_field(schema, stream.time, f"stream {stream.name}, TIME")
        if not (pa.types.is_timestamp(time.type) or pa.types.is_date(time.type)):
            raise SkybandError(
                f"stream {stream.name}: the time column {stream.time!r} is of type {time.type}",
                expected="a timestamp",
                hint="a number says not whether it counts seconds or microseconds: cast it to timestamp first",
            )
        if stream.key is not None:
            column_field(schema, stream.key, f"stream {stream.name}, KEY")
        if stream.probability is not None:
            _numeric(column_field(schema, stream.probability, f"stream {stream.name}, PROBABILITY"), stream)
        for word, name in (("RULE", stream.rule), ("SOURCE", stream.source)):
            if name is not None:
                column_field(schema, name, f"stream {stream.name}, {word}")
        if stream.op is not None:
            op = column_field(schema, stream.op, f"stream {stream.name}, OP")
            if not (pa.types.is_string(op.type) or pa.types.is_large_string(op.type)):
                raise SkybandError(
                    f"stream {stream.name}: {stream.op!r}, which tells inserts from deletes, is of type {op.type}",
                    expected="text: " + ", ".join(sorted(OPS)),
                )

    @property
    def zone(self) -> str | None:
        """UTC where the stream's times are instants; None where they are taken as they stand."""
        kind = self.schema.field(self.stream.time).type
        return "UTC" if pa.types.is_timestamp(kind) and kind.tz else None

    def clean(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        """The good records and their times in microseconds."""
        table = self._checked(table)
        column = table.column(self.stream.time)
        missing = np.asarray(column.is_null())
        at, far = _microseconds(column)
        table = self._without(table, missing, "null time")
        far, at = far[~missing], at[~missing]
        table, at = self._likely(self._without(table, far, "time out of range"), at[~far])
        if self.stream.op is None:
            return table, at
        wrong = operations(table, self.stream.op) < 0
        return self._without(table, wrong, "unknown operation"), at[~wrong]

    def _likely(self, table: pa.Table, at: Ints) -> tuple[pa.Table, Ints]:
        """Of an uncertain stream: the records with a probability in (0, 1]."""
        if self.stream.probability is None:
            return table, at
        p = probabilities(table, self.stream)
        wrong = ~((p > 0) & (p <= 1))
        return self._without(table, wrong, "probability outside (0, 1]"), at[~wrong]

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

    def _without(self, table: pa.Table, wrong: Flags, reason: str) -> pa.Table:
        if not wrong.any():
            return table
        self.reject(reason, table.filter(pa.array(wrong)))
        return table.filter(pa.array(~wrong))

    def reject(self, reason: str, rejected: pa.Table) -> None:
        """Count bad records; the first few of each reason are shown."""
        for row in _readable(rejected.slice(0, max(0, SHOWN - self.bad[reason]))):
            log.warning("stream %s: %s, record left out: %s", self.stream.name, reason, row)
        self.bad[reason] += len(rejected)


def _numeric(field: pa.Field, stream: Stream) -> None:
    kind = field.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise SkybandError(
            f"stream {stream.name}: the probability column {field.name!r} is of type {kind}", expected="a number"
        )


def probabilities(table: pa.Table, stream: Stream) -> Floats:
    """Membership probabilities; NaN where there is none. All are 1 where the stream knows none."""
    if stream.probability is None:
        return np.ones(len(table))
    column = pc.fill_null(table.column(stream.probability).cast(pa.float64()), float("nan"))
    return np.array(column.to_numpy(), np.float64)


def _readable(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values; times as text, for Python's end at the year 9999."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.string()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _microseconds(column: pa.ChunkedArray) -> tuple[Ints, Flags]:
    """Times, rounded down, and which are too far away to be windowed; null counts as zero."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s") if pa.types.is_date32(kind) else pa.timestamp("ms"))
        kind = column.type
    number = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[kind.unit]
    if kind.unit == "ns":
        number = number // 1_000
    most = LONGEST // scale
    far = (number > most) | (number < -most)
    return np.where(far, 0, number) * scale, far


def operations(table: pa.Table, op: str) -> Ints:
    """For every row one of INSERT, DELETE and UPDATE; -1 where the text says something else. NULL is an insert."""
    coded = pa.chunked_array([table.column(op).combine_chunks()]).combine_chunks().dictionary_encode()
    words = [OPS.get(str(word).strip().lower(), -1) for word in coded.dictionary.to_pylist()]
    place = np.asarray(pc.fill_null(coded.indices, len(words)))
    meant: Ints = np.array([*words, INSERT], np.int64)[place]
    return meant


Rejected = Sequence[tuple[str, pa.Table]]
"""Bad records by reason."""


class Packed(NamedTuple):
    """Rows for a family; how many records had no score; by query how many were late, and dropped as too late; and those
    that are bad to this family alone."""

    rows: pa.Table
    unranked: int
    late: Ints
    dropped: Ints
    rejected: Rejected = ()


def family_filter(family: Family, schema: pa.Schema) -> Filter | None:
    """Its WHERE, compiled."""
    first = family.queries[0]
    if not (where := first.where):
        return None
    return of_query(first.name, lambda: compile_filter(where, schema, stream=family.stream.name))


def shown_columns(family: Family, schema: pa.Schema) -> tuple[str, ...]:
    """What its queries select; a column that is not there is refused."""
    for query in family.queries:
        for name in query.select:
            if name != "*":
                column_field(schema, name, f"query {query.name}, SELECT")
    return tuple(schema.names) if "*" in family.selected else family.selected


@dataclass(frozen=True)
class FamilyIntake:
    """A family's expressions compiled for a stream's columns."""

    planned: PlannedFamily
    score: Score
    filter: Filter | None
    names: tuple[str, ...]
    error: Score | None = None

    @staticmethod
    def bind(planned: PlannedFamily, schema: pa.Schema) -> FamilyIntake:
        """Compile; what does not fit the columns is refused, naming the query."""
        family = planned.family
        first = family.queries[0]
        score = of_query(first.name, lambda: compile_score(first.by, schema, stream=family.stream.name))
        kept, names = family_filter(family, schema), shown_columns(family, schema)
        for name in family.per:
            groupable(column_field(schema, name, f"query {first.name}, PER"), first.name, "PER")
        error, name = first.error, family.stream.name
        spread = of_query(first.name, lambda: compile_score(error, schema, stream=name)) if error else None
        return FamilyIntake(planned, score, kept, names, spread)

    def pack(self, table: pa.Table, at: Ints, group: pa.Array | None, watermark: int, aligned: bool = True) -> Packed:
        """Packed rows of the records that qualify and may be needed; `aligned` as for `prune`."""
        meta = self.planned.meta
        keep, score, unranked = self._qualified(table)
        chosen = np.flatnonzero(keep)
        late, dropped = late_by_query(meta, at[chosen], watermark)
        if self.error is not None:
            # A score that may be anything within its error is outranked by none for sure.
            pass
        elif group is None and self.planned.family.uncertain:
            few, stream = table.take(pa.array(chosen)), self.planned.family.stream
            p, rule = probabilities(few, stream), numbered(few, stream.rule)
            fixed = self.planned.family.fixed
            chosen = chosen[prune_worlds(meta, at[chosen], score[chosen], p, rule, aligned, fixed)]
        elif group is None:
            # What arrived together may be pruned together: the same windows are open for all of it.
            chosen = chosen[prune(meta, at[chosen], score[chosen], aligned)]
        elif not self.planned.family.uncertain:
            number = np.asarray(group.dictionary_encode().indices)[chosen].astype(np.int64)
            chosen = chosen[prune_groups(meta, number, at[chosen], score[chosen])]
        return Packed(self._rows(table, at, score, group, chosen), unranked, late, dropped)

    def pack_all(self, table: pa.Table, at: Ints, group: pa.Array | None) -> tuple[pa.Table, int, Rejected]:
        """Packed rows of all records: one that does not qualify has NaN for a score, but still has to be counted."""
        keep, score, unranked = self._qualified(table)
        return self._rows(table, at, np.where(keep, score, np.nan), group, np.arange(len(table))), unranked, []

    def _rows(self, table: pa.Table, at: Ints, score: Floats, group: pa.Array | None, chosen: Ints) -> pa.Table:
        rows = table.take(pa.array(chosen))
        packed = {AT: pa.array(at[chosen]), SCORE: pa.array(score[chosen]), HASH: pa.array(hash_rows(rows))}
        if self.planned.family.stream.key is not None:
            packed[KEY] = rows.column(self.planned.family.stream.key)
        if self.planned.family.uncertain:
            stream = self.planned.family.stream
            packed[P] = pa.array(probabilities(rows, stream))
            packed[RULE] = pa.array(numbered(rows, stream.rule))
            packed[SOURCE] = pa.array(numbered(rows, stream.source))
        if self.error is not None:
            packed[ERROR] = pa.array(self._spread(rows, score[chosen]))
        if group is not None:
            packed[GROUP] = group.take(pa.array(chosen))
        return pa.table(packed | {name: rows.column(name) for name in self.names})

    def _spread(self, table: pa.Table, score: Floats) -> Floats:
        """Standard errors: 0 where there is none, or the score is infinite; NaN where one is negative or infinite."""
        assert self.error is not None
        found = np.nan_to_num(self.error.evaluate(table), nan=0.0, posinf=np.inf, neginf=-np.inf)
        found = np.where(np.isinf(score), 0.0, found)
        return np.where((found >= 0) & (found < np.inf), found, np.nan) + 0.0

    def _qualified(self, table: pa.Table) -> tuple[Flags, np.ndarray, int]:
        """Which records qualify, ranking scores (higher first), and the number of records without a score."""
        score = self.score.evaluate(table)
        keep = np.ones(len(table), bool) if self.filter is None else self.filter.evaluate(table)
        missing = np.isnan(score)
        if self.error is not None:
            missing |= ~(self._spread(table, score) < np.inf)
        unranked = int((keep & missing).sum())
        keep = keep & ~missing
        family = self.planned.family
        if family.thresholds:
            keep &= score > family.lowest_threshold
        # Adding zero makes -0 the same as 0, also in the bits.
        return keep, (-score if family.ascending else score) + 0.0, unranked


def late_by_query(meta: MetaQuery, at: Ints, watermark: int) -> tuple[Ints, Ints]:
    """By query: a record is late if some window of it was reported by the watermark, dropped if all were."""
    first, last = meta.window_ends(at[at < watermark])
    if len(meta.query) and len(meta.query) != meta.query[-1] + 1:
        # Several beats make up a query's reports.
        begin = np.searchsorted(meta.query, np.arange(meta.query[-1] + 1))
        first, last = np.minimum.reduceat(first, begin), np.maximum.reduceat(last, begin)
    return (first <= watermark).sum(axis=1), (last <= watermark).sum(axis=1)


def of_query(name: str, build: Callable[[], T]) -> T:
    """What `build` makes; what it refuses is said of the query."""
    try:
        return build()
    except SkybandError as error:
        error.message = f"query {name}: {error.message}"
        raise


def groupable(field: pa.Field, query: str, word: str) -> None:
    """Refuse columns whose values name nothing."""
    kind = field.type
    if pa.types.is_floating(kind) or pa.types.is_nested(kind) or pa.types.is_null(kind):
        raise SkybandError(
            f"query {query}: {word} {field.name}, which is of type {kind}",
            expected="whole numbers, text, booleans, decimals, dates or times",
        )


def group_text(table: pa.Table, per: tuple[str, ...]) -> pa.Array:
    """One text per row: values joined by `|`, NULL as `\\N`, backslashes and bars in values escaped."""
    parts = [_escaped(table.column(name)) for name in per]
    joined = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "|")
    joined = joined.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), "|", "\\|")
    return pc.fill_null(text, "\\N")
