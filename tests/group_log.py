"""Changes mode of top groups, as the docs say it: what each list tells after the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from skyband.engines.oracle import groups as oracle
from skyband.engines.oracle.complete import windows
from skyband.model import Query

Told = tuple[oracle.Report, oracle.Row, str | None]
"""A row of a report, and its change. Of a group that left nothing but its name is told."""


def log_of(query: Query, reports: Sequence[oracle.Report], told: Sequence[str], newest: int) -> Iterator[Told]:
    """`reports` are lists that are not empty; one that has become empty says so at the query's next report. `told`: the
    names of the aggregates that the query asks for."""
    for _, lists in groupby(sorted(reports, key=lambda each: (each.part, each.end)), key=lambda each: each.part):
        before: oracle.Report | None = None
        for report in lists:
            if before is not None and before.end + query.window.slide < report.end:
                yield from _changes(told, before, _emptied(query, before, newest))
                before = None
            yield from _changes(told, before, report)
            before = report
        if before is not None and not (query.window.unbounded and before.end > newest):
            yield from _changes(told, before, _emptied(query, before, newest))


def _emptied(query: Query, last: oracle.Report, newest: int) -> oracle.Report:
    end = last.end + query.window.slide
    start = next(start for start, other in windows(query, end - 1, newest) if other == end)
    return oracle.Report(start, end, last.part, ())


def _changes(told: Sequence[str], before: oracle.Report | None, now: oracle.Report) -> Iterator[Told]:
    old = {row.group: row for row in (() if before is None else before.rows)}
    for group in old.keys() - {row.group for row in now.rows}:
        yield now, oracle.Row(None, group, None, {}), "leave"
    for row in now.rows:
        was = old.get(row.group)
        if was is None:
            yield now, row, "enter"
        elif was.rank != row.rank:
            yield now, row, "move"
        elif [repr(was.aggregates[name]) for name in told] != [repr(row.aggregates[name]) for name in told]:
            yield now, row, "update"
