"""Lists with at most n of a category: what is kept of stretches and of newer records, by counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from skyband.engines import pruning
from skyband.engines.capped import BLOCK, Cap, above_sample, listed, outliving
from skyband.engines.pruning import prune_capped
from skyband.model import Ints, MetaQuery

CAPS = st.builds(Cap, st.integers(1, 3), st.integers(1, 5))
few = settings(max_examples=60, deadline=None)


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


@pytest.mark.parametrize("seed", range(12))
def test_what_outlives_is_in_the_list_over_itself_and_all_newer(seed: int) -> None:
    """Over several blocks, with few categories and many."""
    draw = np.random.default_rng(seed)
    count, cap = 3 * BLOCK + 17, Cap(int(draw.integers(1, 4)), int(draw.integers(1, 30)))
    category, rank = draw.integers(0, [3, 20, 300][seed % 3], count), draw.permutation(count)
    found = outliving(category, rank, cap)
    for place in range(count):
        better = place + 1 + np.flatnonzero(rank[place + 1 :] > rank[place])
        assert found[place] == (not beaten(category, better, place, cap)), place


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
            rank = np.unique(np.stack((score, at)), axis=1, return_inverse=True)[1][inside]
            found |= set(inside[listed(group[inside], category[inside], rank, cap)].tolist())
    return found


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_pruned_is_in_no_list(seed: int, compiled: bool) -> None:
    """In any order, of groups, and where times are known only up to a shift; two queries with another n."""
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
        kept = prune_capped(shifted, at, score, category, groups, aligned, compiled)
        assert needed <= set(kept.tolist())
        if aligned:
            assert len(kept) < count / 2


def test_rules_for_groups_need_no_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on where windows begin is not asked for where that is not known."""
    draw = np.random.default_rng(3)
    width, period, phase, k, query = np.array([[500], [100], [0], [2], [0]])
    group, at, score = draw.integers(0, 3, 1_000), np.arange(1_000), draw.random(1_000)
    monkeypatch.setattr(MetaQuery, "edges", None)
    monkeypatch.setattr(pruning, "listed_somewhere", None)
    assert (
        len(pruning.prune_groups(MetaQuery("rows", width, period, phase, k, query), group, at, score, aligned=False))
        < 200
    )
