"""Bounds from a sample: whatever the sample, no record that a window could report lies below its cell's bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skyband.engines.bounds import MOST_CELLS, bounds
from skyband.engines.kernels.common.kth import kth_best_of_runs
from tests.drawn import examples

pytestmark = pytest.mark.nojit


@examples(100)
@given(st.data())
def test_no_record_of_a_best_list_is_below_its_bound(data: st.DataObject) -> None:
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, k = data.draw(st.integers(1, 120)), data.draw(st.integers(1, 6))
    width = 1 << data.draw(st.integers(0, 3))
    shortest = data.draw(st.integers(2 * width, 40))
    at = np.sort(draw.integers(-60, 60, n))
    score = draw.integers(0, data.draw(st.sampled_from([3, 1_000])), n).astype(float)
    sampled = draw.random(n) < data.draw(st.sampled_from([0.3, 0.8, 1.0]))
    cell, bound = bounds(at[sampled], score[sampled], width, shortest, k)
    of_cell = dict(zip(cell.tolist(), bound.tolist(), strict=True))
    for start in range(int(at[0]) - 45, int(at[-1]) + 1):
        for length in (shortest, shortest + 1, shortest + 5):
            inside = np.flatnonzero((at >= start) & (at < start + length))
            best = inside[np.argsort(-score[inside], kind="stable")][:k]
            for i in best.tolist():
                lowest = of_cell.get(int(at[i]) // width, -np.inf)
                # Of equal scores either may be in the list: strictly below the bound is what is dropped.
                assert score[i] >= lowest


@examples(100)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 4))
def test_kth_best_of_runs_is_what_sorting_finds(cells: list[list[int]], length: int, k: int) -> None:
    score = np.array([each for cell in cells for each in cell], float)
    begin = np.concatenate(([0], np.cumsum([len(cell) for cell in cells])))
    found = kth_best_of_runs(score, np.argsort(score), begin, length, k)
    for run in range(1, len(cells) + length):
        held = sorted((each for cell in cells[max(run - length, 0) : run] for each in cell), reverse=True)
        assert found[run] == (held[k - 1] if len(held) >= k else -np.inf)


def test_a_sample_spread_too_thin_gives_no_bound() -> None:
    cell, bound = bounds(np.array([0, 8 * MOST_CELLS]), np.array([1.0, 2.0]), 4, 40, 1)
    assert len(cell) == len(bound) == 0
