"""One engine per PER group (one in all without PER)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from skyband.engines.base import AnyEngine, Counters
from skyband.model import NEVER, Answers, DueReports, Ints, MetaQuery
from skyband.runtime.clock import Clock
from skyband.runtime.encoded import by_group, feed_order
from skyband.runtime.executors.base import NO_IDS, Executor, Reports
from skyband.runtime.row_store import RowStore
from skyband.runtime.work import WorkCounters


class Batches(Protocol):
    """What a data model gives the engines of its families."""

    valued: bool
    """Answers carry a value that no row holds."""

    def build(self) -> AnyEngine:
        """A new engine for (a PER group of) the family."""

    def batch(self, rows: pa.Table | None, ids: Ints) -> Any:
        """Encoded rows in feed order, as the engine wants them, labelled; none for None."""


class Member:
    """The engine of one group, and its clock."""

    def __init__(self, name: str, engine: AnyEngine) -> None:
        self.name = name
        self.engine = engine
        self.last = int(NEVER)
        self.until = int(NEVER)


class PerGroup(Executor):
    """Members by group name; a group without candidates is forgotten."""

    def __init__(self, meta: MetaQuery, batches: Batches, grace: Ints | None) -> None:
        self.meta = meta
        self.batches = batches
        self.grace = grace
        """By beat: how much longer than its window a record keeps reports coming, where changes are sent: that a list
        has become empty has to be said."""
        self.members: dict[str, Member] = {}
        self.work = WorkCounters()

    def advance(self, rows: pa.Table | None, ids: Ints, clock: Clock) -> Reports:
        waiting = [name for name in clock.among(self.members) if self._due(self.members[name], clock.of(name))]
        parts, fed = [], set()
        for name, mine, labels in _by_group(rows, ids):
            parts.append(self._advance(self._member(name), mine, labels, clock.of(name)))
            fed.add(name)
        silent = [self.members[name] for name in waiting if name not in fed]
        parts += [self._advance(member, None, NO_IDS, clock.of(member.name)) for member in silent]
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        self._rebuild(ids, store, clock, ids)

    def resume(self, ids: Ints, store: RowStore, clock: Clock) -> None:
        self._rebuild(ids, store, clock, NO_IDS)

    def _rebuild(self, ids: Ints, store: RowStore, clock: Clock, fresh: Ints) -> None:
        for name, _, new in _by_group(store.take(ids), ids):
            member = self._member(name)
            end = max(clock.of(name), member.until)
            labels = np.concatenate((member.engine.candidates(), new))
            rows = store.take(labels)
            order = feed_order(rows)
            batch = self.batches.batch(rows.take(pa.array(order)), labels[order])
            member.engine.rebuild(batch, end, np.intersect1d(new, fresh))
            member.last, member.until = max([member.last, *self._times(batch)[-1:].tolist()]), end

    def candidates(self) -> Ints:
        kept = [member.engine.candidates() for member in self.members.values()]
        self.work.kept(sum(map(len, kept)))
        return kept[0] if len(kept) == 1 else np.sort(np.concatenate([NO_IDS, *kept]))

    def forget(self, groups: Collection[str]) -> None:
        for name in groups:
            if (member := self.members.pop(name, None)) is not None:
                self.work.retire(member.engine.counters)

    def reached(self) -> Mapping[str, int]:
        return {name: member.until for name, member in self.members.items()}

    def next_report(self, after: int) -> int | None:
        lasts = [member.last for member in self.members.values()]
        known = [self.meta.next_moment(last, after, self.grace) for last in lasts if last != NEVER]
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        counted = self._counted()
        self.work.kept(sum(each["candidates"] for each in counted))
        return self.work.total(counted)

    def recount(self, counters: Counters, peak: int) -> None:
        self.work.recount(self._counted(), counters, peak)

    def _counted(self) -> list[Counters]:
        return [member.engine.counters for member in self.members.values()]

    def _advance(self, member: Member, rows: pa.Table | None, ids: Ints, until: int) -> Reports:
        batch = self.batches.batch(rows, ids)
        at = self._times(batch)
        due = self._due_reports(member, at, until)
        answers: Answers = member.engine.advance(batch, due)
        if len(at):
            member.last = int(at[-1])
        member.until = until
        value = answers.score if self.batches.valued else None
        group = np.zeros(len(due), np.int64)
        return Reports(
            due.query,
            due.start,
            due.end,
            group,
            answers.begin,
            answers.size,
            answers.id,
            [member.name],
            value,
            answers.listed,
        )

    def _times(self, batch: Any) -> Ints:
        """When its records came, in feed order."""
        at: Ints = batch.at
        return at

    def _due_reports(self, member: Member, at: Ints, until: int) -> DueReports:
        return self.meta.due_reports(at, member.last, member.until, until, self.grace)

    def _due(self, member: Member, until: int) -> bool:
        """Some report has to be made by then."""
        moment = None if member.last == NEVER else self.meta.next_moment(member.last, member.until, self.grace)
        return moment is not None and moment <= until

    def _member(self, name: str) -> Member:
        if name not in self.members:
            self.members[name] = Member(name, self.batches.build())
        return self.members[name]

    def _forget_idle(self) -> None:
        """Where changes are sent, a group stays until its last `leave` is out."""
        reach = self.meta.longest if self.grace is None else int((self.meta.width + self.grace).max())
        for name, member in list(self.members.items()):
            if member.until >= member.last + reach and not len(member.engine):
                self.work.retire(member.engine.counters)
                del self.members[name]


def _by_group(rows: pa.Table | None, ids: Ints) -> Iterator[tuple[str, pa.Table, Ints]]:
    """Each group with its rows and their ids, in their order."""
    if rows is None:
        return
    for name, part in by_group(rows):
        yield (name, rows, ids) if part is None else (name, rows.take(pa.array(part)), ids[part])
