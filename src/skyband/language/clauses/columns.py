"""Columns by name, in the clauses that take no expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skyband.errors import SkybandError, Span
from skyband.language.clauses.cursor import Cursor
from skyband.language.clauses.stream import Declared
from skyband.language.expressions.bind import check_qualifier, find_column, unknown_column
from skyband.language.expressions.types import GROUPABLE, names_groups


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


def check_groupable(columns: Sequence[Column], declared: Declared, clause: str) -> None:
    """Refuse declared columns whose values name nothing."""
    if declared.schema is None:
        return
    for column in columns:
        kind = declared.schema.field(column.of(declared)).type
        if not names_groups(kind):
            raise SkybandError(
                f"{clause} {column.name}, which is of type {kind}",
                expected=GROUPABLE,
                span=column.span,
            )
