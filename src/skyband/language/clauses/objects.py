"""Objects whose attributes arrive apart: OBJECT column ACROSS column [IN (streams)] (SUM) [EACH bounds], the score in
ORDER BY SUM(...), or over names of the streams, and what may follow APPROXIMATE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, column, columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.attributes import attribute_score
from skyband.language.expressions.bind import did_you_mean
from skyband.language.expressions.compiled import check_number
from skyband.language.expressions.dialect import words
from skyband.language.expressions.ranking import check_missing
from skyband.model import Across, Approximate, Feed, Query
from skyband.model.across import COLLECTED, ranked_by
from skyband.model.apart import COMBINATIONS

T = TypeVar("T")
_WORDS = "SUM(expression), MAX(...), MIN(...) or PRODUCT(...)"
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Objects:
    """The clause as it was read; the columns still have to be found in the stream."""

    object: list[Column]
    stream: Column
    collect: str
    streams: list[Feed]
    between: Bounds | None
    times: int | None
    ever: bool
    value: tuple[str, Span] | None
    span: Span

    @property
    def named(self) -> bool:
        return any(feed.alias is not None for feed in self.streams)

    @property
    def wanted(self) -> str:
        """What ORDER BY has to be."""
        names = ", ".join(feed.alias for feed in self.streams if feed.alias is not None)
        return f"ORDER BY and an expression over {names}" if names else f"ORDER BY {_WORDS}"

    def across(self, declared: Declared, by: str) -> Across:
        """What it says, for objects ranked by `by`."""
        names, stream = [each.of(declared) for each in self.object], self.stream.of(declared)

        def build() -> Across:
            value = self.value[0] if self.value else None
            across = Across(names, stream, self.collect, self.streams, self.between, self.times, self.ever, value)
            ranked_by(across, by)
            return across

        return _placed(self.span, build)

    def check(self, query: Query, by: Span) -> None:
        """Whether the ranking can do without the list of streams, where there is none; and whether an expression over
        their names is monotone. `by` is where the ranking stands."""
        if self.named:
            attribute_score(query, by.source, by.start)
        else:
            _placed(self.span, lambda: check_missing(query))

    def check_value(self, declared: Declared) -> None:
        """What is collected is a number."""
        if self.value is not None:
            text, span = self.value
            check_number(text, declared.schema, declared.stream.name, span.source, span.start)


@dataclass
class _Traits:
    between: Bounds | None = None
    times: int | None = None
    weight: float | None = None
    ever: bool = False


def read_objects(cursor: Cursor) -> Objects:
    """Reads what follows the word OBJECT."""
    start = cursor.at - 1
    named = columns(cursor, "a column that names the object")
    cursor.expect("ACROSS", where="after the columns of OBJECT")
    stream = column(cursor, "the column that names the stream of a value")
    streams = _streams(cursor) if cursor.accept("IN") else []
    collect, value = _collect(cursor)
    each = _Traits()
    if cursor.accept("EACH"):
        _traits(cursor, each, of_each=True)
        if each == _Traits():
            raise cursor.error(f"found {cursor.found()} after EACH", expected=_trait_list(of_each=True))
    return Objects(named, stream, collect, streams, each.between, each.times, each.ever, value, cursor.since(start))


def _collect(cursor: Cursor) -> tuple[str, tuple[str, Span] | None]:
    """(SUM), or (SUM bytes * 8) where ORDER BY is over names of the streams."""
    expected = " or ".join(f"`({word})`" for word in COLLECTED)
    if not cursor.accept("("):
        hint = "it says how an object's values in one stream make an attribute"
        raise cursor.error(f"found {cursor.found()} after ACROSS", expected=expected, hint=hint)
    token = cursor.peek()
    for word in COLLECTED:
        if cursor.accept(word):
            value = cursor.skip_to([(")",)])
            cursor.expect(")", where=f"after {word}")
            span = cursor.span(value)
            return word, (span.source[span.start : span.end], span) if value else None
    close = did_you_mean(token.text, COLLECTED) if token else None
    raise cursor.error(f"found {cursor.found()} in place of how values are collected", expected=expected, hint=close)


def _streams(cursor: Cursor) -> list[Feed]:
    cursor.expect("(", where="after IN")
    found = [_stream(cursor)]
    while cursor.accept(","):
        found.append(_stream(cursor))
    cursor.expect(")", where="after a stream of the list")
    return found


def _stream(cursor: Cursor) -> Feed:
    """'north', 17, 'south' WEIGHT 2 BETWEEN 0 AND 250 AT MOST 3 TIMES."""
    start, token = cursor.at, cursor.peek()
    if token is not None and token.token_type is TokenType.STRING:
        name = token.text
        cursor.at += 1
    else:
        sign = "-" if cursor.accept("-") else ""
        found = cursor.peek()
        if found is None or found.token_type is not TokenType.NUMBER:
            raise cursor.error(
                f"found {cursor.found()} in place of a stream", expected="text in single quotes, or a number"
            )
        name = sign + cursor.number("a stream")
    alias = cursor.name("a name for the attribute") if cursor.accept("AS") else None
    traits = _Traits()
    _traits(cursor, traits, of_each=False)
    weight = 1.0 if traits.weight is None else traits.weight
    return _placed(cursor.since(start), lambda: Feed(name, traits.between, traits.times, weight, alias))


def _traits(cursor: Cursor, traits: _Traits, of_each: bool) -> None:
    """Bounds, occurrences and (of one stream) weight, in any order, each at most once."""
    seen: list[str] = []
    while True:
        start, token = cursor.at, cursor.peek()
        if cursor.accept("BETWEEN"):
            low = _signed(cursor, "the lowest value")
            cursor.expect("AND", where="after the lowest value")
            traits.between = (low, _signed(cursor, "the highest value"))
        elif cursor.accept("AT", "MOST"):
            traits.times = _count(cursor, "the number of times")
            if not cursor.accept("TIME"):
                cursor.expect("TIMES", where="after the number of times")
            traits.ever = of_each and cursor.accept("EVER")
        elif not of_each and cursor.accept("WEIGHT"):
            traits.weight = _signed(cursor, "the weight")
        else:
            return
        word = token.text.upper() if token else ""
        if word in seen:
            span = cursor.since(start)
            raise SkybandError(f"{word} is said twice of a stream", expected=_trait_list(of_each), span=span)
        seen.append(word)


def _trait_list(of_each: bool) -> str:
    last = "`AT MOST n TIMES [EVER]`" if of_each else "`AT MOST n TIMES`, `WEIGHT w`"
    return f"`BETWEEN low AND high`, {last}, each once"


def _signed(cursor: Cursor, what: str) -> float:
    sign = -1.0 if cursor.accept("-") else 1.0
    return sign * float(cursor.number(what))


def _count(cursor: Cursor, what: str) -> int:
    place = cursor.here()
    text = cursor.number(what)
    if not text.isdigit():
        raise SkybandError(f"{text} is not a whole number", expected=f"{what}, from 1 on", span=place)
    return int(text)


def read_approximate(cursor: Cursor) -> Approximate:
    """Reads what follows the word APPROXIMATE: WITH PRECISION 0.9, KEEPING 500 OBJECTS (or GROUPS), or nothing."""
    start = cursor.at
    if cursor.is_word("WITH") and not (cursor.is_word("REST", ahead=1) or cursor.is_word("ERROR", ahead=1)):
        cursor.accept("WITH")
        cursor.expect("PRECISION", where="after APPROXIMATE WITH")
        precision = _signed(cursor, "the precision")
        return _placed(cursor.since(start), lambda: Approximate(precision=precision))
    if cursor.accept("KEEPING"):
        number = _count(cursor, "the number of objects or groups")
        if cursor.accept("GROUPS"):
            return _placed(cursor.since(start), lambda: Approximate(groups=number))
        if not (cursor.accept("OBJECTS") or cursor.accept("OBJECT")):
            raise cursor.error(f"found {cursor.found()} after KEEPING {number}", expected="`OBJECTS` or `GROUPS`")
        return _placed(cursor.since(start), lambda: Approximate(objects=number))
    return Approximate()


def object_score(text: str, span: Span) -> tuple[str, str, int]:
    """`SUM(bytes)` as (SUM, bytes, where `bytes` begins in the source)."""
    tokens = words(text)
    word = tokens[0].text.upper() if tokens[0].token_type is TokenType.VAR else ""
    depth, closed = 0, []
    for place, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.R_PAREN and depth == 0:
            closed.append(place)
    called = len(tokens) > 1 and tokens[1].token_type is TokenType.L_PAREN
    if not called or word not in COMBINATIONS or closed[:1] != [len(tokens) - 1]:
        raise SkybandError(
            "objects are ranked by what their attributes make together",
            expected=" or ".join(f"`{each}(expression)`" for each in COMBINATIONS),
            hint=did_you_mean(word, COMBINATIONS) if called and word not in COMBINATIONS else None,
            span=span,
        )
    begin, end = tokens[1].end + 1, tokens[-1].start
    inner = text[begin:end]
    blank = len(inner) - len(inner.lstrip())
    if not inner.strip():
        raise SkybandError(f"{word} of nothing", expected=f"{word}(expression)", span=span)
    return word, inner.strip(), span.start + begin + blank


def _placed(span: Span, build: Callable[[], T]) -> T:
    """What `build` makes; what it refuses gets its place."""
    try:
        return build()
    except SkybandError as error:
        raise located(error, span) from None
