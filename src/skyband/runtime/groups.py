"""One engine per PER group (one in all without PER), and one numbering of records across them.

Engines number the records they are fed; the payload is shared by all groups. A member maps between the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skyband.engines.base import Counters, Engine
from skyband.model import NEVER, Floats, Ints, MetaQuery, Records

NOT_WORK = ("records", "candidates", "candidates_peak", "views")


@dataclass(frozen=True)
class Reports:
    """Report i: query `query[i]` (of the family) over [start, end) for `group[i]`, answered by the next `size[i]`
    ids, best first."""

    query: Ints
    start: Ints
    end: Ints
    group: list[str]
    size: Ints
    id: Ints

    def __len__(self) -> int:
        return len(self.end)

    @staticmethod
    def joined(parts: list[Reports]) -> Reports:
        def column(name: str) -> Ints:
            return np.concatenate([np.empty(0, np.int64), *(getattr(part, name) for part in parts)])

        return Reports(
            column("query"),
            column("start"),
            column("end"),
            [group for part in parts for group in part.group],
            column("size"),
            column("id"),
        )


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
        group = [self.name] * len(moments)
        return Reports(moments.query, moments.start, moments.end, group, answers.size, reported)

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
        self.gone: Counter[str] = Counter()
        self.peak = 0

    def member(self, name: str) -> Member:
        if name not in self.members:
            self.members[name] = Member(name, self.meta, self.build())
        return self.members[name]

    def advance(self, name: str, at: Ints, score: Floats, ids: Ints, until: int) -> Reports:
        """Feed one group up to `until`."""
        return self.member(name).advance(at, score, ids, until, self.linger)

    def waiting(self, until: int) -> list[str]:
        """Groups that have to report by `until`, whether fed or not."""
        return [name for name, member in self.members.items() if member.due(until, self.linger)]

    def forget_idle(self) -> None:
        self.peak = max(self.peak, sum(len(member.local) for member in self.members.values()))
        for name, member in list(self.members.items()):
            if member.idle() and self._silent(member):
                self.gone.update(work(member.engine.counters))
                del self.members[name]

    def _silent(self, member: Member) -> bool:
        """In changes mode a group stays until its last `leave` is out."""
        return self.linger is None or member.until >= member.last + int((self.meta.width + self.linger).max())

    def candidates(self) -> Ints:
        """Shared ids of everything that may still be reported, rising."""
        kept = [member.shared for member in self.members.values()]
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64)

    @property
    def counters(self) -> Counters:
        total = Counter(self.gone)
        for member in self.members.values():
            total.update(member.engine.counters)
        return dict(total) | {"candidates_peak": self.peak}


def work(counters: Counters) -> Counters:
    """What stays counted of an engine that is gone."""
    return {name: value for name, value in counters.items() if name not in NOT_WORK}
