"""The keeper of a family whose engines know records by the payload's ids: one engine per PER group.

What such a family feeds differs with the data model; when it reports, what it holds and what it forgets does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.model import NEVER, Ints, MetaQuery, Moments
from skyband.runtime.groups import SHARE, work
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.packed import AT, GROUP, feed_order, ints

F = TypeVar("F", bound="Fed")
E = TypeVar("E", bound="Holder")


class Fed(Protocol):
    """Records of one group, as its engine takes them."""

    @property
    def at(self) -> Ints: ...

    def __len__(self) -> int: ...


class Holder(Protocol):
    """What is asked of an engine here, besides being fed."""

    def candidates(self) -> Ints: ...

    @property
    def counters(self) -> Counters: ...


class Member(Generic[E]):
    """The engine of one group, and its clock."""

    def __init__(self, name: str, engine: E) -> None:
        self.name = name
        self.engine = engine
        self.last = int(NEVER)
        self.until = int(NEVER)


class Members(Generic[E, F]):
    """Members by group name; a group without records is forgotten."""

    def __init__(self, meta: MetaQuery, linger: Ints | None) -> None:
        self.meta = meta
        self.linger = linger
        self.members: dict[str, Member[E]] = {}
        self._gone: Counter[str] = Counter()
        self._shares: Counters = {}
        self._peak = 0

    # ------------------------------------------------------------------------------------- what a data model decides

    def build(self) -> E:
        """A new engine."""
        raise NotImplementedError

    def nothing(self) -> F:
        """No records."""
        raise NotImplementedError

    def read(self, rows: pa.Table, ids: Ints) -> F:
        """Packed rows in feed order, as the engine wants them."""
        raise NotImplementedError

    def report(self, member: Member[E], fed: F, moments: Moments) -> Reports:
        """Feed the engine; what it answers."""
        raise NotImplementedError

    def rebuild(self, engine: E, fed: F, fresh: int) -> None:
        """Let it hold these records instead, of which `fresh` are new."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------ a keeper

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if seen is None:
            due = {name: until for name, member in self.members.items() if self.due(member, until)}
        else:
            due = {name: end for name, end in seen.items() if name in self.members}
        parts = []
        for name, rows, mine in _by_group(ids, take):
            end = until if seen is None else seen[name]
            parts.append(self._advance(self._member(name), self.read(rows, mine), end))
            due.pop(name, None)
        parts += [self._advance(self.members[name], self.nothing(), end) for name, end in due.items()]
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        for name, _, mine in _by_group(ids, take):
            member, end = self._member(name), until if seen is None else seen[name]
            if member.until < end:
                self._advance(member, self.nothing(), end)
            everyone = np.concatenate((member.engine.candidates(), mine))
            rows = take(everyone)
            order = feed_order(rows)
            self.rebuild(member.engine, self.read(rows.take(pa.array(order)), everyone[order]), len(mine))
            member.last = max(member.last, int(ints(rows, AT).max()))

    def close(self, until: int) -> Reports:
        parts = [self._advance(member, self.nothing(), until) for member in self.members.values()]
        self._forget_idle()
        return Reports.joined(parts)

    def candidates(self) -> Ints:
        kept = [member.engine.candidates() for member in self.members.values()]
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64)

    def next_report(self, until: int) -> int | None:
        known = [self.meta.next_moment(member.last, until, self.linger) for member in self.members.values()]
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        total = Counter(self._gone)
        shares: dict[str, list[int]] = {}
        for member in self.members.values():
            counters = member.engine.counters
            total.update({name: count for name, count in counters.items() if not name.endswith(SHARE)})
            for name in counters:
                if name.endswith(SHARE):
                    shares.setdefault(name, []).append(counters[name])
        means = {name: sum(each) // len(each) for name, each in shares.items()}
        return dict(total) | {"candidates_peak": self._peak} | (means or self._shares)

    def resume(self, counters: Counters, peak: int) -> None:
        # Building the engines anew is not work that the stream asked for.
        self._gone = Counter()
        self._gone.subtract(work(self.counters))
        self._gone.update(counters)
        self._peak = peak

    def moments(self, member: Member[E], at: Ints, until: int) -> Moments:
        """The reports due up to `until`, given the records fed now."""
        return self.meta.moments(at, member.last, member.until, until, self.linger)

    def due(self, member: Member[E], until: int) -> bool:
        moment = None if member.last == NEVER else self.meta.next_moment(member.last, member.until, self.linger)
        return moment is not None and moment <= until

    def _advance(self, member: Member[E], fed: F, until: int) -> Reports:
        reports = self.report(member, fed, self.moments(member, fed.at, until))
        if len(fed):
            member.last = int(fed.at[-1])
        member.until = until
        return reports

    def _member(self, name: str) -> Member[E]:
        if name not in self.members:
            self.members[name] = Member(name, self.build())
        return self.members[name]

    def _forget_idle(self) -> None:
        """In changes mode a group stays until its last `leave` is out."""
        self._peak = max(self._peak, sum(member.engine.counters["candidates"] for member in self.members.values()))
        reach = self.meta.longest if self.linger is None else int((self.meta.width + self.linger).max())
        for name, member in list(self.members.items()):
            if not member.engine.counters["candidates"] and member.until >= member.last + reach:
                counters = member.engine.counters
                self._gone.update(work(counters))
                self._shares = {name: share for name, share in counters.items() if name.endswith(SHARE)}
                del self.members[name]


def _by_group(ids: Ints, take: Take) -> Iterator[tuple[str, pa.Table, Ints]]:
    """(group, rows, ids) of each group, rows in their order."""
    if not len(ids):
        return
    rows = take(ids)
    if GROUP not in rows.column_names:
        yield "", rows, ids
        return
    coded = pa.chunked_array([rows.column(GROUP).combine_chunks()]).combine_chunks().dictionary_encode()
    code, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order], prepend=-1, append=len(names))).tolist()
    for low, high in pairwise(cuts):
        part = order[low:high]
        yield names[code[part[0]]], rows.take(pa.array(part)), ids[part]
