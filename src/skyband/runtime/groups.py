"""One engine per PER group (one in all without PER), and one numbering of records across them.

Engines number the records they are fed; the payload is shared by all groups. A member maps between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from skyband.engines.base import Counters, Engine
from skyband.model import NEVER, Floats, Ints, MetaQuery, Records
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.ledger import Ledger, by_group
from skyband.runtime.packed import AT, SCORE, feed_order, floats, ints

_NOTHING: tuple[Ints, Floats, Ints] = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


class Member:
    """The engine of one group."""

    def __init__(self, name: str, meta: MetaQuery, engine: Engine) -> None:
        self.name = name
        self.meta = meta
        self.engine = engine
        self.last = int(NEVER)
        self.until = int(NEVER)
        self.fed = 0
        self.local = np.empty(0, np.int64)
        self.shared = np.empty(0, np.int64)

    def advance(self, at: Ints, score: Floats, ids: Ints, until: int, linger: Ints | None) -> Reports:
        moments = self.meta.moments(at, self.last, self.until, until, linger)
        answers = self.engine.advance(Records(at, score), moments)
        base, self.fed = self.fed, self.fed + len(at)
        entries = answers.entries()
        reported = self._shared_ids(answers.id[entries], base, ids)
        self._remember(base, ids)
        if len(at):
            self.last = int(at[-1])
        self.until = until
        group = np.zeros(len(moments), np.int64)
        return Reports(moments.query, moments.start, moments.end, group, answers.size, reported, [self.name])

    def admit(self, at: Ints, score: Floats, ids: Ints, order: Ints) -> None:
        """Late records; `order` as the engine wants it."""
        local = self.engine.admit(Records(at, score), order)
        base, self.fed = self.fed, int(local[-1]) + 1
        everyone = np.concatenate((self.shared, ids))[order]
        self._remember(base, everyone)
        self.last = max(self.last, int(at.max()))

    def due(self, until: int, linger: Ints | None) -> bool:
        """Some report has to be made by `until`."""
        moment = None if self.last == NEVER else self.meta.next_moment(self.last, self.until, linger)
        return moment is not None and moment <= until

    def idle(self) -> bool:
        """Nothing it holds can be reported any more."""
        return not len(self.local)

    def _shared_ids(self, local: Ints, base: int, ids: Ints) -> Ints:
        fresh = local >= base
        found = np.empty(len(local), np.int64)
        found[fresh] = ids[local[fresh] - base]
        found[~fresh] = self.shared[np.searchsorted(self.local, local[~fresh])]
        return found

    def _remember(self, base: int, ids: Ints) -> None:
        kept = self.engine.candidates()
        self.shared = self._shared_ids(kept, base, ids)
        self.local = kept


class Groups:
    """Members by group name; a group without candidates is forgotten."""

    def __init__(self, meta: MetaQuery, build: Callable[[], Engine], linger: Ints | None) -> None:
        self.meta = meta
        self.build = build
        self.linger = linger
        self.members: dict[str, Member] = {}
        self.ledger = Ledger()

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if seen is None:
            due = {name: until for name, member in self.members.items() if member.due(until, self.linger)}
        else:
            due = {name: end for name, end in seen.items() if name in self.members}
        parts = []
        for name, at, score, mine in _by_group(ids, take):
            end = until if seen is None else seen[name]
            parts.append(self._member(name).advance(at, score, mine, end, self.linger))
            due.pop(name, None)
        parts += [self.members[name].advance(*_NOTHING, end, self.linger) for name, end in due.items()]
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        for name, at, score, mine in _by_group(ids, take):
            member, end = self._member(name), until if seen is None else seen[name]
            if member.until < end:
                member.advance(*_NOTHING, end, self.linger)
            member.admit(at, score, mine, feed_order(take(np.concatenate((member.shared, mine)))))

    def close(self, until: int) -> Reports:
        parts = [member.advance(*_NOTHING, until, self.linger) for member in self.members.values()]
        self._forget_idle()
        return Reports.joined(parts)

    def candidates(self) -> Ints:
        kept = [member.shared for member in self.members.values()]
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64)

    def next_report(self, until: int) -> int | None:
        known = [self.meta.next_moment(member.last, until, self.linger) for member in self.members.values()]
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        return self.ledger.total(self._counted())

    def resume(self, counters: Counters, peak: int) -> None:
        self.ledger.resume(self._counted(), counters, peak)

    def _counted(self) -> list[Counters]:
        return [member.engine.counters for member in self.members.values()]

    def _member(self, name: str) -> Member:
        if name not in self.members:
            self.members[name] = Member(name, self.meta, self.build())
        return self.members[name]

    def _forget_idle(self) -> None:
        self.ledger.kept(sum(len(member.local) for member in self.members.values()))
        for name, member in list(self.members.items()):
            if member.idle() and self._silent(member):
                self.ledger.retire(member.engine.counters)
                del self.members[name]

    def _silent(self, member: Member) -> bool:
        """In changes mode a group stays until its last `leave` is out."""
        return self.linger is None or member.until >= member.last + int((self.meta.width + self.linger).max())


def _by_group(ids: Ints, take: Take) -> list[tuple[str, Ints, Floats, Ints]]:
    """(group, at, score, ids) of each group, rows in their order."""
    if not len(ids):
        return []
    rows = take(ids)
    at, score = ints(rows, AT), floats(rows, SCORE)
    return [(name, at[part], score[part], ids[part]) for name, part in by_group(rows)]
