"""`sla` = `eaa` = oracle on any stream, however it is cut, saved, restored and disturbed by late records."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from skyband.engines.incomplete.eaa import Eaa, Instances
from skyband.engines.incomplete.family import Family
from skyband.model import MetaQuery
from tests.engines.incomplete.support import Case, cases, check



class Restless(Instances):
    """Settles all the time, so that small streams are pruned."""

    least = 3


class RestlessEaa(Eaa):
    def structure(self, meta: MetaQuery, width: int) -> Instances:
        return Restless(meta, width)


ENGINES = {"eaa": RestlessEaa}


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=150, deadline=None)
@given(case=cases(), data=st.data())
def test_every_report_is_that_of_the_oracle(name: str, case: Case, data: st.DataObject) -> None:
    last = int(case.fed.at[-1]) + 1 if len(case.fed) else 0
    first = int(case.fed.at[0]) if len(case.fed) else 0
    middle = data.draw(st.lists(st.integers(first, last), max_size=4))
    untils = sorted({*middle, last, last + data.draw(st.integers(0, 60))})
    restart = data.draw(st.integers(0, 4))
    check(case, ENGINES[name], untils, lambda number, engine: _swapped(engine, number == restart))


def _swapped(engine: Family, now: bool) -> Family:
    if not now:
        return engine
    state, fresh = engine.snapshot(), type(engine)(engine.meta)
    fresh.restore(state)
    assert fresh.counters["records"] == engine.counters["records"]
    return fresh
