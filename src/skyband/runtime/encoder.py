"""From a table of a stream to encoded rows of a family: filter, score, drop what can never be reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from skyband.errors import SkybandError
from skyband.language import Filter, Shown, compile_filter, compile_number, compile_score, compile_shown
from skyband.language.expressions.aliases import no_alias
from skyband.language.expressions.compiled import Score
from skyband.model import Above, Flags, Floats, Ints, Keys, MetaQuery, Query
from skyband.model.plain import taken
from skyband.model.select import Item
from skyband.model.times import Times
from skyband.planner import Family, PlannedFamily
from skyband.runtime.columns import column_field, groupable
from skyband.runtime.encoded import AT, GROUP, HASH, KEY, SCORE
from skyband.runtime.fates import Fates, Lost, lost_in_time, lost_of
from skyband.runtime.hashing import hash_rows
from skyband.runtime.lookups import only, own_columns

T = TypeVar("T")
Rejected = Sequence[tuple[str, pa.Table]]
"""Bad records by reason."""


@dataclass(frozen=True)
class Encoded:
    """Rows for a family; of how many records, and what became of those that are not ranked, by query; and those that
    are bad to this family alone."""

    rows: pa.Table
    records: int
    lost: Lost
    rejected: Rejected = ()
    fates: Fates | None = None
    """The same of each record, where all queries agree about it."""
    unranked_at: Mapping[int, Ints] = field(default_factory=dict)
    """Where they do not: when those were that a query has no score of, by its number."""

    @property
    def bad(self) -> int:
        return sum(len(records) for _, records in self.rejected)


@dataclass(frozen=True)
class Valued:
    """What a family makes of the records of a table, by their places: which qualify, how they rank (higher first), what
    else is kept of them, what becomes of them (None: all are ranked), and which are bad."""

    keep: Flags | None
    """None: all."""
    score: Keys
    more: Mapping[str, Ints | Floats | Keys] = field(default_factory=dict)
    fates: Fates | None = None
    rejected: Rejected = ()


@dataclass(frozen=True)
class RankSql:
    """What a record ranks by, as Spark SQL, higher first."""

    key: str
    whole: bool
    """A BIGINT, and not a DOUBLE."""

    @property
    def missing(self) -> str:
        """Whether there is none."""
        return f"{self.key} IS NULL" + ("" if self.whole else f" OR isnan({self.key})")


@dataclass(frozen=True)
class PushDown:
    """What may be dropped before Python sees it, as Spark SQL: records that do not pass the filter, that are not above
    a threshold, or whose score is below a bound of their stretch of time."""

    passes: str | None
    """None where there is no filter."""
    hopeful: str | None
    """What a record that passes has to be; None if it is needed, unless a bound rules it out."""
    bounded: RankSql | None
    """What a bound is about; None where none is of use."""
    meta: MetaQuery


@dataclass(frozen=True)
class ScoreColumn:
    """A score that is a column and nothing more, in whose windows all records compete: what is known of the column is
    known of the score."""

    name: str
    keys: Callable[[pa.Table], Keys]
    """How the rows of a table with this column rank, higher first."""
    threshold: Keys | None
    """Of ABOVE: records without a higher rank are not needed."""
    meta: MetaQuery


Take = Callable[[Ints], pa.Table]
"""All columns of the records at these places, in their order."""
Survivors = Callable[[Valued, Times, "Ints | None"], "Ints | None"]
"""Of records (by their values, times and groups, where there are some) the places of those that may be needed; None for
all."""


class Encoder:
    """A family's expressions compiled for a stream's columns."""

    planned: PlannedFamily

    @property
    def columns(self) -> frozenset[str]:
        """What has to be known of a record to tell whether it is needed."""
        raise NotImplementedError

    def encode(
        self,
        table: pa.Table,
        times: Times,
        group: pa.Array | None,
        watermark: int,
        whole: Take | None = None,
    ) -> Encoded:
        """Encoded rows of the records that qualify and may be needed. `whole`: where all columns are, if the table has
        but those that tell which records are needed."""
        raise NotImplementedError

    def encode_all(self, table: pa.Table, at: Ints, group: pa.Array | None) -> Encoded:
        """Encoded rows of all records: one that does not qualify has no score, but still has to be counted."""
        raise NotImplementedError

    def push_down(self) -> PushDown | None:
        """None where every record has to be seen, whether it passes a filter or not."""
        return None

    def score_column(self) -> ScoreColumn | None:
        """None where the score is something else, or more than the score decides whether a record is needed."""
        return None


class FamilyEncoder(Encoder):
    """For queries that share a score and a filter. A data model says what is made of a record."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        """Compile; what does not fit the columns is refused, naming the query."""
        family = planned.family
        self.planned = planned
        self.filter = family_filter(family, schema)
        self.names = self.shown(schema)
        self._hashed = own_columns(schema)
        self._survivors = survivors
        for name in family.per:
            groupable(column_field(schema, name, f"query {family.queries[0].name}, PER"), family.queries[0].name, "PER")

    def shown(self, schema: pa.Schema) -> tuple[str, ...]:
        """The columns that are kept as they are, for answers."""
        return shown_columns(self.planned.family, schema)

    def push_down(self) -> PushDown | None:
        """ROWS counts every record, and where windows have no start the newest says where reports end; otherwise all
        that pass the filter are needed, as far as nothing more is known."""
        if self.planned.family.kind == "rows" or self.planned.family.unbounded:
            return None
        passes = None if self.filter is None else f"coalesce({self.filter.spark_sql()}, false)"
        return PushDown(passes, None, None, self.planned.meta)

    @property
    def columns(self) -> frozenset[str]:
        filtered = frozenset[str]() if self.filter is None else self.filter.columns
        return filtered | frozenset(self.planned.family.per) | self.value_columns

    @property
    def value_columns(self) -> frozenset[str]:
        """What `valued` looks at beside the filter."""
        raise NotImplementedError

    def valued(self, table: pa.Table) -> Valued:
        """What the data model makes of these records."""
        raise NotImplementedError

    def extra_columns(self, rows: pa.Table) -> dict[str, pa.ChunkedArray]:
        """Columns that are kept as they are, under reserved names."""
        return {}

    def encode(
        self,
        table: pa.Table,
        times: Times,
        group: pa.Array | None,
        watermark: int,
        whole: Take | None = None,
    ) -> Encoded:
        found = self.valued(table)
        code = None if group is None else np.asarray(group.dictionary_encode().indices).astype(np.int64)
        at, some, mine, chosen = times.at, found, times, None
        if found.keep is not None:
            chosen = np.flatnonzero(found.keep)
            some, mine, code = _taken(found, chosen), times.of(chosen), None if code is None else code[chosen]
        lost = lost_in_time(self.planned.meta, at, watermark, found.fates)
        # What arrived together may be pruned together: the same windows are open for all of it.
        needed = self._survivors(some, mine, code)
        if needed is None:
            needed = np.arange(len(mine))
        rows = self._rows(
            at, found, group, needed if chosen is None else chosen[needed], whole or partial(taken, table)
        )
        return Encoded(rows, len(at), lost, found.rejected, found.fates)

    def encode_all(self, table: pa.Table, at: Ints, group: pa.Array | None) -> Encoded:
        found = self.valued(table)
        rows = self._rows(at, found, group, np.arange(len(table)), partial(taken, table))
        place = rows.column_names.index(SCORE)
        if found.keep is not None:
            rows = rows.set_column(place, SCORE, pa.array(_positive_zero(found.score), mask=~found.keep))
        lost = lost_of(len(self.planned.family.queries), found.fates)
        return Encoded(rows, len(at), lost, found.rejected, found.fates)

    def _rows(self, at: Ints, found: Valued, group: pa.Array | None, chosen: Ints, whole: Take) -> pa.Table:
        key = self.planned.family.stream.key
        rows = whole(chosen)
        encoded = {
            AT: pa.array(at[chosen]),
            SCORE: pa.array(_positive_zero(found.score[chosen])),
            HASH: pa.array(hash_rows(only(rows, self._hashed))),
        }
        encoded |= {name: pa.array(values[chosen]) for name, values in found.more.items()}
        encoded |= self.extra_columns(rows)
        if key is not None:
            encoded[KEY] = rows.column(key)
        if group is not None:
            encoded[GROUP] = group.take(pa.array(chosen))
        return pa.table(encoded | {name: rows.column(name) for name in self.names})

    def passing(self, table: pa.Table) -> Flags:
        """Which records pass the filter."""
        return np.ones(len(table), bool) if self.filter is None else self.filter.evaluate(table)


def _taken(found: Valued, chosen: Ints) -> Valued:
    return Valued(None, found.score[chosen], {name: values[chosen] for name, values in found.more.items()})


def _positive_zero(score: Keys) -> Keys:
    """Adding zero makes -0 the same as 0, also in the bits."""
    return score if score.dtype == np.int64 else np.add(score, 0.0)


def family_filter(family: Family, schema: pa.Schema) -> Filter | None:
    """Its WHERE, compiled."""
    first = family.queries[0]
    if not (where := first.condition):
        return None
    with no_alias([item for query in family.queries for item in query.items]):
        return of_query(first.name, lambda: compile_filter(where, schema, stream=family.stream.name))


def family_number(family: Family, text: str, schema: pa.Schema) -> Score:
    """An expression that its queries share, compiled."""
    return of_query(family.queries[0].name, lambda: compile_number(text, schema, stream=family.stream.name))


def query_score(query: Query, family: Family, schema: pa.Schema) -> Score:
    """What it ranks by, compiled: a time only where it is compared with others and nothing else."""
    compiled = compile_number if query.computed or isinstance(query, Above) else compile_score
    return of_query(query.name, lambda: compiled(query.by, schema, stream=family.stream.name))


def shown_columns(family: Family, schema: pa.Schema) -> tuple[str, ...]:
    """What has to be kept of a record for its queries to show; a column that is not there is refused."""
    needed, stream = dict.fromkeys(family.selected), family.stream.name
    for query in family.queries:
        for name in query.plain:
            if name != "*":
                column_field(schema, name, f"query {query.name}, SELECT")
        needed |= dict.fromkeys(name for item in query.items for name in shown(query, item, stream, schema).columns)
    flag = None if family.join is None else family.join.flag
    return tuple(name for name in schema.names if name != flag) if "*" in needed else tuple(needed)


def shown(query: Query, item: Item, stream: str, schema: pa.Schema) -> Shown:
    """What a query shows there, compiled."""
    return of_query(query.name, lambda: compile_shown(item.by, schema, stream=stream))


def of_query(name: str, build: Callable[[], T]) -> T:
    """What `build` makes; what it refuses is said of the query."""
    try:
        return build()
    except SkybandError as error:
        error.message = f"query {name}: {error.message}"
        raise
