"""Single-query engines lifted to a family: one engine per query, all fed the same records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from skyband.engines.base import AnyEngine, Counters
from skyband.engines.candidates import CandidateEngine, Candidates
from skyband.errors import SkybandError
from skyband.model import Answers, DueReports, MetaQuery, Records


def lifted(meta: MetaQuery, build: Callable[[MetaQuery], AnyEngine]) -> CandidateEngine:
    """One engine per beat of `meta`, behind the face of one engine."""
    members = [build(meta.beat(beat)) for beat in range(len(meta))]
    alike = [member for member in members if isinstance(member, CandidateEngine)]
    if len(alike) < len(members):
        raise SkybandError(f"{type(members[0]).__name__} cannot be lifted", expected="an engine that keeps candidates")
    return _Lifted(meta, alike)


class _Lifted(CandidateEngine):
    """What it keeps is the union: any engine of the family can go on from it."""

    def __init__(self, meta: MetaQuery, members: list[CandidateEngine]) -> None:
        super().__init__(meta)
        self.members = members

    def answer(self, records: Records, due_reports: DueReports) -> Answers:
        # The beats of one query have windows of different lengths.
        width, beats = due_reports.end - due_reports.start, zip(self.meta.query, self.meta.width, strict=True)
        own = [np.flatnonzero((due_reports.query == query) & (width == length)) for query, length in beats]
        parts = [member.answer(records, due_reports[mine]) for member, mine in zip(self.members, own, strict=True)]
        self._clock(records, due_reports)
        return Answers.woven(own, parts)

    def kept(self) -> Candidates:
        kept = [member.kept() for member in self.members]
        id, first = np.unique(np.concatenate([part.id for part in kept]), return_index=True)
        at = np.concatenate([part.at for part in kept])[first]
        return Candidates(id, at, np.concatenate([part.score for part in kept])[first])

    def clear(self) -> None:
        for member in self.members:
            member.rank_by(self.key)

    def build(self, kept: Candidates) -> None:
        for member in self.members:
            member.fed, member.last, member.until = self.fed, self.last, self.until
            member.build(kept)

    def check(self) -> None:
        super().check()
        for member in self.members:
            member.check()

    @property
    def counters(self) -> Counters:
        """Sums over the queries, but for the records, which all share."""
        total: Counter[str] = Counter()
        for member in self.members:
            total.update(member.counters)
        return dict(total) | {"records": self.taken}

    def recount(self, counters: Counters) -> None:
        for member in self.members[1:]:
            member.recount(dict.fromkeys(counters, 0))
        self.members[0].recount(counters)
