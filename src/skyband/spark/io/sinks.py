"""Where result rows go: folders, Kafka, PostgreSQL, a terminal. A micro-batch that is written again overwrites itself.

Each sink is also what `foreachBatch` wants:

    results.writeStream.foreachBatch(sink("postgresql://me@host/db?table=top", w.plan()).write_batch)
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window, functions as f

from skyband.errors import SkybandError
from skyband.model import Query
from skyband.model.duration import microseconds
from skyband.planner import Plan
from skyband.runtime.locations import FILES, Location, check_folder, read_location
from skyband.runtime.owned_folders import content
from skyband.runtime.results import Results
from skyband.spark.event_time import micros, quoted
from skyband.spark.io.last_reports import in_the_data, last_reports
from skyband.spark.io.locations import broker, check_broker
from skyband.spark.io.postgres import Table, check_postgres, upsert
from skyband.spark.io.row_folders import HELD, RowFolders
from skyband.spark.io.storage import Storage
from skyband.spark.ownership.owner import Owner
from skyband.spark.patience import AwayError, patiently

SCHEMES = ("kafka", "postgresql", "postgres")
MOMENTS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Spark's own formats for text would cut microseconds off."""
BATCH = "micro_batch"
_NO_BROKER = re.compile(r"TimeoutException: .*|DisconnectException.*|NetworkException.*|NotEnoughReplicas.*")
Show = Callable[[pa.Table], None]
Identity = Callable[..., DataFrame]
"""Adds to rows the text that names one across replays, and across jobs (`job=`)."""
EVERY = 60.0
"""Seconds after which rows of a stream get a folder of their own, unless said: a folder for every micro-batch would be
200,000 a day."""
FILE_BYTES = 128 * 2**20


class Sink(Protocol):
    """`check` before Spark starts, `bind` and `prepare` before the first row; then one `write`, or many `write_batch`,
    and `settle` now and then.

    `empty`: nothing may be there yet. `settle`: micro-batches up to this one are done; `now`: show what was held."""

    observable: bool
    """Whether its writing tells an `Observation`: Kafka's does not, and whoever asked would wait for ever."""

    def check(self, empty: bool = False) -> None: ...
    def bind(self, results: Results) -> None: ...
    def prepare(self, spark: SparkSession, owner: Owner) -> None: ...
    def write(self, rows: DataFrame) -> None: ...
    def write_batch(self, rows: DataFrame, number: int) -> None: ...
    def settle(self, spark: SparkSession, committed: int, now: bool) -> None: ...


def sink(text: str, plan: Plan, show: Show | None = None) -> Sink:
    """The sink that the command line names; `show` takes the latest lists where that is the console."""
    if text == "noop":
        return Noop()
    location = sink_location(text)
    if "per" in location.options:
        return per_query(location, plan)
    if location.where == "console" and location.kind == "files":
        return Latest(show or (lambda rows: None), _chosen(location, plan))
    if location.kind == "kafka":
        return Kafka(location, _identity_of_rows(plan.queries))
    return _overwriting(location, _identity_of_rows(plan.queries))


def lines_sink(text: str) -> Sink:
    """The sink for lines of reports that the command line names."""
    location = sink_location(text)
    if text == "noop" or (location.where == "console" and location.kind == "files") or "per" in location.options:
        raise SkybandError(f"--reports {text}", expected="a folder, delta:PATH, kafka://... or postgresql://...")
    return (
        Kafka(location, with_line_identity) if location.kind == "kafka" else _overwriting(location, with_line_identity)
    )


def _overwriting(location: Location, identity: Identity) -> Files | Delta | Postgres:
    if location.kind in ("postgresql", "postgres"):
        return Postgres(location, identity)
    if location.kind == "delta":
        return Delta(location)
    options = dict(location.options)
    every = options.pop("every", None)
    return Files(replace(location, options=options), None if every is None else _seconds(every))


def _seconds(every: str) -> float:
    """`?every=10 seconds`, or `?every=batch`: a folder for each micro-batch."""
    if every == "batch":
        return 0.0
    try:
        return microseconds(every) / 1e6
    except SkybandError as error:
        expected = "a time such as ?every=10 seconds, or ?every=batch"
        raise SkybandError(f"every={every}: {error.message}", expected=expected) from None


def per_query(location: Location, plan: Plan) -> PerQuery:
    """`?per=query`: a folder or table for each query."""
    options = dict(location.options)
    if (said := options.pop("per")) != "query":
        raise SkybandError(f"--sink with per={said}", expected="per=query")
    if location.kind == "kafka" or (location.where == "console" and location.kind == "files"):
        raise SkybandError(
            f"--sink {location.kind if location.kind == 'kafka' else 'console'} with per=query",
            expected="per=query behind a folder, a Delta table or a table of PostgreSQL",
        )
    whole = _overwriting(replace(location, options=options), _identity_of_rows(plan.queries))
    return PerQuery(whole, {query.name: whole.of(query) for query in plan.queries})


def sink_location(text: str) -> Location:
    """Where rows go; a folder's name may tell its format."""
    location = read_location(text, SCHEMES)
    suffix = location.where.rstrip("/").rpartition(".")[2]
    return replace(location, kind=suffix) if location.kind == "files" and suffix in FILES else location


class _Plain:
    """A sink that needs no preparation."""

    observable = True

    def check(self, empty: bool = False) -> None:
        pass

    def bind(self, results: Results) -> None:
        pass

    def prepare(self, spark: SparkSession, owner: Owner) -> None:
        pass

    def settle(self, spark: SparkSession, committed: int, now: bool) -> None:
        pass


class Noop(_Plain):
    """Everything is computed and nothing is kept."""

    def write(self, rows: DataFrame) -> None:
        rows.write.format("noop").mode("overwrite").save()

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self.write(rows)


@dataclass
class Memory(_Plain):
    """Rows by micro-batch, in this process."""

    tables: dict[int, pa.Table] = field(default_factory=dict)

    def write(self, rows: DataFrame) -> None:
        self.write_batch(rows, 0)

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self.tables[number] = rows.toArrow()


@dataclass
class Latest(_Plain):
    """The last report of every list, or of those that `queries` names, handed to `show`."""

    show: Show
    queries: tuple[str, ...] = ()

    def write(self, rows: DataFrame) -> None:
        """Of a batch, which reports every window, the last that lies in the data."""
        self.show(last_reports(in_the_data(self._chosen(rows))))

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self.show(last_reports(self._chosen(rows)))

    def _chosen(self, rows: DataFrame) -> DataFrame:
        return rows.where(self._wanted) if self.queries else rows

    @cached_property
    def _wanted(self) -> Column:
        return f.col("query").isin(*self.queries)


@dataclass
class Files(_Plain):
    """A folder of Parquet, CSV or JSON. Of a stream micro-batches have folders of their own, which appear whole and in
    one step, so a reader that only lists files sees every row once, however often the job was killed. Where there is
    somebody to `settle`, rows are held back for a while and shown together."""

    location: Location
    every: float | None = None
    """Seconds for which rows may be held back, if somebody said so."""
    _patience: float = 0.0
    _due: float = 0.0

    def of(self, query: Query) -> Files:
        """The folder of one query."""
        return self.at(folder_name(query.name))

    def at(self, name: str) -> Files:
        return replace(self, location=replace(self.location, where=f"{self._folder}/{name}"))

    @property
    def _folder(self) -> str:
        return self.location.where.rstrip("/")

    def check(self, empty: bool = False) -> None:
        check_folder(self.location.where, empty)

    def prepare(self, spark: SparkSession, owner: Owner) -> None:
        """Rows of another run must not get mixed in."""
        folder = Storage(spark, self.location.where)
        owner.own(folder)
        self.resume(spark, owner)
        for name in content(folder.names()):
            # Of queries that are gone, too.
            if (folder / name / HELD).exists():
                self.at(name).resume(spark, owner)

    def resume(self, spark: SparkSession, owner: Owner) -> None:
        """Go on after what the checkpoint knows; what an earlier start held back is shown."""
        folders, known = RowFolders(spark, self._folder), -1 if owner.committed is None else owner.committed
        if owner.check_rewound(self.location.where, folders.last()):
            folders.rewind(known)
        folders.drop_shown_twice(known)
        self.settle(spark, known, now=True)
        self._patience = (EVERY if self.every is None else self.every) if owner.checkpoint else 0.0

    def write(self, rows: DataFrame) -> None:
        self._save(rows, self.location.where, "append")

    def write_batch(self, rows: DataFrame, number: int) -> None:
        folders = RowFolders(rows.sparkSession, self._folder)
        if not self._patience:
            self._save(rows, str(folders.writing(number)))
            folders.show(number)
            return
        self.settle(rows.sparkSession, number - 1, now=False)
        rows.write.mode("overwrite").parquet(str(folders.holding(number)))
        # What was shown of it when the stream was drained is done again.
        folders.withdraw(number)

    def settle(self, spark: SparkSession, committed: int, now: bool) -> None:
        if not now and (not self._patience or time.monotonic() < self._due):
            return
        folders = RowFolders(spark, self._folder)
        done = [number for number in folders.held() if number <= committed]
        if done:
            held = [folders.holding(number) for number in done]
            files = sum(each.size() for each in held) // FILE_BYTES + 1
            self._save(spark.read.parquet(*map(str, held)).coalesce(files), str(folders.writing(done[-1])))
            folders.show(done[-1])
            folders.drop_held(done)
            self._due = time.monotonic() + self._patience

    def _save(self, rows: DataFrame, path: str, mode: str = "overwrite") -> None:
        kind = "parquet" if self.location.kind == "files" else self.location.kind
        options = {"csv": MOMENTS | {"header": "true"}, "json": MOMENTS}.get(kind, {})
        rows.write.mode(mode).format(kind).options(**options | self.location.options).save(path)


class Delta(Files):
    """One table; of a stream with the number of the micro-batch as a column. Writing it again takes the rows of that
    number out, in the same transaction."""

    def resume(self, spark: SparkSession, owner: Owner) -> None:
        if not (Storage(spark, self._folder) / "_delta_log").exists():
            return
        table, known = spark.read.format("delta").load(self.location.where), -1
        if BATCH in table.columns:
            last, known = table.agg(f.max(BATCH)).collect()[0][0], -1 if owner.committed is None else owner.committed
            if last is not None and owner.check_rewound(self.location.where, last):
                self._replace(table.limit(0), f"{BATCH} > {known}")

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self._replace(rows.withColumn(BATCH, f.lit(number).cast("bigint")), f"{BATCH} = {number}")

    def settle(self, spark: SparkSession, committed: int, now: bool) -> None:
        """Nothing is held back."""

    def _replace(self, rows: DataFrame, which: str) -> None:
        options = {"replaceWhere": which, "mergeSchema": "true"} | self.location.options
        writer = rows.write.format("delta").mode("overwrite").partitionBy(BATCH)
        writer.options(**options).save(self.location.where)


@dataclass
class Kafka(_Plain):
    """JSON values under the row's identity as key: a topic that is compacted, or a reader that keeps the last value
    of a key, sees every row once."""

    location: Location
    identity: Identity
    observable = False
    job: str = ""

    def prepare(self, spark: SparkSession, owner: Owner) -> None:
        self.job = owner.named

    def check(self, empty: bool = False) -> None:
        check_broker(self.location)

    def write(self, rows: DataFrame) -> None:
        servers, topic = broker(self.location)
        told = self.identity(rows, job=self.job).select(
            f.col("identity").alias("key"), f.to_json(f.struct(*_columns(rows)), MOMENTS).alias("value")
        )
        options = {"kafka.bootstrap.servers": servers, "topic": topic} | self.location.options
        patiently("Kafka", lambda: _saved(told, options))

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self.write(rows)


def _saved(told: DataFrame, options: dict[str, str]) -> None:
    try:
        told.write.format("kafka").options(**options).save()
    except Exception as error:
        # The client has waited for two minutes already.
        if said := _NO_BROKER.search(str(error)):
            raise AwayError(said[0]) from error
        raise


@dataclass
class Postgres(_Plain):
    """A table with the identity as its primary key; each micro-batch is one transaction that inserts or updates. Rows
    of two jobs have different identities."""

    location: Location
    identity: Identity
    job: str = ""

    def prepare(self, spark: SparkSession, owner: Owner) -> None:
        self.job = owner.named

    def of(self, query: Query) -> Postgres:
        """The table of one query."""
        # A dot would part it into a schema and a table.
        name = query.name.replace("%", "%25").replace(".", "%2E")
        options = self.location.options | {"table": f"{self._table().name}_{name}"}
        found = Postgres(replace(self.location, options=options), _identity_of_rows([query]))
        found._table()
        return found

    def resume(self, spark: SparkSession, owner: Owner) -> None:
        """As the table of one query among others."""
        self.prepare(spark, owner)

    def check(self, empty: bool = False) -> None:
        check_postgres(self._table())

    def write(self, rows: DataFrame) -> None:
        named = self.identity(rows, job=self.job)
        upsert(named.select("identity", *_columns(rows)), self._table())

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self.write(rows)

    def _table(self) -> Table:
        options = dict(self.location.options)
        name = options.pop("table", None)
        if not name:
            raise SkybandError(
                f"{self.location.kind}://{self.location.where} names no table",
                expected="postgresql://user@host/db?table=NAME",
            )
        words = "&".join(f"{key}={value}" for key, value in options.items())
        return Table(f"postgresql://{self.location.where}" + (f"?{words}" if words else ""), name)


@dataclass
class PerQuery(_Plain):
    """A sink for each query, inside `whole`; rows in the query's own schema. Rows are computed once for all of them."""

    whole: Files | Delta | Postgres
    sinks: Mapping[str, Files | Delta | Postgres]
    results: Results | None = None

    def check(self, empty: bool = False) -> None:
        self.whole.check(empty)

    def bind(self, results: Results) -> None:
        self.results = results

    def prepare(self, spark: SparkSession, owner: Owner) -> None:
        self.whole.prepare(spark, owner)
        for each in self.sinks.values():
            each.resume(spark, owner)

    def settle(self, spark: SparkSession, committed: int, now: bool) -> None:
        for each in self.sinks.values():
            each.settle(spark, committed, now)

    def write(self, rows: DataFrame) -> None:
        self._each(rows, lambda sink, mine: sink.write(mine))

    def write_batch(self, rows: DataFrame, number: int) -> None:
        self._each(rows, lambda sink, mine: sink.write_batch(mine, number))

    def _each(self, rows: DataFrame, write: Callable[[Sink, DataFrame], None]) -> None:
        if self.results is None:
            raise SkybandError("a sink per query was not told of their columns", expected="bind(workload.results(df))")
        kept = rows.persist()
        try:
            for query, sink in self.sinks.items():
                write(sink, self.results.of(query).rows(kept))
        finally:
            kept.unpersist()


def folder_name(query: str) -> str:
    """Percent-encoded, and not hidden: readers pass over names that begin with a dot or an underscore."""
    found = quote(query, safe=" ")
    return f"%{ord(found[0]):02X}{found[1:]}" if found[:1] in ("_", ".") else found


def report(rows: DataFrame) -> Column:
    """When a row was reported: microseconds of a RANGE window's end, the position of a ROWS window's."""
    return f.coalesce(micros("window_end", rows.schema["window_end"].dataType), f.col("row_end"))


def with_identity(rows: DataFrame, logged: bool, job: str = "") -> DataFrame:
    """The text that names a row across replays: the job where there is one, query, report, group and rank; for a log of
    changes (`logged`) also the change and the record, and its number among records that look the same."""
    parts = [*_job(job), f.col("query"), report(rows).alias("report"), f.col("group_key"), f.col("rank")]
    if logged:
        record = f.xxhash64(*(f.col(quoted(name)) for name in rows.columns))
        twins = Window.partitionBy("query", report(rows), "group_key", "change", "#record").orderBy(f.lit(1))
        rows = rows.withColumn("#record", record)
        rows = rows.withColumn("#twin", f.when(f.col("change").isNotNull(), f.row_number().over(twins)))
        changed = f.col("change").isNotNull()
        parts += [f.col("change"), f.when(changed, f.col("#record")).alias("record"), f.col("#twin").alias("number")]
    return rows.withColumn("identity", f.to_json(f.struct(*parts))).drop("#record", "#twin")


def with_line_identity(lines: DataFrame, job: str = "") -> DataFrame:
    """The same for a line: query, report and group."""
    named = f.struct(*_job(job), f.col("query"), report(lines).alias("report"), f.col("group_key"))
    return lines.withColumn("identity", f.to_json(named))


def _job(job: str) -> list[Column]:
    return [f.lit(job).alias("job")] if job else []


def _chosen(location: Location, plan: Plan) -> tuple[str, ...]:
    """`console?queries=one,other`."""
    asked = tuple(name for name in location.options.get("queries", "").split(",") if name)
    known = [query.name for query in plan.queries]
    for name in asked:
        if name not in known:
            raise SkybandError(f"--sink console shows a query {name!r} that is not there", expected=", ".join(known))
    return asked


def _columns(rows: DataFrame) -> list[Column]:
    return [f.col(quoted(name)) for name in rows.columns]


def _identity_of_rows(queries: Iterable[Query]) -> Identity:
    return partial(with_identity, logged=any(query.changes for query in queries))
