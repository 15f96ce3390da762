"""Queries that joined a family which ran without them: from where on their windows are complete."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Flags, Ints, Query
from skyband.planner import Family
from skyband.runtime.clock import FOREVER, Clock
from skyband.runtime.executors.base import Reports
from skyband.runtime.positions import Positions

Beginning = tuple[int, dict[str, int]]
"""From where on nothing is missing; and in which groups only later."""


def beginning(family: Family, positions: Positions, watermark: int, tick: int) -> Beginning:
    """From where on a query that joins now misses nothing: behind the latest record that can have come, `tick` after
    what the watermark says; or behind those that were counted."""
    if family.kind == "range":
        return int(NEVER) if watermark == NEVER else watermark + family.stream.lateness + tick, {}
    if not family.per:
        return positions.seen.get("", 0) or int(NEVER), {}
    return positions.first or int(NEVER), positions.seen


class WarmUp:
    """By query of a family, its beginning."""

    def __init__(self, queries: int) -> None:
        self._since = np.full(queries, NEVER)
        self._in_group: list[dict[str, int]] = [{} for _ in range(queries)]

    def __getitem__(self, query: int) -> Beginning:
        return int(self._since[query]), self._in_group[query]

    def __setitem__(self, query: int, beginning: Beginning) -> None:
        self._since[query], self._in_group[query] = beginning[0], dict(beginning[1])

    @property
    def first(self) -> int:
        """Where the first of all queries begins."""
        return int(self._since.min())

    def join(self, since: int) -> None:
        """One query more, the last."""
        self._since = np.append(self._since, since)
        self._in_group.append({})

    def leave(self, query: int) -> None:
        self._since = np.delete(self._since, query)
        del self._in_group[query]

    def mark(self, reports: Reports, report: Ints, began: Mapping[str, int]) -> pa.Array:
        """True where the window began before its query did, or before the group did that may have `began` anew, so
        that records may be missing; else null."""
        joined = self._since[reports.query]
        # A window without a start began before whatever has one.
        young: Flags = (joined > NEVER) & (reports.start < joined)
        for query, since in enumerate(self._in_group):
            if since:
                mine = np.flatnonzero(reports.query == query)
                young[mine] |= reports.start[mine] < _of_groups(since, reports, mine)
        if began:
            young |= reports.start < _of_groups(began, reports, np.arange(len(reports)))
        if not young.any():
            return pa.nulls(len(report), pa.bool_())
        return pa.array(young[report], mask=~young[report])

    def forget_groups(self, groups: Collection[str]) -> None:
        """These groups are gone."""
        for since in self._in_group:
            for name in since.keys() & set(groups):
                del since[name]

    def forget(self, queries: Sequence[Query], clock: Clock) -> None:
        """Groups in which no window to come began before its query did."""
        for query, since in zip(queries, self._in_group, strict=True):
            for name in list(clock.among(since)) if since else ():
                if clock.of(name) - query.window.width >= since.get(name, FOREVER):
                    del since[name]


def _of_groups(since: Mapping[str, int], reports: Reports, which: Ints) -> Ints:
    names = [reports.names[group] for group in reports.group[which].tolist()]
    return np.array([since.get(name, NEVER) for name in names], np.int64)
