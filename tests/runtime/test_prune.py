"""Pruning drops nothing that any window reports, and nearly everything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from skyband.model import MetaQuery
from skyband.runtime import prune as rules
from skyband.runtime.prune import prune


@pytest.mark.nojit
@settings(max_examples=200, deadline=None)
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
        kept = set(prune(meta, at + (shift or 0), score, aligned=shift is None).tolist())
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


@pytest.mark.parametrize(("slide", "most"), [(10_000, 0.008), (100, 0.02)])
def test_little_is_left_of_a_chunk(slide: int, most: float) -> None:
    """K (1 + ln(n/K)) from each side, n = 100,000 and K = 100; with coarse slides at most K of a pane besides."""
    one = np.array([1_000_000])
    meta = MetaQuery("rows", one, np.array([slide]), np.array([0]), np.array([100]), np.array([0]))
    score = np.random.default_rng(0).random(100_000)
    assert len(prune(meta, np.arange(100_000), score)) <= most * 100_000


def test_order_does_not_matter() -> None:
    meta = MetaQuery("range", np.array([500]), np.array([100]), np.array([0]), np.array([5]), np.array([0]))
    draw = np.random.default_rng(3)
    at, score = np.arange(5_000), draw.random(5_000)
    shuffled = draw.permutation(5_000)
    assert sorted(shuffled[prune(meta, at[shuffled], score[shuffled])].tolist()) == prune(meta, at, score).tolist()
