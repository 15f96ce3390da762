"""What the demo shows: a line of numbers above four lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from skyband.model.readable import python_rows, visible

TITLES = {
    "biggest": "biggest trades, last 10 minutes",
    "movers": "largest price moves, last minute",
    "leaders": "each symbol's biggest, of its last 1,000 trades",
    "whales": "over 100 million, last 5 minutes",
}
MOST_ROWS = 10
FEW_ROWS = 4
WIDE, HIGH, ABOVE = 50, 7, 6
"""Columns that a list takes, lines beside its rows, and lines above all lists."""
Row = dict[str, object]


@dataclass(frozen=True)
class Numbers:
    """The job so far."""

    where: str
    queries: int
    families: int
    records: int
    per_second: float
    candidates: int
    late: int
    more: str = ""


class Lists:
    """The latest report of each list."""

    def __init__(self) -> None:
        self._latest: dict[str, dict[str, list[Row]]] = {name: {} for name in TITLES}
        self._ended: dict[tuple[str, str], object] = {}

    def __bool__(self) -> bool:
        """A list over time has come; those over rows come sooner."""
        return bool(self._latest["biggest"])

    def take(self, rows: pa.Table) -> None:
        """Reports of a list come in time order, one after the other."""
        for row in _of(rows, list(TITLES)):
            name, group = str(row["query"]), str(row["group_key"])
            end = row["row_end"] if row["window_end"] is None else row["window_end"]
            if self._ended.get((name, group)) != end:
                self._ended[name, group] = end
                self._latest[name][group] = []
            self._latest[name][group].append(row)

    def tables(self, layout: Layout) -> list[RenderableType]:
        return [self._table(name, title, layout.rows) for name, title in list(TITLES.items())[: layout.lists]]

    def _table(self, name: str, title: str, most: int) -> Table:
        ends = [end for (query, _), end in list(self._ended.items()) if query == name and isinstance(end, datetime)]
        asof = f"\n[dim]at {max(ends):%H:%M:%S}[/dim]" if ends else "\n"
        table = Table(title=title + asof, title_style="bold", header_style="dim", min_width=46, expand=False)
        for heading in ("", "time", "symbol", "price", "change" if name == "movers" else "value"):
            table.add_column(heading, justify="left" if heading in ("time", "symbol") else "right")
        rows = [row for group in list(self._latest[name].values()) for row in group]
        rows.sort(key=lambda row: -float(str(row["score"])))
        for rank, row in enumerate(rows[:most], 1):
            table.add_row(
                str(rank),
                _clock(row["ts"]),
                Text(visible(str(row["symbol"]))),
                f"{row['price']:,.2f}",
                _amount(name, row),
            )
        for _ in range(most - len(rows)):
            table.add_row("", "", "", "", "")
        return table


@dataclass(frozen=True)
class Layout:
    """How many lists, and how many rows of each."""

    lists: int = len(TITLES)
    rows: int = MOST_ROWS

    @staticmethod
    def of(width: int, height: int) -> Layout:
        """What can be seen at once: fewer lists rather than lists of a row or two."""
        beside = max(1, width // WIDE)
        for lists in range(len(TITLES), 0, -1):
            rows = (height - ABOVE) // -(-lists // beside) - HIGH
            if rows >= FEW_ROWS:
                return Layout(lists, min(rows, MOST_ROWS))
        return Layout(1, FEW_ROWS)


def page(lists: Lists, now: Numbers, layout: Layout) -> RenderableType:
    status = Text.assemble(
        (f"{now.queries:,} queries", "bold"),
        f" in {now.families} families   ",
        (f"{now.records:,} trades", "bold"),
        f" ({now.per_second:,.0f}/s)\n",
        (f"{now.candidates:,} candidates kept", "bold green"),
        f" for all of them   late {now.late:,}",
        f"\n{now.more}" if now.more else "",
    )
    title = f"skyband demo: a simulated market, {now.where}"
    return Group(Panel(status, title=title, border_style="dim"), Columns(lists.tables(layout)))


def _of(rows: pa.Table, names: list[str]) -> list[Row]:
    chosen = [name in names for name in rows.column("query").to_pylist()]
    return python_rows(rows.filter(pa.array(chosen, pa.bool_())))


def _clock(moment: object) -> str:
    return moment.strftime("%H:%M:%S") if isinstance(moment, datetime) else ""


def _amount(name: str, row: Row) -> str:
    # The stream's `change` is not the result column of that name.
    return f"{float(str(row['record_change'])):+.2%}" if name == "movers" else f"{float(str(row['score'])):,.0f}"
