"""Which reports of a stream are due, with rows or without. The state key that sees every micro-batch knows; what it
finds is counted and, where lines are asked for, sent along among the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.model import NEVER
from skyband.planner import PlannedFamily
from skyband.planner.transition import Pending, beats_of, still_pending, transition
from skyband.runtime.clock import FOREVER
from skyband.runtime.reports import Schedule, Span, Spans, Stretch

REPORTS = "reports/0"
"""Stands for a state key where stretches are sent."""
STRETCH = "#stretch"
NO_PLAN: dict[str, Any] = {"pending": {}}


class StreamReports:
    """Of one stream. `known` is what was noted in earlier micro-batches: how far the watermark had come (`until`), the
    record before which there are no reports (`first`), the newest record, how many there were, and the plans of queries
    whose moments depend on each other."""

    def __init__(self, families: Iterable[PlannedFamily]) -> None:
        # Buckets of one family have the same queries, or each its own.
        distinct = {(each.family.fingerprint, each.family.queries): each for each in families}
        self._planned = list(distinct.values())

    def advance(self, known: dict[str, Any], watermark: int, times: pa.Table | None, records: int) -> list[Stretch]:
        """What the watermark and so many more records have reached. `times` are theirs, as `Lateness` tells them."""
        until, before = known.get("until", watermark), known.get("records", 0)
        first, newest = known.get("first", FOREVER if watermark == NEVER else watermark), known.get("newest", NEVER)
        if watermark < until:
            # It was set back, from where a record had taken it that is no more.
            until, first, newest = watermark, watermark, int(NEVER)
        plans = {each.family.fingerprint: _plan(each, known) for each in self._planned if not each.family.fixed}
        spans = {"range": Span(max(until, first), watermark), "rows": Span(before, before + records)}
        due = self._stretches(plans, spans)
        at = np.empty(0, np.int64) if times is None else times.column("at").to_numpy()
        if watermark <= first:
            first = max(watermark, int(at.min(initial=first)))
        newest = int(at.max(initial=newest))
        known |= {"until": watermark, "first": first, "newest": newest, "records": before + records, "plans": plans}
        return due

    def still_open(self, known: dict[str, Any]) -> list[Stretch]:
        """What is left until no window holds a record."""
        if "until" not in known:
            return []  # Written before reports were counted.
        records = known["records"]
        in_time = Span(max(known["until"], known["first"]), known["newest"], closing=True)
        return self._stretches(known["plans"], {"range": in_time, "rows": Span(records, records - 1, bool(records))})

    def every(self, times: pa.Table | None, records: int) -> list[Stretch]:
        """All of a batch."""
        at = np.empty(0, np.int64) if times is None else times.column("at").to_numpy()
        in_time = Span(int(at.min(initial=FOREVER)), int(at.max(initial=NEVER)), closing=True)
        return self._stretches({}, {"range": in_time, "rows": Span(0, records - 1, bool(records))})

    def next_end(self, known: dict[str, Any]) -> int | None:
        """When the next report of a RANGE window is due, if there has been a record."""
        after = max(known["until"], known["first"])
        ends = [each.next_end(after) for each in self._schedules(known["plans"]) if each.family.kind == "range"]
        return min(ends) if ends and after < FOREVER else None

    def _stretches(self, plans: dict[str, Any], spans: Spans) -> list[Stretch]:
        return [stretch for each in self._schedules(plans) for stretch in each.stretches(spans)]

    def _schedules(self, plans: dict[str, Any]) -> list[Schedule]:
        return [
            _schedule(each, plans.get(each.family.fingerprint, {"pending": {}})["pending"]) for each in self._planned
        ]


def _plan(planned: PlannedFamily, known: dict[str, Any]) -> dict[str, Any]:
    """The moments of a plan, and who still follows an earlier one."""
    family = planned.family
    clock = known.get("until", int(NEVER)) if family.kind == "range" else known.get("records", 0)
    old = known.get("plans", {}).get(family.fingerprint)
    pending = {} if old is None else still_pending(old["pending"], old["beats"], planned, {"": clock})
    return {"pending": pending, "beats": beats_of(planned)}


def _schedule(planned: PlannedFamily, pending: dict[str, Pending]) -> Schedule:
    found = {group: transition(each, planned) for group, each in pending.items()}
    return Schedule.of(planned, {group: change for group, change in found.items() if change is not None})


def counted(stretches: Iterable[Stretch]) -> dict[str, int]:
    """How many reports each query has."""
    found: Counter[str] = Counter()
    for stretch in stretches:
        found[stretch.query] += stretch.made
    return {query: count for query, count in found.items() if count}


def packed_stretches(stretches: Iterable[Stretch]) -> pa.Table:
    """Those that hold a report, for the way to `unpack`."""
    return pa.table({STRETCH: pa.array([json.dumps(each) for each in stretches if each.made], pa.string())})


def stretch_rows(packed: pa.Table, schema: pa.Schema) -> pa.Table:
    """As rows among result rows, which all have a group: the query, and the stretch as text where a change is told."""
    names = [Stretch(*json.loads(text)).query for text in packed.column(STRETCH).to_pylist()]
    known = {"query": pa.array(names, pa.string()), "change": packed.column(STRETCH)}
    return pa.table([known.get(each.name, pa.nulls(len(packed), each.type)) for each in schema], schema=schema)
