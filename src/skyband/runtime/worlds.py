"""The keeper of an uncertain family: one `pk_topk` per PER group, fed with probabilities and rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import NEVER, Ints, MetaQuery
from skyband.runtime.groups import work
from skyband.runtime.keeper import Reports, Take
from skyband.runtime.packed import AT, GROUP, RULE, SCORE, SOURCE, P, feed_order, floats, ints, key_order
from skyband.runtime.replan import Replan

NO_PROBABILITY = "EXPECTED_RANK"
"""The semantics whose figure is not a probability."""


class _Member:
    """The engine of one group, and its clock."""

    def __init__(self, name: str, meta: MetaQuery) -> None:
        self.name = name
        self.engine = PkTopk(meta)
        self.last = int(NEVER)
        self.until = int(NEVER)


class Worlds:
    """Members by group name; a group without records is forgotten. Engines know records by the payload's ids."""

    def __init__(self, meta: MetaQuery, linger: Ints | None) -> None:
        self.meta = meta
        self.linger = linger
        self.replan: Replan | None = None
        self.members: dict[str, _Member] = {}
        self._silent = np.array([using.name == NO_PROBABILITY for using in meta.using or ()], bool)
        self._gone: Counter[str] = Counter()
        self._peak = 0

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        if seen is None:
            due = {name: until for name, member in self.members.items() if self._due(member, until)}
        else:
            due = {name: end for name, end in seen.items() if name in self.members}
        parts = []
        for name, rows, mine in _by_group(ids, take):
            end = until if seen is None else seen[name]
            parts.append(self._advance(self._member(name), _tuples(rows, mine), end))
            due.pop(name, None)
        parts += [self._advance(self.members[name], Tuples.none(), end) for name, end in due.items()]
        self._forget_idle()
        return Reports.joined(parts)

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        for name, _, mine in _by_group(ids, take):
            member, end = self._member(name), until if seen is None else seen[name]
            if member.until < end:
                self._advance(member, Tuples.none(), end)
            everyone = np.concatenate((member.engine.candidates(), mine))
            rows = take(everyone)
            order = feed_order(rows)
            member.engine.rebuild(_tuples(rows.take(pa.array(order)), everyone[order]), len(mine))
            member.last = max(member.last, int(ints(rows, AT).max()))

    def close(self, until: int) -> Reports:
        parts = [self._advance(member, Tuples.none(), until) for member in self.members.values()]
        self._forget_idle()
        return Reports.joined(parts)

    def candidates(self) -> Ints:
        kept = [member.engine.candidates() for member in self.members.values()]
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64)

    def next_report(self, until: int) -> int | None:
        metas = [(self.meta, self.linger)] + ([(self.replan.before, None)] if self.replan else [])
        lasts = [member.last for member in self.members.values()]
        known = [meta.next_moment(last, until, linger) for meta, linger in metas for last in lasts]
        return min((moment for moment in known if moment is not None), default=None)

    @property
    def counters(self) -> Counters:
        total = Counter(self._gone)
        for member in self.members.values():
            total.update(member.engine.counters)
        return dict(total) | {"candidates_peak": self._peak}

    def resume(self, counters: Counters, peak: int) -> None:
        # Building the engines anew is not work that the stream asked for.
        self._gone = Counter()
        self._gone.subtract(work(self.counters))
        self._gone.update(counters)
        self._peak = peak

    def _advance(self, member: _Member, tuples: Tuples, until: int) -> Reports:
        moments = self.meta.moments(tuples.at, member.last, member.until, until, self.linger)
        if self.replan is not None:
            moments = self.replan.moments(moments, tuples.at, member.last, member.until, self._linger_by_query())
        answers = member.engine.advance(tuples, moments)
        if len(tuples):
            member.last = int(tuples.at[-1])
        member.until = until
        entries = answers.entries()
        silent = np.repeat(self._silent[moments.query], answers.size)
        value = np.where(silent, np.nan, answers.value[entries])
        group = np.zeros(len(moments), np.int64)
        id = answers.id[entries]
        return Reports(moments.query, moments.start, moments.end, group, answers.size, id, [member.name], value)

    def _due(self, member: _Member, until: int) -> bool:
        if self.replan is not None:
            return True
        moment = None if member.last == NEVER else self.meta.next_moment(member.last, member.until, self.linger)
        return moment is not None and moment <= until

    def _linger_by_query(self) -> Ints | None:
        if self.linger is None:
            return None
        return self.linger[np.searchsorted(self.meta.query, np.arange(self.meta.query[-1] + 1))]

    def _member(self, name: str) -> _Member:
        if name not in self.members:
            self.members[name] = _Member(name, self.meta)
        return self.members[name]

    def _forget_idle(self) -> None:
        """In changes mode a group stays until its last `leave` is out."""
        self._peak = max(self._peak, sum(member.engine.counters["candidates"] for member in self.members.values()))
        reach = self.meta.longest if self.linger is None else int((self.meta.width + self.linger).max())
        for name, member in list(self.members.items()):
            if not member.engine.counters["candidates"] and member.until >= member.last + reach:
                self._gone.update(work(member.engine.counters))
                del self.members[name]


def _tuples(rows: pa.Table, ids: Ints) -> Tuples:
    """Packed rows in feed order, as the engine wants them."""
    rule, source = ints(rows, RULE), ints(rows, SOURCE)
    return Tuples(ids, ints(rows, AT), floats(rows, SCORE), floats(rows, P), rule, key_order(rows), source)


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
