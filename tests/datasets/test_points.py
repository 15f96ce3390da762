"""Points of the three kinds: inside the cube, reproducible, correlated as their names say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from skyband.datasets import anticorrelated, correlated, independent
from skyband.errors import SkybandError
from skyband.model import Floats

Points = Callable[[int, int, int], Floats]
ALL = pytest.mark.parametrize("points", [independent, anticorrelated, correlated])


@ALL
@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_points_lie_in_the_unit_cube(points: Points, d: int) -> None:
    x = points(10_000, d, 0)
    assert x.shape == (10_000, d)
    assert x.min() >= 0
    assert x.max() <= 1


@ALL
def test_seeds_and_prefixes(points: Points) -> None:
    assert np.array_equal(points(9_000, 3, 7), points(9_000, 3, 7))
    assert np.array_equal(points(9_000, 3, 7)[:5_000], points(5_000, 3, 7))
    assert not np.array_equal(points(100, 3, 7), points(100, 3, 8))
    assert points(0, 3, 7).shape == (0, 3)


@ALL
def test_bad_sizes_are_refused(points: Points) -> None:
    with pytest.raises(SkybandError, match="d = 0"):
        points(1, 0, 0)
    with pytest.raises(SkybandError, match="n = -1"):
        points(-1, 1, 0)


def _correlations(x: Floats) -> Floats:
    matrix = np.asarray(np.corrcoef(x.T))
    return matrix[np.triu_indices(len(matrix), 1)]


@pytest.mark.parametrize("d", [2, 3, 4])
def test_correlations_have_the_sign_of_the_name(d: int) -> None:
    assert np.abs(_correlations(independent(50_000, d, 1))).max() < 0.02
    assert _correlations(anticorrelated(50_000, d, 1)).mean() < -0.2
    assert _correlations(correlated(50_000, d, 1)).min() > 0.6


def test_anticorrelated_points_have_nearly_equal_sums() -> None:
    def spread(x: Floats) -> float:
        return float(x.sum(axis=1).std())

    assert spread(anticorrelated(50_000, 4)) < 0.5 * spread(independent(50_000, 4))
    assert spread(correlated(50_000, 4)) > spread(independent(50_000, 4))
