"""`skyband run --monitor`: a batch in this process, without Spark and Java. Files in, every window out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

import skyband as sb
from skyband.cli.lists import Lists
from skyband.cli.market_source import market_tables
from skyband.cli.row_files import KINDS as WRITTEN, Writer, checked_folder, row_writer
from skyband.errors import SkybandError
from skyband.model import Stream
from skyband.model.time_bounds import utc_now
from skyband.runtime.arrow_files import KINDS as READ, ArrowFiles
from skyband.runtime.locations import SCHEMES, SUFFIXES, Location, check_apart, named, no_format, read_location

SPARK = "leave --monitor out, after pip install 'skyband[spark]'"
LOST = ("late", "dropped", "unranked", "future")


@dataclass(frozen=True)
class MonitorOptions:
    sources: tuple[str, ...]
    sink: str
    format: str | None
    overwrite: bool
    engine: str | None


def run_monitor(workload: sb.Workload, options: MonitorOptions) -> None:
    """Every window of every stream, and a line of what happened."""
    began, start = time.monotonic(), utc_now()
    streams = [stream.never_expiring() for stream in workload.streams]
    workload = sb.Workload(workload.queries, streams=streams, tables=workload.tables)
    sources = _sources(workload, options)
    inputs = {stream.name: _tables(sources[stream.name], stream, options.format) for stream in workload.streams}
    out = _output(options, workload, sources.values())
    monitor = sb.Monitor(workload, options.engine, clock=lambda: start)
    # The columns of all streams first: they make the columns of the rows.
    for name, tables in inputs.items():
        monitor.push(next(tables), name)
    out.begin(monitor.results.schema)
    rows = 0
    for name, tables in inputs.items():
        for table in tables:
            closed = monitor.push(table, name)
            rows += len(closed)
            out.take(closed)
    rest = monitor.close()
    out.end(rest)
    counts = monitor.counters
    parts = [
        f"done in {time.monotonic() - began:.1f} s",
        f"{counts['records']:,} records",
        f"{rows + len(rest):,} rows",
    ]
    parts += [f"{counts[name]:,} {name}" for name in LOST if counts[name]]
    parts += [f"{sum(counts['bad'].values()):,} bad"] if counts["bad"] else []
    Console(stderr=True).print(", ".join(parts), style="dim", highlight=False, soft_wrap=True)


# ------------------------------------------------------------------------------------------------------------- sources


def _sources(workload: sb.Workload, options: MonitorOptions) -> dict[str, Location]:
    known = [stream.name for stream in workload.streams]
    found: dict[str, Location] = {}
    for text in options.sources:
        name, where = named(text, known)
        if name in found:
            raise SkybandError(f"two sources for stream {name}", expected="one")
        found[name] = read_location(where, SCHEMES)
    missing = [name for name in known if name not in found]
    if missing:
        raise SkybandError(f"no source for stream {missing[0]}", expected=f"--source {missing[0]}=WHERE")
    return found


def _tables(location: Location, stream: Stream, format: str | None) -> Iterator[pa.Table]:
    if location.kind == "market":
        if "seconds" not in location.options:
            raise SkybandError("market:// never ends", expected="market://?seconds=3600")
        return _with_columns_first(market_tables(location.options))
    if location.kind == "files" and format is not None:
        if format not in SUFFIXES.values() and format != "delta":
            raise no_format(format)
        location = replace(location, kind=format)
    if location.kind not in ("files", *READ):
        raise SkybandError(
            f"--monitor does not read {_said(location)}",
            expected="files of " + ", ".join(READ) + ", or market://?seconds=N",
            hint=SPARK,
        )
    _refuse_options("--source", location)
    files = ArrowFiles(location, stream)
    _ = files.paths  # whether they are there is known before anything runs
    return files.tables()


def _with_columns_first(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    for number, table in enumerate(tables):
        if not number:
            yield table.schema.empty_table()
        yield table


def _said(location: Location) -> str:
    return f"{location.kind}://" if location.kind in (*SCHEMES, "postgresql", "postgres") else f"{location.kind}:"


def _refuse_options(what: str, location: Location, known: Sequence[str] = ()) -> None:
    for name in location.options:
        if name not in known:
            raise SkybandError(f"{what} with ?{name}=..., which is for Spark", expected="none", hint=SPARK)


# --------------------------------------------------------------------------------------------------------------- sinks


class Output(Protocol):
    """Told the columns, then the rows as windows close, at last the rows of the windows still open."""

    def begin(self, schema: pa.Schema) -> None: ...
    def take(self, rows: pa.Table) -> None: ...
    def end(self, rows: pa.Table) -> None: ...


def _output(options: MonitorOptions, workload: sb.Workload, sources: Iterable[Location]) -> Output:
    if options.sink == "noop":
        return Nowhere()
    location = read_location(options.sink, ("kafka", "postgresql", "postgres"))
    if location.where == "console" and location.kind == "files":
        _refuse_options("--sink", location, ["queries"])
        return Shown(_chosen(location, [query.name for query in workload.queries]))
    suffix = location.where.rstrip("/").rpartition(".")[2]
    if location.kind == "files" and suffix in SUFFIXES.values():
        location = replace(location, kind=suffix)
    if location.kind not in WRITTEN:
        raise SkybandError(
            f"--monitor does not write to {_said(location)}",
            expected="a folder, csv:PATH, json:PATH, console or noop",
            hint=SPARK,
        )
    _refuse_options("--sink", location)
    check_apart(location, sources)
    return Folder(checked_folder(location, options.overwrite), location.kind)


def _chosen(location: Location, known: list[str]) -> tuple[str, ...]:
    asked = tuple(name for name in location.options.get("queries", "").split(",") if name)
    for name in asked:
        if name not in known:
            raise SkybandError(f"--sink console shows a query {name!r} that is not there", expected=", ".join(known))
    return asked


class Nowhere:
    def begin(self, schema: pa.Schema) -> None:
        pass

    def take(self, rows: pa.Table) -> None:
        pass

    def end(self, rows: pa.Table) -> None:
        pass


class Folder:
    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self._writer: Writer | None = None

    def begin(self, schema: pa.Schema) -> None:
        self._writer = row_writer(self.folder, self.kind, schema)

    def take(self, rows: pa.Table) -> None:
        assert self._writer is not None
        if len(rows):
            self._writer.write(rows)

    def end(self, rows: pa.Table) -> None:
        assert self._writer is not None
        self.take(rows)
        self._writer.close()


class Shown:
    """The last list of every query that lies in the data; where there is none, the first."""

    def __init__(self, queries: tuple[str, ...]) -> None:
        self.queries, self.lists = queries, Lists()

    def begin(self, schema: pa.Schema) -> None:
        pass

    def take(self, rows: pa.Table) -> None:
        self.lists.take(self._mine(rows))

    def end(self, rows: pa.Table) -> None:
        """A window still open lies in the data if it ends where the last window of its query begins, or before."""
        rows = self._mine(rows)
        inside = pa.array(_inside(rows), pa.bool_())
        self.lists.take(rows.filter(inside))
        self.lists.take_first(rows)
        if self.lists:
            Console().print(self.lists.page())

    def _mine(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pc.is_in(rows.column("query"), pa.array(self.queries))) if self.queries else rows


def _inside(rows: pa.Table) -> list[bool]:
    """Positions count the records of a group, time is the same for all."""
    in_rows = rows.column("row_end").is_valid().to_pylist()
    whose = [
        (query, group if counted else "")
        for query, group, counted in zip(
            rows.column("query").to_pylist(), rows.column("group_key").to_pylist(), in_rows, strict=True
        )
    ]
    starts, ends = (
        pc.coalesce(rows.column(f"window_{edge}").cast(pa.int64()), rows.column(f"row_{edge}"))
        for edge in ("start", "end")
    )
    # A window without a start is told of for as long as there is data.
    starts, ends = pc.coalesce(starts, ends).to_pylist(), ends.to_pylist()
    reached: dict[tuple[str, str], int] = {}
    for each, start in zip(whose, starts, strict=True):
        reached[each] = max(start, reached.get(each, start))
    return [end <= reached[each] for each, end in zip(whose, ends, strict=True)]
