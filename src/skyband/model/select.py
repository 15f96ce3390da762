"""What a query shows of a record: columns, and expressions under names of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skyband.errors import SkybandError
from skyband.model.names import quoted


@dataclass(frozen=True)
class Item:
    """A column of the result rows, and the expression that is shown there."""

    name: str
    by: str

    def __str__(self) -> str:
        return f"{self.by} AS {quoted(self.name)}"


Select = str | Sequence[str | Item] | Mapping[str, str]
"""Names of columns, or expressions by the name under which they are shown."""


def selected(select: Select) -> tuple[str | Item, ...]:
    """What is shown, in order: columns by their names, and all else as items."""
    if isinstance(select, str):
        return (select,)
    if not isinstance(select, Mapping):
        return tuple(select)
    for name, by in select.items():
        if not by.strip() or (name == "*" and by != "*"):
            raise SkybandError(f"select={{{name!r}: {by!r}}}", expected="an expression, by the name of its column")
    return tuple(name if by == name else Item(name, by.strip()) for name, by in select.items())
