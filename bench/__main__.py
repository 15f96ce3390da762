"""`python -m bench [ROW ...] [--list] [--quick] [--output FOLDER]`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

import bench.rows  # noqa: F401  (registers them)
from bench.harness import ROWS, Row, Run, chosen
from bench.machine import machine
from bench.report import RESULTS, Done, show, write
from skyband.engines.compiling import SETTING


def main(words: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(words)
    console = Console()
    if arguments.list:
        for row in ROWS.values():
            console.print(f"{row.name:24} {row.summary}", highlight=False)
        return 0
    try:
        rows = chosen(arguments.row)
    except LookupError as error:
        print(f"there is no row called {error}; `python -m bench --list` names them", file=sys.stderr)
        return 2
    # Rows are about the engines themselves, not about what stands in while they are compiled.
    os.environ.setdefault(SETTING, "first")
    began, where = datetime.now(UTC), machine()
    done = _measure(console, rows, arguments.quick)
    path = write(done, began, arguments.quick, where, arguments.output)
    console.print(f"\nwritten: {path.name}", highlight=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, print a table, write JSON.")
    parser.add_argument("row", nargs="*", help="name of a row, or the beginning of several; all when left out")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: see that the rows work, not how fast")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the JSON file (bench/results)")
    return parser


def _measure(console: Console, rows: Sequence[Row], quick: bool) -> Done:
    done: Done = []
    columns = (SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(rows))
        for row in rows:
            progress.update(task, description=row.name)
            done.append((row, row.measure(Run(quick, partial(_say, progress, task, row.name)))))
            show(console, *done[-1])
            progress.advance(task)
    return done


def _say(progress: Progress, task: TaskID, row: str, text: str) -> None:
    progress.update(task, description=f"{row}: {text}")


if __name__ == "__main__":
    sys.exit(main())
