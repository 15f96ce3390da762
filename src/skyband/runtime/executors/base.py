"""What an executor is, and the reports it makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.base import Counters
from skyband.model import Floats, Ints, MetaQuery
from skyband.model.partials import Listed
from skyband.planner import PlannedFamily
from skyband.planner.transition import PlanTransition
from skyband.runtime.clock import Clock
from skyband.runtime.row_store import RowStore

NO_IDS: Ints = np.empty(0, np.int64)


@dataclass(frozen=True)
class Reports:
    """Report i: query `query[i]` (of the family) over [start, end) for the group `names[group[i]]`, answered by
    `size[i]` ids from `begin[i]` on, best first; several may share ids. The reports of one query and group are in time
    order."""

    query: Ints
    start: Ints
    end: Ints
    group: Ints
    begin: Ints
    size: Ints
    id: Ints
    names: list[str]
    value: Floats | None = None
    """Beside `id`, where the data model computes one: the score of an object, a probability, an expected rank."""
    listed: Listed | None = None
    """Beside `id`, of groups: their aggregates."""

    def __len__(self) -> int:
        return len(self.end)

    @staticmethod
    def joined(parts: list[Reports]) -> Reports:
        """Parts of different groups as one."""
        if len(parts) == 1:
            return parts[0]

        def column(name: str) -> Ints:
            return np.concatenate([NO_IDS, *(getattr(part, name) for part in parts)])

        names = [name for part in parts for name in part.names]
        before = np.cumsum([0, *(len(part.names) for part in parts)])
        group = np.concatenate([NO_IDS, *(part.group + n for part, n in zip(parts, before, strict=False))])
        before = np.cumsum([0, *(len(part.id) for part in parts)])
        begin = np.concatenate([NO_IDS, *(part.begin + n for part, n in zip(parts, before, strict=False))])
        values = [part.value for part in parts if part.value is not None]
        value = np.concatenate(values) if values else None
        query, start, end, size, id = map(column, ("query", "start", "end", "size", "id"))
        listed = [part.listed for part in parts if part.listed is not None]
        both = Listed.joined(listed) if listed else None
        return Reports(query, start, end, group, begin, size, id, names, value, both)

    def in_order(self) -> Reports:
        """By time, query and name of the group, as result rows are: to sort reports is less than to sort their rows."""
        rank = np.zeros(len(self.names), np.int64)
        if len(rank) > 1:
            rank[np.asarray(pc.array_sort_indices(pa.array(self.names, pa.string())))] = np.arange(len(rank))
        order = np.lexsort((rank[self.group], self.query, self.end))
        if bool((order[1:] > order[:-1]).all()):
            return self
        query, start, end, group, begin, size = (
            each[order] for each in (self.query, self.start, self.end, self.group, self.begin, self.size)
        )
        return replace(self, query=query, start=start, end=end, group=group, begin=begin, size=size)

    def beside(self, report: Ints, rank: Ints) -> Floats:
        """The `value` of rows with this rank in this report; NaN for rank 0, none."""
        assert self.value is not None
        entry = self.begin[report] + rank - 1
        found: Floats = np.append(self.value, np.nan)[np.where(rank == 0, -1, entry)]
        return found


class Executor:
    """Runs the engines of a family. Most have nothing to do for what comes last here."""

    meta: MetaQuery

    def advance(self, rows: pa.Table | None, ids: Ints, clock: Clock) -> Reports:
        """Feed encoded rows, given in feed order, and make every report that the clock has reached."""
        raise NotImplementedError

    def admit(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        """Take in rows that are older than some already fed; they count in reports that the clock has not reached."""
        raise NotImplementedError

    def resume(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        """Go on with the rows that were kept, at this clock."""
        self.admit(ids, store, clock)

    def end(self, newest: int) -> None:
        """The stream has ended with a record of that time."""
        self.meta = self.meta.ending(newest)

    def candidates(self) -> Ints:
        """Ids of what may still be reported, rising."""
        raise NotImplementedError

    def next_report(self, after: int) -> int | None:
        """The first moment after `after` at which there may be a report, as far as is known now."""
        raise NotImplementedError

    @property
    def counters(self) -> Counters:
        raise NotImplementedError

    def recount(self, counters: Counters, peak: int) -> None:
        """Count on from what a snapshot said."""
        raise NotImplementedError

    def forget(self, groups: Collection[str]) -> None:
        """These groups are gone, with all that is kept of them."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- what most executors do not have

    def essential(self, store: RowStore) -> Ints:
        """Candidates without those that only a query that joins later could ask for."""
        return self.candidates()

    def reached(self) -> Mapping[str, int]:
        """How far the groups that hold something have come, where each has a clock of its own."""
        return {}

    def learned_state(self) -> bytes:
        """What the rows alone do not say; mostly nothing."""
        return b""

    def recall(self, learned: bytes, clock: Clock) -> None:
        """Go on from there; engines then hold their rows already."""
        raise AssertionError("nothing was learnt here")

    @property
    def metas(self) -> list[MetaQuery]:
        """The plan, and those that some queries have not left yet."""
        return [self.meta]

    @property
    def transitions(self) -> Mapping[str, PlanTransition]:
        """By group, '' for all where they share a clock: who still follows an earlier plan."""
        return {}

    def saved_plan(self, planned: PlannedFamily) -> dict[str, Any]:
        """What has to be known of the plan when the queries have changed; mostly nothing."""
        return {}

    def follow(self, saved: Mapping[str, Any], planned: PlannedFamily, clock: Clock) -> None:
        """Queries go on by the plan that was saved until its cycle ends."""

    def join(self, planned: PlannedFamily) -> bool:
        """Serve one query more, the last, without a new start. False if that cannot be."""
        return False

    def leave(self, planned: PlannedFamily, which: int) -> bool:
        """Serve one query less without a new start. False if that cannot be."""
        return False
