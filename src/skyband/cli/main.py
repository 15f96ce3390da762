"""Commands, and the one place where errors become a line on the terminal and an exit code."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import skyband as sb
from skyband.cli import context
from skyband.cli.context import read_workload
from skyband.cli.demo import run_demo
from skyband.cli.run import Format, Sources, Streamed, explain_over, run
from skyband.cli.warm import warm
from skyband.errors import disk_full
from skyband.model.readable import visible_lines
from skyband.redaction import redacted

app = typer.Typer(
    help="Continuous top-k queries over data streams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
WorkloadFile = Annotated[Path, typer.Argument(metavar="WORKLOAD.sql", help="Streams and queries as text.")]
EngineName = Annotated[str | None, typer.Option("--engine", help="Force an engine; `skyband engines` lists them.")]


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error.")] = False,
) -> None:
    context.debug = debug


app.command()(run)
app.command()(warm)


@app.command()
def explain(
    workload: WorkloadFile,
    engine: EngineName = None,
    source: Sources = [],  # noqa: B006
    stream: Streamed = False,
    format: Format = None,
    all: Annotated[bool, typer.Option("--all", help="Every family and query, also where many are alike.")] = False,
) -> None:
    """Say what the queries share, how much that saves, and which engine runs them; of sources, who would read them."""
    asked = read_workload(workload)
    said = explain_over(asked, engine, source, stream, format, all) if source else asked.explain(engine, all=all)
    typer.echo(said, nl=False)


@app.command()
def engines() -> None:
    """List the engines."""
    table = Table("engine", "what it keeps", "queries", "answers", "from", box=None, header_style="bold")
    for name, able in sb.engines().items():
        scope = "a whole family" if able.several_queries else "one (lifted)"
        table.add_row(
            name,
            able.summary,
            scope,
            able.data.replace("_", " ") if able.data != "complete" else "ABOVE" if able.thresholds else "TOP",
            able.source,
        )
    Console().print(table)


@app.command()
def demo(
    seconds: Annotated[
        float | None, typer.Option(help="Stop so long after the first lists; without, Ctrl-C stops.")
    ] = None,
    queries: Annotated[int, typer.Option(help="How many more queries run beside the lists shown.")] = 300,
    speed: Annotated[float, typer.Option(help="Seconds of market time per second.")] = 30.0,
    engine: EngineName = None,
    monitor: Annotated[bool, typer.Option("--monitor", help="In this process, without Spark and Java.")] = False,
) -> None:
    """Watch the live lists of a simulated market that streams through Spark on this machine."""
    run_demo(seconds=seconds, others=queries, speed=speed, engine=engine, monitor=monitor)


def main() -> None:
    """Entry point: 0 for success, 1 for a mistake of ours, 2 for one in what was asked, 3 where something is missing
    that is needed, 4 for data or state that cannot be used, 130 where it was stopped."""
    try:
        with _room():
            app()
    except sb.SkybandError as error:
        if context.debug:
            _trace()
        else:
            context.complain(f"skyband: {visible_lines(str(error))}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        if context.debug:
            raise
        sys.exit(130)
    except Exception as error:
        if context.debug:
            _trace()
            sys.exit(1)
        said = visible_lines(redacted(" ".join(str(error).split()))) or "no more is known"
        context.complain(f"skyband: this should not have happened: {type(error).__name__}: {said}")
        context.complain("hint: skyband --debug ... shows where; please report it")
        sys.exit(1)


@contextmanager
def _room() -> Iterator[None]:
    """That a disk is full is no mistake of ours."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full() from error


def _trace() -> None:
    """Show the stack trace, as Python would, but for secrets."""
    print(redacted(traceback.format_exc()), end="", file=sys.stderr)  # noqa: T201
