"""Lists with at most n of a category: what is kept of stretches and of newer records, by counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines import pruning
from skyband.engines.capped import LOOK, Cap, above_sample, listed, on_either_side, outliving
from skyband.engines.pruning import prune_capped
from skyband.engines.second_key import dense_ranks
from skyband.model import Ints, MetaQuery
from skyband.model.times import Times
from tests.drawn import examples

CAPS = st.builds(Cap, st.integers(1, 3), st.integers(1, 5))
few = examples(60)


def beaten(category: Ints, better: Ints, own: int, cap: Cap) -> bool:
    """These, which are better and outlive it, leave no place to a record."""
    kinds, count = np.unique(category[better], return_counts=True)
    return bool(count[kinds == category[own]].sum() >= cap.n or np.minimum(count, cap.n).sum() >= cap.k)


@st.composite
def columns(draw: st.DrawFn, size: int = 40) -> tuple[Ints, Ints, Ints]:
    """Stretches, categories and ranks, many of them equal."""
    rows = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 9)), max_size=size))
    found = np.array(rows, np.int64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


@given(rows=columns(), cap=CAPS)
@few
def test_of_a_stretch_is_listed_what_those_above_leave_a_place(rows: tuple[Ints, Ints, Ints], cap: Cap) -> None:
    stretch, category, rank = rows
    for place, found in enumerate(listed(stretch, category, rank, cap).tolist()):
        better = np.flatnonzero((stretch == stretch[place]) & (rank > rank[place]))
        assert found == (not beaten(category, better, place, cap))


@pytest.mark.parametrize("seed", range(6))
def test_what_outlives_is_in_the_list_over_itself_and_all_newer(seed: int) -> None:
    """Over several blocks, with few categories and many, and with ranks that many share."""
    draw = np.random.default_rng(seed)
    count, cap = LOOK + 99, Cap(int(draw.integers(1, 4)), int(draw.integers(1, 30)))
    category, rank = draw.integers(0, [3, 20, 3_000][seed % 3], count), draw.integers(0, [300, count][seed % 2], count)
    found = outliving(category, rank, cap)
    for place in range(count):
        better = place + 1 + np.flatnonzero(rank[place + 1 :] > rank[place])
        assert found[place] == (not beaten(category, better, place, cap)), place


@pytest.mark.parametrize("shortest", [1, 7, 20])
def test_what_is_in_the_list_of_a_window_is_on_one_side(shortest: int) -> None:
    """Of windows that are as long as a stretch, or longer, and begin anywhere."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        at, category, score = np.cumsum(draw.integers(0, 3, 60)), draw.integers(0, 4, 60), draw.integers(0, 20, 60)
        cap = Cap(1 + seed % 2, 1 + seed % 5)
        keep = on_either_side(at, category, score, shortest, cap)
        rank = dense_ranks(score, at)
        for start in range(-shortest, int(at[-1]) + 1):
            inside = np.flatnonzero((at >= start) & (at < start + shortest + 5 * (seed % 3)))
            needed = listed(np.zeros_like(inside), category[inside], rank[inside], cap)
            assert keep[inside[needed]].all()


@given(rows=columns(400), cap=CAPS, other=CAPS)
@few
def test_a_sample_rules_out_nothing_that_is_listed(rows: tuple[Ints, Ints, Ints], cap: Cap, other: Cap) -> None:
    stretch, category, rank = rows
    if len(rank):
        needed = listed(stretch, category, rank, cap) | listed(stretch, category, rank, other)
        assert not (needed & ~above_sample(stretch, category, rank / 4, [cap, other])).any()


def test_a_sample_rules_out_most() -> None:
    draw = np.random.default_rng(1)
    category, score = draw.integers(0, 100_000, 20_000), draw.random(20_000)
    assert above_sample(np.zeros(20_000, np.int64), category, score, [Cap(2, 10)]).sum() < 600


# ------------------------------------------------------------------------------------------------------------ pruning


def reported(meta: MetaQuery, at: Ints, score: Ints, category: Ints, group: Ints) -> set[int]:
    """Places of all that some window lists, by sorting; of equals in time and score all."""
    assert meta.at_most is not None
    found: set[int] = set()
    for beat in range(len(meta)):
        first, last = meta.window_ends(at)
        cap = Cap(int(meta.at_most[meta.query[beat]]), int(meta.k[beat]))
        for end in range(int(first[beat].min()), int(last[beat].max()) + 1, int(meta.period[beat])):
            inside = np.flatnonzero((at < end) & (at >= end - meta.width[beat]))
            rank = dense_ranks(score, at)[inside]
            found |= set(inside[listed(group[inside], category[inside], rank, cap)].tolist())
    return found


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_pruned_is_in_no_list(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, of groups, and where times are known only up to a shift; two queries with another n."""
    monkeypatch.setattr(pruning, "STRETCHED", 1)
    draw = np.random.default_rng(seed)
    count, kinds = 1_500, [3, 40][seed % 2]
    at, score = draw.integers(0, 900, count), draw.integers(0, 200, count)
    category, group = draw.integers(0, kinds, count) * 2**50, draw.integers(0, 2, count)
    width, period, phase = np.array([[300, 90], [100, 90], [0, 7]])
    at_most = np.array([draw.integers(1, 4), 1])
    meta = MetaQuery("range", width, period, phase, np.array([6, 3]), np.arange(2), at_most=at_most)
    for groups, aligned in ((None, True), (group, True), (None, False)):
        needed = reported(meta, at, score, category, np.zeros(count, np.int64) if groups is None else groups)
        shifted = meta if aligned else replace(meta, phase=meta.phase + 41)
        kept = prune_capped(shifted, Times(at, aligned), score, category, groups, compiled)
        assert needed <= set(kept.tolist())
        assert len(kept) < 0.6 * count


def test_of_a_long_window_with_a_short_slide_little_is_left() -> None:
    """No two records share a pane, and hardly two a category."""
    draw = np.random.default_rng(2)
    width, period, phase, k, query, at_most = np.array([[10_000], [1], [0], [5], [0], [2]])
    meta = MetaQuery("rows", width, period, phase, k, query, at_most=at_most)
    category, score = draw.integers(0, 5_000, 10_000), draw.random(10_000)
    for compiled, aligned in ((True, True), (True, False), (False, True)):
        assert len(prune_capped(meta, Times(np.arange(10_000), aligned), score, category, None, compiled)) < 150


def test_rules_for_groups_need_no_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on where windows begin is not asked for where that is not known."""
    draw = np.random.default_rng(3)
    width, period, phase, k, query = np.array([[500], [100], [0], [2], [0]])
    group, at, score = draw.integers(0, 3, 1_000), np.arange(1_000), draw.random(1_000)
    monkeypatch.setattr(MetaQuery, "edges", None)
    monkeypatch.setattr(pruning, "listed_somewhere", None)
    meta = MetaQuery("rows", width, period, phase, k, query)
    assert len(pruning.prune_groups(meta, group, Times(at, aligned=False), score)) < 200
