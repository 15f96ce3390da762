"""Scores that are 64-bit integers: the kernels that are not an engine's against brute force, the outermost integers as
scores like any other, and what doubles would make of it all."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines import pruning as rules
from skyband.engines.base import Registration, registered
from skyband.engines.kernels.common.grouped import NEVER_ENDS, Beats, report_groups, still_needed
from skyband.engines.kernels.common.kth import kth_best_of_runs
from skyband.engines.kernels.common.order_key import (
    bound_of,
    exceeds,
    floor_at,
    greatest,
    just_below,
    least,
    nearest,
    no_floor,
    passes,
    reaches,
)
from skyband.engines.kernels.jit import kernel
from skyband.engines.oracle import complete as oracle
from skyband.engines.pruning import prune, prune_groups
from skyband.model import Above, Flags, Ints, MetaQuery, Records, TopK
from skyband.model.times import Times
from tests.drawn import examples
from tests.engines.conformance.complete import BEYOND, FAR, GREATEST, INTEGERS, LEAST, CompleteCase
from tests.engines.conformance.desk import builder
from tests.engines.feeding import EVERYTHING, Feed, case_of, family
from tests.engines.shapes import INTEGERS as INTEGER_SHAPES

TAKING_INTEGERS = [known for known in registered().values() if known.capabilities.integer_keys]
each = pytest.mark.parametrize("registration", TAKING_INTEGERS, ids=lambda known: known.name)
EDGES = [LEAST, LEAST + 1, -FAR - 1, -FAR, -1, 0, 1, FAR, FAR + 1, 2**62, GREATEST - 1, GREATEST]
Clump = tuple[MetaQuery, Ints, Any]
"""A family, times in any order, and scores."""
quick = examples(50)


# ------------------------------------------------------------------------------------------------- what kernels compare


@kernel
def _floors(score: Ints, floor: Ints) -> tuple[Flags, Flags, Flags, Flags, Flags]:
    """Of every pair: passes the floor at it, just below it, none; reaches the floor at it; is not below its bound."""
    shape = (len(score), len(floor))
    at, below, none = np.empty(shape, np.bool_), np.empty(shape, np.bool_), np.empty(shape, np.bool_)
    reached, bound = np.empty(shape, np.bool_), np.empty(shape, np.bool_)
    for i in range(len(score)):
        for j in range(len(floor)):
            at[i, j] = passes(score[i], floor_at(floor[j]))
            below[i, j] = passes(score[i], just_below(floor[j]))
            none[i, j] = passes(score[i], no_floor(score))
            reached[i, j] = reaches(score[i], floor_at(floor[j]))
            bound[i, j] = score[i] >= bound_of(floor_at(floor[j]))
    return at, below, none, reached, bound


@kernel
def _exceeding(score: Ints, threshold: Ints, sign: float) -> Flags:
    found = np.empty((len(score), len(threshold)), np.bool_)
    for i in range(len(score)):
        for j in range(len(threshold)):
            found[i, j] = exceeds(score[i], threshold[j], sign)
    return found


@kernel
def _outermost(score: Ints) -> tuple[float, float, float, float]:
    return least(score), greatest(score), nearest(score, 1e30), nearest(score, 2.5)


@pytest.mark.nojit
def test_floors_are_right_for_every_integer_and_only_the_greatest_passes_its_own() -> None:
    edges = np.array(EDGES)
    at, below, none, reached, bound = _floors(edges, edges)
    for (i, score), (j, floor) in product(enumerate(EDGES), enumerate(EDGES)):
        # There is no integer behind the greatest. A floor that is too low costs work, and no answer.
        assert at[i, j] == (score > floor or score == floor == GREATEST)
        assert bound[i, j] or not at[i, j]
        assert below[i, j] == (score >= floor)
        assert none[i, j]
        assert reached[i, j] >= (score >= floor)
        assert reached[i, j] == (score >= floor) or floor == GREATEST


@pytest.mark.nojit
def test_floors_of_doubles_are_what_they_were() -> None:
    values = [-np.inf, -1.7e308, -1.0, 0.0, 5e-324, 1.0, np.inf]
    at, below, none, reached, bound = _floors(np.array(values), np.array(values))
    for (i, score), (j, floor) in product(enumerate(values), enumerate(values)):
        assert at[i, j] == (score > floor)
        assert below[i, j] == (score >= floor or floor < -1e308)
        assert none[i, j]
        assert reached[i, j] == bound[i, j] == (score >= floor)


@pytest.mark.nojit
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("whole_thresholds", [False, True])
@given(scores=st.lists(INTEGERS, min_size=1, max_size=9), data=st.data())
@quick
def test_thresholds_are_exact(ascending: bool, whole_thresholds: bool, scores: list[int], data: st.DataObject) -> None:
    """Python compares an integer with a double exactly."""
    levels = data.draw(st.lists(INTEGERS if whole_thresholds else BEYOND | st.floats(allow_nan=False), min_size=1))
    written = [~score if ascending else score for score in scores]
    found = _exceeding(np.array(scores), np.array(levels), -1.0 if ascending else 1.0)
    assert found.tolist() == [[score > level for level in levels] for score in written]


@pytest.mark.nojit
def test_bounds_have_the_type_of_the_scores() -> None:
    assert _outermost(np.array([1])) == (LEAST, GREATEST, LEAST, 2)
    assert _outermost(np.array([1.0])) == (-np.inf, np.inf, 1e30, 2.5)


# -------------------------------------------------------------------------------------------------------------- engines


def answers_of(registration: Registration, case: CompleteCase) -> dict[tuple[int, int], list[int]]:
    return Feed(case, registration.name).run().answered


@pytest.mark.nojit
@each
def test_integers_that_no_double_tells_apart_are_ranked_as_they_are(registration: Registration) -> None:
    """As doubles all of these are 2⁵³ or its next neighbour but one: the newer would win."""
    thresholds = registration.capabilities.thresholds
    score = np.array([FAR + 1, FAR, FAR + 3, FAR + 2, FAR + 1, FAR])
    meta = family([(6, 6, 0, EVERYTHING if thresholds else 3)], [FAR] if thresholds else None, kind="rows")
    best = [2, 3, 4, 0] if thresholds else [2, 3, 4]
    assert answers_of(registration, case_of(meta, np.arange(6), score, (6,))) == {(0, 6): best}
    assert answers_of(registration, case_of(meta, np.arange(6), score.astype(float), (6,))) != {(0, 6): best}


@pytest.mark.nojit
@given(scores=st.lists(INTEGERS, min_size=1, max_size=20), ascending=st.booleans())
@quick
def test_the_oracle_compares_integers_as_integers(scores: list[int], ascending: bool) -> None:
    records = [oracle.Record(at, score) for at, score in enumerate(scores)]
    order = sorted(range(len(scores)), key=lambda i: (scores[i] if ascending else ~scores[i], -i))
    (report,) = oracle.answer(TopK("all", 20, "x", "20 rows", ascending=ascending), records)
    assert [record.at for record in report.best] == order
    above = oracle.answer(Above("high", 2.0**53, "x", "20 rows", ascending=ascending), records)
    assert [record.at for each in above for record in each.best] == [i for i in order if scores[i] > FAR]


@each
@pytest.mark.parametrize("shape", INTEGER_SHAPES)
def test_long_streams_of_integers_at_the_edges(registration: Registration, shape: str) -> None:
    """Long enough for partitions to close, guesses to be made and lists to be trimmed; some windows are far apart."""
    n = 6_000
    at, score = np.arange(n), INTEGER_SHAPES[shape](np.random.default_rng(9), n)
    beats = [(2_500, 250, 0, 6), (700, 333, 5, 90), (40, 200, 0, 2)]
    thresholds = registration.capabilities.thresholds
    levels = [int(np.partition(score, n - 50)[n - 50]), 0, LEAST] if thresholds else None
    meta = family([(*b[:3], EVERYTHING) for b in beats] if thresholds else beats, levels, kind="rows")
    case = case_of(meta, at, score, (1, 900, 901, 2_000, 4_444, n))
    feed = Feed(case, registration.name)
    for until in case.untils:
        feed.advance(until)
        if until == 2_000:
            feed.move_to(builder(registration.name))
    best = np.lexsort((at, score))[::-1]
    for (query, end), found in feed.answered.items():
        inside = best[(best >= end - beats[query][0]) & (best < end)]
        wanted = inside[score[inside] > levels[query]] if levels else inside[: beats[query][3]]
        assert found == wanted.tolist()
    assert len(feed.answered) == sum(1 for _ in case.windows(0, n))


@pytest.mark.nojit
@each
def test_an_engine_takes_one_type_and_says_so(registration: Registration) -> None:
    thresholds = registration.capabilities.thresholds
    meta = family([(4, 4, 0, EVERYTHING if thresholds else 2)], [0] if thresholds else None, kind="rows")
    engine = builder(registration.name)(meta)
    none = np.empty(0, np.int64)
    engine.advance(Records(none, np.empty(0)), meta.due_reports(none, -1, 0, 0))
    at = np.arange(3)
    engine.advance(Records(at, np.array([3, 9, 5])), meta.due_reports(at, -1, 0, 3))
    answers = engine.advance(Records(none, np.empty(0)), meta.due_reports(none, 2, 3, 4))
    assert answers.score.dtype == engine.held().score.dtype == np.int64
    assert answers.score.tolist() == ([9, 5, 3] if thresholds else [9, 5])
    with pytest.raises(AssertionError, match="scores of the type float64 after scores of the type int64"):
        engine.advance(Records(np.array([4]), np.array([1.0])), meta.due_reports(np.array([4]), 2, 4, 5))
    with pytest.raises(AssertionError, match="doubles or 64-bit integers"):
        engine.rebuild(Records(at, np.array([3, 9, 5], np.int32), at), 4)
    engine.rebuild(Records(np.array([4]), np.array([1.5]), np.array([7])), 5)
    assert engine.held().score.tolist() == [1.5]


@pytest.mark.nojit
@each
def test_a_second_key_is_for_those_that_declare_it(registration: Registration) -> None:
    """Equal scores are ranked by it, and only then by age; NaN is last."""
    thresholds = registration.capabilities.thresholds
    meta = family([(4, 4, 0, EVERYTHING if thresholds else 4)], [0] if thresholds else None, kind="rows")
    engine, at = builder(registration.name)(meta), np.arange(4)
    records = Records(at, np.array([5, 5, 7, 5]), at, second=np.array([1.0, -np.inf, 0.0, np.nan]))
    if registration.capabilities.second_key:
        assert engine.advance(records, meta.due_reports(at, -1, 0, 4)).id.tolist() == [2, 0, 1, 3]
        return
    with pytest.raises(AssertionError, match="does not take a second key"):
        engine.advance(records, meta.due_reports(at, -1, 0, 4))


# ------------------------------------------------------------------------------------------- pruning, bounds and groups


@st.composite
def clumps(draw: st.DrawFn) -> Clump:
    width = draw(st.integers(1, 40))
    meta = family([(width, draw(st.integers(1, width)), 0, draw(st.integers(1, 3)))])
    size = draw(st.integers(1, 70))
    at = draw(st.lists(st.integers(0, 100), min_size=size, max_size=size))
    return meta, np.array(at), np.array(draw(st.lists(INTEGERS, min_size=size, max_size=size)))


def reported(meta: MetaQuery, at: Ints, score: Ints) -> set[int]:
    """Whatever some window may report: among equals in time and score, each."""
    times, scores, found = at.tolist(), score.tolist(), set()
    for _, start, end in case_of(meta, at, score, ()).windows(0, 200):
        inside = [i for i, time in enumerate(times) if start <= time < end]
        best = sorted(inside, key=lambda i: (-scores[i], -times[i]))[: meta.most]
        if best:
            worst = (-scores[best[-1]], -times[best[-1]])
            found |= {i for i in inside if (-scores[i], -times[i]) <= worst}
    return found


@pytest.mark.nojit
@given(clump=clumps(), aligned=st.booleans())
@quick
def test_every_answer_survives_pruning(clump: Clump, aligned: bool) -> None:
    meta, at, score = clump
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SMALL", 0)
        kept = prune(meta, Times(at, aligned), score)
    assert reported(*clump) <= set(kept.tolist())


@pytest.mark.nojit
@given(clump=clumps(), data=st.data())
@quick
def test_every_answer_of_every_group_survives_pruning(clump: Clump, data: st.DataObject) -> None:
    meta, at, score = clump
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(at), max_size=len(at))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SMALL", 0)
        kept = set(prune_groups(meta, group, Times(at), score).tolist())
    for number in range(4):
        own = np.flatnonzero(group == number)
        assert {int(own[i]) for i in reported(meta, at[own], score[own])} <= kept


def test_pruning_tells_integers_apart_that_doubles_do_not() -> None:
    """Falling by one beyond 2⁵³: as doubles, pairs of them would be equal, and the best two would stay."""
    at, score = np.arange(1_000), np.array([FAR + i for i in reversed(range(1_000))])
    whole_window, many = family([(1_000, 1_000, 0, 1)]), np.zeros(1_000, np.int64)
    for kept in (prune(whole_window, Times(at), score), prune_groups(whole_window, many, Times(at), score)):
        assert kept.tolist() == [0]


@pytest.mark.nojit
@given(
    cells=st.lists(st.lists(INTEGERS, max_size=6), min_size=1, max_size=12),
    length=st.integers(1, 5),
    k=st.integers(1, 4),
)
@quick
def test_kth_best_of_runs_is_what_sorting_finds(cells: list[list[int]], length: int, k: int) -> None:
    score = np.array([each for cell in cells for each in cell], np.int64)
    begin = np.concatenate(([0], np.cumsum([len(cell) for cell in cells])))
    found = kth_best_of_runs(score, np.argsort(score), begin, length, k).tolist()
    for run in range(1, len(cells) + length):
        held = sorted((each for cell in cells[max(run - length, 0) : run] for each in cell), reverse=True)
        # Nothing is below the least: no bound at all.
        assert found[run] == (held[k - 1] if len(held) >= k else LEAST)


@pytest.mark.nojit
@given(clump=clumps(), ascending=st.booleans(), thresholds=st.booleans(), data=st.data())
@quick
def test_a_table_of_groups_reports_what_sorting_finds(
    clump: Clump, ascending: bool, thresholds: bool, data: st.DataObject
) -> None:
    """And forgets nothing that it will need."""
    meta, at, score = clump
    order = np.argsort(at, kind="stable")
    at, score = at[order], score[order]
    level, k = data.draw(INTEGERS), EVERYTHING if thresholds else meta.most
    (width,), (period,) = meta.width.tolist(), meta.period.tolist()
    case = case_of(family([(width, period, 0, k)], [level] if thresholds else None, ascending), at, score, ())
    levels, sign = np.array([level]), -1.0 if ascending else 1.0
    none, endless = np.zeros(1, np.int64), np.array([NEVER_ENDS])
    beats = Beats(meta.width, meta.period, meta.phase, meta.k, none, levels, sign, endless, meta.quiet)
    held, after = np.empty(0, np.int64), -1
    for until in (data.draw(st.integers(0, 100)), 200):
        held = np.concatenate((held, np.flatnonzero((at >= after) & (at < until))))
        rows, clock = (np.array([0, len(held)]), at[held], score[held]), np.array([until])
        found = report_groups(*rows, np.array([after]), clock, beats, thresholds)
        for start, end, first, size in zip(found.start, found.end, found.begin, found.size, strict=True):
            assert (
                held[found.row[first : first + size]].tolist()
                == case.best(0, np.flatnonzero((at >= start) & (at < end))).tolist()
            )
        assert len(found.end) == sum(
            any(start <= time < end for time in at.tolist()) for _, start, end in case.windows(after, until)
        )
        held, after = held[still_needed(*rows, clock, beats, meta.most, thresholds)], until
