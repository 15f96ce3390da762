"""The demo: a simulated market through a Monitor, the lists live in the terminal."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files

import pyarrow as pa
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import skyband as sb
from skyband.datasets import market

FRAME_SECONDS = 0.25
RATE = 2_000.0
TITLES = {
    "biggest": "biggest trades, last 10 minutes",
    "movers": "largest price moves, last minute",
    "leaders": "each symbol's biggest, of its last 1,000 trades",
    "whales": "over 100 million, last 5 minutes",
}
SHOWN = 10


def demo_workload(others: int) -> sb.Workload:
    """The four lists shown, and `others` more queries of the same two families beside them."""
    shown = sb.Workload.from_sql(files("skyband.cli").joinpath("demo.sql").read_text(encoding="utf-8"))
    draw = random.Random(0)
    more = []
    for number in range(others):
        width, by = draw.randint(60, 600), draw.choice(["price * size", "abs(change)"])
        slide = draw.randint(5, 60)
        name = f"other{number + 1}"
        more.append(sb.TopK(name, draw.randint(1, 50), by, f"{width} seconds", f"{slide} seconds", select="trade_id"))
    return sb.Workload([*shown.queries, *(query.over("trades") for query in more)], streams=shown.streams)


class Lists:
    """The latest report of each list."""

    def __init__(self) -> None:
        self._latest: dict[str, dict[str, list[dict[str, object]]]] = {name: {} for name in TITLES}
        self._ended: dict[tuple[str, str], object] = {}

    def take(self, rows: pa.Table) -> None:
        for row in _of(rows, list(TITLES)):
            name, group = str(row["query"]), str(row["group_key"])
            end = row["window_end"] or row["row_end"]
            if self._ended.get((name, group)) != end:
                self._ended[name, group] = end
                self._latest[name][group] = []
            self._latest[name][group].append(row)

    def tables(self) -> list[RenderableType]:
        return [self._table(name, title) for name, title in TITLES.items()]

    def _table(self, name: str, title: str) -> Table:
        ends = [end for (query, _), end in self._ended.items() if query == name and isinstance(end, datetime)]
        asof = f"\n[dim]at {max(ends):%H:%M:%S}[/dim]" if ends else "\n"
        table = Table(title=title + asof, title_style="bold", header_style="dim", min_width=46, expand=False)
        what = "change" if name == "movers" else "value"
        for heading in ("", "time", "symbol", "price", what):
            table.add_column(heading, justify="left" if heading in ("time", "symbol") else "right")
        rows = [row for group in self._latest[name].values() for row in group]
        rows.sort(key=lambda row: -float(str(row["score"])))
        for rank, row in enumerate(rows[:SHOWN], 1):
            table.add_row(str(rank), _clock(row["ts"]), str(row["symbol"]), f"{row['price']:,.2f}", _amount(name, row))
        for _ in range(SHOWN - len(rows)):
            table.add_row("", "", "", "", "")
        return table


def run_demo(seconds: float | None, others: int, speed: float, engine: str | None) -> None:
    """Until the time is over or Ctrl-C. Where there is no terminal, only the last state is printed."""
    workload = demo_workload(others)
    monitor, lists, console = sb.Monitor(workload, engine), Lists(), Console()
    began = time.monotonic()
    frames = _frames(speed)
    try:
        with Live(console=console, auto_refresh=False, transient=not console.is_terminal) as live:
            while seconds is None or time.monotonic() - began < seconds:
                due = time.monotonic() + FRAME_SECONDS
                lists.take(monitor.push(next(frames)))
                live.update(_page(lists, workload, monitor, began), refresh=console.is_terminal)
                time.sleep(max(0.0, due - time.monotonic()))
    except KeyboardInterrupt:
        pass
    if not console.is_terminal:
        console.print(_page(lists, workload, monitor, began))


def _frames(speed: float) -> Iterator[pa.Table]:
    """Trades of as much market time as passes in a frame."""
    ticks = market(rate=RATE)
    per_frame = max(1, round(speed * FRAME_SECONDS))
    while True:
        yield pa.concat_tables([next(ticks) for _ in range(per_frame)])


def _page(lists: Lists, workload: sb.Workload, monitor: sb.Monitor, began: float) -> RenderableType:
    counts = monitor.counters
    rate = counts["records"] / max(time.monotonic() - began, 1e-9)
    status = Text.assemble(
        (f"{len(workload.queries):,} queries", "bold"),
        f" in {len(counts['families'])} families   ",
        (f"{counts['records']:,} trades", "bold"),
        f" ({rate:,.0f}/s)   ",
        (f"{counts['candidates']:,} candidates kept", "bold green"),
        f" for all of them (peak {counts['candidates_peak']:,})   late {counts['late']:,}",
    )
    return Group(Panel(status, title="skyband demo: a simulated market", border_style="dim"), Columns(lists.tables()))


def _of(rows: pa.Table, names: list[str]) -> list[dict[str, object]]:
    chosen = [name in names for name in rows.column("query").to_pylist()]
    found: list[dict[str, object]] = rows.filter(pa.array(chosen, pa.bool_())).to_pylist()
    return found


def _clock(moment: object) -> str:
    return moment.strftime("%H:%M:%S") if isinstance(moment, datetime) else ""


def _amount(name: str, row: dict[str, object]) -> str:
    # The stream's `change` is not the result column of that name.
    return f"{float(str(row['record_change'])):+.2%}" if name == "movers" else f"{float(str(row['score'])):,.0f}"
