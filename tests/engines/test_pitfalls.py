"""Where the papers' pseudo-code, taken literally, goes wrong: one test per trap, with the numbers that spring it."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.engines.base import registered
from skyband.engines.complete.mtoplist import SETTLE_AT
from skyband.model import Kind
from tests.engines.conformance.complete import CompleteCase
from tests.engines.feeding import Beat, Feed, case_of, expected, family, minimal

TOP = [name for name, registration in registered().items() if not registration.capabilities.thresholds]
SHARED = [name for name in TOP if registered()[name].capabilities.several_queries]
MTOPS = ["mtopband", "mtoplist"]
each = pytest.mark.parametrize("name", TOP)
each_shared = pytest.mark.parametrize("name", SHARED)
each_mtops = pytest.mark.parametrize("name", MTOPS)
EXAMPLE_42: list[Beat] = [(8, 4, 0, 2), (6, 3, 2, 2), (4, 2, 0, 2)]
FAR = 100


def case(beats: list[Beat], at: list[int], score: list[float], *untils: int, kind: Kind = "range") -> CompleteCase:
    return case_of(family(beats, kind=kind), np.array(at), np.array(score, np.float64), untils)


def feed(name: str, given: CompleteCase) -> Feed:
    return Feed(given, name)


# Any engine with panes or blocks


@pytest.mark.nojit
@each
@pytest.mark.parametrize("untils", [(4,), (1, 2, 3, 4)], ids=["at once", "one by one"])
def test_panes_are_cut_at_starts_and_at_ends(name: str, untils: tuple[int, ...]) -> None:
    """n = 3, s = 2, k = 1: keeping one of the block {9, 5} loses the 5 that the window {5, 1, 1} needs."""
    given = case([(3, 2, 0, 1)], [0, 1, 2, 3], [9, 5, 1, 1], *untils, kind="rows")
    assert feed(name, given).run().answered == {(0, 2): [0], (0, 4): [1]}


@pytest.mark.nojit
@each
def test_a_report_between_a_record_and_its_dominators_still_needs_it(name: str) -> None:
    given = case([(4, 2, 0, 1)], [0, 1, 2, 3], [1, 2, 9, 9], 4)
    assert feed(name, given).run().answered == {(0, 2): [1], (0, 4): [3]}


@each_shared
def test_a_thousand_queries_leave_panes_of_a_handful_of_records(name: str) -> None:
    """The best K of such a pane is everything; answers and candidates stay right."""
    random = np.random.default_rng(1)
    slide = random.integers(20, 60, 1000)
    width = slide + random.integers(0, 80, 1000)
    columns = (width, slide, random.integers(0, slide), random.integers(1, 300, 1000))
    beats: list[Beat] = [(int(w), int(s), int(p), int(k)) for w, s, p, k in zip(*columns, strict=True)]
    given = case_of(family(beats), np.arange(240), random.integers(0, 50, 240).astype(float), (100, 130, 240))
    run = feed(name, given).run()
    assert run.answered == expected(given)
    assert set(run.candidates()) >= set(minimal(given, 240))


@pytest.mark.nojit
@each
def test_a_family_has_one_window_kind(name: str) -> None:
    """Engines see positions or times as numbers: the kind belongs to the family and changes no answer."""
    by_kind = [
        feed(name, case([(3, 1, 0, 2), (4, 2, 1, 1)], [0, 1, 2, 3, 4], [3, 1, 4, 1, 5], 5, kind=kind)).run().answered
        for kind in ("rows", "range")
    ]
    assert by_kind[0] == by_kind[1]


# MTopS


@pytest.mark.nojit
def test_example_42_has_six_views_where_separate_queries_have_nine() -> None:
    start, k, apart = family(EXAMPLE_42).views(8)
    assert (start.tolist(), k.tolist(), apart) == ([0, 2, 4, 5, 6, 8], [2] * 6, 9)


@pytest.mark.nojit
@each_mtops
def test_views_do_not_expire_first_in_first_out(name: str) -> None:
    """Example 4.2: the view starting at 6 ends at 10, the one starting at 5 at 11. The 7 at time 5 is wanted by the
    latter only, after the former is gone."""
    given = case(EXAMPLE_42, list(range(11)), [1, 1, 1, 1, 1, 7, 2, 9, 1, 3, 1], 8, 10, 11)
    run = feed(name, given)
    run.advance(8)
    run.advance(10)
    assert 5 in run.candidates()
    assert run.candidates() == minimal(given, 10)
    run.advance(11)
    assert run.answered[2, 10] == [7, 9]
    assert run.answered[1, 11] == [7, 5]
    assert run.answered == expected(given)


@pytest.mark.nojit
@each
def test_the_first_k_of_the_list_answer_only_the_oldest_start(name: str) -> None:
    """The 9 and the 8 are the best of the long window and too old for the short one of the same moment."""
    given = case([(8, 4, 0, 2), (4, 4, 0, 2)], list(range(8)), [9, 8, 1, 1, 2, 3, 4, 1], 8)
    answered = feed(name, given).run().answered
    assert answered[0, 8] == [0, 1]
    assert answered[1, 8] == [6, 5]


@pytest.mark.nojit
@each_mtops
def test_marks_are_not_enough_when_k_differs_between_views(name: str) -> None:
    """Starts 0, 1, 2 with K = 3, 1, 3, and 9, 8, 7 arriving after 2: the 7 is wanted by views 0 and 2, not 1. After
    view 0 ends and 10, 11, 12 arrive nobody wants it."""
    beats = [(10, FAR, 10, 3), (19, FAR, 20, 1), (18, FAR, 20, 3)]
    given = case(beats, [0, 1, 2, 3, 4, 11, 12, 13], [0, 0, 9, 8, 7, 10, 11, 12], 5, 10, 12, 14, 20)
    run = feed(name, given)
    wanted = {}
    for until in given.untils:
        run.advance(until)
        wanted[until] = run.candidates()
    assert wanted == {5: [2, 3, 4], 10: [2, 3, 4], 12: [2, 3, 5], 14: [5, 6, 7], 20: []}
    assert run.answered == {(0, 10): [2, 3, 4], (1, 20): [7], (2, 20): [7, 6, 5]}


@pytest.mark.nojit
@each_mtops
def test_lowest_pointers_are_not_monotone_when_k_differs(name: str) -> None:
    """Lemma 6.1 is for equal k: here the middle view's lowest (9) is above that of both neighbours (7)."""
    beats = [(20, FAR, 20, 3), (19, FAR, 20, 1), (18, FAR, 20, 3)]
    given = case(beats, [0, 1, 2, 3, 4, 5], [0, 0, 9, 8, 7, 7.5], 5, 6, 20)
    run = feed(name, given).run([5, 6])
    assert run.candidates() == [2, 3, 5]
    run.advance(20)
    assert run.answered == {(0, 20): [2, 3, 5], (1, 20): [2], (2, 20): [2, 3, 5]}


@pytest.mark.nojit
@each_mtops
def test_a_views_k_shrinks_once_its_larger_report_is_out(name: str) -> None:
    given = case([(10, FAR, 10, 3), (20, FAR, 20, 1)], [0, 1, 2, 3], [6, 9, 8, 7], 9, 10, 20)
    run = feed(name, given)
    run.advance(9)
    assert run.candidates() == [1, 2, 3]
    run.advance(10)
    assert run.candidates() == [1]
    run.advance(20)
    assert run.answered == {(0, 10): [1, 2, 3], (1, 20): [1]}


@pytest.mark.nojit
@each
@pytest.mark.parametrize("untils", [(6,), (1, 2, 3, 4, 5, 6)], ids=["at once", "one by one"])
def test_admission_is_at_least_not_above(name: str, untils: tuple[int, ...]) -> None:
    """On equal scores the newer wins, also against a full view and between infinities."""
    inf = np.inf
    given = case([(6, 3, 0, 1), (6, 1, 0, 2)], [0, 1, 2, 3, 4, 5], [5, 5, 5, -inf, inf, inf], *untils)
    run = feed(name, given).run()
    assert [run.answered[0, end] for end in (3, 6)] == [[2], [5]]
    assert [run.answered[1, end] for end in (1, 2, 3, 4, 5, 6)] == [[0], [1, 0], [2, 1], [2, 1], [4, 2], [5, 4]]
    assert run.candidates() == [4, 5]


def test_view_pointers_are_not_scanned_for_every_record() -> None:
    """The general experiment scaled down a hundred times: some ten thousand views. MTopList passes over them once per
    SETTLE_AT survivors and once per call, not once per record."""
    random = np.random.default_rng(11)
    width, slide = random.integers(1_000, 10_001, 1000), random.integers(100, 1_001, 1000)
    meta = family([(int(w), int(s), 0, 10) for w, s in zip(width, slide, strict=True)])
    n = 20_000
    run = feed("mtoplist", case_of(meta, np.arange(n), random.random(n), (n // 2, n))).run()
    work = run.subject.engine.counters
    assert work["views"] > 5_000
    assert work["settlements"] <= work["insertions"] // SETTLE_AT + len(run.case.untils)
    assert work["settlements"] < n / 500


def test_the_baseline_does_not_spend_milliseconds_per_object() -> None:
    """The paper's speed-ups rest on a slow MinTopK. Ours looks at most records once: what beats it shares."""
    n = 200_000
    meta = family([(100_000, 10_000, 0, 100)], kind="rows")
    run = feed("mintopk", case_of(meta, np.arange(n), np.random.default_rng(2).random(n), (n,))).run()
    work = run.subject.engine.counters
    assert work["comparisons"] == n
    assert work["insertions"] <= 0.03 * n
    assert work["pointer_moves"] <= 0.1 * n
