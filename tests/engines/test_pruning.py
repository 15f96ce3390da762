"""Pruning drops nothing that any window reports, and nearly everything else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines import pruning as rules
from skyband.engines.many.pruner import MultiScorePruner
from skyband.engines.pruning import prune, prune_groups, prune_plainly, prune_points
from skyband.model import MetaQuery, UnboundedMeta
from skyband.model.many import ADD, COLUMN, CONSTANT, MULTIPLY, ScoreSpec
from skyband.model.times import Times
from skyband.model.window import EVER
from tests.drawn import examples


@pytest.mark.nojit
@examples(200)
@given(data=st.data())
def test_every_answer_survives(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    width = [data.draw(st.integers(1, 40)) for _ in range(count)]
    period = [data.draw(st.integers(1, w)) for w in width]
    phase = [data.draw(st.integers(0, p - 1)) for p in period]
    k = [data.draw(st.integers(1, 3)) for _ in range(count)]
    meta = MetaQuery("range", np.array(width), np.array(period), np.array(phase), np.array(k), np.arange(count))
    size = data.draw(st.integers(1, 70))
    at = np.array(data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size)))
    score = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), float)
    shift = data.draw(st.sampled_from([None, 0, 7]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SMALL", 0)
        kept = set(prune(meta, Times(at + (shift or 0), aligned=shift is None), score).tolist())
        kept &= set(prune_plainly(meta, Times(at + (shift or 0), aligned=shift is None), score).tolist())
    for beat in range(count):
        for end in range(-50, 160):
            if (end - phase[beat]) % period[beat]:
                continue
            inside = [i for i in range(size) if end - width[beat] <= at[i] < end]
            # Whatever the key and hash say among equals in time and score, all of them must be there to be asked.
            best = sorted(inside, key=lambda i: (-score[i], -at[i]))[: k[beat]]
            if best:
                worst = (-score[best[-1]], -at[best[-1]])
                assert {i for i in inside if (-score[i], -at[i]) <= worst} <= kept


@pytest.mark.nojit
@examples(60)
@given(data=st.data())
def test_groups_are_pruned_as_each_would_be(data: st.DataObject) -> None:
    """So that every answer survives in its group."""
    width, k = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 3))
    meta = _one(width, data.draw(st.integers(1, width)), k)
    size = data.draw(st.integers(0, 70))
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), np.int64)
    at = np.array(data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size)), np.int64)
    score = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SMALL", 0)
        kept, plainly = prune_groups(meta, group, Times(at), score), prune_plainly(meta, Times(at), score, group)
        assert kept.tolist() == sorted(kept.tolist())
        for number in range(4):
            mine, own = np.flatnonzero(group == number), kept[group[kept] == number]
            assert set(mine[prune(meta, Times(at[mine], aligned=False), score[mine])].tolist()) >= set(own.tolist())
    for end in range(0, 160, int(meta.period[0])):
        for number in range(4):
            inside = [i for i in range(size) if end - width <= at[i] < end and group[i] == number]
            best = sorted(inside, key=lambda i: (-score[i], -at[i]))[:k]
            if best:
                worst = (-score[best[-1]], -at[best[-1]])
                needed = {i for i in inside if (-score[i], -at[i]) <= worst}
                assert needed <= set(kept.tolist()) & set(plainly.tolist())


def _one(width: int, period: int, k: int) -> MetaQuery:
    return MetaQuery("range", np.array([width]), np.array([period]), np.array([0]), np.array([k]), np.array([0]))


def _of_all_time(period: int, phase: int, k: int) -> MetaQuery:
    one = _one(EVER, period, k)
    return UnboundedMeta("range", one.width, one.period, np.array([phase]), one.k, one.query)


@pytest.mark.nojit
@examples(100)
@given(data=st.data())
def test_of_windows_without_a_start_every_answer_survives(data: st.DataObject) -> None:
    period, k = data.draw(st.integers(1, 40)), data.draw(st.sampled_from([1, 2, 3, 20]))
    meta = _of_all_time(period, data.draw(st.integers(0, period - 1)), k)
    size = data.draw(st.integers(1, 70))
    group = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)), np.int64)
    at = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size)), np.int64)
    score = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "SMALL", 0)
        times = Times(at)
        together = set(prune(meta, times, score).tolist()) & set(prune_plainly(meta, times, score).tolist())
        apart = set(prune_groups(meta, group, times, score).tolist())
        apart &= set(prune_plainly(meta, times, score, group).tolist())
    ends = [end for end in range(-50, 100) if (end - meta.phase[0]) % period == 0]
    for end, number in itertools.product(ends, (None, 0, 1, 2)):
        inside = [i for i in range(size) if at[i] < end and number in (None, group[i])]
        best = sorted(inside, key=lambda i: (-score[i], -at[i]))[:k]
        if best:
            worst = (-score[best[-1]], -at[best[-1]])
            needed = {i for i in inside if (-score[i], -at[i]) <= worst}
            assert needed <= (together if number is None else apart)


def test_of_all_time_little_is_left_of_a_push() -> None:
    """Of n scores in any order the best k so far are k (1 + ln(n/k)); of falling ones k, of rising ones k a pane."""
    draw, at, meta = np.random.default_rng(1), np.arange(40_000), _of_all_time(1_000, 0, 3)
    assert len(prune(meta, Times(at), draw.random(40_000))) <= 3 * 12 * 2
    assert len(prune(meta, Times(at), -at.astype(float))) <= 64
    assert len(prune(meta, Times(at), at.astype(float))) == 3 * 40
    assert len(prune_groups(meta, draw.integers(0, 100, 40_000), Times(at), draw.random(40_000))) <= 100 * 3 * 7


def test_little_is_left_of_a_push_with_groups() -> None:
    """TOP 3 of a hundred groups, 40,000 records at once: 400 of each, of which 3 (1 + ln(400/3)) from each side."""
    draw = np.random.default_rng(1)
    group, times = draw.integers(0, 100, 40_000), Times(np.arange(40_000))
    kept = prune_groups(_one(50_000, 1, 3), group, times, draw.random(40_000))
    assert len(kept) <= 100 * 3 * 2 * 7


def test_of_groups_with_few_records_a_window_stays_what_some_window_lists() -> None:
    """Ten records of each group are in a window, which moves by a tenth: the best 3 of some window are about half."""
    draw = np.random.default_rng(1)
    group, at, score = draw.integers(0, 100, 40_000), np.arange(40_000), draw.random(40_000)
    kept = set(prune_groups(_one(1_000, 100, 3), group, Times(at), score).tolist())
    listed = set()
    for end in range(100, 41_000, 100):
        order = np.lexsort((-score[max(end - 1_000, 0) : end], group[max(end - 1_000, 0) : end])) + max(end - 1_000, 0)
        rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
        listed |= set(order[rank < 3].tolist())
    assert kept == listed
    assert len(kept) < 0.55 * 40_000


@pytest.mark.parametrize("slide", [1, 10, 70])
def test_groups_with_many_records_a_window(slide: int) -> None:
    """Several windows, of which some hold so many records that nobody looks at them again and again."""
    draw = np.random.default_rng(slide)
    at, k = np.sort(draw.integers(0, 1_000, 1_500)), np.array([2, 3])
    score, group = np.round(draw.random(1_500) - at / 40, 1), draw.integers(0, 2, 1_500)
    width, period = np.array([20, 900]), np.array([slide, slide])
    meta = MetaQuery("range", width, period, np.array([0, slide // 2]), k, np.array([0, 1]))
    kept = set(prune_groups(meta, group, Times(at), score).tolist())
    for beat, number in itertools.product(range(2), range(2)):
        for end in range(int(meta.phase[beat]), 2_000, slide):
            inside = np.flatnonzero((at >= end - width[beat]) & (at < end) & (group == number))
            best = inside[np.lexsort((at[inside], score[inside]))[::-1]][: k[beat]]
            if len(best):
                better = (score[inside] > score[best[-1]]) | (score[inside] == score[best[-1]]) & (
                    at[inside] >= at[best[-1]]
                )
                assert set(inside[better].tolist()) <= kept


def test_what_is_left_without_kernels() -> None:
    """The best 3 of 40 panes, in each of ten groups."""
    draw = np.random.default_rng(1)
    at, score, meta = draw.permutation(40_000), draw.random(40_000), _one(10_000, 1_000, 3)
    assert len(prune_plainly(meta, Times(at), score)) == 40 * 3
    assert len(prune_plainly(meta, Times(at), score, at % 10)) == 10 * 40 * 3


@pytest.mark.parametrize(("slide", "most"), [(10_000, 0.008), (100, 0.02)])
def test_little_is_left_of_a_chunk(slide: int, most: float) -> None:
    """K (1 + ln(n/K)) from each side, n = 100,000 and K = 100; with coarse slides at most K of a pane besides."""
    one = np.array([1_000_000])
    meta = MetaQuery("rows", one, np.array([slide]), np.array([0]), np.array([100]), np.array([0]))
    score = np.random.default_rng(0).random(100_000)
    assert len(prune(meta, Times(np.arange(100_000)), score)) <= most * 100_000


def test_order_does_not_matter() -> None:
    meta = MetaQuery("range", np.array([500]), np.array([100]), np.array([0]), np.array([5]), np.array([0]))
    draw = np.random.default_rng(3)
    at, score = np.arange(5_000), draw.random(5_000)
    shuffled = draw.permutation(5_000)
    mixed = shuffled[prune(meta, Times(at[shuffled]), score[shuffled])]
    assert sorted(mixed.tolist()) == prune(meta, Times(at), score).tolist()


@examples(60)
@given(data=st.data())
def test_every_answer_of_a_board_survives_in_its_group(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 40))
    period = data.draw(st.integers(1, width))
    asked = [_asked(data) for _ in range(data.draw(st.integers(1, 5)))]
    one = np.ones(len(asked), np.int64)
    meta = MetaQuery("range", width * one, period * one, 0 * one, one, np.arange(len(asked)))
    size, value = data.draw(st.integers(0, 60)), st.sampled_from([0.0, 1.0, 2.0, 2.5, -1.0, np.nan, np.inf, 1e300])
    at = np.array(data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size)), np.int64)
    x = np.array(data.draw(st.lists(value, min_size=2 * size, max_size=2 * size))).reshape(size, 2)
    group, aligned = [i % 3 for i in range(len(asked))], data.draw(st.booleans())
    places, wanted = prune_points(meta, MultiScorePruner(2, asked, group), Times(at, aligned), x)
    for number, each in enumerate(asked):
        kept = set(places[wanted >> group[number] & 1 == 1].tolist())
        with np.errstate(all="ignore"):
            score = [each.weight @ x[i] if len(each.weight) else (x[i, 0] + 0.5) * x[i, 1] for i in range(size)]
        for end in range(0, 160, period):
            inside = [i for i in range(size) if end - width <= at[i] < end and not np.isnan(score[i])]
            inside = [i for i in inside if x[i, 0] >= each.low[0]]
            if each.threshold is not None:
                assert {i for i in inside if score[i] > each.threshold} <= kept
                continue
            best = sorted(inside, key=lambda i: (-score[i], -at[i]))[: each.k]
            if best:
                worst = (-score[best[-1]], -at[best[-1]])
                assert {i for i in inside if (-score[i], -at[i]) <= worst} <= kept


def _asked(data: st.DataObject) -> ScoreSpec:
    """A weighted sum, a product, a threshold, with and without a range."""
    low = np.array([data.draw(st.sampled_from([-np.inf, 1.0])), -np.inf])
    high, k = np.full(2, np.inf), data.draw(st.integers(1, 3))
    if data.draw(st.booleans()):
        op = np.array([COLUMN, CONSTANT, ADD, COLUMN + 1, MULTIPLY])
        return ScoreSpec(k, low, high, np.empty(0), np.empty(0, np.int64), op, np.array([0, 0.5, 0, 0, 0]))
    weight = np.array([data.draw(st.sampled_from([0.0, 1.0, -0.5])), data.draw(st.sampled_from([0.25, 1.0]))])
    return ScoreSpec.linear(k, weight, low, high, data.draw(st.sampled_from([None, None, 1.0])))


def test_little_is_left_of_a_chunk_for_five_hundred_scores() -> None:
    draw, one = np.random.default_rng(4), np.ones(500, np.int64)
    pruner = MultiScorePruner(4, [ScoreSpec.linear(20, weight) for weight in draw.random((500, 4))], [0] * 500)
    meta = MetaQuery("rows", 100_000 * one, 1_000 * one, 0 * one, 20 * one, np.arange(500))
    x = draw.random((20_000, 4))
    places, _ = prune_points(meta, pruner, Times(np.arange(20_000), aligned=False), x)
    assert len(places) <= 0.08 * 20_000
    shuffled = draw.permutation(20_000)
    again, _ = prune_points(meta, pruner, Times(shuffled, aligned=False), x[shuffled])
    assert sorted(shuffled[again].tolist()) == places.tolist()
