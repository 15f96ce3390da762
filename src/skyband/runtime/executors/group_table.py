"""All PER groups in one table: no group costs a Python call, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.checks import check_rising
from skyband.engines.kernels.common.grouped import NEVER_ENDS, Beats, report_groups, still_needed
from skyband.engines.kernels.common.sliding import by_group
from skyband.engines.second_key import dense_ranks, reordered
from skyband.model import DOUBLE, NEVER, Flags, Ints, Keys, MetaQuery, ScoreType
from skyband.model.score_type import WHOLE
from skyband.runtime.clock import Clock
from skyband.runtime.encoded import AT, SECOND, feed_order, group_codes, ints, keys
from skyband.runtime.executors.base import NO_IDS, Executor, Reports
from skyband.runtime.row_store import RowStore

CROWDED = 1_000
"""Groups that may be gone before the others are numbered anew."""


class GroupRows(dict[str, Any]):
    """Columns of rows, by name, in the order of group and feed; `group`, `at` and `id` are always there."""

    def take(self, places: Ints | Flags | slice) -> GroupRows:
        return GroupRows({name: column[places] for name, column in self.items()})

    def append(self, other: GroupRows) -> GroupRows:
        return GroupRows({name: np.concatenate((column, other[name])) for name, column in self.items()})


class GroupTable:
    """Rows as arrays; a group is a number, with a clock, and forgotten when it has no rows."""

    def __init__(self, **none: Any) -> None:
        """With empty columns."""
        self.rows = GroupRows(none)
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

    def add(self, rows: GroupRows) -> None:
        """Behind those of their groups: they are newer than all of them, or will be put in order."""
        both = self.rows.append(rows)
        self.rows = both.take(by_group(both["group"], len(self.names))[1])

    def forget(self, names: Iterable[str]) -> None:
        """These groups are gone; one that comes back is new."""
        codes = self.known(names)
        self.until[codes] = NEVER
        self.rows = self.rows.take(~np.isin(self.rows["group"], codes))

    def put_in_order(self, encoded: pa.Table) -> None:
        """By group and feed order; `encoded` are the rows as they stand here."""
        order = feed_order(encoded)
        self.rows = self.rows.take(order[by_group(self.rows["group"][order], len(self.names))[1]])

    def begin(self) -> Ints:
        """Where the rows of each group begin, and where the last ends."""
        return np.searchsorted(self.rows["group"], np.arange(len(self.names) + 1))

    def clocks(self, clock: Clock) -> Ints:
        """How far each group has come."""
        return clock.each(self.names, self.until)

    def check(self) -> None:
        """Assert what must hold of groups and rows, for tests."""
        group, at, id = self.rows["group"], self.rows["at"], self.rows["id"]
        check_rising(group, "groups: rows")
        assert self._code == {name: code for code, name in enumerate(self.names)}, "groups: names and numbers disagree"
        assert len(self.until) == len(self.names), "groups: one has no clock"
        assert not len(group) or group[-1] < len(self.names), "groups: one has no name"
        for low, high in pairwise(self.begin().tolist()):
            check_rising(at[low:high], "groups: times of rows")
        assert len(np.unique(id)) == len(id), "groups: a row is there twice"

    def keep(self, needed: Flags) -> None:
        """Forget other rows; number the groups anew when most of them are gone."""
        if not needed.all():
            self.rows = self.rows.take(needed)
        live = np.unique(self.rows["group"])
        if len(self.names) > 2 * len(live) + CROWDED:
            self.names = [self.names[code] for code in live.tolist()]
            self._code = {name: code for code, name in enumerate(self.names)}
            self.until = self.until[live]
            self.rows["group"] = np.searchsorted(live, self.rows["group"])


class SkybandTable(Executor):
    """Each feed is one merge, one pass that makes the reports, and one that keeps what may still be needed: a k-skyband
    per group, or what is above the lowest threshold."""

    def __init__(self, meta: MetaQuery, grace: Ints | None, score: ScoreType = DOUBLE) -> None:
        self.meta = meta
        threshold = np.zeros(len(meta), score.key) if meta.threshold is None else meta.threshold
        sign = -1.0 if meta.ascending else 1.0
        grace = np.zeros(len(meta), np.int64) if grace is None else grace
        endless = np.full(len(meta), NEVER_ENDS)
        self._beats = Beats(meta.width, meta.period, meta.phase, meta.k, grace, threshold, sign, endless, meta.quiet)
        self._table = GroupTable(group=NO_IDS, at=NO_IDS, score=np.empty(0, score.key), id=NO_IDS)
        self._work = {"records": 0, "insertions": 0, "comparisons": 0}
        self._peak = 0

    def advance(self, rows: pa.Table | None, ids: Ints, clock: Clock) -> Reports:
        if rows is not None and len(rows):
            self._add(rows, ids)
        table = self._table
        until, have, thresholds = table.clocks(clock), table.rows, self.meta.threshold is not None
        found = report_groups(table.begin(), have["at"], have["score"], table.until, until, self._beats, thresholds)
        query, begin = self.meta.query[found.beat], np.cumsum(found.size) - found.size
        id = have["id"][self._in_lists(found.size, found.row)]
        reports = Reports(query, found.start, found.end, found.group, begin, found.size, id, table.names)
        self._work["comparisons"] += len(have["at"])
        table.until = until
        self._forget()
        return reports

    def admit(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        self._add(store.take(ids), ids)
        self._table.put_in_order(store.take(self._table.rows["id"]))
        self._table.until = self._table.clocks(clock)
        self._forget()

    def forget(self, groups: Collection[str]) -> None:
        self._table.forget(groups)

    def candidates(self) -> Ints:
        return np.sort(self._table.rows["id"])

    def next_report(self, after: int) -> int | None:
        at = self._table.rows["at"]
        return self.meta.next_moment(int(at.max()), after, self._beats.grace) if len(at) else None

    @property
    def counters(self) -> Counters:
        rows = self._table.rows
        groups = len(np.unique(rows["group"]))
        return self._work | {"groups": groups, "candidates": len(rows["id"]), "candidates_peak": self._peak}

    def recount(self, counters: Counters, peak: int) -> None:
        self._work = {name: counters.get(name, 0) for name in self._work}
        self._peak = peak

    def check(self) -> None:
        """Assert what must hold of the table: of TOP, every group is a skyband, but for a last record that lingers."""
        self._table.check()
        for low, high in pairwise(self._table.begin().tolist()):
            score = self._table.rows["score"][low:high]
            better_and_newer = np.array([(score[i + 1 :] >= score[i]).sum() for i in range(high - low)])
            skyband = (better_and_newer < self.meta.most).all()
            assert self.meta.threshold is not None or skyband, "groups: a record that will never be reported"

    def _add(self, rows: pa.Table, ids: Ints) -> None:
        group = self._table.numbers(rows)
        self._table.add(GroupRows(group=group, at=ints(rows, AT), id=ids, **self._keys(rows)))
        self._work["records"] += len(ids)
        self._work["insertions"] += len(ids)

    def _keys(self, rows: pa.Table) -> dict[str, Keys]:
        """What ranks them."""
        return {"score": keys(rows)}

    def _in_lists(self, size: Ints, row: Ints) -> Ints:
        """The rows of lists, so many each, in their order."""
        return row

    def _forget(self) -> None:
        table = self._table
        have, most, thresholds = table.rows, self.meta.most, self.meta.threshold is not None
        self._peak = max(self._peak, len(have["id"]))
        needed = still_needed(table.begin(), have["at"], have["score"], table.until, self._beats, most, thresholds)
        table.keep(needed | self._in_grace())

    def _in_grace(self) -> Flags:
        """Where changes are sent, a group's last record stays until the empty window after it was reported."""
        have = self._table.rows
        if not self._beats.grace.any() or not len(have["group"]):
            return np.zeros(len(have["group"]), bool)
        reach = int((self.meta.width + self._beats.grace).max())
        last = np.append(have["group"][1:] != have["group"][:-1], True)
        stays: Flags = last & (have["at"] + reach > self._table.until[have["group"]])
        return stays


class AllTimeTable(SkybandTable):
    """Where windows have no start only the best k of a group can ever be listed again."""

    def end(self, newest: int) -> None:
        super().end(newest)
        self._beats = self._beats._replace(final=newest + self.meta.reach)

    def check(self) -> None:
        super().check()
        assert (np.diff(self._table.begin()) <= self.meta.most).all(), "groups: more than k records of all time"

    def _forget(self) -> None:
        self._peak = max(self._peak, len(self._table.rows["id"]))
        begin, group, score = self._table.begin(), self._table.rows["group"], self._table.rows["score"]
        size = np.diff(begin)
        if (size <= self.meta.most).all():
            return
        # Of equals the later is the better.
        full = np.flatnonzero(np.repeat(size > self.meta.most, size))
        order = full[np.lexsort((score[full], group[full]))[::-1]]
        place = np.arange(len(order)) - np.repeat(*_runs(group[order]))
        needed = np.repeat(size <= self.meta.most, size)
        needed[order[place < self.meta.most]] = True
        self._table.keep(needed)


class SecondKeyTable(SkybandTable):
    """Where equal scores are ranked by a second key: for TOP by whole numbers that rise with both, made anew when rows
    come; of ABOVE the lists are put in order."""

    def __init__(self, meta: MetaQuery, grace: Ints | None, score: ScoreType, then: ScoreType) -> None:
        super().__init__(meta, grace, score if meta.threshold is not None else WHOLE)
        self._table.rows |= {"first": np.empty(0, score.key), "second": np.empty(0, then.key)}

    def _add(self, rows: pa.Table, ids: Ints) -> None:
        super()._add(rows, ids)
        have = self._table.rows
        have["score"] = have["first"] if self.meta.threshold is not None else dense_ranks(have["first"], have["second"])

    def _keys(self, rows: pa.Table) -> dict[str, Keys]:
        return {
            "score": np.empty(len(rows), self._table.rows["score"].dtype),
            "first": keys(rows),
            "second": keys(rows, SECOND),
        }

    def _in_lists(self, size: Ints, row: Ints) -> Ints:
        if self.meta.threshold is None:
            return row
        have = self._table.rows
        return row[reordered(size, have["score"][row], have["second"][row])]


class AllTimeSecondKeyTable(AllTimeTable, SecondKeyTable):
    """Both."""


def _runs(group: Ints) -> tuple[Ints, Ints]:
    """Where runs of equal numbers begin, and how long each is."""
    begin = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    return begin, np.diff(np.append(begin, len(group)))
