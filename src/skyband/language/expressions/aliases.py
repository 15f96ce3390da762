"""Names that SELECT gives: ORDER BY may use them, and stands for what they are; WHERE, which comes before, may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from skyband.language.expressions.bind import UnknownColumnError, find_column
from skyband.language.expressions.expression import read
from skyband.language.expressions.nodes import Name, names
from skyband.language.expressions.printing import canonical_text, column_text
from skyband.model.select import Item


def written_out(text: str, items: Sequence[Item], stream: str, source: str | None = None, offset: int = 0) -> str:
    """The expression with names that SELECT gives replaced by what they stand for; as in SQL they go before columns.

    >>> written_out("2 * v", [Item("v", "price + size")], "trades")
    '2 * (price + size)'
    """
    aliases = {item.name: item.by for item in items}
    if not aliases:
        return text
    used = {name.place: alias for name in names(read(text, source, offset)) if (alias := _alias(name, aliases))}
    for place in sorted(used, reverse=True):
        meant = _qualified(canonical_text(read(aliases[used[place]])), aliases, stream)
        alone = not text[: place.start].strip() and not text[place.end :].strip()
        text = text[: place.start] + (meant if alone else f"({meant})") + text[place.end :]
    return text


def _alias(name: Name, aliases: dict[str, str]) -> str | None:
    return None if name.qualifier is not None else find_column(name.name, aliases)


def _qualified(text: str, aliases: dict[str, str], stream: str) -> str:
    """Columns that are called like a name of SELECT, with the stream's name: written out once more nothing changes."""
    places = {name.place for name in names(read(text)) if _alias(name, aliases)}
    for place in sorted(places, reverse=True):
        text = f"{text[: place.start]}{column_text(stream)}.{text[place.start :]}"
    return text


@contextmanager
def no_alias(items: Sequence[Item]) -> Iterator[None]:
    """Where a column is not known that SELECT gives as a name, say what can be written instead."""
    try:
        yield
    except UnknownColumnError as error:
        aliases = {item.name: item.by for item in items}
        if (alias := find_column(error.column, aliases)) is not None:
            error.hint = f"WHERE comes before SELECT gives the name: write `{aliases[alias]}` in place of `{alias}`"
        raise
