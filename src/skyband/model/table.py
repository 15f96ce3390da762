"""Tables that do not move, and how queries use their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skyband.errors import SkybandError
from skyband.model.names import quoted, tuple_of


@dataclass(frozen=True, init=False)
class Table:
    """A file that is read at the start, with at most one row for each value of its key."""

    name: str
    where: str
    key: tuple[str, ...]

    def __init__(self, name: str, where: str, key: str | Sequence[str]) -> None:
        for field, value in (("name", name), ("where", where), ("key", tuple_of(key))):
            object.__setattr__(self, field, value)
        if not self.key:
            raise SkybandError(f"table {name} has no key", expected="KEY and one or more columns")

    def __str__(self) -> str:
        where = self.where.replace("'", "''")
        return f"CREATE TABLE {quoted(self.name)} FROM '{where}' KEY {', '.join(map(quoted, self.key))};"


@dataclass(frozen=True, init=False)
class Join:
    """Of a query: each record with the row of the table that has its key; a record without one does not qualify."""

    table: str
    using: tuple[str, ...]

    def __init__(self, table: str, using: str | Sequence[str]) -> None:
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "using", tuple_of(using))

    @property
    def flag(self) -> str:
        """The column that says whether there is such a row."""
        return f"#{self.table}"

    def __str__(self) -> str:
        return f"JOIN {quoted(self.table)} USING ({', '.join(map(quoted, self.using))})"


@dataclass(frozen=True)
class LookedUp:
    """What the queries over a stream use of a table."""

    table: Table
    columns: frozenset[str] | None
    """None: all."""

    @property
    def flag(self) -> str:
        return Join(self.table.name, self.table.key).flag
