"""A whole workload: statements separated by semicolons."""

from __future__ import annotations

from skyband.errors import SkybandError, Span
from skyband.language.clauses.cursor import Cursor, statements
from skyband.language.clauses.query import select_query
from skyband.language.clauses.stream import Declared, create_stream
from skyband.language.clauses.table import create_table
from skyband.language.expressions.bind import did_you_mean
from skyband.language.expressions.dialect import words
from skyband.model import Query, Stream, Table
from skyband.model.collector import collector_paused

_STARTS = "`CREATE STREAM`, `CREATE TABLE`, `CREATE QUERY` or `SELECT`"


def parse(text: str) -> tuple[list[Stream], list[Query]]:
    """The streams and queries of a workload text, in the order in which they are written.

    >>> streams, queries = parse('''
    ...     CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 10 SECONDS);
    ...     SELECT TOP 10 symbol, price FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE] ORDER BY price * size DESC;
    ... ''')
    >>> print(streams[0], queries[0], sep=chr(10))
    CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 10 SECONDS);
    CREATE QUERY q1 AS
      SELECT TOP 10 symbol, price
      FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE]
      ORDER BY price * size DESC;
    """
    streams, _, queries = parse_workload(text)
    return streams, queries


MOST_TEXT = 2**24
"""Characters of a workload: a hundred thousand queries."""


@collector_paused()
def parse_workload(text: str) -> tuple[list[Stream], list[Table], list[Query]]:
    """The same with its tables."""
    if len(text) > MOST_TEXT:
        raise SkybandError(
            f"a text of {len(text):,} characters",
            expected=f"at most {MOST_TEXT:,}",
            hint="queries can be added to a Monitor one by one",
            span=Span(text, 0, 0),
        )
    streams: dict[str, Declared] = {}
    tables: list[Table] = []
    pending: list[tuple[str | None, Span, Cursor]] = []
    for cursor in statements(text, words(text)):
        if cursor.accept("CREATE", "TABLE"):
            tables.append(create_table(cursor))
        else:
            _statement(cursor, streams, pending)
    names = _names(pending)
    queries = [
        select_query(cursor, name, place, streams) for name, (_, place, cursor) in zip(names, pending, strict=True)
    ]
    return [declared.stream for declared in streams.values()], tables, queries


def _statement(cursor: Cursor, streams: dict[str, Declared], pending: list[tuple[str | None, Span, Cursor]]) -> None:
    """Reads a stream; of a query only its name, for its stream may be declared further down."""
    place = cursor.here()
    if cursor.accept("CREATE", "STREAM"):
        _add(create_stream(cursor), streams)
    elif cursor.accept("CREATE", "QUERY"):
        place = cursor.here()
        name = cursor.name("the query's name")
        cursor.expect("AS", where=f"after CREATE QUERY {name}")
        cursor.expect("SELECT", where="after AS")
        pending.append((name, place, cursor))
    elif cursor.accept("SELECT"):
        pending.append((None, place, cursor))
    else:
        raise _unknown(cursor)


def _add(declared: Declared, streams: dict[str, Declared]) -> None:
    name = declared.stream.name
    if name in streams:
        raise SkybandError(
            f"stream `{name}` is declared twice (first on line {streams[name].span.line})",
            expected="each stream once",
            span=declared.span,
        )
    streams[name] = declared


def _unknown(cursor: Cursor) -> SkybandError:
    created = cursor.accept("CREATE")
    token = cursor.peek()
    known = ("STREAM", "TABLE", "QUERY") if created else ("CREATE", "SELECT")
    return cursor.error(
        f"found {cursor.found()} {'after CREATE' if created else 'at the start of a statement'}",
        expected=_STARTS,
        hint=did_you_mean(token.text, known) if token else None,
    )


def _names(pending: list[tuple[str | None, Span, Cursor]]) -> list[str]:
    """Given names must differ; a query without one is q and its position, or the next number that is free."""
    taken: dict[str, Span] = {}
    for name, place, _ in pending:
        if name is not None and name in taken:
            raise SkybandError(
                f"query `{name}` is defined twice (first on line {taken[name].line})",
                expected="each query's name once",
                span=place,
            )
        if name is not None:
            taken[name] = place
    return [name or _free(position, place, taken) for position, (name, place, _) in enumerate(pending, 1)]


def _free(number: int, place: Span, taken: dict[str, Span]) -> str:
    while f"q{number}" in taken:
        number += 1
    taken[f"q{number}"] = place
    return f"q{number}"
