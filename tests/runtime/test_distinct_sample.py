"""Samples of values: what is kept is a theta sketch, and samples of parts make the sample of the whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from skyband.engines.objects.correlation import sketch_of
from skyband.model import Ints
from skyband.model.approximate_groups import VALUES_KEPT, WITHIN
from skyband.model.partials import SPAN
from skyband.runtime.aggregation import N
from skyband.runtime.distinct_sample import BOUND, NO_BOUND, bounds, sampled
from skyband.runtime.encoded import OBJECT, ints

NAME = BOUND.format(0)


def rows_of(values: Ints, bound: int | None = None) -> pa.Table:
    """One group: what counts its records, and a row for each value."""
    value = [None, *values.tolist()]
    count, least = [len(values), *[0] * len(values)], [bound, *[None] * len(values)]
    columns = {
        OBJECT: [7] * len(value),
        N: count,
        "#x0": pa.array(value, pa.int64()),
        NAME: pa.array(least, pa.int64()),
    }
    return pa.table(columns)


def kept(values: Ints, most: int, bound: int | None = None) -> tuple[Ints, int | None]:
    """Of a sample of these: its values, rising, and its bound."""
    rows = rows_of(values, bound)
    found = sampled(rows, np.zeros(len(rows), np.int64), "0", most)
    return np.sort(ints(found.slice(1).select(["#x0"]), "#x0")), found.column(NAME)[0].as_py()


def numbers(size: int, seed: int) -> Ints:
    return np.random.default_rng(seed).integers(0, 2**63 - 1, size)


@pytest.mark.parametrize("sizes", [(3, 4), (5, 30), (40, 50), (300, 7)])
def test_samples_of_parts_make_the_sample_of_the_whole(sizes: tuple[int, int]) -> None:
    """Some values are in both; eight are kept."""
    one, other = numbers(sizes[0], 1), numbers(sizes[1], 2)
    other[: len(one) // 3] = one[: min(len(one) // 3, len(other))]
    (first, low), (second, lower) = kept(one, 8), kept(other, 8)
    least = min([bound for bound in (low, lower) if bound is not None], default=None)
    whole = kept(np.unique(np.append(one, other)), 8)
    together = kept(np.unique(np.append(first, second)), 8, least)
    assert (together[0].tolist(), together[1]) == (whole[0].tolist(), whole[1])
    assert len(whole[0]) == min(8, len(np.unique(np.append(one, other))))


def test_what_is_kept_is_a_theta_sketch() -> None:
    """DataSketches reads it, and says the same of it; its bounds are two standard deviations, ours a little more."""
    values, bound = kept(numbers(20_000, 3), VALUES_KEPT)
    assert bound is not None
    theirs = sketch_of(values.view(np.uint64), np.uint64(bound))
    count = np.rint(np.array([len(values)]) / (bound / SPAN)).astype(np.int64)
    assert abs(theirs.get_estimate() - count[0]) <= 1
    low, high = bounds(count, np.array([bound]))
    assert low[0] <= theirs.get_lower_bound(2) <= 20_000 <= theirs.get_upper_bound(2) <= high[0]
    assert high[0] - low[0] == pytest.approx(
        (theirs.get_upper_bound(2) - theirs.get_lower_bound(2)) * WITHIN / 2, rel=0.02
    )


def test_few_values_are_all_kept_and_counted() -> None:
    values, bound = kept(numbers(VALUES_KEPT, 4), VALUES_KEPT)
    assert (len(values), bound) == (VALUES_KEPT, None)
    low, high = bounds(np.array([VALUES_KEPT]), np.array([NO_BOUND]))
    assert low[0] == high[0] == VALUES_KEPT
