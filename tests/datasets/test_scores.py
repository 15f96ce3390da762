"""Streams of scores have the shape their names promise."""

from __future__ import annotations

import numpy as np
import pytest

from skyband.datasets import SCORES, bursts, falling, rising, sine, ties, uniform
from skyband.datasets.scores import Scores
from skyband.errors import SkybandError

ALL = pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES.keys())


@ALL
def test_the_same_seed_gives_the_same_scores(scores: Scores) -> None:
    assert scores(3_000, 5).dtype == np.float64
    assert np.array_equal(scores(3_000, 5), scores(3_000, 5))


@ALL
def test_a_longer_stream_begins_with_the_shorter_one(scores: Scores) -> None:
    assert np.array_equal(scores(20_000, 1)[:7_001], scores(7_001, 1))


@ALL
def test_another_seed_gives_other_scores(scores: Scores) -> None:
    assert np.array_equal(scores(1_000, 1), scores(1_000, 2)) == (scores is sine)


@ALL
def test_an_empty_stream(scores: Scores) -> None:
    assert len(scores(0, 0)) == 0


@ALL
def test_a_negative_length_is_refused(scores: Scores) -> None:
    with pytest.raises(SkybandError, match="n = -1"):
        scores(-1, 0)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SkybandError, match="a seed of -1"):
        uniform(1, -1)


def test_uniform_fills_the_interval_whatever_the_position() -> None:
    x = uniform(200_000, 3)
    assert 0 <= x.min() < 0.001
    assert 0.999 < x.max() < 1
    shares = np.histogram(x, bins=10, range=(0, 1))[0] / len(x)
    assert np.abs(shares - 0.1).max() < 0.005
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.01


def test_sine_is_the_formula_of_the_paper() -> None:
    x = sine(2_000_000)
    assert x[500_000 - 1] == 1.0
    assert x[1_500_000 - 1] == -1.0
    assert np.allclose(x[[0, 999_999, 1_999_999]], [np.pi / 1e6, 0, 0])


def test_rising_rises_and_falling_falls_strictly() -> None:
    assert (np.diff(rising(1_000_000, 4)) > 0).all()
    assert (np.diff(falling(1_000_000, 4)) < 0).all()


def test_bursts_are_stretches_of_high_scores() -> None:
    x = bursts(1_000_000, 2)
    high = x >= 1
    assert x.min() >= 0
    assert x.max() < 2
    assert 0.06 < high.mean() < 0.12
    begins = np.flatnonzero(np.diff(high.astype(int)) == 1) + 1
    assert len(begins) > 100
    assert all(high[i : i + 500].all() for i in begins)


def test_ties_have_few_values_equally_likely() -> None:
    values, count = np.unique(ties(80_000, 6), return_counts=True)
    assert values.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert np.abs(count / 10_000 - 1).max() < 0.05
    assert np.unique(ties(100, 0, distinct=1)).tolist() == [0]
