"""A workload with its sources and its sink, as `skyband run` runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from threading import Event, Lock

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.planner import NOWHERE, Placement, Plan
from skyband.runtime.locations import Location, check_apart, check_folder, remembered, remembered_sink
from skyband.spark.failures import REFUSED, clearly, explained, while_spark_lives
from skyband.spark.inputs import Input
from skyband.spark.io.generated import Tables, check_options, register
from skyband.spark.io.locations import is_begun, packages, source_locations
from skyband.spark.io.sinks import Show, Sink, lines_sink, sink, sink_location
from skyband.spark.io.sources import open_source
from skyband.spark.io.storage import Storage
from skyband.spark.made import made_by_tasks
from skyband.spark.metrics import Measures, Reports, Tasks
from skyband.spark.ownership.lease import Leases
from skyband.spark.ownership.owner import ACCEPTED, Owner
from skyband.spark.patience import stopping
from skyband.spark.pipeline import over, schemas_of, state_keys, ways
from skyband.spark.progress import Listener
from skyband.spark.reports import lines_of, result_rows
from skyband.spark.results import results
from skyband.spark.session import hush, quiet_end, session
from skyband.spark.state.checkpoint import Checkpoint, Surroundings
from skyband.spark.state.drain import drain
from skyband.spark.state.joining import NOTHING_NOTED
from skyband.spark.state.mend import Mend

PATIENCE = 10.0
"""Seconds that a micro-batch has to end when a job is stopped."""
BLINK = 0.02


@dataclass(frozen=True)
class JobOptions:
    """What a run was options to do, in the words of the command line."""

    sources: tuple[str, ...]
    sink: str
    streaming: bool = False
    format: str | None = None
    master: str | None = None
    packages: tuple[str, ...] = ()
    connector: str | None = None
    overwrite: bool = False
    debug: bool = False
    reports: str | None = None
    """Where lines of reports go."""
    java: tuple[str, ...] = ()
    """More options of the JVM."""
    said: Callable[[str], object] | None = None
    """Who is told of what the JVM and its workers say."""
    mend: int | None = None
    """The newest time that was true, where the watermark of the checkpoint has run away."""
    accept: tuple[str, ...] = ()
    """What may be other than the checkpoint says."""
    forget: tuple[str, ...] = ()
    """Queries that are gone, and whose state may go."""
    parts: int | None = None
    """Of the state of each family, where it can be split; None: as the checkpoint has them."""


Generated = Mapping[str, tuple[pa.Schema, Tables]]
"""Sources that make their records: columns and tables by name."""
PlanOf = Callable[[Mapping[str, pa.Schema], Placement], Plan]
"""The plan, as far as the columns of streams are known, around queries that have a place already."""


class Job:
    """Everything that can be wrong is said by the constructor, most of it before Spark has started."""

    @while_spark_lives()
    def __init__(
        self,
        planned: PlanOf,
        options: JobOptions,
        generated: Generated,
        show: Show,
        checkpoint: str | None = None,
    ) -> None:
        self.options, plan = options, planned({}, NOWHERE).in_parts(options.parts)
        self.plan, self.leases = plan, Leases()
        for word in options.accept:
            if word not in ACCEPTED:
                raise SkybandError(f"--accept {word}", expected="one of " + ", ".join(ACCEPTED))
        locations = source_locations(options.sources, plan.streams, options.format, options.streaming)
        for location in locations.values():
            if location.kind in generated:
                check_options(location.kind, generated[location.kind][1], location.options)
        self.sink: Sink = sink(options.sink, plan, show)
        fresh = checkpoint is None or not is_begun(checkpoint)
        if options.reports == options.sink:
            raise SkybandError(f"both --sink and --reports say {options.sink}", expected="a place for each")
        self.lines = None if options.reports is None else lines_sink(options.reports)
        for each in self.sinks:
            each.check(empty=fresh and not options.overwrite)
        if checkpoint is not None:
            check_folder(checkpoint, empty=False)
        targets = [sink_location(each) for each in (options.sink, options.reports) if each is not None]
        for target in targets:
            check_apart(target, locations.values())
        wanted = packages([*locations.values(), *targets], options.packages, options.connector)
        self.spark = session(
            options.streaming,
            wanted,
            options.master,
            debug=options.debug,
            keys=state_keys(plan),
            java=options.java,
            checkpoint=checkpoint,
            said=options.said,
        )
        self.tasks = Tasks(self.spark)
        self.checkpoint = None if checkpoint is None else Checkpoint(self.spark, checkpoint)
        try:
            self.owner = self._owner(plan)
            self.inputs = open_sources(self.spark, locations, plan.streams, options.streaming, generated)
            placement, parts = NOWHERE, options.parts
            if self.checkpoint is not None:
                placement, parts = self.checkpoint.placement(), self.checkpoint.parts(parts)
            self._plan(planned(schemas_of(self.inputs), placement).in_parts(parts), locations, targets)
        except BaseException:
            self.release()
            raise

    def _owner(self, plan: Plan) -> Owner:
        """Of a batch rows have the same identity whenever it is run."""
        options, accepted = self.options, frozenset(self.options.accept)
        if self.checkpoint is not None:
            return self.checkpoint.owner(self.leases, options.overwrite, accepted)
        texts = "\n".join(map(str, (*plan.streams, *plan.queries)))
        named = blake2b(texts.encode(), digest_size=8).hexdigest()
        return Owner(named=named, overwrite=options.overwrite, leases=self.leases)

    def _plan(self, plan: Plan, locations: Mapping[str, Location], targets: Sequence[Location]) -> None:
        self.plan, options = plan, self.options
        self.measures = Measures.of(plan)
        places = {name: remembered(each) for name, each in locations.items()}
        sinks, accepted = [remembered_sink(each) for each in targets], frozenset(options.accept)
        self.around = Surroundings(places, sinks, schemas_of(self.inputs), accepted)
        known = self.checkpoint
        self.joining = NOTHING_NOTED if known is None else known.check(plan, self.around, options.forget)
        self._mend: Mend | None = None
        if known is not None and options.mend is not None:
            self._mend = Mend(Storage(self.spark, known.path), options.mend, plan.streams)
            done = known.committed
            self.joining = self._mend.joining(plan, self.joining, 0 if done is None else done + 1)
        watched = not options.streaming and self.sink.observable
        self._left_out = {stream.name: Observation() for stream in plan.streams} if watched else {}
        self.results = results(plan, self.inputs)
        self.sink.bind(self.results)
        self.ways = ways(plan, self.inputs)
        self.rows = over(plan, self.inputs, self.joining, self._left_out, lines=self.lines is not None)

    @property
    def sinks(self) -> list[Sink]:
        return [self.sink] if self.lines is None else [self.sink, self.lines]

    @while_spark_lives()
    def run(self) -> None:
        """A batch, to its end."""
        for each in self.sinks:
            each.prepare(self.spark, self.owner)
        clearly(self._write)
        for seen in self._left_out.values():
            self.measures.counts.update({name: int(count or 0) for name, count in seen.get.items()})

    def _write(self) -> None:
        if self.lines is None:
            self.sink.write(self.rows)
            return
        kept = self.rows.persist()
        self.sink.write(result_rows(kept))
        self.lines.write(lines_of(kept, self.results, final=True))
        kept.unpersist()

    @while_spark_lives()
    def start(self, trigger: Mapping[str, str | bool]) -> Running:
        """A stream, in the background."""
        assert self.checkpoint is not None
        for each in self.sinks:
            clearly(partial(each.prepare, self.spark, self.owner))
        self.checkpoint.claim(self.plan, self.joining, self.around)
        if self._mend is not None:
            # Behind the note: whoever is killed in between can do it again.
            self._mend.set_back()
        return Running(self, self.checkpoint, trigger)

    def settle(self, committed: int, now: bool) -> None:
        for each in self.sinks:
            each.settle(self.spark, committed, now)

    def release(self) -> None:
        """Others may write from here on."""
        self.leases.release()

    def end(self) -> None:
        """Spark is not needed any more; what its processes say while they go is of no use to anybody."""
        self.release()
        quiet_end(self.spark)


def open_sources(
    spark: SparkSession,
    locations: Mapping[str, Location],
    streams: Sequence[Stream],
    streaming: bool,
    generated: Generated,
) -> dict[str, Input]:
    """The records of every stream."""
    for name, (schema, tables) in generated.items():
        if any(location.kind == name for location in locations.values()):
            register(spark, name, schema, tables)
    return {each.name: _opened(spark, locations[each.name], each, streaming, generated) for each in streams}


def _opened(spark: SparkSession, location: Location, stream: Stream, streaming: bool, generated: Generated) -> Input:
    found = open_source(spark, location, stream, streaming)
    if location.kind not in generated or stream.columns:
        return found
    return made_by_tasks(spark, location, found.frame, generated[location.kind][1], streaming)


class Running:
    """A streaming job under way."""

    def __init__(self, job: Job, checkpoint: Checkpoint, trigger: Mapping[str, str | bool]) -> None:
        self._job, self._checkpoint = job, checkpoint
        self._reports = Reports(job.plan, job.measures)
        self._failure: SkybandError | None = None
        self._idle = Event()
        self._idle.set()
        self._lock = Lock()
        self._written = -1
        stopping.clear()
        job.spark.streams.addListener(Listener(job.measures))
        writer = job.rows.writeStream.foreachBatch(self._write).option("checkpointLocation", checkpoint.path)
        self._query: StreamingQuery = clearly(lambda: writer.trigger(**trigger).start())  # type: ignore[arg-type]

    def over(self, seconds: float) -> bool:
        """Wait so long; whether it has ended by itself."""
        try:
            ended = bool(self._query.awaitTermination(seconds))  # type: ignore[arg-type]
            if ended:
                self._job.measures.settle(self._query)
            self._settle(now=ended)
            return ended
        except REFUSED as error:
            raise self._failure or explained(error) from error

    def stop(self, patience: float = PATIENCE) -> None:
        """The micro-batch that is being written gets so many seconds to end; else the next start does it again."""
        stopping.set()  # Who waits for a sink that is away gives up.
        with suppress(Py4JError, ConnectionError):  # Its process may be gone.
            self._wait(time.monotonic() + patience)
            hush()
            self._query.stop()
        with suppress(*REFUSED):  # What is held back is safe: the next start shows it.
            self._settle(now=True)

    def _settle(self, now: bool) -> None:
        """Show rows that were held back for long enough, or now all: of micro-batches that are done."""
        # A micro-batch that is being written does it itself; at the end it has had its time.
        if not self._lock.acquire(timeout=PATIENCE if now else 0):
            return
        try:
            committed = self._checkpoint.committed if now else self._job.measures.batch
            if committed is not None:
                self._job.settle(committed, now)
        finally:
            self._lock.release()

    def _wait(self, late: float) -> None:
        """Until what was written is committed and counted, and nothing is being written."""
        while not self._idle.is_set() or self._job.measures.batch < self._written:
            if time.monotonic() > late:
                return
            time.sleep(BLINK)
            self._job.measures.settle(self._query)

    @while_spark_lives()
    def drain(self) -> None:
        """Report what is still open, as the micro-batch that would come next: going on overwrites it."""
        job, last = self._job, self._checkpoint.committed
        if last is not None:
            asked = job.lines is not None
            rows = drain(job.spark, job.plan, job.inputs, self._checkpoint.path, job.joining, asked)
            clearly(lambda: self._write(rows, last + 1, final=False))
            self._job.settle(last + 1, now=True)

    def _write(self, rows: DataFrame, number: int, final: bool = True) -> None:
        self._idle.clear()
        try:
            with self._lock:
                self._job.leases.check()
                self._write_and_count(rows, number, final)
            self._written = number
        except SkybandError as error:
            # Spark would make a stack trace of it; this is what was meant.
            self._failure = error
            raise
        finally:
            self._idle.set()

    def _write_and_count(self, rows: DataFrame, number: int, final: bool) -> None:
        target, lines = self._job.sink, self._job.lines
        if target.observable and lines is None:
            self._watched(rows, number)
            return
        kept = rows.persist()
        try:
            mine = kept if lines is None else result_rows(kept)
            if target.observable:
                self._watched(mine, number)
            else:
                target.write_batch(mine, number)
                self._reports.tally(mine)
            if lines is not None:
                lines.write_batch(lines_of(kept, self._job.results, final), number)
        finally:
            kept.unpersist()

    def _watched(self, rows: DataFrame, number: int) -> None:
        watched, seen = self._reports.watch(rows)
        self._job.sink.write_batch(watched, number)
        self._reports.count(seen)
