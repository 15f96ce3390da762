"""What a user holds: queries over streams. A thin face over language, planner and Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from skyband.engines.base import registered
from skyband.errors import SkybandError
from skyband.language import (
    canonical,
    check_ranking,
    columns,
    declared_schema,
    parse_workload,
    score_types,
    settled,
    shape,
    written_columns,
)
from skyband.model import LookedUp, Query, ScoreType, Stream, Table
from skyband.model.checks import check_semantics
from skyband.model.names import did_you_mean
from skyband.model.parameters import refuse_unknown
from skyband.planner import NOWHERE, Placement, Plan, explain, plan
from skyband.runtime.data_models.registry import data_model
from skyband.runtime.lookups import extended, joined_schema, table_text
from skyband.runtime.written_schema import read_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from skyband.runtime.results import Results
    from skyband.spark.inputs import Given


class Workload:
    """Queries over one stream (`stream=`) or several (`streams=`); each query names its stream if there are several.

    >>> from skyband import Stream, TopK
    >>> trades = Stream("trades", time="ts", key="trade_id")
    >>> biggest = TopK("biggest", k=10, by="price * size", window="30 minutes", slide="1 minute")
    >>> work = Workload([biggest], stream=trades)
    >>> print(work.queries[0])
    CREATE QUERY biggest AS
      SELECT TOP 10 *
      FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE]
      ORDER BY price * size DESC;
    """

    @refuse_unknown
    def __init__(
        self,
        queries: Sequence[Query],
        stream: Stream | None = None,
        streams: Sequence[Stream] | None = None,
        tables: Sequence[Table] = (),
    ) -> None:
        self.streams = _streams(stream, streams)
        self.tables = tuple(tables)
        _distinct([*(each.name for each in self.streams), *(each.name for each in self.tables)], "streams or tables")
        for each in self.streams:
            written_columns(each.columns)
        self.queries = tuple(_bound(query, self.streams) for query in queries)
        for query in self.queries:
            _check_join(query, self.tables, self.streams)
        self.streams = tuple(_looking_up(each, self.tables, self.queries) for each in self.streams)
        if not self.queries:
            raise SkybandError("a workload without queries", expected="at least one TopK or Above")
        _distinct([query.name for query in self.queries], "queries")
        self._plans: dict[tuple[object, ...], Plan] = {}
        _check_declared(self.plan())

    @classmethod
    def from_sql(cls, text: str) -> Workload:
        """Streams and queries from query text."""
        streams, tables, queries = parse_workload(text)
        return cls(queries, streams=streams, tables=tables)

    def plan(
        self,
        engine: str | None = None,
        schemas: Mapping[str, pa.Schema] | None = None,
        placement: Placement = NOWHERE,
    ) -> Plan:
        """Families with their meta queries and engines; `engine` forces one. What a score's type is follows from the
        columns of its stream, as far as they are declared or `schemas` tell them. Queries that have a place in a
        running job stay there. Planned once for the same types."""
        types = self.score_types(schemas or {})
        asked = dict.fromkeys((query.stream or "", query.by) for query in self.queries if not query.computed)
        asked |= dict.fromkeys((query.stream or "", query.then.by) for query in self.queries if query.then is not None)
        key = engine, tuple(registered(None)), tuple(types(*score) for score in asked), tuple(placement.items())
        if key not in self._plans:
            self._plans[key] = plan(self.streams, self.queries, canonical, engine, shape, types, placement)
        return self._plans[key]

    def score_types(self, schemas: Mapping[str, pa.Schema]) -> Callable[[str, str], ScoreType]:
        known = {each.name: schemas.get(each.name, declared_schema(each.columns)) for each in self.streams}
        read = {each: read_schema(each, schema) for each in self.streams if (schema := known[each.name]) is not None}
        return score_types({each.name: extended(each, schema) for each, schema in read.items()})

    def explain(self, engine: str | None = None, records: Given | None = None, all: bool = False) -> str:
        """What is shared, how much that saves, which engine does it and why; and, of records that `over` would take,
        who reads them and why, and in how many ranges of time a batch is answered. Of many families that are alike the
        first are told of, and the others summed up; with `all` every family and query is."""
        tables = self.table_texts()
        if records is None:
            return "\n".join([explain(self.plan(engine), all), *tables, *([""] if tables else [])])
        from skyband.spark.inputs import by_stream
        from skyband.spark.pipeline import cuts, schemas_of, ways

        known = by_stream(self.streams, records)
        plan = self.plan(engine, schemas_of(known))
        said = [f"stream {name}: {way}" for name, way in ways(plan, known).items()]
        said += [f"stream {name}: {each}" for name, lines in cuts(plan, known).items() for each in lines]
        return "\n".join([explain(plan, all), *tables, *said]) + "\n"

    def table_texts(self) -> list[str]:
        """What is told of the tables that queries join."""
        joined = dict.fromkeys(used.table for stream in self.streams for used in stream.tables)
        return [table_text(table) for table in joined]

    def over(self, records: Given, engine: str | None = None, lines: bool = False) -> DataFrame:
        """Result rows over a batch or streaming Spark DataFrame, or over the files of `skyband.scan(path)`, lazily; a
        mapping where there are several streams. With `lines` what lines of reports are made of comes along:
        `skyband.spark.reports` takes it apart."""
        from skyband.spark.inputs import by_stream  # a Monitor needs no JVM
        from skyband.spark.pipeline import over, schemas_of

        known = by_stream(self.streams, records)
        return over(self.plan(engine, schemas_of(known)), known, lines=lines)

    def results(self, records: Given) -> Results:
        """The schema of the rows that `over` gives for these records, and of each query: `.of(name).rows(rows)`."""
        from skyband.spark.results import results

        return results(self.plan(), records)

    def __getstate__(self) -> dict[str, object]:
        """Plans are made anew where it arrives."""
        return self.__dict__ | {"_plans": {}}

    def __str__(self) -> str:
        """Query text that `from_sql` reads back."""
        return "\n".join(str(part) for part in (*self.streams, *self.tables, *self.queries)) + "\n"

    def __repr__(self) -> str:
        return f"<Workload of {len(self.queries)} queries over {', '.join(stream.name for stream in self.streams)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return (self.streams, self.tables, self.queries) == (other.streams, other.tables, other.queries)

    def __hash__(self) -> int:
        return hash((self.streams, self.tables, self.queries))


def _streams(stream: Stream | None, streams: Sequence[Stream] | None) -> tuple[Stream, ...]:
    if (stream is None) == (streams is None):
        raise SkybandError(
            "a workload needs a stream" if stream is None else "both stream= and streams= were given",
            expected="one of stream=Stream(...) and streams=[...]",
        )
    found = (stream,) if stream is not None else tuple(streams or ())
    if not found:
        raise SkybandError("a workload without streams", expected="at least one Stream")
    _distinct([each.name for each in found], "streams")
    return found


def _distinct(names: list[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SkybandError(f"two {what} are called {name!r}", expected="a name for each")
        seen.add(name)


def _bound(query: Query, streams: tuple[Stream, ...]) -> Query:
    by_name = {stream.name: stream for stream in streams}
    names, name = list(by_name), query.stream
    if name is None:
        if len(names) > 1:
            raise SkybandError(
                f"query {query.name} names no stream, and there are {len(names)}",
                expected="stream= one of " + ", ".join(names),
            )
        query, name = query.over(names[0]), names[0]
    if name not in names:
        raise SkybandError(
            f"query {query.name} is over {name!r}, and there is no such stream",
            expected="one of " + ", ".join(names),
            hint=did_you_mean(name, names),
        )
    query = settled(query)
    check_semantics(query, by_name[name])
    check_ranking(query, by_name[name])
    return query


def _check_join(query: Query, tables: tuple[Table, ...], streams: tuple[Stream, ...]) -> None:
    if query.join is None:
        return
    known = {each.name: each for each in tables}
    table = known.get(query.join.table)
    if table is None:
        raise SkybandError(
            f"query {query.name} joins {query.join.table!r}, and there is no such table",
            expected="one of " + ", ".join(known) if known else None,
            hint=did_you_mean(query.join.table, list(known))
            or f"declare it: CREATE TABLE {query.join.table} FROM 'file.parquet' KEY {', '.join(query.join.using)};",
        )
    if query.join.using != table.key:
        raise SkybandError(
            f"query {query.name} joins {table.name} by {', '.join(query.join.using)}",
            expected=f"its key: USING ({', '.join(table.key)})",
        )
    if next(each for each in streams if each.name == query.stream).op is not None:
        raise SkybandError(f"query {query.name}: JOIN over stream {query.stream}, which has deletes", expected="no OP")


def _check_declared(plan: Plan) -> None:
    """What does not fit the declared columns of a stream is refused before any record comes."""
    for planned in plan.families:
        stream = planned.family.stream
        schema = declared_schema(stream.columns)
        if schema is not None:
            known = extended(stream, read_schema(stream, schema))
            data_model(planned).encoder(joined_schema(known, planned.family.join))


def _looking_up(stream: Stream, tables: tuple[Table, ...], queries: Sequence[Query]) -> Stream:
    """With the tables that its queries join, and what they use of them."""
    found = []
    for table in tables:
        mine = [each for each in queries if each.stream == stream.name and each.join and each.join.table == table.name]
        used = frozenset(name for query in mine for name in _used(query))
        if mine:
            found.append(LookedUp(table, None if "*" in used else used))
    return stream.looking_up(found)


def _used(query: Query) -> set[str]:
    """The columns that it names."""
    across = () if query.across is None else (*query.across.object, query.across.stream)
    texts = [query.where, query.error, query.then.by if query.then else None]
    if query.grouping is None:
        texts += [query.value, *(item.by for item in query.items)]
        named: tuple[str, ...] = query.plain
    else:
        texts += [each.argument for each in query.aggregates or () if each.argument != "*"]
        named = query.group_by
    return {*(name for text in texts if text for name in columns(text)), *query.per, *named, *across, *query.categories}
