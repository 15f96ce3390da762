"""CREATE STREAM name [(column TYPE [FROM unit | FORMAT 'form'], ...)] WITH (TIME = ... [BETWEEN ... AND ...],
KEY = ..., LATENESS = ..., AHEAD = ..., EXPIRE = ..., OP = ..., SCORE = ..., PROBABILITY = ..., RULE = ...,
SOURCE = ...)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa

from skyband.errors import SkybandError, Span
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.lengths import Length, duration
from skyband.language.expressions.bind import did_you_mean, find_column, unknown_column
from skyband.language.expressions.compiled import check_score
from skyband.language.expressions.constants import time_constant
from skyband.language.expressions.ranking import check_varies
from skyband.language.expressions.scan import Token
from skyband.language.expressions.types import DECLARED_NAMES, declared_schema, declared_type, split_type
from skyband.language.written_times import written_column
from skyband.model import Stream
from skyband.model.stream import check_expiry, check_lateness
from skyband.model.time_bounds import A_DAY, Ahead, both_given

_TYPES = "a type of Spark SQL, such as BIGINT, DOUBLE, STRING, BOOLEAN, TIMESTAMP, DATE or DECIMAL(10, 2)"
_OPTIONS = ("TIME", "KEY", "LATENESS", "AHEAD", "EXPIRE", "OP", "SCORE", "PROBABILITY", "RULE", "SOURCE")


@dataclass(frozen=True)
class Declared:
    """A stream, and what only queries in the same text need of it."""

    stream: Stream
    span: Span
    score: str | None
    schema: pa.Schema | None


@dataclass
class _Draft:
    columns: dict[str, str] = field(default_factory=dict)
    names: dict[str, tuple[str, Span]] = field(default_factory=dict)
    lateness: int = 0
    ahead: str | timedelta | None = A_DAY
    between: tuple[datetime, datetime] | None = None
    expire: timedelta | None = None
    score: tuple[str, Span] | None = None
    seen: list[str] = field(default_factory=list)

    def column(self, option: str) -> str | None:
        return self.names[option][0] if option in self.names else None


def create_stream(cursor: Cursor) -> Declared:
    """Reads what follows the words CREATE STREAM."""
    place = cursor.here()
    name = cursor.name("the stream's name")
    draft = _Draft()
    if cursor.accept("("):
        _columns(cursor, draft)
    cursor.expect("WITH", where=f"after CREATE STREAM {name}")
    cursor.expect("(", where="after WITH")
    while True:
        _option(cursor, draft)
        if not cursor.accept(","):
            break
    cursor.expect(")", where="after an option of the stream")
    if not cursor.done:
        raise cursor.error(f"found {cursor.found()} after the stream", expected="`;`")
    return _declared(name, draft, place)


def _columns(cursor: Cursor, draft: _Draft) -> None:
    while True:
        place = cursor.here()
        name = cursor.name("a column's name")
        if name in draft.columns:
            raise SkybandError(f"column `{name}` is declared twice", expected="each column once", span=place)
        draft.columns[name] = _type(cursor, name)
        if not cursor.accept(","):
            break
    cursor.expect(")", where="after a column")


def _type(cursor: Cursor, name: str) -> str:
    tokens = cursor.skip_to([(",",), (")",)])
    if not tokens:
        raise cursor.error(f"found {cursor.found()} in place of a column's type", expected=_TYPES)
    span = cursor.span(tokens)
    text = span.source[span.start : span.end]
    if declared_type(text) is None:
        kind = split_type(text)[0]
        raise SkybandError(
            f"`{kind}` is not a type", expected=_TYPES, hint=did_you_mean(kind, DECLARED_NAMES), span=span
        )
    try:
        written_column(name, text)
    except SkybandError as error:
        raise located(error, span) from None
    return text


def _option(cursor: Cursor, draft: _Draft) -> None:
    token = cursor.peek()
    word = token.text.upper() if token is not None and cursor.is_name() else ""
    if word not in _OPTIONS:
        hint = did_you_mean(word, _OPTIONS) if word else None
        raise cursor.error(f"found {cursor.found()} among the stream's options", expected=_listed(), hint=hint)
    if word in draft.seen:
        raise cursor.error(f"{word} is given twice", expected="each option once")
    draft.seen.append(word)
    cursor.at += 1
    cursor.expect("=", where=f"after {word}")
    _value(cursor, draft, word)


def _listed() -> str:
    return ", ".join(_OPTIONS[:-1]) + " or " + _OPTIONS[-1]


def _value(cursor: Cursor, draft: _Draft, word: str) -> None:
    place = cursor.here()
    if word == "LATENESS":
        length = duration(cursor, "the lateness")
        draft.lateness = length.amount
        draft.names[word] = ("", length.span)
    elif word == "AHEAD":
        draft.ahead, draft.names[word] = _ahead(cursor)
    elif word == "EXPIRE":
        length = duration(cursor, "how long a group may be silent")
        draft.expire, draft.names[word] = _checked(length, check_expiry), ("", length.span)
    elif word == "SCORE":
        span = cursor.span(cursor.skip_to([(",",), (")",)]))
        draft.score = (span.source[span.start : span.end], span)
    else:
        draft.names[word] = (cursor.name("a column's name"), place)
        if word == "TIME" and cursor.accept("BETWEEN"):
            draft.between = _between(cursor, draft)


def _ahead(cursor: Cursor) -> tuple[timedelta | None, tuple[str, Span]]:
    """A length of time, or NONE."""
    place = cursor.here()
    if cursor.accept("NONE"):
        return None, ("", place)
    length = duration(cursor, "how far ahead of the clock a time may be")
    return _checked(length, lambda amount: Ahead(amount).length), ("", length.span)


def _checked(length: Length, check: Callable[[int], int]) -> timedelta:
    try:
        return timedelta(microseconds=check(length.amount))
    except SkybandError as error:
        raise located(error, length.span) from None


def _between(cursor: Cursor, draft: _Draft) -> tuple[datetime, datetime]:
    start = cursor.at
    first = _moment(cursor, cursor.skip_to([("AND",), (",",), (")",)]))
    cursor.expect("AND", where="after the first time of BETWEEN")
    last = _moment(cursor, cursor.skip_to([(",",), (")",)]))
    draft.names["BETWEEN"] = ("", cursor.since(start))
    return first, last


def _moment(cursor: Cursor, tokens: Sequence[Token]) -> datetime:
    span = cursor.span(tokens)
    found = time_constant(span.source[span.start : span.end], span.source, span.start) if tokens else None
    if found is None:
        raise SkybandError(
            f"found `{span.source[span.start : span.end]}` in place of a time",
            expected="a constant, such as TIMESTAMP '2026-01-31 12:00:00' or DATE '2026-01-31'",
            span=span,
        )
    return found


def _declared(name: str, draft: _Draft, place: Span) -> Declared:
    if "TIME" not in draft.names:
        raise SkybandError(
            f"stream {name} does not say which column is the time",
            expected="TIME = column among its options",
            hint=f"CREATE STREAM {name} WITH (TIME = ts, ...)",
            span=place,
        )
    columns = tuple(draft.columns.items())
    schema = declared_schema(columns)
    for option in ("TIME", "KEY", "OP", "PROBABILITY", "RULE", "SOURCE"):
        _check_declared(draft, option)
    if draft.score is not None:
        text, span = draft.score
        check_score(text, schema, name, span.source, span.start)
        check_varies(text, draft.names["TIME"][0], span.source, span.start)
    return Declared(_stream(name, draft, columns, place), place, draft.score[0] if draft.score else None, schema)


def _check_declared(draft: _Draft, option: str) -> None:
    """Declared columns must hold the time, key and op; the names are then spelled as declared."""
    if option not in draft.names or not draft.columns:
        return
    name, span = draft.names[option]
    found = find_column(name, draft.columns)
    if found is None:
        raise unknown_column(name, draft.columns, span)
    draft.names[option] = (found, span)


def _stream(name: str, draft: _Draft, columns: tuple[tuple[str, str], ...], place: Span) -> Stream:
    span = next(
        (
            draft.names[word][1]
            for word in ("RULE", "SOURCE", "OP", "BETWEEN", "AHEAD", "LATENESS")
            if word in draft.names
        ),
        place,
    )
    try:
        time = draft.names["TIME"][0]
        uncertain = {
            "probability": draft.column("PROBABILITY"),
            "rule": draft.column("RULE"),
            "source": draft.column("SOURCE"),
        }
        lateness = timedelta(microseconds=check_lateness(draft.lateness))
        key, op, ahead, between = draft.column("KEY"), draft.column("OP"), draft.ahead, draft.between
        if between is not None and "AHEAD" in draft.names:
            raise both_given()
        return Stream(
            name, time, key, lateness, op, columns, **uncertain, ahead=ahead, between=between, expire=draft.expire
        )
    except SkybandError as error:
        raise located(error, span) from None
