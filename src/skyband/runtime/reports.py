"""Reports as such: every report is a line, also one without rows. Arithmetic over the moments of the queries, done when
somebody asks; no engine is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import NEVER, Ints, MetaQuery, Query
from skyband.planner import Family, PlannedFamily
from skyband.planner.transition import PlanTransition
from skyband.runtime.clock import FOREVER
from skyband.runtime.results import Results

MOST_EMPTY = 10_000
"""Reports without rows that have a line, of each query and time: the newest. All of them are counted."""
FRAME = ("query", "window_start", "window_end", "row_start", "row_end", "group_key")
MOST_CELLS = 1_000_000


class Stretch(NamedTuple):
    """Of a query: reports at the moments congruent to `phase` modulo `period` in (low, high] of its clock."""

    query: str
    period: int
    phase: int
    low: int
    high: int

    @property
    def made(self) -> int:
        """How many there are."""
        return max((self.high - self.phase) // self.period - (self.low - self.phase) // self.period, 0)

    def ends(self, most: int) -> Ints:
        """The newest of them, oldest first."""
        last = self.high - (self.high - self.phase) % self.period
        return last - self.period * np.arange(min(self.made, most))[::-1]


class Span(NamedTuple):
    """How far a clock went: (low, high]; with `closing` as far as some window holds what is at `high`."""

    low: int
    high: int
    closing: bool = False


Spans = Mapping[str, Span]
"""By the kind of window."""


@dataclass(frozen=True)
class Beats:
    """When queries (by their numbers in the family) report: in (since, upto], as long as the last record is no further
    back than `reach`."""

    query: Ints
    period: Ints
    phase: Ints
    reach: Ints
    since: Ints
    upto: Ints

    @staticmethod
    def of(meta: MetaQuery, queries: Sequence[Query]) -> Beats:
        # A list that has become empty is told of once more where changes are sent.
        logged = np.array([query.changes for query in queries])[meta.query]
        reach = meta.reach + np.where(logged, meta.grace, 0)
        return Beats(meta.query, meta.period, meta.phase, reach, np.full(len(meta), NEVER), np.full(len(meta), FOREVER))

    def after(self, change: PlanTransition, queries: Sequence[Query]) -> Beats:
        """These beats, each query's from where it leaves an earlier plan, and the earlier ones until then."""
        old = Beats.of(change.before, queries)
        since, upto = change.last[self.query], change.last[old.query]
        parts = (self._limited(since, self.upto), old._limited(old.since, upto))
        return Beats(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Beats)))

    def _limited(self, since: Ints, upto: Ints) -> Beats:
        return Beats(self.query, self.period, self.phase, self.reach, since, upto)

    def count(self, low: Ints, high: Ints) -> Ints:
        """By beat, the reports in (low, high] of several clocks; both have a row for all beats, or one for each."""
        low, high = np.maximum(low, self.since[:, None]), np.minimum(high, self.upto[:, None])
        period, phase = self.period[:, None], self.phase[:, None]
        made: Ints = np.maximum((high - phase) // period - (low - phase) // period, 0).sum(axis=1)
        return made


@dataclass(frozen=True)
class Schedule:
    """When the queries of one family report."""

    family: Family
    beats: Beats
    changing: Mapping[str, Beats]
    """By group, '' for all where they share a clock: where queries still follow an earlier plan."""

    @staticmethod
    def of(planned: PlannedFamily, transitions: Mapping[str, PlanTransition]) -> Schedule:
        queries = planned.family.queries
        beats = Beats.of(planned.meta, queries)
        return Schedule(
            planned.family, beats, {group: beats.after(change, queries) for group, change in transitions.items()}
        )

    def made(self, begin: int, clock: Mapping[str, int], began: Mapping[str, int] = MappingProxyType({})) -> Ints:
        """By query: how many reports lie behind `begin`, or where the group `began`, and have been reached, in all
        groups."""
        made = self._counted(clock, lambda beats, now: (np.full_like(now, begin), now))
        return made - self.made(begin, began) if began else made

    def still_open(self, begin: int, clock: Mapping[str, int]) -> Ints:
        """By query: how many more there are until no window holds a record."""
        ahead = self._ahead
        return self._counted(clock, lambda beats, now: (np.maximum(now, begin), now + ahead + beats.reach[:, None]))

    def next_end(self, after: int) -> int:
        """The first report of all behind `after`."""
        beats = self.changing.get("", self.beats)
        low = np.maximum(beats.since, after) + 1
        end = low + (beats.phase - low) % beats.period
        return int(np.where(end <= beats.upto, end, FOREVER).min())

    def ends_at(self, counts: Ints) -> bool:
        """Whether a report ends at one of these counts of groups that count each for itself, as far as that can be told
        at once."""
        period, phase = self.beats.period[:, None], self.beats.phase[:, None]
        many = len(period) * len(counts) > MOST_CELLS
        return many or bool(self.changing) or not ((counts - phase) % period).all()

    def stretches(self, spans: Spans) -> Iterator[Stretch]:
        """The reports of these spans; none where every group has a clock of its own."""
        family, span, beats = self.family, spans[self.family.kind], self.changing.get("", self.beats)
        if family.kind == "rows" and family.per:
            return
        high = span.high + beats.reach if span.closing else np.full(len(beats.query), span.high)
        low, high = np.maximum(beats.since, span.low), np.minimum(beats.upto, high)
        columns = (column.tolist() for column in (beats.query, beats.period, beats.phase, low, high))
        for number, *rest in zip(*columns, strict=True):
            yield Stretch(family.queries[number].name, *rest)

    @property
    def _ahead(self) -> int:
        """From the clock to the newest record."""
        return self.family.stream.lateness if self.family.kind == "range" else -1

    def _counted(self, clock: Mapping[str, int], between: Callable[[Beats, Ints], tuple[Ints, Ints]]) -> Ints:
        parts = [(beats, [clock[group]]) for group, beats in self.changing.items() if group in clock]
        plain = [now for group, now in clock.items() if group not in self.changing]
        total = np.zeros(len(self.family.queries), np.int64)
        for beats, nows in [(self.beats, plain), *parts]:
            step = max(MOST_CELLS // len(beats.query), 1)
            for first in range(0, len(nows), step):
                now = np.array(nows[first : first + step], np.int64)[None, :]
                np.add.at(total, beats.query, beats.count(*between(beats, now)))
        return total


def lines_schema(results: Results) -> pa.Schema:
    frame = [results.schema.field(name) for name in FRAME]
    return pa.schema([*frame, ("rows", pa.int64()), ("final", pa.bool_())])


def report_lines(results: Results, counted: pa.Table, stretches: Iterable[Stretch], final: bool) -> pa.Table:
    """Lines of the reports that have rows, `counted` (see `count_rows`), and of those in the stretches that have none;
    ordered like result rows."""
    queries = {query.name: (place, query) for place, query in enumerate(results.plan.queries)}
    told = _ends_by_query(counted)
    mine: dict[str, list[Stretch]] = {}
    for stretch in stretches:
        mine.setdefault(stretch.query, []).append(stretch)
    parts = [counted]
    for name, asked in mine.items():
        ends = told.get(name, np.empty(0, np.int64))
        due = np.concatenate([stretch.ends(MOST_EMPTY + len(ends)) for stretch in asked])
        parts.append(_empty_lines(queries[name][1], np.setdiff1d(due, ends)[-MOST_EMPTY:], counted.schema))
    lines = pa.concat_tables(parts)
    place = np.array([queries[name][0] for name in lines.column("query").to_pylist()], np.int64)
    group = pc.rank(lines.column("group_key"), sort_keys="ascending", tiebreaker="dense")
    in_rows = np.asarray(lines.column("row_end").is_valid())
    order = np.lexsort((np.asarray(group).astype(np.int64), place, _ends(lines), in_rows))
    flags = pa.array(np.full(len(lines), final))
    return lines.append_column("final", flags).cast(lines_schema(results)).take(pa.array(order)).combine_chunks()


def count_rows(rows: pa.Table) -> pa.Table:
    """How many result rows each report has."""
    counted = rows.select(FRAME).group_by(list(FRAME)).aggregate([([], "count_all")])
    return counted.rename_columns({"count_all": "rows"}).select([*FRAME, "rows"])


def _ends(lines: pa.Table) -> Ints:
    ends = pc.coalesce(lines.column("window_end").cast(pa.int64()), lines.column("row_end"))
    return np.asarray(ends).astype(np.int64)


def _ends_by_query(counted: pa.Table) -> dict[str, Ints]:
    coded, ends = counted.column("query").combine_chunks().dictionary_encode(), _ends(counted)
    codes = np.asarray(coded.indices)
    order = np.argsort(codes, kind="stable")
    parts = np.split(ends[order], np.searchsorted(codes[order], np.arange(1, len(coded.dictionary))))
    return dict(zip(coded.dictionary.to_pylist(), map(np.unique, parts), strict=False))


def _empty_lines(query: Query, ends: Ints, schema: pa.Schema) -> pa.Table:
    frame = ("row_start", "row_end") if query.window.kind == "rows" else ("window_start", "window_end")
    known = {
        "query": pa.array([query.name] * len(ends), pa.string()),
        frame[1]: pa.array(ends),
        "rows": pa.array(np.zeros(len(ends), np.int64)),
    }
    if not query.window.unbounded:
        known[frame[0]] = pa.array(query.window.starts(ends))
    if not query.per:
        known["group_key"] = pa.array([""] * len(ends), pa.string())
    columns = [known.get(each.name, pa.nulls(len(ends), each.type)).cast(each.type) for each in schema]
    return pa.table(columns, schema=schema)
