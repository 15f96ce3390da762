"""Engines for one query behind the face of one for a family."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.engines.base import Counters
from skyband.engines.complete.mtoplist import MTopList
from skyband.engines.lift import lifted
from skyband.model import NEVER, MetaQuery, Records
from tests.engines.feeding import family

pytestmark = pytest.mark.nojit


class Exact(MTopList):
    """Takes it that every counter it has is told."""

    def recount(self, counters: Counters) -> None:
        self.told = {name: counters[name] for name in self.counters}
        super().recount(counters)


def test_members_take_over_every_counter_once() -> None:
    """Before, members were given an empty dictionary."""
    members: list[Exact] = []

    def build(meta: MetaQuery) -> Exact:
        members.append(Exact(meta))
        return members[-1]

    engine = lifted(family([(3, 1, 0, 1), (5, 2, 0, 2)], kind="rows"), build)
    at = np.arange(5)
    engine.advance(Records(at, at.astype(float)), engine.meta.due_reports(at, int(NEVER), 0, 5))
    before = engine.counters
    engine.rebuild(engine.held(), 5)
    assert members[0].told.keys() == members[1].told.keys() == members[0].counters.keys()
    assert all(engine.counters[name] == before[name] for name in ("records", "comparisons", "insertions"))
    assert not any(members[1].told.values())
