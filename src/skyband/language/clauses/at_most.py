"""SELECT TOP 10 AT MOST 2 PER symbol: how many records of one category a list may have."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, columns as read_columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.stream import Declared
from skyband.model import AtMost


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
