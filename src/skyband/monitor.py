"""One process, no JVM: push Arrow tables, get the result rows of the windows that closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import pyarrow as pa

from skyband.engines.codec import reading, sealed, unsealed
from skyband.engines.compiled import waiting_text
from skyband.errors import SkybandError
from skyband.language import canonical, shape
from skyband.model import Query, Stream
from skyband.model.collector import collector_paused
from skyband.model.names import did_you_mean
from skyband.model.time_bounds import moment, utc_now
from skyband.planner import Family, Group, Plan, PlannedFamily, explain, regrouped
from skyband.runtime.pushed import Pushed, as_table
from skyband.runtime.query_changes import add_query, remove_query, renumber
from skyband.runtime.reader import StreamReader
from skyband.runtime.reports import FRAME, count_rows, report_lines
from skyband.runtime.results import Results
from skyband.runtime.state import json_bytes
from skyband.runtime.stored_values import flag, items, read_json, record, several, text
from skyband.runtime.stream_operator import Moved, StreamOperator, bound_schema
from skyband.runtime.work import SHARE
from skyband.workload import Workload

GROUPS = items(
    record({"engine": text, "reason": text, "queries": items(text), "attributes": items(several(text, flag))})
)
"""What a snapshot says of the plan: a `Group` for each family."""


class Monitor:
    """Runs a workload over tables that are pushed into it.

    >>> import pyarrow as pa, skyband as sb
    >>> best = sb.TopK("best", k=1, by="score", window="2 rows", slide=1)
    >>> work = sb.Workload([best], stream=sb.Stream("s", time="ts"))
    >>> monitor = sb.Monitor(work)
    >>> rows = monitor.push(pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("s")), "score": [5.0, 9.0, 7.0]}))
    >>> rows.select(["row_start", "row_end", "rank", "score"]).to_pylist()[-1]
    {'row_start': 1, 'row_end': 3, 'rank': 1, 'score': 9.0}
    """

    @collector_paused()
    def __init__(
        self,
        workload: Workload,
        engine: str | None = None,
        clock: Callable[[], datetime] = utc_now,
        _plan: Plan | None = None,
    ) -> None:
        """`clock` tells what time it is, by which a record may be too far ahead (`AHEAD`): the wall's unless given."""
        self.workload = workload
        self._clock = clock
        self._engine = engine
        self._plan = workload.plan(engine) if _plan is None else _plan
        self._streams = {stream.name: StreamOperator(stream, self._families(stream)) for stream in workload.streams}
        self.results = self._layout()
        self._closed = False
        self._moved: list[Moved] = []
        self._told = self.results, self.results.nothing, True

    def push(self, records: Pushed, stream: str | None = None) -> pa.Table:
        """Take in records: a table of Arrow, a frame of pandas or Polars, a dict or a list of dicts. The rows of every
        window that closed with them. `stream` only where there are several."""
        if self._closed:
            raise SkybandError("this monitor was closed", expected="a new Monitor for more records")
        run = self._stream(stream)
        table = as_table(records, run.known_columns)
        if not table.num_columns:
            return self.results.nothing
        if run.reader is None:
            run = self._bind(run.stream, table.schema)
        return self._rows(run.push(table, moment(self._clock())), [run], final=True)

    def add(self, query: Query) -> None:
        """Let a query join. In a multi-score family it is complete at once; elsewhere its first windows may be
        `warming`. Over an uncertain stream all are planned anew, and those that ran go over when their old cycle
        ends."""
        known = self.workload
        workload = Workload([*known.queries, query], streams=known.streams, tables=known.tables)
        bound = workload.queries[-1]
        for wanted in workload.streams:
            _refuse_new_tables(bound, wanted, self._streams[wanted.name].stream)
        types = workload.score_types(self._schemas)
        self._layout(Plan(workload.streams, workload.queries, ()))  # Refused before anything changes.
        add_query(self._streams[bound.stream or ""], bound, len(workload.queries) - 1, self._engine, types)
        self._changed(workload)

    def remove(self, name: str) -> None:
        """Let the query of that name leave; nobody else's rows change."""
        rest = [query for query in self.workload.queries if query.name != name]
        if len(rest) == len(self.workload.queries):
            names = [query.name for query in rest]
            raise SkybandError(f"there is no query called {name!r}", hint=did_you_mean(name, names))
        workload = Workload(rest, streams=self.workload.streams, tables=self.workload.tables)
        for run in self._streams.values():
            remove_query(run, name)
        self._changed(workload)

    def _changed(self, workload: Workload) -> None:
        place = {query.name: number for number, query in enumerate(workload.queries)}
        for run in self._streams.values():
            renumber(run, place)
        planned = [each.planned for run in self._streams.values() for each in run.families]
        self.workload = workload
        self._plan = Plan(workload.streams, workload.queries, tuple(planned))
        self.results = self._layout()

    def explain(self, all: bool = False) -> str:
        """What runs now: as `Workload.explain`, with the queries that joined where they are, and what stands in for
        kernels that are being compiled."""
        waiting = {each.model.unit for run in self._streams.values() for each in run.families if each.stands_in}
        tables = self.workload.table_texts()
        return "\n".join([explain(self._plan, all), *tables, *map(waiting_text, sorted(waiting))])

    def close(self) -> pa.Table:
        """The rows of every window not reported yet, as if the watermark had moved past them all."""
        runs = [] if self._closed else list(self._streams.values())
        self._closed = True
        return self._rows([part for run in runs for part in run.close()], runs, final=False)

    @property
    def reports(self) -> pa.Table:
        """Every report of the last `push` or `close`, also without rows: a line each, made when they are asked for."""
        stretches = (
            stretch for schedules, spans in self._moved for each in schedules for stretch in each.stretches(spans)
        )
        results, rows, final = self._told
        return report_lines(results, count_rows(rows), stretches, final)

    @property
    def counters(self) -> dict[str, Any]:
        """Work and losses: totals first, then by reason, query and family."""
        runs = self._streams.values()
        queries = {name: counts for run in runs for name, counts in run.query_counters().items()}
        work: Counter[str] = Counter()
        families = {}
        for run in runs:
            for fed in run.families:
                families[fed.planned.family.fingerprint] = {"engine": fed.planned.choice.engine} | fed.counters
                if fed.stands_in:
                    families[fed.planned.family.fingerprint]["stands_in"] = 1
                work.update(
                    {name: n for name, n in fed.counters.items() if name != "records" and not name.endswith(SHARE)}
                )
        return {
            **work,
            "records": sum(run.records for run in runs),
            "late": sum(run.late for run in runs),
            "dropped": sum(run.dropped for run in runs),
            "unranked": sum(counts["unranked"] for counts in queries.values()),
            "bad": dict(sum((run.bad for run in runs), Counter[str]())),
            "future": sum(run.future.total() for run in runs),
            "queries": queries,
            "families": families,
        }

    def snapshot(self) -> bytes:
        """Everything that decides future rows; `Monitor.restore(workload, ...)` goes on from it."""
        parts = {f"stream {name}": run.snapshot() for name, run in self._streams.items()}
        groups = [asdict(Group.of(planned)) for planned in self._plan.families]
        parts |= {"workload": str(self.workload).encode(), "closed": json_bytes(self._closed)}
        return sealed("monitor", parts | {"groups": json_bytes(groups)})

    @classmethod
    def restore(
        cls, workload: Workload, state: bytes, engine: str | None = None, clock: Callable[[], datetime] = utc_now
    ) -> Monitor:
        """Go on where `snapshot` was taken, with the same workload."""
        with reading("monitor"):
            return cls._restored(workload, unsealed("monitor", state), engine, clock)

    @classmethod
    def _restored(
        cls, workload: Workload, parts: Mapping[str, bytes], engine: str | None, clock: Callable[[], datetime]
    ) -> Monitor:
        if parts["workload"].decode() != str(workload):
            raise SkybandError(
                "the snapshot is of another workload",
                expected=f"the workload it was taken with:\n{parts['workload'].decode()}",
            )
        names = [stream.name for stream in workload.streams]
        schemas = {name: schema for name in names if (schema := bound_schema(parts[f"stream {name}"])) is not None}
        monitor = cls(workload, engine, clock, _plan=_restored_plan(workload, engine, parts.get("groups"), schemas))
        monitor._closed = read_json("monitor", parts["closed"], flag)
        for name, run in monitor._streams.items():
            run.restore(parts[f"stream {name}"])
        monitor.results = monitor._layout()
        return monitor

    def _bind(self, stream: Stream, schema: pa.Schema) -> StreamOperator:
        """The first records of a stream tell its columns, and those how its scores are ranked."""
        known = self._schemas | {stream.name: schema.remove_metadata()}
        plan = self.workload.plan(self._engine, known)
        if any(query.items for query in self.workload.queries):
            self._layout(plan, StreamReader(stream, known[stream.name]))  # Refused before anything is bound.
        if plan is self._plan:
            run = self._streams[stream.name]
            run.bind(schema)
            self.results = self._layout()
            return run
        run = StreamOperator(stream, [each for each in plan.families if each.family.stream == stream])
        run.bind(schema)
        self._streams[stream.name] = run
        self._changed(self.workload)
        return run

    @property
    def _schemas(self) -> dict[str, pa.Schema]:
        """The columns of the streams that records came from."""
        return {name: run.reader.schema for name, run in self._streams.items() if run.reader is not None}

    def _families(self, stream: Stream) -> list[PlannedFamily]:
        return [planned for planned in self._plan.families if planned.family.stream == stream]

    def _stream(self, name: str | None) -> StreamOperator:
        if name is None and len(self._streams) == 1:
            return next(iter(self._streams.values()))
        if name not in self._streams:
            raise SkybandError(
                f"records for stream {name!r}" if name else "records for no stream, and there are several",
                expected="stream= one of " + ", ".join(self._streams),
            )
        return self._streams[name]

    def _layout(self, plan: Plan | None = None, *more: StreamReader) -> Results:
        """The result columns, as far as the streams' columns are known."""
        known = [run.reader for run in self._streams.values() if run.reader is not None]
        return Results(plan or self._plan, [*known, *more])

    def _rows(self, answers: list[tuple[Family, pa.Table]], runs: list[StreamOperator], final: bool) -> pa.Table:
        rows = self.results.ordered(answers)
        shown = rows.select(FRAME) if len(rows) else rows
        self._moved, self._told = [run.moved for run in runs], (self.results, shown, final)
        return rows


def _restored_plan(
    workload: Workload, engine: str | None, groups: bytes | None, schemas: Mapping[str, pa.Schema]
) -> Plan:
    """The plan that the engine asked for makes, as far as families are those of the snapshot: a family that grew
    query by query stays one, and queries that ran apart stay apart."""
    plan = workload.plan(engine, schemas)
    if groups is None:
        return plan
    then = [Group.read(group) for group in read_json("monitor", groups, GROUPS)]
    now = [Group.of(planned) for planned in plan.families]
    if Group.alike(then, now):
        return plan
    return regrouped(workload.streams, workload.queries, then, canonical, shape, workload.score_types(schemas))


def _refuse_new_tables(query: Query, wanted: Stream, running: Stream) -> None:
    """Tables are read at the start, and of those the columns that were used then."""
    known = {used.table: used.columns for used in running.tables}
    for used in wanted.tables:
        there = known.get(used.table, frozenset())
        if there is not None and (used.table not in known or used.columns is None or used.columns - there):
            raise SkybandError(
                f"query {query.name} uses columns of table {used.table.name} that no query used at the start",
                expected="a query that uses what is joined already",
                hint="let a new Monitor begin with it",
            )
