"""The keeper of objects whose attributes arrive apart: one engine per PER group, fed with values of objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters, IncompleteEngine, registration
from skyband.engines.codec import pack, unpack
from skyband.model import NEVER, Ints, Sightings
from skyband.planner import PlannedFamily
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.ledger import SHARE, Ledger, by_group
from skyband.runtime.packed import AT, FEED, OBJECT, SCORE, feed_order, floats, ints

MEMORY = "objects"


class _Member:
    """The engine of one group, and its clock."""

    def __init__(self, name: str, engine: IncompleteEngine) -> None:
        self.name = name
        self.engine = engine
        self.last = int(NEVER)
        self.until = int(NEVER)


class Apart:
    """Members by group name; a group without records is forgotten. Reports name an object by its newest record in the
    window; the score is the object's."""

    def __init__(self, planned: PlannedFamily, linger: Ints | None) -> None:
        assert planned.meta.apart is not None
        self.meta = planned.meta
        self.linger = linger
        self.members: dict[str, _Member] = {}
        self.ledger = Ledger()
        self._shares: Counters = {}
        self._build = cast("Callable[[], IncompleteEngine]", planned.build)
        self._declared = len(planned.meta.apart) > 0
        self._learns = not registration(planned.choice.engine).capabilities.exact
        self._numbers: dict[int, int] = {}
        """Of streams that are not declared: the number of each, as they came."""

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if seen is None:
            due = {name: until for name, member in self.members.items() if self._due(member, until)}
        else:
            due = {name: end for name, end in seen.items() if name in self.members}
        parts = []
        for name, rows, mine in _by_group(ids, take):
            end = until if seen is None else seen[name]
            parts.append(self._advance(self._member(name), self._read(rows, mine), end))
            due.pop(name, None)
        parts += [self._advance(self.members[name], Sightings.none(), end) for name, end in due.items()]
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        for name, _, mine in _by_group(ids, take):
            member, end = self._member(name), until if seen is None else seen[name]
            if member.until < end:
                self._advance(member, Sightings.none(), end)
            everyone = np.concatenate((member.engine.candidates(), mine))
            rows = take(everyone)
            order = feed_order(rows)
            member.engine.rebuild(self._read(rows.take(pa.array(order)), everyone[order]), len(mine))
            member.last = max(member.last, int(ints(rows, AT).max()))

    def close(self, until: int) -> Reports:
        parts = [self._advance(member, Sightings.none(), until) for member in self.members.values()]
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
        engines = [member.engine.counters for member in self.members.values()]
        shares = {name for counters in engines for name in counters if name.endswith(SHARE)}
        means = {
            name: sum(each[name] for each in engines if name in each) // sum(name in each for each in engines)
            for name in shares
        }
        return self.ledger.total(map(_countable, engines)) | (means or self._shares)

    def resume(self, counters: Counters, peak: int) -> None:
        engines = [_countable(member.engine.counters) for member in self.members.values()]
        self.ledger.resume(engines, counters, peak)

    def memory(self) -> bytes:
        """What the rows alone do not say: an approximate engine has learnt from values that it forgot. Else empty."""
        if not self._learns:
            return b""
        clocks = {name: [member.last, member.until] for name, member in self.members.items()}
        known = {"clocks": clocks, "numbers": [[name, number] for name, number in self._numbers.items()]}
        states = [member.engine.snapshot() for member in self.members.values()]
        return pack(MEMORY, {"state": [json.dumps(known).encode(), *states]}, {})

    def recall(self, memory: bytes) -> None:
        """Go on from there; engines then hold their rows already."""
        first, *states = unpack(MEMORY, memory)[0]["state"]
        known = json.loads(first)
        self._numbers = dict(known["numbers"])
        for (name, clock), state in zip(known["clocks"].items(), states, strict=True):
            member = self._member(name)
            member.engine.restore(state)
            member.last, member.until = clock

    def _read(self, rows: pa.Table, ids: Ints) -> Sightings:
        """Packed rows in feed order, as the engine wants them."""
        feed = ints(rows, FEED)
        if not self._declared:
            feed = self._numbered(feed)
        return Sightings(ids, ints(rows, AT), ints(rows, OBJECT), feed, floats(rows, SCORE))

    def _numbered(self, names: Ints) -> Ints:
        distinct, place = np.unique(names, return_inverse=True)
        known = self._numbers
        number = np.array([known.setdefault(name, len(known)) for name in distinct.tolist()], np.int64)
        return number[place] if len(names) else names

    def _advance(self, member: _Member, fed: Sightings, until: int) -> Reports:
        moments = self.meta.moments(fed.at, member.last, member.until, until, self.linger)
        answers = member.engine.advance(fed, moments)
        if len(fed):
            member.last = int(fed.at[-1])
        member.until = until
        entries = answers.entries()
        group = np.zeros(len(moments), np.int64)
        # Rows carry scores with the higher first, whatever the query's order.
        score = (-answers.score if self.meta.ascending else answers.score)[entries]
        id = answers.id[entries]
        return Reports(
            moments.query, moments.start, moments.end, group, answers.size, id, [member.name], score=score
        )  # fmt: skip

    def _due(self, member: _Member, until: int) -> bool:
        moment = None if member.last == NEVER else self.meta.next_moment(member.last, member.until, self.linger)
        return moment is not None and moment <= until

    def _member(self, name: str) -> _Member:
        if name not in self.members:
            self.members[name] = _Member(name, self._build())
        return self.members[name]

    def _forget_idle(self) -> None:
        """In changes mode a group stays until its last `leave` is out."""
        self.ledger.kept(sum(member.engine.counters["candidates"] for member in self.members.values()))
        reach = self.meta.longest if self.linger is None else int((self.meta.width + self.linger).max())
        for name, member in list(self.members.items()):
            counters = member.engine.counters
            if not counters["candidates"] and member.until >= member.last + reach:
                self.ledger.retire(counters)
                self._shares = {name: share for name, share in counters.items() if name.endswith(SHARE)}
                del self.members[name]


def _countable(counters: Counters) -> Counters:
    return {name: count for name, count in counters.items() if not name.endswith(SHARE)}


def _by_group(ids: Ints, take: Take) -> Iterator[tuple[str, pa.Table, Ints]]:
    """(group, rows, ids) of each group, rows in their order."""
    if len(ids):
        rows = take(ids)
        for name, part in by_group(rows):
            yield name, rows.take(pa.array(part)), ids[part]
