"""One stream at work: its watermark, its record count, and the families that read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.engines.codec import damaged, sealed, stored_table, table_bytes, unsealed
from skyband.language import declared_schema, written_columns
from skyband.model import NEVER, Ints, Stream
from skyband.model.times import Times
from skyband.planner import Family, PlannedFamily
from skyband.runtime.arrivals import Arrival, Arrivals
from skyband.runtime.census import POSITIONS, Census
from skyband.runtime.clock import FOREVER, Clock, EventTime, RecordCounts
from skyband.runtime.encoded import QUERY
from skyband.runtime.encoder import Encoded
from skyband.runtime.fates import FATES
from skyband.runtime.lateness import Lateness
from skyband.runtime.lookups import extended
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.reader import StreamReader
from skyband.runtime.reports import Schedule, Span, Spans
from skyband.runtime.state import json_bytes, operator_bytes, restore_operator
from skyband.runtime.stored_values import COUNT, PLACE, bits, by_name, read_json, record
from skyband.runtime.written_schema import read_schema

Answered = list[tuple[Family, pa.Table]]
Placed = tuple[Times, Clock, int]
"""Where records stand, how far the family comes with them, and the watermark by which one of them may be late."""
Moved = tuple[list[Schedule], Spans]
"""Who reports when, and how far the clocks went the last time."""
CLOCK = record(
    {
        "watermark": PLACE,
        "records": COUNT,
        "late": COUNT,
        "dropped": COUNT,
        "bad": by_name(COUNT),
        "queries": by_name(by_name(bits)),
        "positions": POSITIONS,
    },
    {"first": PLACE, "came": COUNT, "future": by_name(COUNT)},
)
"""What a snapshot says of the stream as such."""
COUNTED = ("reports", "rows", *FATES, "late")


class StreamOperator:
    """Feeds every table to every family, with those before it that no report was due for; `bind` fixes the columns
    first."""

    def __init__(self, stream: Stream, planned: Sequence[PlannedFamily]) -> None:
        self.stream = stream
        self.families = [FamilyOperator(each) for each in planned]
        self.reader: StreamReader | None = None
        self._written = frozenset(written_columns(stream.columns))
        self.watermark = int(NEVER)
        self.first = FOREVER
        """The oldest record that came before any report was due: there are no reports before it."""
        self.came = 0
        self.records = 0
        self.late = 0
        self.dropped = 0
        self.census = Census(each.family for each in planned)
        self._counts: dict[str, Counter[str]] = {}
        self._schedules: list[Schedule] = []
        self._arrivals = Arrivals()
        self.moved: Moved = [], {}
        self._settle()

    def bind(self, schema: pa.Schema) -> None:
        """Check the stream and compile every expression against its columns."""
        plain = read_schema(self.stream, schema.remove_metadata())
        for operator in self.families:
            operator.bind(extended(self.stream, plain))
        self.reader = StreamReader(self.stream, plain)

    @property
    def known_columns(self) -> pa.Schema | None:
        """As they came first, or as they were declared; NULL where times are written in some way."""
        known = declared_schema(self.stream.columns) if self.reader is None else self.reader.schema
        if known is not None and self._written:
            known = pa.schema([each.with_type(pa.null()) if each.name in self._written else each for each in known])
        return known

    def push(self, table: pa.Table, now: int) -> Answered:
        """`now`: what the clock says, in microseconds."""
        assert self.reader is not None
        self.came += len(table)
        table, times, oldest, newest = self.reader.clean(table, now)
        self.records += len(times)
        before, counted = self.watermark, self.census.records
        self._expire(before)
        self.census.everything.count(self.reader.count(table))
        if len(times):
            late, dropped = self._lateness.count(times.at, before, oldest=oldest)
            self.late, self.dropped = self.late + late, self.dropped + dropped
            self.watermark = max(before, newest - self.stream.lateness)
            if before <= self.first:
                self.first = max(before, min(self.first, oldest))
            self._arrivals.add(arrival := Arrival(table, times, oldest, counted))
            self._count_groups(arrival)
            for _, positions in self._expiring:
                positions.pass_by(len(times), oldest)
        answers: Answered = []
        if self._arrivals.many or self.watermark >= self._due_in_time or self.census.records >= self._due_in_rows:
            self._take(answers, everyone=self._arrivals.many)
        if self._arrivals.records:
            self._arrivals.keep()
        in_time, in_rows = Span(max(before, self.first), self.watermark), Span(counted, self.census.records)
        self.moved = self._schedules, {"range": in_time, "rows": in_rows}
        return answers

    def catch_up(self) -> None:
        """Let every family take in what it has not seen: what is asked for next is about all records."""
        answers: Answered = []
        self._take(answers, everyone=True)
        assert not answers, "a report was due"

    def close(self) -> Answered:
        """Everything that is still to be reported; only once."""
        self.catch_up()
        answers: Answered = []
        newest, records = self.watermark + self.stream.lateness, self.census.records
        for operator in self.families:
            operator.end(newest)
            self._add(answers, operator, operator.close())
        for schedule in self._schedules:
            self._made(schedule, schedule.still_open(*self._reached(schedule.family)))
        in_time = Span(max(self.watermark, self.first), newest, closing=True)
        self.moved = self._schedules, {"range": in_time, "rows": Span(records, records - 1, bool(records))}
        return answers

    @property
    def bad(self) -> Counter[str]:
        """Records left out, by reason."""
        return Counter() if self.reader is None else self.reader.bad

    @property
    def future(self) -> Counter[str]:
        """Records whose time is out of bounds, by what the bound is."""
        return Counter() if self.reader is None else self.reader.future

    def query_counters(self) -> dict[str, dict[str, int]]:
        """By query: reports and rows sent, what became of records, and how many were late."""
        self.catch_up()
        self._count_reports()
        left_out = self._left_out()
        return {
            name: {what: counts[what] + left_out.get(what, 0) for what in COUNTED}
            for name, counts in self._counts.items()
        }

    def _left_out(self) -> dict[str, int]:
        """Records that no query saw."""
        future = self.future.total()
        return {"bad": self.came - self.records - future, "future": future}

    def _joins(self) -> Counter[str]:
        """The counts of a query that joins now: what was left out before is none of its."""
        return Counter({what: -count for what, count in self._left_out().items()})

    # ---------------------------------------------------------------------------------------------------------- state

    def snapshot(self) -> bytes:
        self.catch_up()
        self._count_reports()
        clock = {
            "watermark": self.watermark,
            "first": self.first,
            "came": self.came,
            "records": self.records,
            "late": self.late,
            "dropped": self.dropped,
            "bad": self.bad,
            "future": self.future,
            "queries": self._counts,
            "positions": self.census.state(),
        }
        columns = table_bytes(None if self.reader is None else self.reader.schema.empty_table())
        families = {each.name: operator_bytes(each) for each in self.families}
        return sealed("stream", {"clock": json_bytes(clock), "columns": columns} | families)

    def restore(self, blob: bytes) -> None:
        parts = unsealed("stream", blob)
        columns, clock = stored_table("stream", parts["columns"]), read_json("stream", parts["clock"], CLOCK)
        if columns is not None:
            self.bind(columns.schema)
            self.bad.update(clock["bad"])
            self.future.update(clock.get("future", {}))
        self.watermark, self.records = clock["watermark"], clock["records"]
        # Before reports were counted so, a state did not say where they begin.
        self.first = clock.get("first", self.watermark if self.records else FOREVER)
        self.came = clock.get("came", self.records)
        self.late, self.dropped = clock["late"], clock["dropped"]
        self._counts |= {name: Counter(counts) for name, counts in clock["queries"].items()}
        self.census.restore(clock["positions"], self.records)
        if "came" not in clock:
            self._suppose_ranked()
        for operator in self.families:
            known = restore_operator(operator, parts[operator.name], self.seen(operator.planned.family))
            if not known.issuperset(map(str, operator.planned.family.queries)):
                raise damaged("stream", "a family of it has other queries")
            if operator.planned.family.kind == "range" and not _agree(operator.clock.of(""), self.watermark):
                raise damaged("stream", "a family's clock is not its watermark")
        self._settle()

    def _suppose_ranked(self) -> None:
        """Before all fates were counted, a state did not say who was ranked: whoever was not lost, as far as told."""
        for counts in self._counts.values():
            counts["ranked"] = self.census.records - counts["dropped"] - counts["unranked"]

    def seen(self, family: Family) -> Mapping[str, int]:
        """The records of each group so far, as far as the family's windows are cut by them."""
        return self.census.of(family).seen if family.kind == "rows" else {}

    # -------------------------------------------------------------------------------------------------------- queries

    def put(self, number: int | None, operator: FamilyOperator) -> None:
        """Put a family where number `number` is, or behind all."""
        self._count_reports()
        if self.reader is not None:
            operator.bind(self.reader.joined)
        if number is None:
            self.families.append(operator)
            self.census.enter(operator.planned.family)
        else:
            self.families[number] = operator
        self._settle()

    def drop(self, number: int) -> None:
        """A family goes with its last query."""
        self._count_reports()
        family = self.families.pop(number).planned.family
        self.census.leave(family, [each.planned.family for each in self.families])
        self._settle()

    def _settle(self) -> None:
        """What follows from the families there are."""
        self._lateness = Lateness.of([each.planned for each in self.families])
        names = [query.name for each in self.families for query in each.planned.family.queries]
        self._counts = {name: self._counts[name] if name in self._counts else self._joins() for name in names}
        self._schedules = [Schedule.of(each.planned, each.executor.transitions) for each in self.families]
        for each in self.families:
            each.began = self.census.of(each.planned.family).began
        self._before = self._made_so_far()
        families = enumerate(each.planned.family for each in self.families)
        self._grouped = [number for number, family in families if family.kind == "rows" and family.per]
        grouped = [self.families[number] for number in self._grouped if self.stream.expire is not None]
        self._expiring = [(each, self.census.of(each.planned.family)) for each in grouped]
        self._taken = [self._arrivals.next] * len(self.families)
        self._due = [self._next_report(number) for number in range(len(self.families))]
        self._settle_due()

    # ---------------------------------------------------------------------------------------------------------- taking

    def _take(self, answers: Answered, everyone: bool) -> None:
        """Feed the families that have a report to make, or everyone, with what they have not seen."""
        for number, operator in enumerate(self.families):
            family = operator.planned.family
            reached = self.watermark if family.kind == "range" else self.census.records
            taken = self._taken[number]
            if taken == self._arrivals.next or not (everyone or reached >= self._due[number]):
                continue
            self._taken[number] = self._arrivals.next
            arrival = self._arrivals.since(taken)
            times, clock, known = self._placed(operator, arrival)
            for encoded, found in operator.take(arrival.table, times, arrival.groups(family.per), known, clock):
                self._count(operator, encoded)
                self._add(answers, operator, found)
            self._due[number] = self._next_report(number)
        self._arrivals.forget(min(self._taken, default=self._arrivals.next))
        self._settle_due()

    def _placed(self, operator: FamilyOperator, arrival: Arrival) -> Placed:
        """In time, or where the family's windows are cut by them."""
        assert self.reader is not None
        family = operator.planned.family
        if family.kind == "range":
            # Where no report was due since, records are as late by its clock as by the watermark they met.
            known = operator.clock.of("")
            return arrival.times, EventTime(self.watermark), known if arrival.oldest < known else int(NEVER)
        positions = self.census.of(family)
        if family.per:
            place, seen = arrival.placed(positions, family.per)
        else:
            place, seen = arrival.position + self.reader.positions(arrival.table)[0], dict(positions.seen)
        return Times(place), RecordCounts(seen), int(NEVER)

    def _expire(self, watermark: int) -> None:
        """Groups that have been silent for too long are gone, with all that is kept of them."""
        if any(positions.expires(watermark) for _, positions in self._expiring):
            # What they have waiting is numbered by what is known of its groups.
            self.catch_up()
            self._count_reports()
        for operator, positions in self._expiring:
            slides = [query.window.slide for query in operator.planned.family.queries]
            if gone := positions.expire(watermark, slides):
                operator.forget(gone)
                self._before = self._made_so_far()

    def _count_groups(self, arrival: Arrival) -> None:
        """Windows of rows in groups: a report is due where a group has come to the end of one."""
        for number in self._grouped:
            family = self.families[number].planned.family
            if self._schedules[number].ends_at(arrival.count(self.census.of(family), family.per)):
                self._due[number] = self._due_in_rows = int(NEVER)

    def _next_report(self, number: int) -> int:
        """The first moment, or count of records, at which a family may have something to report."""
        family, schedule = self.families[number].planned.family, self._schedules[number]
        if family.kind == "range":
            return schedule.next_end(self.watermark)
        return FOREVER if family.per else schedule.next_end(self.census.records)

    def _settle_due(self) -> None:
        due = [(each.planned.family.kind, moment) for each, moment in zip(self.families, self._due, strict=True)]
        self._due_in_time = min((moment for kind, moment in due if kind == "range"), default=FOREVER)
        self._due_in_rows = min((moment for kind, moment in due if kind == "rows"), default=FOREVER)

    # -------------------------------------------------------------------------------------------------------- counting

    def _count(self, operator: FamilyOperator, encoded: Encoded) -> None:
        assert self.reader is not None
        for reason, records in encoded.rejected:
            self.reader.reject(reason, records)
        seen = encoded.records - encoded.bad
        by_query = zip(*(each.tolist() for each in encoded.lost), strict=True)
        for query, (late, dropped, filtered, unranked) in zip(operator.planned.family.queries, by_query, strict=True):
            counts = self._counts[query.name]
            counts["late"] += late
            counts["bad"] += encoded.bad
            counts["dropped"] += dropped
            counts["filtered"] += filtered
            counts["unranked"] += unranked
            counts["ranked"] += seen - dropped - filtered - unranked

    def _reached(self, family: Family) -> tuple[int, Mapping[str, int]]:
        """From where on its reports are counted, and its clocks."""
        if family.kind == "range":
            return self.first, {"": self.watermark}
        positions = self.census.of(family)
        return positions.first, positions.seen if self.census.records else {}

    def _made_so_far(self) -> list[Ints]:
        """Reports, by family and query."""
        began = [self.census.of(schedule.family).began for schedule in self._schedules]
        pairs = zip(self._schedules, began, strict=True)
        return [schedule.made(*self._reached(schedule.family), each) for schedule, each in pairs]

    def _count_reports(self) -> None:
        """Those since this was last asked."""
        now = self._made_so_far()
        for schedule, before, made in zip(self._schedules, self._before, now, strict=True):
            self._made(schedule, made - before)
        self._before = now

    def _made(self, schedule: Schedule, reports: Ints) -> None:
        for query, count in zip(schedule.family.queries, reports.tolist(), strict=True):
            self._counts[query.name]["reports"] += count

    def _add(self, answers: Answered, operator: FamilyOperator, found: pa.Table | None) -> None:
        if found is None:
            return
        family = operator.planned.family
        answers.append((family, found))
        if len(family.queries) == 1:
            self._counts[family.queries[0].name]["rows"] += len(found)
            return
        rows = np.bincount(found.column(QUERY).to_numpy(), minlength=len(family.queries)).tolist()
        for number, query in enumerate(family.queries):
            self._counts[query.name]["rows"] += rows[number]


def _agree(clock: int, watermark: int) -> bool:
    """A family that has taken in all records is where its stream is, or at the end of all time once it was closed."""
    return clock in (watermark, FOREVER)


def bound_schema(blob: bytes) -> pa.Schema | None:
    """The columns that a snapshot of a stream says it has; None if there were no records yet."""
    columns = stored_table("stream", unsealed("stream", blob)["columns"])
    return None if columns is None else columns.schema
