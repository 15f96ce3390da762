"""Every registered engine meets every check: the answers of brute force, whatever the batches and snapshots; bounded
state; counters that count."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from skyband.engines.base import Registration, registered
from skyband.model import Floats, Kind, MetaQuery
from tests.engines.cases import cases
from tests.engines.feeding import EVERYTHING, Case, Feed, family, whole

ENGINES = list(registered().values())
PAIRS = [
    (a, b) for a, b in product(ENGINES, ENGINES) if a.capabilities.thresholds == b.capabilities.thresholds and a != b
]
each = pytest.mark.parametrize("registration", ENGINES, ids=lambda r: r.name)
thorough = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
MINIMAL = ("above", "mintopk", "mtopband", "mtoplist")
WORK = ("records", "comparisons", "insertions", "candidates_peak")


def kinds(registration: Registration) -> tuple[Kind, ...]:
    rows: tuple[Kind, ...] = ("rows",) if registration.capabilities.row_windows else ()
    time: tuple[Kind, ...] = ("range",) if registration.capabilities.time_windows else ()
    return rows + time


def draw_case(data: st.DataObject, registration: Registration, most_beats: int = 40) -> Case:
    return data.draw(cases(registration.capabilities.thresholds, most_beats, kinds(registration)))


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_answers_are_those_of_brute_force(registration: Registration, data: st.DataObject) -> None:
    case = draw_case(data, registration)
    assert Feed.of(case, registration).run().answered == case.expected()


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_batches_change_nothing(registration: Registration, data: st.DataObject) -> None:
    case = draw_case(data, registration)
    last = case.untils[-1]
    at_once = Feed.of(case, registration).run([last])
    in_parts = Feed.of(case, registration).run()
    assert in_parts.answered == at_once.answered
    assert in_parts.candidates() == at_once.candidates()


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_candidates_suffice_and_are_minimal_where_promised(registration: Registration, data: st.DataObject) -> None:
    case = draw_case(data, registration, most_beats=8)
    feed = Feed.of(case, registration)
    for until in case.untils:
        feed.advance(until)
        if registration.name in MINIMAL:
            assert feed.candidates() == case.minimal(until)
        else:
            assert set(feed.candidates()) >= set(case.minimal(until))


@pytest.mark.nojit
@each
@given(data=st.data())
@thorough
def test_a_new_start_at_any_point_changes_nothing(registration: Registration, data: st.DataObject) -> None:
    case = draw_case(data, registration)
    moves = data.draw(st.lists(st.booleans(), min_size=len(case.untils), max_size=len(case.untils)))
    straight = Feed.of(case, registration)
    moved = Feed.of(case, registration)
    for until, move in zip(case.untils, moves, strict=True):
        if move:
            moved.move_to(registration)
        straight.advance(until)
        moved.advance(until)
        assert moved.candidates() == straight.candidates()
    assert moved.answered == straight.answered


@pytest.mark.nojit
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-to-{pair[1].name}")
@given(data=st.data())
@settings(thorough, max_examples=25)
def test_another_engine_goes_on_from_there(pair: tuple[Registration, Registration], data: st.DataObject) -> None:
    one, other = pair
    case = draw_case(data, other)
    feed = Feed(case, [whole(case.meta, one)])
    point = data.draw(st.integers(0, len(case.untils) - 1))
    feed.run(case.untils[:point])
    restored = whole(case.meta, other)
    restored.engine.rebuild(feed.parts[0].engine.held(), feed.after)
    feed.parts = [restored]
    feed.run(case.untils[point:])
    assert feed.answered == case.expected()
    assert set(feed.candidates()) >= set(case.minimal(case.untils[-1]))


def four_queries(registration: Registration) -> MetaQuery:
    members = [(500, 100, 0, 5), (300, 70, 3, 20), (40, 40, 0, 1), (499, 31, 30, 2)]
    if registration.capabilities.thresholds:
        return family([(*b[:3], EVERYTHING) for b in members], [0.9, 0.5, 0.99, 0.2], kind=kinds(registration)[0])
    return family(members, kind=kinds(registration)[0])


SHAPES: dict[str, Callable[[int], Floats]] = {
    "random": lambda n: np.random.default_rng(7).random(n),
    "rising": lambda n: np.linspace(0, 1, n),
    "falling": lambda n: np.linspace(1, 0, n),
    "equal": lambda n: np.full(n, 0.95),
    "waves": lambda n: np.sin(np.arange(n) / 97),
}


def held_bytes(thing: object) -> int:
    """All arrays that an engine holds, wherever they are."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, dict):
        return sum(map(held_bytes, thing.values()))
    if isinstance(thing, list | tuple):
        return sum(map(held_bytes, thing))
    return held_bytes(vars(thing)) if type(thing).__module__.startswith("skyband.engines") else 0


@each
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [37, 1000])
def test_state_is_bounded_on_a_long_stream(registration: Registration, shape: str, batch: int) -> None:
    young, old = 4_000, 40_000
    case = Case(four_queries(registration), np.arange(old), SHAPES[shape](old), (old,))
    feed = Feed.of(case, registration)
    feed.run(range(batch, young, batch))
    early = [held_bytes(part.engine) for part in feed.parts]
    feed.run(range(feed.after + batch, old, batch))
    for part, bytes_then in zip(feed.parts, early, strict=True):
        # Labels and numbers of the candidates are sixteen bytes each.
        assert held_bytes(part.engine) <= 2 * bytes_then + 50_000 + 16 * case.meta.longest
        assert part.engine.counters["candidates"] <= case.meta.longest
        assert part.engine.counters["candidates_peak"] <= case.meta.longest + batch + 2_048
        assert len(part.engine.held()) <= case.meta.longest


@each
def test_counters_are_there_and_only_grow(registration: Registration) -> None:
    n = 5_000
    case = Case(four_queries(registration), np.arange(n), np.random.default_rng(5).random(n), (n,))
    feed = Feed.of(case, registration)
    before = [dict.fromkeys(WORK, 0) for _ in feed.parts]
    for until in range(0, n + 1, 250):
        feed.advance(until)
        for part, earlier in zip(feed.parts, before, strict=True):
            now = part.engine.counters
            assert set(now) >= {*WORK, "candidates"}
            assert now["records"] == until
            assert now["candidates"] == len(part.engine.candidates()) <= now["candidates_peak"]
            for name in WORK:
                assert now[name] >= earlier[name]
            earlier.update({name: now[name] for name in WORK})


@each
def test_comparisons_are_bounded(registration: Registration) -> None:
    """A record is compared with the floor, and then at most with every view and every candidate."""
    n = 20_000
    case = Case(four_queries(registration), np.arange(n), np.random.default_rng(5).random(n), (n,))
    for part in Feed.of(case, registration).run(range(100, n + 1, 100)).parts:
        work, views = part.engine.counters, len(part.meta.views(n)[0])
        assert n <= work["comparisons"] <= n * (1 + views + work["candidates_peak"])


@pytest.mark.parametrize("name", ["kskyband", "mintopk", "mtopband", "mtoplist"])
def test_most_records_cost_one_comparison_and_no_insertion(name: str) -> None:
    n = 100_000
    meta = family([(50_000, 5_000, 0, 10)])
    feed = Feed.of(Case(meta, np.arange(n), np.random.default_rng(3).random(n), (n,)), registered()[name])
    work = feed.run(range(5_000, n + 1, 5_000)).parts[0].engine.counters
    assert work["comparisons"] <= 1.05 * n
    assert work["insertions"] <= 0.02 * n


@pytest.mark.nojit
def test_there_are_engines_to_check() -> None:
    assert {"above", "kskyband", "mintopk", "mtopband", "mtoplist"} <= set(registered())
