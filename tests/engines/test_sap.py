"""SAP: the traps of its paper by name, every variant against sorting, and how much work it does."""

from __future__ import annotations

import ast
import gc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import runtime

from skyband.datasets import SCORES, sine, uniform
from skyband.engines.complete.sap import Sap, partitions_wanted, rank_sum_bound, three_sigma, unit_length
from skyband.engines.kernels.sap import savl, state as sap_state
from skyband.engines.kernels.sap.front import fill_up
from skyband.engines.kernels.sap.lists import Ranked, Rest, new_ranked, new_rest, rank_sum_excess, refine
from skyband.engines.kernels.sap.units import above_tau
from skyband.model import Floats, Ints, MetaQuery, Records
from skyband.model.types import Keys
from tests.engines.feeding import family
from tests.engines.shapes import INTEGERS

VARIANTS: dict[str, dict[str, Any]] = {
    "enhanced": {},
    "dynamic": {"partitions": "dynamic"},
    "equal": {"partitions": "equal"},
    "equal, m = 7": {"partitions": "equal", "m": 7},
    "non-delay": {"delay": False},
    "equal, non-delay": {"partitions": "equal", "delay": False},
    "Algorithm 1": {"stacks": False},
    "equal, Algorithm 1": {"partitions": "equal", "stacks": False},
    "amortised": {"amortised": True},
    "equal, amortised": {"partitions": "equal", "amortised": True},
}
DOUBLES = np.empty(0)
variant = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)


def rows(n: int, s: int, k: int) -> MetaQuery:
    return family([(n, s, 0, k)], kind="rows")


def run(engine: Sap, at: Ints, score: Keys, batches: int = 3, drain: bool = True) -> Sap:
    """Feed everything in some batches, and let the last window slide out; every answer is that of sorting."""
    meta, previous, after, fed = engine.meta, -(2**62), int(at[0]), 0
    last = int(at[-1]) + 1 + (int(meta.width[0]) if drain else 0)
    for until in np.linspace(int(at[0]), last, batches + 1).astype(int)[1:].tolist():
        stop = int(np.searchsorted(at, until))
        due = meta.due_reports(at[fed:stop], previous, after, until)
        answers = engine.advance(Records(at[fed:stop], score[fed:stop]), due)
        for i, (start, end) in enumerate(zip(due.start.tolist(), due.end.tolist(), strict=True)):
            low, high = np.searchsorted(at, [start, end])
            ids = np.arange(low, high)
            wanted = ids[np.lexsort((ids, score[low:high]))[::-1]][: meta.most]
            assert answers.id[answers[i]].tolist() == wanted.tolist(), (start, end)
            assert answers.score[answers[i]].tolist() == score[wanted].tolist()
        engine.check()
        previous, after, fed = (int(at[stop - 1]) if stop else previous), until, stop
    return engine


# The traps, with the numbers that spring them


@pytest.mark.nojit
def test_an_s_avl_pops_tops_that_have_expired() -> None:
    """P₀ = 50, 90, 80, 30, k = 2, ρ = 0: after 50 and 90 have left, 30 is promoted and not the 50 above it."""
    stacks = savl.new_savl(2, -np.inf)
    for score, number in ((30.0, 3), (50.0, 0)):
        savl.push(stacks.score, stacks.seq, stacks.below, stacks.fresh, stacks.mark, score, number)
    stacks = savl.finish(stacks)
    front, size = new_ranked(2, DOUBLES), np.zeros(sap_state.SIZES, np.int64)
    front.score[:], front.seq[:] = [90, 80], [1, 2]
    size[sap_state.FRONT], size[sap_state.FIRST], size[sap_state.OLDEST] = 2, 2, 1
    assert fill_up(stacks, front, 2, size)
    assert front.score.tolist() == [80, 30]
    run(Sap(rows(4, 1, 2)), np.arange(8), np.array([50.0, 90, 80, 30, 20, 10, 5, 4]))


@pytest.mark.nojit
def test_merge_and_refine_counts_from_the_top() -> None:
    """Inserting {90, 86}: 95 gets nothing, 88 gets 1, 75 gets 2."""
    rest, best = new_rest(3, DOUBLES), new_ranked(2, DOUBLES)
    rest.score[:], rest.seq[:], rest.dominators[:] = [95, 88, 75], [0, 1, 2], 0
    best.score[:], best.seq[:] = [90, 86], [3, 4]
    merged, n = refine(rest, 3, best, 2, 3)
    assert dict(zip(merged.score[:n].tolist(), merged.dominators[:n].tolist(), strict=True)) == {
        95: 0, 90: 0, 88: 1, 86: 0, 75: 2,
    }  # fmt: skip
    merged, n = refine(rest, 3, best, 2, 2)
    assert merged.score[:n].tolist() == [95, 90, 88, 86]


@pytest.mark.nojit
@variant
def test_partitions_of_unlike_size_are_not_dropped_when_another_fills(options: dict[str, Any]) -> None:
    calm, steep = np.zeros(60), -np.arange(60.0)
    score = np.concatenate((calm, steep, calm + 1, steep, steep + 7))
    run(Sap(rows(80, 4, 3), **options), np.arange(len(score)), score)


@pytest.mark.nojit
def test_the_open_partition_counts_for_group_dominance() -> None:
    """Rising scores: when a partition comes to the front the open one has k better, and nothing is scanned."""
    work = run(Sap(rows(100, 5, 4)), np.arange(600), np.arange(600.0), drain=False).counters
    assert work["partitions"] > 5
    assert work["formations"] == work["rescans"] == work["pushes"] == 0


@pytest.mark.nojit
def test_tau_begins_at_minus_infinity() -> None:
    """Scores of the sine are negative half the time."""
    score = sine(3_000)[1_000:] - 1.0
    found, n, tau = above_tau(score, 0, 0, 2_000, -np.inf, True, 20, 40, new_ranked(1, DOUBLES))
    assert n == 20
    assert tau == np.sort(score)[-20] < 0
    assert found.score[:n].min() == tau
    run(Sap(rows(200, 10, 5)), np.arange(900), np.sin(np.arange(900) / 40) - 2.0)


@pytest.mark.nojit
@pytest.mark.parametrize("fall", [7, 31, 97])
def test_the_best_over_the_stacks_of_all_units_is_promoted(fall: int) -> None:
    """Steps that fall: every unit is a k-unit with stacks of its own, and the next record is on any of them."""
    score = -np.arange(900.0) + np.random.default_rng(fall).integers(0, fall, 900)
    work = run(Sap(rows(300, 3, 6)), np.arange(900), score).counters
    assert work["formations"] > 0
    assert work["promotions"] > 50


@pytest.mark.nojit
@variant
def test_the_better_of_equal_times_and_scores_is_kept(options: dict[str, Any]) -> None:
    """Bursts at one time, few distinct scores, slides with many more than k records (Appendix C)."""
    random = np.random.default_rng(3)
    at = np.sort(random.integers(0, 60, 600))
    run(Sap(family([(20, 5, 0, 3)]), **options), at, np.floor(-at / 4) + random.integers(0, 3, 600))


@pytest.mark.nojit
def test_moments_of_the_rank_sum_are_those_of_the_sample_sizes() -> None:
    best, none = Ranked(np.arange(100.0)[::-1] + 500, np.arange(100)), new_ranked(1, DOUBLES)
    rest = Rest(np.arange(135.0)[::-1], np.arange(135), np.zeros(135, np.int64))
    largest = 100 * 135 + 100 * 101 / 2
    expected = (largest - 100 * 236 / 2) / np.sqrt(100 * 135 * 236 / 12) - 1.959964
    assert rank_sum_excess(best, 100, rest, 135, none, 0, 135, np.nan) == pytest.approx(expected)
    alike = Ranked(np.full(100, 7.0), np.arange(100))
    same = Rest(np.full(135, 7.0), np.arange(135), np.zeros(135, np.int64))
    assert rank_sum_excess(alike, 100, same, 135, none, 0, 135, np.nan) == pytest.approx(-1.959964)


@pytest.mark.nojit
def test_small_samples_take_the_exact_bound() -> None:
    """The table of the rank-sum test has 12 and 32 for samples of 4 and 6: a sum of 32 is refused, 31 is not."""
    assert rank_sum_bound(4, 6) == 31
    assert rank_sum_bound(10, 10) == 131


@pytest.mark.nojit
def test_sizes_of_the_paper_s_setting() -> None:
    """No n with s = 0.1 % n and k = 100 gives the printed m* = 33; n = 105,000 gives 32."""
    assert partitions_wanted(rows(105_000, 105, 100)) == 32
    assert not any(partitions_wanted(rows(n, max(n // 1000, 1), 100)) == 33 for n in range(90_000, 130_000, 1_000))
    assert unit_length(rows(105_000, 105, 100), 32) == 3_255
    assert three_sigma(100) == pytest.approx(134.83, abs=0.01)
    assert partitions_wanted(family([(3_600, 36, 0, 500)])) == 10  # Appendix A: in time, whatever k
    assert partitions_wanted(rows(10, 1, 100)) == 1


# Exact for every stream


@variant
@pytest.mark.parametrize("shape", SCORES)
@pytest.mark.parametrize(
    ("n", "s", "k"),
    [
        (1_000, 1, 1),
        (1_000, 10, 20),
        (1_000, 100, 20),
        (1_000, 7, 100),
        (990, 100, 3),
        (500, 50, 700),
        (2_000, 40, 1_000),
    ],
)
def test_answers_are_those_of_sorting(options: dict[str, Any], shape: str, n: int, s: int, k: int) -> None:
    score = SCORES[shape](3 * n, 11)
    if shape == "sine":
        score = np.sin(np.arange(3 * n) * 7 / n)
    run(Sap(rows(n, s, k), **options), np.arange(3 * n), score)


@variant
@pytest.mark.parametrize("seed", range(4))
def test_time_windows_with_gaps_and_bursts(options: dict[str, Any], seed: int) -> None:
    random = np.random.default_rng(seed)
    gaps = random.choice([0, 0, 0, 1, 3, 40, 700], 3_000, p=[0.3, 0.3, 0.2, 0.1, 0.08, 0.015, 0.005])
    at = np.cumsum(gaps) - 5_000
    score = np.sin(at / 90) + random.random(3_000) / (1 + seed)
    score[random.random(3_000) < 0.02] = np.inf
    score[random.random(3_000) < 0.02] = -np.inf
    for width, period, k in [(300, 10, 5), (300, 70, 40), (250, 300, 4), (40, 1, 900)]:
        run(Sap(family([(width, period, 3, k)]), **options), at, score, batches=5)


@variant
@pytest.mark.parametrize("shape", INTEGERS)
def test_integers_at_the_edges(options: dict[str, Any], shape: str) -> None:
    """Every one of them is a score: none may be taken for "no score" or "no floor"."""
    score = INTEGERS[shape](np.random.default_rng(5), 2_000)
    for n, s, k in [(500, 5, 6), (300, 100, 9), (200, 20, 300)]:
        run(Sap(rows(n, s, k), **options), np.arange(2_000), score)


@variant
def test_a_new_start_and_one_record_at_a_time(options: dict[str, Any]) -> None:
    meta, score = rows(200, 5, 7), np.sin(np.arange(700) / 25) + uniform(700, 3) / 5
    straight, moved = Sap(meta, **options), Sap(meta, **options)
    for i in range(700):
        part = Records(np.arange(i, i + 1), score[i : i + 1], np.arange(i, i + 1))
        due = meta.due_reports(part.at, i - 1, i, i + 1)
        one, other = straight.advance(part, due), moved.advance(part, due)
        assert one.id.tolist() == other.id.tolist()
        if i % 37 == 0:
            fresh = Sap(meta, **options)
            fresh.rebuild(moved.held(), moved.until)
            moved = fresh
            assert moved.candidates().tolist() == straight.candidates().tolist()


# How much work


def at_paper_s_setting(score: Floats, **options: Any) -> dict[str, int]:
    engine = Sap(rows(105_000, 105, 100), **options)
    at = np.arange(len(score))
    engine.advance(Records(at, score), engine.meta.due_reports(at, -1, 0, len(score)))
    return engine.counters


def mean_members(work: dict[str, int]) -> float:
    return work["members_sum"] / work["slides"]


def test_candidates_on_uniform_scores() -> None:
    """Table 6 prints 286; a simulation of dynamic partitions kept 281, of equal ones 594. About one partition in a
    hundred is scanned."""
    work = at_paper_s_setting(uniform(1_050_000, 5))
    assert 250 <= mean_members(work) <= 330
    assert work["formations"] <= 0.08 * work["partitions"]
    assert work["pushes"] <= 200 * work["formations"]
    assert work["comparisons"] <= 3 * work["records"]
    assert work["insertions"] <= 0.02 * work["records"]
    equal = at_paper_s_setting(uniform(1_050_000, 5), partitions="equal")
    assert 540 <= mean_members(equal) <= 650


@pytest.mark.parametrize("partitions", ["enhanced", "dynamic", "equal"])
@pytest.mark.parametrize("slide", [1, 20, 2_000])
def test_work_grows_with_k_as_the_entries_that_move(partitions: Any, slide: int) -> None:
    """A record is compared with the k-th best of its partition, once more for its unit, and in a slide's few; whoever
    enters the best k moves half of them, on average. Four times the k: four times as many enter and are kept at most;
    of equal partitions there are then half as many, so that twice as many enter."""
    n, records = 20_000, 60_000
    score, at, found = uniform(records, 9), np.arange(records), []
    for k in (10, 40, 160):
        meta = rows(n, slide, k)
        engine = Sap(meta, partitions)
        engine.advance(Records(at, score), meta.due_reports(at, -1, 0, records))
        work = engine.counters
        assert work["comparisons"] <= 3.2 * records + 0.6 * k * work["insertions"]
        found.append((work["insertions"], mean_members(work)))
    for (entered, members), (entered_then, members_then) in pairwise(found):
        assert entered_then <= (2.8 if partitions == "equal" and slide < 40 else 4) * entered
        assert members_then <= 4.2 * members


def test_units_bound_the_stacks_on_falling_scores() -> None:
    """Theorem 4: with k-units at most two units' records are on stacks at once, without them a whole partition's."""
    score = sine(1_260_000)[420_000:]
    enhanced, dynamic = at_paper_s_setting(score), at_paper_s_setting(score, partitions="dynamic")
    assert enhanced["members_peak"] <= 0.4 * dynamic["members_peak"]
    for work in (enhanced, dynamic):
        assert work["pushes"] <= work["records"]
        assert work["rescanned"] <= work["records"]
        assert work["promotions"] <= work["pushes"]


def test_delay_saves_scans() -> None:
    score = uniform(420_000, 5)
    delayed, at_once = (at_paper_s_setting(score, partitions="equal", delay=delay) for delay in (True, False))
    assert delayed["rescanned"] <= 0.05 * at_once["rescanned"]


def test_amortised_formation_spreads_the_scan() -> None:
    """Falling scores scan every partition. Once there was a partition to do it in advance of, no report pays for all of
    the next: only for as much of it as has left of the one before."""
    score, at = -np.arange(420_000.0), np.arange(420_000)
    most = []
    for amortised in (False, True):
        engine = Sap(rows(105_000, 105, 100), "equal", amortised=amortised)
        for part in (slice(0, 210_000), slice(210_000, 420_000)):
            engine._state.size[sap_state.RESCANNED_MOST] = 0
            due = engine.meta.due_reports(at[part], part.start - 1, part.start, part.stop)
            engine.advance(Records(at[part], score[part]), due)
        most.append(engine.counters["rescanned_most"])
    assert most[0] >= 3_000
    assert most[1] <= 400


# The state inside a kernel


def test_whatever_a_kernel_took_hold_of_is_given_back() -> None:
    """A reference that is counted once too often is a leak, one too few is a crash."""
    at, score = np.arange(3_000), np.random.default_rng(3).random(3_000)
    counting: Any = runtime
    counting._nrt_python.memsys_enable_stats()
    run(Sap(rows(300, 10, 5)), at, score)
    gc.collect()
    before = counting.rtsys.get_allocation_stats()
    for options in VARIANTS.values():
        run(Sap(rows(300, 10, 5), **options), at, score)
    gc.collect()
    after = counting.rtsys.get_allocation_stats()
    assert after.mi_alloc > before.mi_alloc
    assert after.mi_alloc - after.mi_free == before.mi_alloc - before.mi_free


def test_kernels_hand_over_the_state_by_reference() -> None:
    """A tuple of its arrays is taken apart at every call, which is most of what the compiler has to read."""
    folder = Path(sap_state.__file__).parent
    functions = [
        function
        for file in sorted(folder.glob("*.py"))
        for function in ast.parse(file.read_text()).body
        if isinstance(function, ast.FunctionDef) and function.decorator_list
    ]
    taking = {
        function.name
        for function in functions
        if any(each.annotation is not None and ast.unparse(each.annotation) == "State" for each in function.args.args)
    }
    assert taking == {"advance_sap", "held"}
