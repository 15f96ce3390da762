"""A run as tables on the terminal and as one JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.harness import Figure, Ratio, Result, Row
from bench.machine import commit

VERSION = 1
RESULTS = Path(__file__).parent / "results"
Done = list[tuple[Row, Result]]


def show(console: Console, row: Row, result: Result) -> None:
    """The table of one row, its ratios with what is asked of them, and its notes."""
    settings = ", ".join(f"{name} {text(value)}" for name, value in result.settings.items())
    console.print(f"\n[bold]{row.name}[/bold]  {escape(row.summary)}\n[dim]{escape(settings)}[/dim]")
    if result.lines:
        table = Table(box=None, pad_edge=False)
        for column in result.lines[0]:
            table.add_column(column, justify="left" if column == "contestant" else "right")
        for line in result.lines:
            table.add_row(*(escape(text(value)) for value in line.values()))
        console.print(table)
    for ratio in result.ratios:
        console.print(f"  {escape(ratio.what)}: [bold]{text(ratio.value)}[/bold] {_verdict(ratio)}")
    for note in result.notes:
        console.print(f"  [dim]{escape(note)}[/dim]")


def _verdict(ratio: Ratio) -> str:
    if ratio.holds is None:
        return ""
    return f"[green]({ratio.asked}: holds)[/green]" if ratio.holds else f"[red]({ratio.asked}: MISSED)[/red]"


def text(value: Figure) -> str:
    """Four figures are enough; whole numbers get their commas."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value


def document(done: Done, began: datetime, quick: bool, where: dict[str, object]) -> dict[str, object]:
    """All of a run."""
    return {
        "version": VERSION,
        "date": began.isoformat(timespec="seconds"),
        "quick": quick,
        "clock": "CPU time of the process",
        "machine": where,
        "commit": commit(),
        "rows": [_row(row, result) for row, result in done],
    }


def _row(row: Row, result: Result) -> dict[str, object]:
    ratios = [asdict(ratio) | {"holds": ratio.holds} for ratio in result.ratios]
    return {"row": row.name, "summary": row.summary} | asdict(result) | {"ratios": ratios}


def write(done: Done, began: datetime, quick: bool, where: dict[str, object], folder: Path) -> Path:
    """Put the run into a file of its own."""
    content = document(done, began, quick, where)
    folder.mkdir(parents=True, exist_ok=True)
    stamp = began.astimezone(UTC).strftime("%Y%m%dT%H%M%S")
    names = done[0][0].name if len(done) == 1 else f"{len(done)}-rows"
    path = folder / f"{stamp}-{names}{'-quick' if quick else ''}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
