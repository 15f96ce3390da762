"""GROUP BY: what a query over groups shows, which groups it lets in, and which aggregates that takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skyband.errors import SkybandError
from skyband.model.names import quoted
from skyband.model.select import Item, Select, selected

_NAMED = re.compile(r"(?s)(.+?)\s+AS\s+(\"(?:[^\"]|\"\")+\"|`[^`]+`|\w+)\s*", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Aggregate:
    """One number made of a group's records: `COUNT(*)` (no argument), `SUM(bytes)`, `COUNT(DISTINCT host)`."""

    function: str
    argument: str = "*"
    """In its normal form."""
    distinct: bool = False

    def __str__(self) -> str:
        return f"{self.function}({'DISTINCT ' * self.distinct}{self.argument})"


@dataclass(frozen=True)
class Grouping:
    """Records are summed up by these columns; groups that do not pass `having` are not ranked; `rest` asks for a row
    about all that is not listed."""

    columns: tuple[str, ...]
    items: tuple[Item, ...]
    having: str | None = None
    rest: bool = False
    aggregates: tuple[Aggregate, ...] | None = None
    """All that it takes, once its texts are in their normal form."""

    @property
    def plain(self) -> bool:
        """It asks for the best and nothing else."""
        return self.having is None and not self.rest

    @property
    def clauses(self) -> list[str]:
        """As they stand in query text, between WHERE and ORDER BY."""
        having = [f"HAVING {self.having}"] if self.having else []
        return [f"GROUP BY {', '.join(map(quoted, self.columns))}", *having]


FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "LAST")


def grouped(select: Select, columns: tuple[str, ...], having: str | None, rest: bool) -> tuple[str | Item, ...]:
    """What a query over groups shows: by name (`{"total": "SUM(bytes)"}`), or as in SQL (`["client", "SUM(bytes) AS
    total"]`); of `*` the columns of the group."""
    if not columns:
        clause = "HAVING" if having else "WITH REST"
        raise SkybandError(f"{clause} without GROUP BY", expected="columns to group by: GROUP BY client")
    found: list[str | Item] = []
    for each in selected(select):
        if each == "*":
            found += columns
        elif isinstance(each, Item):
            found.append(each)
        elif named := _NAMED.fullmatch(each):
            found.append(Item(_plain(named[2]), named[1].strip()))
        else:
            name = usual_name(each)
            found.append(name if name == each else Item(name, each.strip()))
    return tuple(found)


def _plain(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if quote in '"`' else name


_CALL = re.compile(r"\s*(\w+)\s*\(\s*(DISTINCT\s+)?(\w+|\*)\s*\)\s*", re.IGNORECASE)


def usual_name(text: str) -> str:
    """Of what has no name: a column's own, `count` of COUNT(*), `sum_bytes` of SUM(bytes). Anything else needs one."""
    if re.fullmatch(r"\s*\w+\s*", text):
        return text.strip()
    if (call := _CALL.fullmatch(text)) and call[1].upper() in FUNCTIONS:
        words = [call[1], *(["distinct"] if call[2] else []), *([call[3]] if call[3] != "*" else [])]
        return "_".join(words).lower()
    raise SkybandError(f"`{text.strip()}` has no name in the result", expected="a name: `... AS name`")
