"""How many records a list has: SELECT TOP 10 WITH TIES, TOP 10 AT MOST 2 PER symbol, ABOVE 1.5."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, columns as read_columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.bind import did_you_mean
from skyband.model import AtMost

Limit = tuple[str, str, Span]
"""TOP or ABOVE, the number, and where it stands."""


def read_limit(cursor: Cursor) -> Limit | None:
    """TOP 10, the paper's top-10, or ABOVE -1.5; nothing where LIMIT or FETCH stands behind."""
    for word in ("TOP", "ABOVE"):
        if cursor.accept(word):
            start = cursor.at
            dash = cursor.is_sign("-") and _glued(cursor)
            sign = "-" if cursor.accept("-") and not (word == "TOP" and dash) else ""
            number = cursor.number("k" if word == "TOP" else "the threshold")
            return word, sign + number, cursor.since(start + (word == "TOP" and dash))
    if any(cursor.is_word(word, ahead=at) for at in range(len(cursor.tokens)) for word in ("LIMIT", "FETCH")):
        return None
    token = cursor.peek()
    hint = did_you_mean(token.text, ("TOP", "ABOVE")) if token and cursor.is_name() else None
    raise cursor.error(f"found {cursor.found()} after SELECT", expected="`TOP k` or `ABOVE x`", hint=hint)


def read_ties(cursor: Cursor, limit: Limit) -> bool:
    start = cursor.at
    if not cursor.accept("WITH", "TIES"):
        return False
    if limit[0] == "ABOVE":
        raise SkybandError(
            "ABOVE lists every record above its threshold, and has no last one",
            expected="`TOP k WITH TIES`",
            span=cursor.since(start),
        )
    return True


def level(number: str) -> float:
    """A threshold; one written as a whole number is that number."""
    return int(number) if number.lstrip("-").isdigit() else float(number)


def _glued(cursor: Cursor) -> bool:
    """`top-3` without spaces is the paper's spelling; `TOP -3` is a mistake."""
    word, dash, number = cursor.peek(-1), cursor.peek(), cursor.peek(1)
    return bool(word and dash and number and word.end + 1 == dash.start and dash.end + 1 == number.start)


@dataclass(frozen=True)
class Capped:
    """As it was read, with its place."""

    count: str
    per: list[Column]
    span: Span

    def of(self, declared: Declared) -> AtMost:
        per = tuple(column.of(declared) for column in self.per)
        if not self.count.isdigit():
            raise SkybandError(f"AT MOST takes a whole number from 1 on, not {self.count}", span=self.span)
        try:
            return AtMost(int(self.count), per)
        except SkybandError as error:
            raise located(error, self.span) from None


def read_at_most(cursor: Cursor) -> Capped | None:
    """Stands right after the number of records."""
    start = cursor.at
    if not cursor.accept("AT", "MOST"):
        return None
    count = cursor.number("how many may have the same values")
    cursor.expect("PER", where="after AT MOST and a number")
    return Capped(count, read_columns(cursor, "a column whose values are counted"), cursor.since(start))
