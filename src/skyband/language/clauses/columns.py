"""Columns by name, in the clauses that take no expressions."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.errors import Span
from skyband.language.clauses.cursor import Cursor
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.bind import check_qualifier, find_column, unknown_column


@dataclass(frozen=True)
class Column:
    """A column's name, perhaps with the stream's name before a dot."""

    name: str
    qualifier: str | None
    span: Span

    def of(self, declared: Declared) -> str:
        """The name without the stream's, spelled as declared."""
        check_qualifier(self.name, self.qualifier, declared.stream.name, self.span)
        if declared.schema is None or self.name == "*":
            return self.name
        found = find_column(self.name, declared.schema.names)
        if found is None:
            raise unknown_column(self.name, declared.schema.names, self.span)
        return found


def columns(cursor: Cursor, what: str) -> list[Column]:
    """One or more, with commas between them."""
    found = [column(cursor, what)]
    while cursor.accept(","):
        found.append(column(cursor, what))
    return found


def column(cursor: Cursor, what: str) -> Column:
    start = cursor.at
    qualifier, name = None, cursor.name(what)
    if cursor.accept("."):
        qualifier, name = name, cursor.name(what)
    return Column(name, qualifier, cursor.since(start))
