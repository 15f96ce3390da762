"""All PER groups in one table: no group costs a Python call, however many there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.common.grouped import Beats, report_groups, still_needed
from skyband.model import NEVER, Flags, Floats, Ints, MetaQuery
from skyband.runtime.clock import Clock
from skyband.runtime.encoded import AT, SCORE, feed_order, floats, group_codes, ints
from skyband.runtime.executors.base import NO_IDS, Executor, Reports
from skyband.runtime.row_store import RowStore

CROWDED = 1_000
"""Groups that may be gone before the others are numbered anew."""


class Columns(Protocol):
    """Rows of a table, by group and feed order."""

    @property
    def group(self) -> Ints: ...
    @property
    def at(self) -> Ints: ...
    @property
    def id(self) -> Ints: ...
    def take(self, places: Ints | Flags) -> Self: ...
    def append(self, other: Self) -> Self: ...
    def regrouped(self, group: Ints) -> Self: ...


C = TypeVar("C", bound=Columns)


class GroupTable(Generic[C]):
    """Rows as arrays; a group is a number, with a clock, and forgotten when it has no rows."""

    def __init__(self, none: C) -> None:
        self.rows = none
        self.names: list[str] = []
        self.until = NO_IDS
        self._code: dict[str, int] = {}

    def numbers(self, rows: pa.Table) -> Ints:
        """The group of each row, by number; new groups get one."""
        place, names = group_codes(rows)
        return self.numbered(names)[place]

    def numbered(self, names: Iterable[str]) -> Ints:
        """The numbers of these groups; new ones get one."""
        codes = []
        for name in names:
            code = self._code.setdefault(name, len(self.names))
            if code == len(self.names):
                self.names.append(name)
            codes.append(code)
        self.until = np.append(self.until, np.full(len(self.names) - len(self.until), NEVER))
        return np.array(codes, np.int64)

    def known(self, names: Iterable[str]) -> Ints:
        """The numbers of those of these groups that are here."""
        return np.array([self._code[name] for name in names if name in self._code], np.int64)

    def add(self, rows: C) -> None:
        """Behind those of their groups: they are newer than all of them, or will be put in order."""
        both = self.rows.append(rows)
        self.rows = both.take(np.argsort(both.group, kind="stable"))

    def put_in_order(self, encoded: pa.Table) -> None:
        """By group and feed order; `encoded` are the rows as they stand here."""
        order = feed_order(encoded)
        self.rows = self.rows.take(order[np.argsort(self.rows.group[order], kind="stable")])

    def begin(self) -> Ints:
        """Where the rows of each group begin, and where the last ends."""
        return np.searchsorted(self.rows.group, np.arange(len(self.names) + 1))

    def clocks(self, clock: Clock) -> Ints:
        """How far each group has come."""
        return clock.each(self.names, self.until)

    def keep(self, needed: Flags) -> None:
        """Forget other rows; number the groups anew when most of them are gone."""
        if not needed.all():
            self.rows = self.rows.take(needed)
        live = np.unique(self.rows.group)
        if len(self.names) > 2 * len(live) + CROWDED:
            self.names = [self.names[code] for code in live.tolist()]
            self._code = {name: code for code, name in enumerate(self.names)}
            self.until = self.until[live]
            self.rows = self.rows.regrouped(np.searchsorted(live, self.rows.group))


class Scored(NamedTuple):
    group: Ints
    at: Ints
    score: Floats
    id: Ints

    def take(self, places: Ints | Flags) -> Scored:
        return Scored._make(column[places] for column in self)

    def append(self, other: Scored) -> Scored:
        return Scored._make(np.concatenate(pair) for pair in zip(self, other, strict=True))

    def regrouped(self, group: Ints) -> Scored:
        return self._replace(group=group)


class SkybandTable(Executor):
    """Each feed is one merge, one pass that makes the reports, and one that keeps what may still be needed: a k-skyband
    per group, or what is above the lowest threshold."""

    def __init__(self, meta: MetaQuery, grace: Ints | None) -> None:
        self.meta = meta
        threshold = np.zeros(len(meta)) if meta.threshold is None else meta.threshold
        sign = -1.0 if meta.ascending else 1.0
        grace = np.zeros(len(meta), np.int64) if grace is None else grace
        self._beats = Beats(meta.width, meta.period, meta.phase, meta.k, grace, threshold, sign)
        self._table = GroupTable(Scored(NO_IDS, NO_IDS, np.empty(0), NO_IDS))
        self._work = {"records": 0, "insertions": 0, "comparisons": 0}
        self._peak = 0

    def advance(self, rows: pa.Table | None, ids: Ints, clock: Clock) -> Reports:
        if rows is not None and len(rows):
            self._add(rows, ids)
        table = self._table
        until, have, thresholds = table.clocks(clock), table.rows, self.meta.threshold is not None
        found = report_groups(table.begin(), have.at, have.score, table.until, until, self._beats, thresholds)
        query = self.meta.query[found.beat]
        reports = Reports(query, found.start, found.end, found.group, found.size, have.id[found.row], table.names)
        self._work["comparisons"] += len(have.at)
        table.until = until
        self._forget()
        return reports

    def admit(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        self._add(store.take(ids), ids)
        self._table.put_in_order(store.take(self._table.rows.id))
        self._table.until = self._table.clocks(clock)
        self._forget()

    def candidates(self) -> Ints:
        return np.sort(self._table.rows.id)

    def next_report(self, after: int) -> int | None:
        at = self._table.rows.at
        return self.meta.next_moment(int(at.max()), after, self._beats.linger) if len(at) else None

    @property
    def counters(self) -> Counters:
        rows = self._table.rows
        groups = len(np.unique(rows.group))
        return self._work | {"groups": groups, "candidates": len(rows.id), "candidates_peak": self._peak}

    def recount(self, counters: Counters, peak: int) -> None:
        self._work = {name: counters.get(name, 0) for name in self._work}
        self._peak = peak

    def _add(self, rows: pa.Table, ids: Ints) -> None:
        self._table.add(Scored(self._table.numbers(rows), ints(rows, AT), floats(rows, SCORE), ids))
        self._work["records"] += len(ids)
        self._work["insertions"] += len(ids)

    def _forget(self) -> None:
        table = self._table
        have, most, thresholds = table.rows, self.meta.most, self.meta.threshold is not None
        self._peak = max(self._peak, len(have.id))
        needed = still_needed(table.begin(), have.at, have.score, table.until, self._beats, most, thresholds)
        table.keep(needed | self._lingering())

    def _lingering(self) -> Flags:
        """Where changes are sent, a group's last record stays until the empty window after it was reported."""
        have = self._table.rows
        if not self._beats.linger.any() or not len(have.group):
            return np.zeros(len(have.group), bool)
        reach = int((self.meta.width + self._beats.linger).max())
        last = np.append(have.group[1:] != have.group[:-1], True)
        stays: Flags = last & (have.at + reach > self._table.until[have.group])
        return stays
