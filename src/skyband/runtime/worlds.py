"""The keeper of an uncertain family: one `pk_topk` without PER; with it, small groups in one table, and large ones with
an engine each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.kernels.uncertain.world_groups import Rhythm
from skyband.engines.uncertain.pk_normal import highest
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import NEVER, Ints, MetaQuery
from skyband.model.using import SEMANTICS, Using
from skyband.planner import PlannedFamily
from skyband.runtime import crowd
from skyband.runtime.crowd import Crowd, Moved
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.ledger import Ledger, by_group, group_codes
from skyband.runtime.packed import AT, ERROR, RULE, SCORE, SOURCE, P, feed_order, floats, ints, key_order
from skyband.runtime.replan import Replan, Waiting, replan

EVER = 2**61


class _Member:
    """The engine of one group, and its clock."""

    def __init__(self, name: str, engine: PkTopk) -> None:
        self.name = name
        self.engine = engine
        self.last = int(NEVER)
        self.until = int(NEVER)


class Worlds:
    """Members by group name; a group without records is forgotten. Engines know records by the payload's ids."""

    def __init__(
        self, meta: MetaQuery, linger: Ints | None, build: Callable[[MetaQuery], PkTopk] = PkTopk, table: bool = False
    ) -> None:
        self.meta = meta
        self.build = build
        self.linger = linger
        self.waiting: dict[str, Waiting] = {}
        self._replans: dict[str, Replan] = {}
        self.members: dict[str, _Member] = {}
        self.crowd = Crowd(meta, linger) if table else None
        self.ledger = Ledger()

    def hand_over(self, waiting: dict[str, Waiting], planned: PlannedFamily) -> None:
        """Queries that wait for the end of an old cycle, as `pending` says."""
        self.waiting = waiting
        found = {group: replan(each, planned) for group, each in waiting.items()}
        self._replans = {group: change for group, change in found.items() if change is not None}
        if self.meta.kind == "rows":
            self._take_over(self._replans)

    @property
    def metas(self) -> list[MetaQuery]:
        """The plan, and those that some queries have not left yet."""
        return [self.meta, *(change.before for change in self._replans.values())]

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if seen is None:
            due = {name: until for name, member in self.members.items() if self._due(member, until)}
        else:
            due = {name: end for name, end in seen.items() if name in self.members}
        rows = take(ids) if len(ids) else None
        alone, few = self._split(rows)
        parts = []
        if rows is not None and len(alone):
            some = rows.take(pa.array(alone)) if len(few) else rows
            for name, part in by_group(some):
                end = until if seen is None else seen[name]
                tuples = _tuples(some.take(pa.array(part)), ids[alone[part]])
                parts.append(self._advance(self._member(name), tuples, end))
                due.pop(name, None)
        parts += [self._advance(self.members[name], Tuples.none(), end) for name, end in due.items()]
        if self.crowd is not None:
            some = None if rows is None else rows.take(pa.array(few))
            parts.append(self.crowd.advance(some, ids[few], *self._rhythm(), until, seen))
            self._take_over(self.crowd.large())
        self._gone_over({"": until} if seen is None else seen)
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        rows = take(ids)
        alone, few = self._split(rows)
        for name, part in by_group(rows.take(pa.array(alone))):
            member, end = self._member(name), until if seen is None else seen[name]
            if member.until < end:
                self._advance(member, Tuples.none(), end)
            everyone = np.concatenate((member.engine.candidates(), ids[alone[part]]))
            known = take(everyone)
            order = feed_order(known)
            member.engine.rebuild(_tuples(known.take(pa.array(order)), everyone[order]), len(part))
            member.last = max(member.last, int(ints(known, AT).max()))
        if self.crowd is not None and len(few):
            self.crowd.admit(rows.take(pa.array(few)), ids[few], take, until, seen)
            self._take_over(self.crowd.large())

    def close(self, until: int) -> Reports:
        parts = [self._advance(member, Tuples.none(), until) for member in self.members.values()]
        if self.crowd is not None:
            parts.append(self.crowd.advance(None, np.empty(0, np.int64), *self._rhythm(), until, None))
        self._forget_idle()
        return Reports.joined(parts)

    def candidates(self) -> Ints:
        kept = [member.engine.candidates() for member in self.members.values()]
        if self.crowd is not None:
            kept.append(self.crowd.candidates())
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64)

    def next_report(self, until: int) -> int | None:
        lasts = [member.last for member in self.members.values()]
        if self.crowd is not None and self.crowd.last != NEVER:
            lasts.append(self.crowd.last)
        known = [self.meta.next_moment(last, until, self.linger) for last in lasts]
        known += [change.before.next_moment(last, until) for change in self._replans.values() for last in lasts]
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        return self.ledger.total(self._counted())

    def resume(self, counters: Counters, peak: int) -> None:
        self.ledger.resume(self._counted(), counters, peak)

    def _counted(self) -> list[Counters]:
        found = [member.engine.counters for member in self.members.values()]
        return found if self.crowd is None else [*found, self.crowd.counters]

    def _split(self, rows: pa.Table | None) -> tuple[Ints, Ints]:
        """Places of the rows for engines of their own, and of those for the table."""
        none = np.empty(0, np.int64)
        if rows is None:
            return none, none
        if self.crowd is None:
            return np.arange(len(rows)), none
        if not self.members and not (self._replans and self.meta.kind == "rows"):
            return none, np.arange(len(rows))
        code, names = group_codes(rows)
        own = np.array([self._has_own(name) for name in names], bool)[code]
        return np.flatnonzero(own), np.flatnonzero(~own)

    def _has_own(self, name: str) -> bool:
        """A group that counts by itself and is still on an old plan has an engine too: nobody shares its moments."""
        return name in self.members or (name in self._replans and self.meta.kind == "rows")

    def _take_over(self, names: Collection[str]) -> None:
        """From the table to an engine each."""
        for name, tuples, until in self.crowd.take_out(names) if self.crowd is not None and names else ():
            member = self._member(name)
            member.engine.until = member.until = until
            member.engine.rebuild(tuples)
            member.last = int(tuples.at[-1])

    def _rhythm(self) -> tuple[Rhythm, Ints]:
        """The beats of the table, those of an old plan among them, and the query of each."""
        meta, using = self.meta, self.meta.using or (Using(),) * (int(self.meta.query.max()) + 1)
        linger = np.zeros(len(meta), np.int64) if self.linger is None else self.linger
        columns = [meta.width, meta.period, meta.phase, meta.k, linger, meta.query]
        since, upto = np.full(len(meta), NEVER), np.full(len(meta), EVER)
        change = self._replans.get("") if meta.kind == "range" else None
        if change is not None:
            old, held = change.before, change.held(self._linger_by_query())
            more = [old.width, old.period, old.phase, old.k, held, old.query]
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
            since = np.concatenate((change.last[meta.query], np.full(len(old), NEVER)))
            upto = np.concatenate((upto, change.last[old.query]))
        query = columns.pop()
        kind = np.array([SEMANTICS.index(each.name) for each in using], np.int64)[query]
        level = np.array([each.level or 0.0 for each in using])[query]
        width, period, phase, k, linger = columns
        return Rhythm(width, period, phase, k, linger, since, upto, kind, level), query

    def _advance(self, member: _Member, tuples: Tuples, until: int) -> Reports:
        moments = self.meta.moments(tuples.at, member.last, member.until, until, self.linger)
        change = self._replans.get(member.name if self.meta.kind == "rows" else "")
        if change is not None:
            moments = change.moments(moments, tuples.at, member.last, member.until, self._linger_by_query())
        answers = member.engine.advance(tuples, moments)
        if len(tuples):
            member.last = int(tuples.at[-1])
        member.until = until
        entries = answers.entries()
        group = np.zeros(len(moments), np.int64)
        id, value = answers.id[entries], answers.value[entries]
        return Reports(moments.query, moments.start, moments.end, group, answers.size, id, [member.name], value)

    def _gone_over(self, clocks: Mapping[str, int]) -> None:
        """Forget the old plans that every query has left."""
        for group, change in list(self._replans.items()):
            if group in clocks and change.over(clocks[group]):
                del self._replans[group], self.waiting[group]

    def _due(self, member: _Member, until: int) -> bool:
        if self._replans:
            return True
        moment = None if member.last == NEVER else self.meta.next_moment(member.last, member.until, self.linger)
        return moment is not None and moment <= until

    def _linger_by_query(self) -> Ints | None:
        if self.linger is None:
            return None
        return self.linger[np.searchsorted(self.meta.query, np.arange(self.meta.query[-1] + 1))]

    def _member(self, name: str) -> _Member:
        if name not in self.members:
            self.members[name] = _Member(name, self.build(self.meta))
        return self.members[name]

    def _forget_idle(self) -> None:
        """In changes mode a group stays until its last `leave` is out. A small one comes back to the table."""
        counted = self._counted()
        self.ledger.kept(sum(each["candidates"] for each in counted))
        reach = self.meta.longest if self.linger is None else int((self.meta.width + self.linger).max())
        small = []
        for (name, member), counters in zip(list(self.members.items()), counted, strict=False):
            kept = counters["candidates"]
            if self.crowd is not None and 0 < kept <= crowd.LARGE // 4 and name not in self._replans:
                small.append(Moved(name, member.engine.held(), member.until))
            elif kept or member.until < member.last + reach:
                continue
            self.ledger.retire(counters)
            del self.members[name]
        if self.crowd is not None and small:
            self.crowd.take_in(small)


def _tuples(rows: pa.Table, ids: Ints) -> Tuples:
    """Packed rows in feed order, as the engine wants them."""
    p, rule, source, score = floats(rows, P), ints(rows, RULE), ints(rows, SOURCE), floats(rows, SCORE)
    mean = error = None
    if ERROR in rows.column_names:
        mean, error = score, floats(rows, ERROR)
        score = highest(mean, error)
    return Tuples(ids, ints(rows, AT), score, p, rule, key_order(rows), source, mean, error)
