"""From a family's answers to result rows, as SEMANTICS lays them out."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain, count
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import SkybandError
from skyband.language import Shown
from skyband.model import Flags, Keys, Query
from skyband.model.names import did_you_mean
from skyband.model.select import Item
from skyband.planner import Family, Plan
from skyband.runtime.columns import spread
from skyband.runtime.encoded import (
    CHANGE,
    END,
    EXPECTED,
    GROUP,
    HIGH,
    LOW,
    PROBABILITY,
    QUERY,
    RANK,
    SCORE,
    START,
    WARMING,
)
from skyband.runtime.encoder import shown
from skyband.runtime.group_types import SHOWN, group_types
from skyband.runtime.lookups import joined_schema
from skyband.runtime.reader import StreamReader
from skyband.runtime.score_columns import ScoreColumns, score_type

FIXED = (
    "query", "window_start", "window_end", "row_start", "row_end", "group_key", "rank", "score", "probability",
    "change", "warming",
)  # fmt: skip
EXPECTED_RANK = "expected_rank"
"""Behind the fixed columns, where some query ranks by it."""
BOUNDS = {"score_low": LOW, "score_high": HIGH}
"""Likewise, where some query over groups is APPROXIMATE: what the true score is not below, and not above."""
SLICE = 100_000
Table = TypeVar("Table")


@dataclass(frozen=True)
class QueryResults:
    """The result schema of one query: the fixed columns, then what it selects, in its own order."""

    query: str
    schema: pa.Schema
    columns: Mapping[str, str]
    """By name: what the column is called in the combined table."""

    def rows(self, table: Table) -> Table:
        """The rows of this query out of a combined table."""
        found: Table = rows_of_query(table, self)
        return found

    def check(self, names: Collection[str]) -> None:
        """Refuse a table that does not have the columns."""
        for name in self.columns.values():
            if name not in names:
                raise SkybandError(
                    f"rows without a column {name!r}", expected=f"result rows of the workload that has {self.query}"
                )


@singledispatch
def rows_of_query(table: object, of: QueryResults) -> Any:
    """A query's rows out of a combined table, in its own schema. What else than Arrow may be given, `spark` adds."""
    raise SkybandError(f"rows in a {type(table).__name__}", expected="a pyarrow Table, as `Monitor.push` returns it")


@rows_of_query.register(pa.Table)
def _rows_of_table(table: pa.Table, of: QueryResults) -> pa.Table:
    of.check(table.column_names)
    mine = table.filter(pc.equal(table.column("query"), of.query))
    return mine.select(list(of.columns.values())).rename_columns(list(of.columns)).cast(of.schema)


class Results:
    """The result schema of a plan, as far as its streams' columns are known: that of each query, and of all together.

    In the combined table a column has the name it has in its stream. Of a name with several types, the first query that
    selects it has it; in every other stream with another type it is `<stream>_<column>`. An expression has the name
    that its query gives it; what else has this name is of the same type, or refused.
    """

    def __init__(self, plan: Plan, known: Sequence[StreamReader]) -> None:
        self.plan = plan
        self._streams = {reader.stream.name: reader.without_tables() for reader in known}
        self._kinds = {query.name: self._score_type(query) for query in plan.queries}
        self._scores = ScoreColumns([self._kinds[each.name] for each in plan.queries if self._selected(each)])
        kinds = _fixed(known, plan.queries, self._scores)
        fixed = frozenset(kinds)
        self._shown: dict[tuple[str, str], str] = {}
        """By stream and column: the name in the combined table."""
        selected: dict[str, pa.DataType] = {}
        """By column: its type where it has its own name."""
        named = self._named(fixed)
        for query in plan.queries:
            for column, kind in self._selected(query):
                place = self._stream(query), column
                if place in self._shown and column not in named:
                    continue
                if column in named:
                    self._shown[place] = column
                elif selected.setdefault(column, kind) == kind:
                    first = next((name for (_, other), name in self._shown.items() if other == column), None)
                    self._shown[place] = first or own_name(column, fixed, kinds | named)
                else:
                    self._shown[place] = free_name(f"{place[0]}_{column}", kinds | named)
                kinds[self._shown[place]] = kind
        self.schema = pa.schema(kinds)
        self.nothing = self.schema.empty_table()

    def of(self, query: str) -> QueryResults:
        """The schema of one query, and its rows."""
        names = [each.name for each in self.plan.queries]
        if query not in names:
            raise SkybandError(f"there is no query called {query!r}", hint=did_you_mean(query, names))
        asked = self.plan.queries[names.index(query)]
        stream = self._stream(asked)
        score = self._kinds[query]
        kinds = _fixed(
            [reader for name, reader in self._streams.items() if name == stream], [asked], ScoreColumns([score])
        )
        source, fixed = {name: name for name in kinds} | {"score": self._scores.source(score)}, frozenset(kinds)
        for column, kind in self._selected(asked):
            name = own_name(column, fixed, kinds)
            kinds[name], source[name] = kind, self._shown[stream, column]
        return QueryResults(query, pa.schema(kinds), source)

    def _stream(self, query: Query) -> str:
        return query.stream or self.plan.streams[0].name

    def _score_type(self, query: Query) -> pa.DataType:
        reader = self._streams.get(self._stream(query))
        if reader is None:
            return pa.float64() if query.grouping is not None else score_type(query, None, self._stream(query))
        if query.grouping is not None:
            return group_types(query, self._columns(query), self._stream(query))[0]
        return score_type(query, reader.joined, self._stream(query))

    def _selected(self, query: Query) -> list[tuple[str, pa.DataType]]:
        """The columns that a query shows; none before its stream's are known."""
        if self._stream(query) not in self._streams:
            return []
        schema = self._columns(query)
        if query.grouping is not None:
            names = [item.name for item in query.grouping.items]
            return list(zip(names, group_types(query, schema, self._stream(query))[1:], strict=True))
        if "*" in query.select:
            flag = None if query.join is None else query.join.flag
            return [(each.name, each.type) for each in schema if each.name != flag]
        return [
            (each.name, self._made(query, each).arrow) if isinstance(each, Item) else (each, schema.field(each).type)
            for each in dict.fromkeys(query.select)
        ]

    def _made(self, query: Query, item: Item) -> Shown:
        return shown(query, item, self._stream(query), self._columns(query))

    def _columns(self, query: Query) -> pa.Schema:
        """Of the query's stream and the table that it joins."""
        return joined_schema(self._streams[self._stream(query)].joined, query.join)

    def _named(self, fixed: Container[str]) -> dict[str, pa.DataType]:
        """Names that queries give to expressions, and the one type of each."""
        named = {item.name: query for query in self.plan.queries for item in query.items}
        found: dict[str, tuple[pa.DataType, str]] = {}
        for query in self.plan.queries if named else ():
            for column, kind in self._selected(query):
                if column not in named:
                    continue
                if column in fixed:
                    raise SkybandError(
                        f"query {named[column].name}: {column} is a column of every row", expected="AS another name"
                    )
                first, other = found.setdefault(column, (kind, query.name))
                if first != kind:
                    raise SkybandError(
                        f"query {query.name}: its column {column} is of type {kind}, and that of query {other} of type "
                        f"{first}",
                        expected="one type for all columns of a name",
                        hint=f"AS another name for one of them, or CAST({column} AS ...)",
                    )
        return {column: kind for column, (kind, _) in found.items()}

    def rows(self, family: Family, answers: pa.Table) -> pa.Table:
        """Result rows of one family, in the answers' order."""
        count = len(answers)
        which = answers.column(QUERY).to_numpy()
        names = spread([query.name for query in family.queries], which)
        falling = np.array([query.ascending for query in family.queries])
        kinds = [self._kinds[query.name] for query in family.queries]
        frame = ("row_start", "row_end") if family.kind == "rows" else ("window_start", "window_end")
        start = answers.column(START) if not family.unbounded else pa.nulls(count, pa.int64())
        columns = {
            "query": names,
            frame[0]: start.cast(self.schema.field(frame[0]).type),
            frame[1]: answers.column(END).cast(self.schema.field(frame[1]).type),
            "group_key": answers.column(GROUP),
            "rank": answers.column(RANK),
            "change": answers.column(CHANGE),
            "warming": answers.column(WARMING),
        }
        columns |= self._scores.of(*_ranked_by(answers), falling, kinds, which)
        for name, packed in {"probability": PROBABILITY, EXPECTED_RANK: EXPECTED, **BOUNDS}.items():
            if packed in answers.column_names:
                columns[name] = answers.column(packed)
        layout = self._of_groups if family.grouped else self._of_records
        columns |= layout(family, answers, which)
        missing = {
            kind: pa.nulls(count, kind) for kind in {field.type for field in self.schema if field.name not in columns}
        }
        full = [columns[field.name] if field.name in columns else missing[field.type] for field in self.schema]
        return pa.table(full, schema=self.schema)

    def _of_records(self, family: Family, answers: pa.Table, which: np.ndarray) -> dict[str, pa.ChunkedArray]:
        """Columns of the stream, and what is made of them."""
        columns: dict[str, pa.ChunkedArray] = {}
        for (stream, name), called in self._shown.items():
            if stream == family.stream.name and name in answers.column_names:
                columns[called] = _only_where_selected(family, name, which, answers.column(name))
        made = {item: self._made(query, item) for query in family.queries for item in query.items}
        for item, compiled in made.items():
            value = compiled.evaluate(answers)
            shows = np.array([item in each.items for each in family.queries])
            others = columns.get(item.name, pa.scalar(None, value.type))
            columns[item.name] = value if shows.all() else pc.if_else(pa.array(shows[which]), value, others)
        return columns

    def _of_groups(self, family: Family, answers: pa.Table, which: np.ndarray) -> dict[str, pa.ChunkedArray]:
        """What each query shows: two may give one name to different things of one type."""
        asked: dict[str, dict[str, list[int]]] = {}
        for number, query in enumerate(family.queries):
            assert query.grouping is not None
            for item in query.grouping.items:
                column = self._shown[self._stream(query), item.name]
                asked.setdefault(column, {}).setdefault(item.by, []).append(number)
        found = {}
        for column, texts in asked.items():
            kind = self.schema.field(column).type
            found[column] = pa.chunked_array([pa.nulls(len(answers), kind)])
            for text, queries in texts.items():
                values, mine = answers.column(SHOWN.format(text)).cast(kind), pa.array(np.isin(which, queries))
                everyone = len(queries) == len(family.queries)
                found[column] = values if everyone else pc.if_else(mine, values, found[column])
        return found

    def batches(self, family: Family, answers: pa.Table) -> Iterator[pa.RecordBatch]:
        """The same in pieces that Spark takes well."""
        yield from self.rows(family, answers).combine_chunks().to_batches(SLICE)

    def ordered(self, parts: Sequence[tuple[Family, pa.Table]]) -> pa.Table:
        """Answers of several families as result rows: by report, the workload's order, group and rank."""
        if not parts:
            return self.nothing
        rows = pa.concat_tables([self.rows(family, answers) for family, answers in parts])
        if len(parts) == 1 and _comes_in_order(parts[0][0]):
            return rows.combine_chunks()
        end = np.concatenate([answers.column(END).to_numpy() for _, answers in parts])
        place = np.concatenate([np.array(family.places)[answers.column(QUERY).to_numpy()] for family, answers in parts])
        kind = np.concatenate([np.full(len(answers), family.kind == "rows") for family, answers in parts])
        keys: tuple[np.ndarray, ...] = (place, end, kind)
        if any(family.per for family, _ in parts):
            group = pc.rank(rows.column("group_key"), sort_keys="ascending", tiebreaker="dense")
            keys = (np.asarray(group).astype(np.int64), *keys)
        # A stable sort: rows of one report stay in the order of their ranks.
        return rows.take(pa.array(np.lexsort(keys))).combine_chunks()


def _ranked_by(answers: pa.Table) -> tuple[Keys, Flags | None]:
    """What ranks the rows, and which have nothing that does; of doubles that is NaN."""
    score = answers.column(SCORE)
    if score.null_count and pa.types.is_integer(score.type):
        return pc.fill_null(score, 0).to_numpy(), np.asarray(score.is_null())
    return score.to_numpy(), None


def _comes_in_order(family: Family) -> bool:
    """Its reports are, see `Reports.in_order`; but what has changed comes behind whole lists."""
    return not any(query.changes for query in family.queries) and list(family.places) == sorted(family.places)


def _only_where_selected(family: Family, name: str, which: np.ndarray, column: pa.ChunkedArray) -> pa.ChunkedArray:
    shows = np.array(["*" in query.plain or name in query.plain for query in family.queries])
    if shows.all():
        return column
    return pc.if_else(pa.array(shows[which]), column, pa.scalar(None, column.type))


def _fixed(known: Sequence[StreamReader], queries: Sequence[Query], scores: ScoreColumns) -> dict[str, pa.DataType]:
    """The columns of every row, for queries over these streams."""
    moment = pa.timestamp("us", "UTC" if any(reader.zone for reader in known) else None)
    kinds = [
        pa.string(), moment, moment, pa.int64(), pa.int64(), pa.string(), pa.int64(), scores.schema["score"],
        pa.float64(), pa.string(), pa.bool_(),
    ]  # fmt: skip
    found = dict(zip(FIXED, kinds, strict=True))
    expects = any(query.using is not None and query.using.expects for query in queries)
    bounded = any(query.approximate is not None and query.grouping is not None for query in queries)
    found |= {EXPECTED_RANK: pa.float64()} if expects else {}
    return found | (dict.fromkeys(BOUNDS, pa.int64()) if bounded else {}) | scores.schema


def own_name(column: str, fixed: Container[str], taken: Container[str]) -> str:
    """A column of the stream that is called like a column of every row is shown under another name."""
    return free_name(f"record_{column}" if column in fixed else column, taken)


def free_name(wanted: str, taken: Container[str]) -> str:
    """With a number behind it, if that name is taken."""
    return next(name for name in chain([wanted], (f"{wanted}_{n}" for n in count(2))) if name not in taken)
