"""The keeper of an uncertain family: one `pk_topk` per PER group, fed with probabilities and rules."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import Ints, MetaQuery, Moments
from skyband.runtime.keeper import Reports
from skyband.runtime.members import Member, Members
from skyband.runtime.packed import AT, RULE, SCORE, SOURCE, P, floats, ints, key_order
from skyband.runtime.replan import Replan

NO_PROBABILITY = "EXPECTED_RANK"
"""The semantics whose figure is not a probability."""


class Worlds(Members[PkTopk, Tuples]):
    """Its moments follow a sharing plan, which may change while it runs."""

    def __init__(self, meta: MetaQuery, linger: Ints | None) -> None:
        super().__init__(meta, linger)
        self.replan: Replan | None = None
        self._silent = np.array([using.name == NO_PROBABILITY for using in meta.using or ()], bool)

    def build(self) -> PkTopk:
        return PkTopk(self.meta)

    def nothing(self) -> Tuples:
        return Tuples.none()

    def read(self, rows: pa.Table, ids: Ints) -> Tuples:
        rule, source = ints(rows, RULE), ints(rows, SOURCE)
        return Tuples(ids, ints(rows, AT), floats(rows, SCORE), floats(rows, P), rule, key_order(rows), source)

    def rebuild(self, engine: PkTopk, fed: Tuples, fresh: int) -> None:
        engine.rebuild(fed, fresh)

    def report(self, member: Member[PkTopk], fed: Tuples, moments: Moments) -> Reports:
        answers = member.engine.advance(fed, moments)
        entries = answers.entries()
        silent = np.repeat(self._silent[moments.query], answers.size)
        value = np.where(silent, np.nan, answers.value[entries])
        group = np.zeros(len(moments), np.int64)
        id = answers.id[entries]
        return Reports(moments.query, moments.start, moments.end, group, answers.size, id, [member.name], value)

    def next_report(self, until: int) -> int | None:
        known = [super().next_report(until)]
        if self.replan is not None:
            lasts = [member.last for member in self.members.values()]
            known += [self.replan.before.next_moment(last, until, None) for last in lasts]
        return min((moment for moment in known if moment is not None), default=None)

    def moments(self, member: Member[PkTopk], at: Ints, until: int) -> Moments:
        new = super().moments(member, at, until)
        if self.replan is None:
            return new
        return self.replan.moments(new, at, member.last, member.until, self._linger_by_query())

    def due(self, member: Member[PkTopk], until: int) -> bool:
        return self.replan is not None or super().due(member, until)

    def _linger_by_query(self) -> Ints | None:
        if self.linger is None:
            return None
        return self.linger[np.searchsorted(self.meta.query, np.arange(self.meta.query[-1] + 1))]
