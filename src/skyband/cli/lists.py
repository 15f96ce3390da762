"""The latest list of every query as tables for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

FRAME = ("query", "window_start", "window_end", "row_start", "row_end", "probability", "change", "warming")
SHOWN_LISTS = 12
SHOWN_ROWS = 20


class Lists:
    """By query and group the rows of the last report."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], tuple[Any, list[dict[str, Any]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._latest)

    def take(self, rows: pa.Table) -> None:
        """Newer reports take the place of older ones."""
        fresh: dict[tuple[str, str], tuple[Any, list[dict[str, Any]]]] = {}
        for row in rows.to_pylist():
            end = row["row_end"] if row["window_end"] is None else row["window_end"]
            list_of = row["query"], row["group_key"]
            if list_of not in fresh or fresh[list_of][0] < end:
                fresh[list_of] = end, []
            if fresh[list_of][0] == end:
                fresh[list_of][1].append(row)
        self._latest |= fresh

    def take_first(self, rows: pa.Table) -> None:
        """The oldest report of every list that has none yet."""
        oldest: dict[tuple[str, str], tuple[Any, list[dict[str, Any]]]] = {}
        for row in rows.to_pylist():
            end = row["row_end"] if row["window_end"] is None else row["window_end"]
            list_of = row["query"], row["group_key"]
            if list_of in self._latest:
                continue
            if list_of not in oldest or end < oldest[list_of][0]:
                oldest[list_of] = end, []
            if oldest[list_of][0] == end:
                oldest[list_of][1].append(row)
        self._latest |= oldest

    def page(self, status: str | None = None) -> RenderableType:
        shown = sorted(self._latest)[:SHOWN_LISTS]
        parts: list[RenderableType] = [self._table(*each) for each in shown]
        if len(self._latest) > SHOWN_LISTS:
            parts.append(Text(f"and {len(self._latest) - SHOWN_LISTS:,} more lists", style="dim"))
        if status is not None:
            parts.append(Text(status))
        return Group(*parts)

    def _table(self, query: str, group: str) -> Table:
        end, rows = self._latest[query, group]
        rows = sorted(rows, key=lambda row: (row["rank"] is None, row["rank"]))
        title = " ".join(part for part in (query, group, f"at {_text(end)}") if part)
        names = [name for name in rows[0] if name not in (*FRAME, "group_key") and _some(rows, name)]
        if _some(rows, "change"):
            names.insert(0, "change")
        table = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
        for name in names:
            table.add_column(name, justify="right" if isinstance(_some(rows, name)[0], int | float) else "left")
        for row in rows[:SHOWN_ROWS]:
            table.add_row(*(_text(row[name]) for name in names))
        return table


def _some(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return "" if value is None else str(value)
