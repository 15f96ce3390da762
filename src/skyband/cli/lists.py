"""The latest list of every query as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skyband.model.readable import python_rows, visible
from skyband.runtime.score_columns import OWN, SCORE

FRAME = ("query", "window_start", "window_end", "row_start", "row_end", "probability", "change", "warming")
SHOWN_LISTS = 12
SHOWN_ROWS = 20
Row = dict[str, Any]
MOST_LISTS = 1_000
"""That are kept, the first by name: of a stream with PER new groups may come for ever."""


class Lists:
    """By query and group the rows of the last report."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], tuple[int, list[Row]]] = {}
        self._more = "more "

    def __bool__(self) -> bool:
        return bool(self._latest)

    def take(self, rows: pa.Table) -> None:
        """Newer reports take the place of older ones."""
        fresh: dict[tuple[str, str], tuple[int, list[Row]]] = {}
        for end, row in _by_end(rows):
            list_of = row["query"], row["group_key"]
            if list_of not in fresh or fresh[list_of][0] < end:
                fresh[list_of] = end, []
            if fresh[list_of][0] == end:
                fresh[list_of][1].append(row)
        self._keep(fresh)

    def take_first(self, rows: pa.Table) -> None:
        """The oldest report of every list that has none yet."""
        oldest: dict[tuple[str, str], tuple[int, list[Row]]] = {}
        for end, row in _by_end(rows):
            list_of = row["query"], row["group_key"]
            if list_of in self._latest:
                continue
            if list_of not in oldest or end < oldest[list_of][0]:
                oldest[list_of] = end, []
            if oldest[list_of][0] == end:
                oldest[list_of][1].append(row)
        self._keep(oldest)

    def _keep(self, lists: dict[tuple[str, str], tuple[Any, list[dict[str, Any]]]]) -> None:
        self._latest |= lists
        for name in sorted(self._latest)[MOST_LISTS:]:
            del self._latest[name]
            self._more = "or more "

    def page(self, status: str | None = None) -> RenderableType:
        shown = sorted(self._latest)[:SHOWN_LISTS]
        parts: list[RenderableType] = [self._table(*each) for each in shown]
        if len(self._latest) > SHOWN_LISTS:
            parts.append(Text(f"and {len(self._latest) - SHOWN_LISTS:,} {self._more}lists", style="dim"))
        if status is not None:
            parts.append(Text(status))
        return Group(*parts)

    def _table(self, query: str, group: str) -> Table:
        """Of `Text`: in what a record says there is no markup."""
        rows = sorted(self._latest[query, group][1], key=lambda row: (row["rank"] is None, row["rank"]))
        end = rows[0]["row_end"] if rows[0]["window_end"] is None else rows[0]["window_end"]
        title = " ".join(part for part in (visible(query), visible(group), f"at {_text(end)}") if part)
        rows = [_with_own_score(row) for row in rows]
        names = [name for name in rows[0] if name not in (*FRAME, *OWN, "group_key") and _some(rows, name)]
        if _some(rows, "change"):
            names.insert(0, "change")
        table = Table(title=Text(title, style="bold"), title_justify="left", header_style="dim")
        for name in names:
            number = isinstance(_some(rows, name)[0], int | float)
            table.add_column(Text(visible(name)), justify="right" if number else "left")
        for row in rows[:SHOWN_ROWS]:
            table.add_row(*(Text(_text(row[name])) for name in names))
        return table


def _by_end(rows: pa.Table) -> Iterator[tuple[int, Row]]:
    """Rows, and the end of their report as a number: Python has no times after the year 9999."""
    ends = pc.coalesce(rows.column("window_end").cast(pa.int64()), rows.column("row_end")).to_pylist()
    return zip(ends, python_rows(rows), strict=True)


def _with_own_score(row: Row) -> Row:
    """In one list all scores are of one type: one column has them, as they are."""
    own = next((row[name] for name in OWN if row.get(name) is not None), None)
    return row if own is None else row | {SCORE: own}


def _some(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value.replace(microsecond=0, tzinfo=None)}"
    if isinstance(value, float):
        return f"{value:,.6g}" if not 1e6 <= abs(value) < 1e18 else f"{value:,.0f}"
    return "" if value is None else visible(str(value))
