"""Every registered engine meets every check, in its own data model, and so do the examples: the answers of the oracle,
whatever the batches, the late records and the engines that take over; bounded state; counters that count.

How engines of a data model are built, fed and judged is in `conformance/`; here is what must hold of all of them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.errors import Unsatisfiable

import skyband as sb
from skyband.engines import base
from skyband.engines.base import AnyEngine, Counters
from skyband.model import MetaQuery
from tests.drawn import examples
from tests.engines.conformance.complete import Complete, CompleteCase
from tests.engines.conformance.desk import Column, Desk, Subject, held_bytes
from tests.engines.conformance.models import EXAMPLES_MET, MET, Met

pytestmark = pytest.mark.usefixtures("example_engines")
each = pytest.mark.parametrize("met", MET + EXAMPLES_MET, ids=lambda met: met.name)
each_learning = pytest.mark.parametrize("met", [met for met in MET if not met.able.exact], ids=lambda met: met.name)
# Without the JIT an example takes ten times as long, and only the language of the kernels is in question.
EXAMPLES = 12 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 40
thorough = examples(EXAMPLES, suppress_health_check=list(HealthCheck))
WORK = ("records", "comparisons", "insertions", "candidates_peak")


USUAL = [met for met in MET if met.able.priority > 0]
PAIRS = [
    (one, other)
    for one, other in [*product(MET, MET), *product(EXAMPLES_MET, USUAL), *product(USUAL, EXAMPLES_MET)]
    if one.model is other.model
    and one != other
    and one.able.exact
    # Others have no family in common. Of objects, whoever answers ABOVE answers TOP as well.
    and (one.able.thresholds == other.able.thresholds or one.able.data == "objects")
    and one.able.errors == other.able.errors
]


def goes_on(before: Counters, now: Counters) -> None:
    """Work done stays counted."""
    assert all(now[name] >= before[name] for name in WORK)


def test_every_registered_engine_is_met_once() -> None:
    assert sorted(met.name for met in MET + EXAMPLES_MET) == sorted(sb.engines())
    assert len(EXAMPLES_MET) == 4


def test_an_engine_that_refuses_every_case_does_not_pass() -> None:
    """One that refuses some is checked with the others."""

    def refuse(meta: MetaQuery) -> AnyEngine:
        raise sb.SkybandError("no")

    @given(case=Complete().cases("refuses"))
    @settings(thorough, max_examples=1)
    def answers(case: CompleteCase) -> None:
        pytest.fail("a refused case was drawn")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
        base.register("refuses", base.Capabilities("refuses", "here"))(refuse)
        with pytest.raises(Unsatisfiable):
            answers()


# ------------------------------------------------------------------------------------------------------------ answers


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_answers_are_the_oracle_s(met: Met, data: st.DataObject) -> None:
    case = data.draw(met.model.cases(met.name))
    Desk.of(met.model, met.name, case).run()


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_late_records_count_in_the_reports_to_come(met: Met, data: st.DataObject) -> None:
    case = data.draw(met.model.cases(met.name, late=True))
    desk, before = Desk.of(met.model, met.name, case), dict.fromkeys(WORK, 0)
    for until, late, in_time in case.calls():
        desk.step(until, late, in_time)
        now = desk.subject.engine.counters
        assert now["records"] == len(case.times(desk.arrived))
        goes_on(before, now)
        before = now


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_of_equals_the_newer_one_is_first(met: Met, data: st.DataObject) -> None:
    """Nothing but ties, also in time, also late: who is better must not depend on who was there first."""
    case = data.draw(met.model.cases(met.name, late=data.draw(st.booleans()), tied=True))
    Desk.of(met.model, met.name, case).run()


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_batches_change_nothing(met: Met, data: st.DataObject) -> None:
    case = data.draw(met.model.cases(met.name))
    at_once = Desk.of(met.model, met.name, case)
    at_once.step(case.untils[-1], np.empty(0, np.int64), np.arange(len(case.at)))
    in_parts = Desk.of(met.model, met.name, case).run()
    assert set(in_parts.answered) == set(at_once.answered)
    assert in_parts.subject.held() == at_once.subject.held()


# ---------------------------------------------------------------------------------------------------- what is kept


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_what_is_held_suffices_and_is_no_more_than_promised(met: Met, data: st.DataObject) -> None:
    case = data.draw(met.model.cases(met.name, late=data.draw(st.booleans())))
    desk = Desk.of(met.model, met.name, case)
    for until, late, in_time in case.calls():
        desk.step(until, late, in_time)
        least, most = met.model.needed(met.name, case, until, desk.arrived)
        assert least <= desk.subject.held() <= most


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_an_engine_made_of_what_is_held_goes_on_at_any_moment(met: Met, data: st.DataObject) -> None:
    case = data.draw(met.model.cases(met.name, late=data.draw(st.booleans())))
    desk = Desk.of(met.model, met.name, case)

    def take_over(call: int) -> None:
        if call and data.draw(st.booleans()):
            held = desk.subject.held()
            desk.subject = desk.subject.successor(met.name)
            assert desk.subject.held() == held

    desk.run(take_over)


@pytest.mark.nojit
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-to-{pair[1].name}")
@given(data=st.data())
@settings(thorough, max_examples=thorough.max_examples // 2)
def test_another_engine_goes_on_with_what_one_holds(pair: tuple[Met, Met], data: st.DataObject) -> None:
    one, other = pair
    case = data.draw(other.model.cases(one.name, other.name))
    desk = Desk.of(one.model, one.name, case)
    change = data.draw(st.integers(1, len(case.untils)))

    def take_over(call: int) -> None:
        if call == change:
            desk.subject = desk.subject.successor(other.name)

    desk.run(take_over)


# ------------------------------------------------------------------------------------------------------- long streams

SHAPES: dict[str, Column] = {
    "random": lambda draw, n: draw.random(n),
    "rising": lambda draw, n: np.linspace(0, 1, n),
    "falling": lambda draw, n: np.linspace(1, 0, n),
    "equal": lambda draw, n: np.full(n, 0.95),
    "waves": lambda draw, n: 0.5 + 0.5 * np.sin(np.arange(n) / 97),
}


def long_case(met: Met, shape: str, n: int, batch: int) -> Any:
    return met.model.long(met.name, SHAPES[shape], n, [*range(batch, n, batch), n])


@each
def test_a_long_stream_is_answered_as_well_as_promised(met: Met) -> None:
    """All of the lists by an exact engine; by another as much of them as it was asked for, once it has learnt."""
    n, batch, learnt = 8_000, 250, 4_000
    case = long_case(met, "random", n, batch)
    desk = Desk.of(met.model, met.name, case)
    desk.compares = False
    hits = []
    for until, late, in_time in case.calls():
        before = set(desk.answered)
        desk.step(until, late, in_time)
        for query, end in set(desk.answered) - before:
            start = end - int(case.meta.width[min(query, len(case.meta) - 1)])
            truth = met.model.truth(case, query, np.arange(max(start, 0), end))
            if met.able.exact:
                met.model.agree(case, query, desk.answered[query, end], truth)
            elif until > learnt:
                hits.append(met.model.hits(case, query, desk.answered[query, end], truth))
    found, wanted = np.sum(hits, axis=0) if hits else (1, 1)
    assert found / wanted >= met.model.precision


@each_learning
def test_what_was_learnt_is_kept_by_a_snapshot(met: Met) -> None:
    """Of one query: several windows share what is held, so that after a new start some hold more than before."""
    case = long_case(met, "waves", 3_000, 230)
    case = replace(case, meta=case.meta.beat(0))
    old: Any = Subject(case, met.name)
    for until, _, in_time in case.calls():
        fresh: Any = Subject(case, met.name)
        fresh.engine.restore(old.engine.snapshot())
        fresh.last, fresh.until = old.last, old.until
        assert old.advance(in_time, until) == fresh.advance(in_time, until)
    with pytest.raises(sb.SkybandError, match="not a skyband snapshot"):
        old.engine.restore(b"no snapshot")


BOUNDED = [*product(MET, SHAPES, [61, 1000]), *product(EXAMPLES_MET, ["random"], [1000])]


@pytest.mark.parametrize(("met", "shape", "batch"), BOUNDED, ids=lambda each: getattr(each, "name", each))
def test_state_is_bounded_on_a_long_stream(met: Met, shape: str, batch: int) -> None:
    young, old = 3_000, 10_000
    case = long_case(met, shape, old, batch)
    desk, early = Desk.of(met.model, met.name, case), 0
    desk.compares = False
    for until, late, in_time in case.calls():
        desk.step(until, late, in_time)
        if young - batch < until <= young:
            early = held_bytes(desk.subject.engine)
    assert early > 0
    assert held_bytes(desk.subject.engine) <= 2 * early + 50_000
    counters, copies = desk.subject.engine.counters, met.model.copies(case)
    assert counters["candidates"] <= case.meta.longest * copies
    assert counters["candidates_peak"] <= (case.meta.longest + batch + 2_048) * copies
    assert len(desk.subject.held()) <= case.meta.longest


@each
def test_counters_are_honest_and_only_grow(met: Met) -> None:
    n, before = 4_000, dict.fromkeys(WORK, 0)
    case = long_case(met, "random", n, 250)
    desk = Desk.of(met.model, met.name, case)
    desk.compares = False
    for until, late, in_time in case.calls():
        desk.step(until, late, in_time)
        held, now = len(desk.subject.held()), desk.subject.engine.counters
        assert set(now) >= {*WORK, "candidates"}
        assert now["records"] == until
        assert held <= now["candidates"] <= held * met.model.copies(case)
        assert now["candidates"] <= now["candidates_peak"]
        goes_on(before, now)
        before = now


@each
def test_work_is_bounded(met: Met) -> None:
    n = 10_000
    case = long_case(met, "random", n, 100)
    desk = Desk.of(met.model, met.name, case)
    desk.compares = False
    work = desk.run().subject.engine.counters
    least, most = met.model.work(met.name, case, work)
    assert least <= work["comparisons"] <= most
