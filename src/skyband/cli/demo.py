"""The demo: a simulated market streams through Spark on this machine, and the lists show live in the terminal."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

import skyband as sb
from skyband.cli.demo_page import TITLES, Layout, Lists, Numbers, page
from skyband.cli.signals import stop_signals
from skyband.datasets import market

if TYPE_CHECKING:
    from skyband.spark.job import Job

FRAME_SECONDS = 0.25
RATE = 2_000.0
EVERY = 1
"""Seconds from one micro-batch to the next; where one takes longer, the market waits."""
AHEAD = 20
"""Seconds of market that are there at once, so that the first windows close with the first micro-batch."""
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM of minutes beside workers that need the cores: code that is compiled fast serves it better than fast code,
and so does a collector without threads of its own."""
UNWATCHED_SECONDS = 20.0
"""How long it goes on where nobody looks on, unless that was said."""


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


def run_demo(seconds: float | None, others: int, speed: float, engine: str | None, monitor: bool) -> None:
    """Until Ctrl-C, or so many seconds after the first lists."""
    workload, console = demo_workload(others), Console()
    if seconds is None and not console.is_terminal:
        seconds = UNWATCHED_SECONDS
    if not monitor and (missing := _no_java()):
        console.print(
            f"{missing}\nHere are the same lists without Spark.", style="yellow", highlight=False, markup=False
        )
        monitor = True
    show = Show(console, seconds)
    if monitor:
        _in_this_process(workload, speed, engine, show)
    else:
        _on_spark(workload, speed, engine, show)


def _no_java() -> str | None:
    try:
        from skyband.spark.session import check_java

        check_java()
    except sb.SkybandError as error:
        return str(error)
    return None


class Show:
    """Draws frames until the time is over; where there is no terminal, only the last one."""

    def __init__(self, console: Console, seconds: float | None) -> None:
        self.console, self.seconds = console, seconds
        self.ended = threading.Event()

    @property
    def layout(self) -> Layout:
        return Layout.of(self.console.width, self.console.height) if self.console.is_terminal else Layout()

    def run(self, lists: Lists, draw: Callable[[], RenderableType], step: Callable[[], None]) -> None:
        """`step` lets a frame's time pass."""
        first: float | None = None
        self.ended = stop_signals()
        if not self.console.is_terminal:
            self.console.print(f"No terminal: the lists are printed {self.seconds:g} s after the first have come.")
        with Live(console=self.console, auto_refresh=False, transient=True) as live:
            while not self.ended.is_set():
                step()
                live.update(draw(), refresh=self.console.is_terminal)
                first = time.monotonic() if first is None and lists else first
                if self.seconds is not None and first is not None and time.monotonic() - first >= self.seconds:
                    break
        self.console.print(draw())


def _on_spark(workload: sb.Workload, speed: float, engine: str | None, show: Show) -> None:
    from skyband.cli.market_source import GENERATED
    from skyband.spark.job import Job, JobOptions

    lists, began = Lists(), time.monotonic()
    source = f"trades=market://?rate={RATE}&speed={speed}&ahead={AHEAD}&most={EVERY}&prepare=first"
    sink = f"console?queries={','.join(TITLES)}"
    with TemporaryDirectory(prefix="skyband-demo-", ignore_cleanup_errors=True) as checkpoint:
        with show.console.status("Starting Spark on this machine (some seconds) ..."):
            options = JobOptions((source,), sink, streaming=True, java=BRIEF)
            job = Job(partial(workload.plan, engine), options, GENERATED, lists.take, checkpoint)
            running = job.start({"processingTime": f"{EVERY} seconds"})

        def step() -> None:
            if running.over(FRAME_SECONDS):
                show.ended.set()

        def draw() -> RenderableType:
            if lists:
                return page(lists, _numbers(workload, job), show.layout)
            waits = "The market is open" if job.measures.batches else "Workers and state are being prepared"
            return Text(f"Spark is up. {waits}, waiting for the first lists: {time.monotonic() - began:.0f} s ...")

        try:
            show.run(lists, draw, step)
        finally:
            running.stop()
            job.end()


def _numbers(workload: sb.Workload, job: Job) -> Numbers:
    now = job.measures
    more = [f"micro-batch {now.batches} took {now.batch_seconds:.1f} s", f"state {now.state_bytes / 1e6:.1f} MB"]
    more += [f"{now.counts[name]:,} {name}" for name in ("dropped", "unranked", "bad", "future") if now.counts[name]]
    more.append(f"{sum(family.rows for family in now.families.values()):,} result rows")
    return Numbers(
        "streaming through Spark",
        len(workload.queries),
        len(now.families),
        now.counts["records"],
        now.records_per_second,
        now.candidates or 0,
        now.counts["late"],
        "   ".join(more),
    )


def _in_this_process(workload: sb.Workload, speed: float, engine: str | None, show: Show) -> None:
    monitor, lists, began = sb.Monitor(workload, engine), Lists(), time.monotonic()
    frames = _frames(speed)
    with show.console.status("Waiting for the first lists ..."):
        lists.take(monitor.push(next(frames)))

    def step() -> None:
        due = time.monotonic() + FRAME_SECONDS
        lists.take(monitor.push(next(frames)))
        time.sleep(max(0.0, due - time.monotonic()))

    def draw() -> RenderableType:
        counts = monitor.counters
        rate = counts["records"] / max(time.monotonic() - began, 1e-9)
        sizes = len(workload.queries), len(counts["families"])
        where, records = "in one process", counts["records"]
        return page(lists, Numbers(where, *sizes, records, rate, counts["candidates"], counts["late"]), show.layout)

    show.run(lists, draw, step)


def _frames(speed: float) -> Iterator[pa.Table]:
    """Trades of as much market time as passes in a frame."""
    ticks = market(rate=RATE)
    per_frame = max(1, round(speed * FRAME_SECONDS))
    while True:
        yield pa.concat_tables([next(ticks) for _ in range(per_frame)])
