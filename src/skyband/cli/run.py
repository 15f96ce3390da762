"""`skyband run`: a workload over real sources into a real sink, on Spark or, with --monitor, in this process."""

from __future__ import annotations

import atexit
import shutil
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from skyband.cli import context
from skyband.cli.context import read_workload
from skyband.cli.lists import Lists
from skyband.cli.market_source import GENERATED
from skyband.cli.monitored import MonitorOptions, run_monitor
from skyband.cli.signals import stop_signals
from skyband.cli.status import lost, status_line, summary
from skyband.errors import SkybandError
from skyband.model.duration import microseconds
from skyband.workload import Workload

if TYPE_CHECKING:
    from skyband.spark.job import Job, JobOptions, Running

LOOK_SECONDS = 0.5
Sources = Annotated[
    list[str], typer.Option("--source", metavar="NAME=WHERE", help="A path, kafka://…, rate://N or market://.")
]
Sink = Annotated[
    str | None,
    typer.Option(
        "--sink",
        metavar="WHERE",
        help="A path, kafka://…, postgresql://…, console, noop; with --monitor console unless said.",
    ),
]
InThisProcess = Annotated[
    bool, typer.Option("--monitor", help="A batch in this process, from files to files or the console, without Spark.")
]
Format = Annotated[str | None, typer.Option("--format", help="Of source files whose names do not tell.")]
Master = Annotated[str | None, typer.Option("--master", help="Where Spark runs; local[*] unless it is configured.")]
Packages = Annotated[list[str], typer.Option("--package", help="More for Spark: group:artifact:version, or a jar.")]
Connector = Annotated[
    str | None, typer.Option("--connector", help="Release of Spark's Kafka and Avro packages; Spark's own unless said.")
]
Streamed = Annotated[bool, typer.Option("--stream", help="Go on as records arrive.")]
CheckpointFolder = Annotated[str | None, typer.Option("--checkpoint", help="Where the state is kept across starts.")]
Drain = Annotated[bool, typer.Option("--drain", help="At the end report the windows still open.")]
Once = Annotated[bool, typer.Option("--once", help="Stop when all that is there has been read.")]
Trigger = Annotated[str | None, typer.Option("--trigger", help='Between two micro-batches, such as "10 seconds".')]
Metrics = Annotated[str | None, typer.Option("--metrics", metavar="[HOST]:PORT", help="Serve Prometheus text there.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Remove what the sink's folder holds.")]
Reports = Annotated[
    str | None,
    typer.Option("--reports", metavar="WHERE", help="A line for every report, also an empty one; as --sink."),
]


def run_batch(workload: Workload, options: JobOptions, engine: str | None) -> None:
    """Every window, with a progress bar where somebody looks on."""
    from skyband.spark.job import Job

    lists, console = Lists(), Console(stderr=True)
    began = time.monotonic()
    with console.status("starting Spark"):
        job = Job(partial(workload.plan, engine), options, GENERATED, lists.take)
    _say_ways(job, console)
    _with_progress(job, console)
    _show(lists)
    took = f"done in {time.monotonic() - began:.1f} s"
    console.print(", ".join([took, *lost(job.measures)]), style="dim", highlight=False, soft_wrap=True)


def _say_ways(job: Job, console: Console) -> None:
    for name, way in job.ways.items():
        console.print(f"stream {name}: {way}", style="dim", highlight=False, soft_wrap=True)


def _with_progress(job: Job, console: Console) -> None:
    """Spark works in a thread; errors come back here."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            job.run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total} tasks"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        shown = bar.add_task("running", total=None)
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            done, total = job.tasks.done()
            bar.update(shown, completed=done, total=total or None)
    if failed:
        raise failed[0]


def run_stream(
    workload: Workload,
    options: JobOptions,
    engine: str | None,
    checkpoint: str | None,
    trigger: Mapping[str, str | bool],
    drain: bool,
    metrics: str | None,
) -> None:
    """Until it is stopped or, with --once, all that is there has been read."""
    from skyband.cli.exporter import address, serve
    from skyband.spark.job import Job

    lists, console = Lists(), Console(stderr=True)
    if metrics is not None:
        address(metrics)
    if checkpoint is None:
        console.print("no --checkpoint: what this run knows is lost when it ends", style="dim")
        checkpoint = mkdtemp(prefix="skyband-checkpoint-")
        atexit.register(shutil.rmtree, checkpoint, ignore_errors=True)
    with console.status("starting Spark"):
        job = Job(partial(workload.plan, engine), options, GENERATED, lists.take, checkpoint)
    _say_ways(job, console)
    if metrics is not None:
        console.print(f"metrics at {serve(job.measures, metrics)}", style="dim")
    stopped = stop_signals()
    running = job.start(trigger)
    _watch(running, job, lists, stopped, console)
    if drain:
        running.drain()
    _show(lists)
    console.print(summary(job.measures), style="dim", soft_wrap=True)
    job.end()


def _watch(running: Running, job: Job, lists: Lists, stopped: threading.Event, console: Console) -> None:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not running.over(LOOK_SECONDS):
            if console.is_terminal:
                live.update(lists.page(status_line(job.measures)), refresh=True)
            if stopped.is_set():
                running.stop()
                return


def _show(lists: Lists) -> None:
    if lists:
        Console().print(lists.page())


def explain_over(
    workload: Workload, engine: str | None, sources: list[str], stream: bool, format: str | None, all: bool
) -> str:
    """The plan, and the way that the records of these sources would take."""
    from skyband.spark.io.locations import packages, source_locations
    from skyband.spark.job import open_sources
    from skyband.spark.session import quiet_end, session

    locations = source_locations(sources, workload.streams, format, stream)
    spark = session(stream, packages(locations.values(), ()), debug=context.debug)
    try:
        return workload.explain(engine, open_sources(spark, locations, workload.streams, stream, GENERATED), all)
    finally:
        quiet_end(spark)


def _between(trigger: str | None) -> int:
    """Microseconds from one micro-batch to the next."""
    try:
        return microseconds(trigger or "0 seconds")
    except SkybandError as error:
        raise SkybandError(f"--trigger {trigger}: {error.message}", expected='a time such as "10 seconds"') from None


def run(
    path: Annotated[Path, typer.Argument(metavar="WORKLOAD.sql", help="Streams and queries as text.")],
    source: Sources,
    sink: Sink = None,
    monitor: InThisProcess = False,
    stream: Streamed = False,
    checkpoint: CheckpointFolder = None,
    drain: Drain = False,
    once: Once = False,
    trigger: Trigger = None,
    engine: Annotated[str | None, typer.Option("--engine", help="Force an engine.")] = None,
    format: Format = None,
    master: Master = None,
    package: Packages = [],  # noqa: B006
    connector: Connector = None,
    metrics: Metrics = None,
    overwrite: Overwrite = False,
    reports: Reports = None,
) -> None:
    """Run a workload on Spark: every window of a batch, or a stream as it comes. With --monitor a batch without it."""
    workload = read_workload(path)
    if monitor:
        for_spark = {
            "--stream": stream,
            "--checkpoint": checkpoint,
            "--drain": drain,
            "--once": once,
            "--trigger": trigger,
            "--master": master,
            "--package": package,
            "--connector": connector,
            "--metrics": metrics,
            "--reports": reports,
        }
        asked = [name for name, value in for_spark.items() if value]
        if asked:
            raise SkybandError(f"{asked[0]} with --monitor", hint=f"{asked[0]} is for Spark: leave --monitor out")
        return run_monitor(workload, MonitorOptions(tuple(source), sink or "console", format, overwrite, engine))
    if sink is None:
        raise SkybandError("no --sink", expected="--sink WHERE: a path, kafka://…, postgresql://…, console or noop")
    from skyband.spark.job import JobOptions

    options = JobOptions(
        tuple(source), sink, stream, format, master, tuple(package), connector, overwrite, context.debug, reports
    )
    if not stream:
        only = {
            "--checkpoint": checkpoint,
            "--drain": drain,
            "--once": once,
            "--trigger": trigger,
            "--metrics": metrics,
        }
        given = [name for name, value in only.items() if value]
        if given:
            raise SkybandError(f"{given[0]} without --stream", hint="a batch reports every window and keeps nothing")
        return run_batch(workload, options, engine)
    pace: Mapping[str, str | bool] = {"processingTime": f"{_between(trigger) // 1_000} milliseconds"}
    return run_stream(workload, options, engine, checkpoint, {"availableNow": True} if once else pace, drain, metrics)
