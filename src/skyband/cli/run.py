"""`skyband run`: a workload over real sources into a real sink, on Spark or, with --monitor, in this process."""

from __future__ import annotations

import atexit
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from skyband.cli import context
from skyband.cli.context import read_workload
from skyband.cli.lists import Lists
from skyband.cli.log_lines import LogLines, Said, begin, micro_batch, of_spark
from skyband.cli.market_source import GENERATED
from skyband.cli.monitored import MonitorOptions, run_monitor
from skyband.cli.signals import STOPPED, at_most, stop_signals
from skyband.cli.status import lost, status_line, summary
from skyband.errors import SkybandError
from skyband.model.duration import microseconds
from skyband.model.time_bounds import moment
from skyband.workload import Workload

if TYPE_CHECKING:
    from skyband.spark.job import Job, JobOptions, Running

LOOK_SECONDS = 0.5
MOST_PARTS = 1_000
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
Stall = Annotated[
    str, typer.Option("--stall", help="After so long without a word of Spark, /healthz beside the metrics says so.")
]
Log = Annotated[
    str | None, typer.Option("--log", metavar="text|json", help="Lines for a log instead of a page for a person.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Remove what the sink's folder holds.")]
Mending = Annotated[
    str | None,
    typer.Option("--mend", metavar="TIME", help="The newest true time: the watermark ran away from it."),
]
Accept = Annotated[
    list[str],
    typer.Option("--accept", metavar="WHAT", help="Go on though sink or source is another, or with rewind."),
]
Forget = Annotated[
    list[str], typer.Option("--forget", metavar="QUERY", help="Drop the state of a query that is gone, now.")
]
Parts = Annotated[
    int | None,
    typer.Option("--parts", metavar="N", help="Of the state of a family; said once, with a new checkpoint."),
]
Reports = Annotated[
    str | None,
    typer.Option("--reports", metavar="WHERE", help="A line for every report, also an empty one; as --sink."),
]


def run_batch(workload: Workload, options: JobOptions, engine: str | None, console: Console) -> None:
    """Every window, with a progress bar where somebody looks on."""
    from skyband.spark.job import Job

    lists = Lists()
    began = time.monotonic()
    with console.status("starting Spark"):
        job = Job(partial(workload.plan, engine), options, GENERATED, lists.take)
    _say_ways(job, console)
    try:
        _with_progress(job, console)
    finally:
        job.release()
    _show(lists)
    took = f"done in {time.monotonic() - began:.1f} s"
    console.print(", ".join([took, *lost(job.measures)]), style="dim", highlight=False, markup=False, soft_wrap=True)


def _say_ways(job: Job, console: Console) -> None:
    for name, way in job.ways.items():
        console.print(f"stream {name}: {way}", style="dim", highlight=False, markup=False, soft_wrap=True)


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
    stall: str,
    lines: LogLines | None,
) -> None:
    """Until it is stopped or, with --once, all that is there has been read."""
    from skyband.cli.exporter import address, serve
    from skyband.spark.job import Job

    lists, console = Lists(), _console(lines)
    patience = _length("--stall", stall) / 1e6
    if metrics is not None:
        address(metrics)
    if checkpoint is None:
        console.print("no --checkpoint: what this run knows is lost when it ends", style="dim")
        checkpoint = mkdtemp(prefix="skyband-checkpoint-")
        atexit.register(shutil.rmtree, checkpoint, ignore_errors=True)
    with console.status("starting Spark"):
        job = Job(partial(workload.plan, engine), options, GENERATED, lists.take, checkpoint)
    _say_ways(job, console)
    try:
        if metrics is not None:
            console.print(f"metrics at {serve(job.measures, metrics, patience)}", style="dim", markup=False)
        if lines is not None:
            lines.measures, job.measures.told = job.measures, micro_batch
        stopped = stop_signals()
        running = job.start(trigger)
        _watch(running, job, lists, stopped, console)
        job.measures.ended = True
        if drain:
            running.drain()
    finally:
        job.release()
    _show(lists)
    console.print(summary(job.measures), style="dim", soft_wrap=True)
    job.end()
    if stopped.is_set():
        raise typer.Exit(STOPPED)


def _watch(running: Running, job: Job, lists: Lists, stopped: threading.Event, console: Console) -> None:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not running.over(LOOK_SECONDS):
            if console.is_terminal:
                live.update(lists.page(status_line(job.measures)), refresh=True)
            if stopped.is_set():
                with at_most():
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


def _length(option: str, said: str) -> int:
    """Of a length of time, in microseconds."""
    try:
        return microseconds(said)
    except SkybandError as error:
        raise SkybandError(f"{option} {said}: {error.message}", expected='a time such as "10 seconds"') from None


def _console(lines: LogLines | None) -> Console:
    """Where a person is told something; with --log that is a line among others."""
    return Console(stderr=True) if lines is None else Console(file=cast(IO[str], Said()), width=10_000)


def _mended(text: str, checkpoint: str | None) -> int:
    """Microseconds from 1970."""
    if checkpoint is None:
        raise SkybandError("--mend without --checkpoint", expected="the checkpoint whose watermark has run away")
    try:
        return moment(text)
    except SkybandError as error:
        raise SkybandError(f"--mend {text}: {error.message}", expected=error.expected) from None


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
    stall: Stall = "10 minutes",
    log: Log = None,
    overwrite: Overwrite = False,
    reports: Reports = None,
    mend: Mending = None,
    accept: Accept = [],  # noqa: B006
    forget: Forget = [],  # noqa: B006
    parts: Parts = None,
) -> None:
    """Run a workload on Spark: every window of a batch, or a stream as it comes. With --monitor a batch without it."""
    workload = read_workload(path)
    if parts is not None and not 1 <= parts <= MOST_PARTS:
        raise SkybandError(f"--parts {parts}", expected=f"1 to {MOST_PARTS:,}")
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
            "--log": log,
            "--mend": mend,
            "--accept": accept,
            "--forget": forget,
            "--parts": parts,
        }
        asked = [name for name, value in for_spark.items() if value]
        if asked:
            raise SkybandError(f"{asked[0]} with --monitor", hint=f"{asked[0]} is for Spark: leave --monitor out")
        return run_monitor(workload, MonitorOptions(tuple(source), sink or "console", format, overwrite, engine))
    if sink is None:
        raise SkybandError("no --sink", expected="--sink WHERE: a path, kafka://…, postgresql://…, console or noop")
    from skyband.spark.job import JobOptions

    lines = None if log is None else begin(log, ",".join(each.name for each in workload.streams))
    options = JobOptions(
        tuple(source), sink, stream, format, master, tuple(package), connector, overwrite, context.debug, reports,
        said=None if lines is None else of_spark,
        accept=tuple(accept), forget=tuple(forget), parts=parts,
    )  # fmt: skip
    if not stream:
        only = {
            "--checkpoint": checkpoint,
            "--drain": drain,
            "--once": once,
            "--trigger": trigger,
            "--metrics": metrics,
            "--mend": mend,
            "--accept": accept,
            "--forget": forget,
            "--parts": parts,
        }
        given = [name for name, value in only.items() if value]
        if given:
            raise SkybandError(f"{given[0]} without --stream", hint="a batch reports every window and keeps nothing")
        return run_batch(workload, options, engine, _console(lines))
    if mend is not None:
        options = replace(options, mend=_mended(mend, checkpoint))
    between = _length("--trigger", trigger or "0 seconds") // 1_000
    pace: Mapping[str, str | bool] = {"availableNow": True} if once else {"processingTime": f"{between} milliseconds"}
    return run_stream(workload, options, engine, checkpoint, pace, drain, metrics, stall, lines)
