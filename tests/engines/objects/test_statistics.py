"""What the approximate engine learns about streams: joins, delays, occurrences, over the window and no longer."""

from __future__ import annotations

import datasketches
import numpy as np
import pytest

from skyband.datasets import appearances
from skyband.engines.kernels.objects.delays import USED, marks
from skyband.engines.kernels.objects.estimate import reached_by, to_come
from skyband.engines.objects.correlation import (
    LG_K,
    Correlation,
    Sketch,
    Smallest,
    join_by_union,
    joined,
    sketch_of,
    united,
)
from skyband.engines.objects.statistics import FOLLOWED, Statistics
from skyband.model import Ints
from skyband.model.apart import AttributeValues

NO_SETS = np.empty(0, np.int64)


def of_objects(low: int, high: int) -> Smallest:
    found = Smallest(np.empty(0, np.uint64))
    for begin in range(low, high, 700):
        found.add(marks(np.arange(begin, min(begin + 700, high))))
    return found


def sketch(low: int, high: int) -> Sketch:
    found = of_objects(low, high)
    return sketch_of(found.marks, found.bound)


def test_the_library_reads_our_sketches_as_its_own() -> None:
    few, none = sketch(0, 500), sketch_of(np.empty(0, np.uint64))
    assert few.get_estimate() == 500
    assert not few.is_estimation_mode()
    assert none.is_empty()
    assert united([few, none]).get_estimate() == 500
    assert joined(few, sketch(400, 900)).get_estimate() == 100
    many = sketch(0, 50_000)
    assert many.is_estimation_mode()
    assert many.num_retained == 1 << LG_K
    assert many.get_estimate() == pytest.approx(50_000, rel=0.1)
    theirs = datasketches.update_theta_sketch(LG_K)
    assert many.get_seed_hash() == theirs.get_seed_hash()


def test_hashes_by_batches_are_those_of_all_at_once() -> None:
    parts, whole = of_objects(0, 5_000), Smallest(np.empty(0, np.uint64))
    whole.add(marks(np.arange(5_000)))
    assert parts.bound == whole.bound
    np.testing.assert_array_equal(parts.marks, whole.marks)


def test_small_joins_are_nearer_by_intersection_than_by_inclusion_and_exclusion() -> None:
    theta, union = [], []
    for n in range(12):
        one, other = sketch(n * 50_000, n * 50_000 + 20_000), sketch(n * 50_000 + 19_000, n * 50_000 + 39_000)
        theta.append(joined(one, other).get_estimate() - 1_000)
        union.append(join_by_union(one, other) - 1_000)
    assert 2 * np.sqrt(np.mean(np.square(theta))) < np.sqrt(np.mean(np.square(union)))


def test_two_streams_together_say_more_than_each() -> None:
    """Objects 0 to 99 are in streams 0, 1 and 2, objects 100 to 199 in 0 and 3, 200 to 299 in 1 and 3."""
    known = Correlation(4)
    for objects, streams in ((range(100), (0, 1, 2)), (range(100, 200), (0, 3)), (range(200, 300), (1, 3))):
        for x in streams:
            known.observe(marks(np.array(objects)), np.full(100, x))
    known.close(10, 0)
    np.testing.assert_allclose(known.given(0b0001)[1:], [0.5, 0.5, 0.5])
    both = known.given(0b0011)
    assert both[2] > 0.95
    assert both[3] < 0.05


def test_a_pane_that_has_left_the_window_is_forgotten() -> None:
    known = Correlation(2)
    for x in (0, 1):
        known.observe(marks(np.arange(100)), np.full(100, x))
    known.close(10, 0)
    assert known.pair[0, 1] == 1.0
    known.observe(marks(np.arange(1_000, 1_100)), np.full(100, 0))
    known.close(20, 9)
    assert known.pair[0, 1] == 0.5
    known.observe(marks(np.arange(2_000, 2_100)), np.full(100, 0))
    known.close(30, 15)
    assert known.pair[0, 1] == 0.0


def paired(n: int, delay: int, share: float) -> AttributeValues:
    """Object i is in stream 0 at 10·i, and a share of them in stream 1 a delay later."""
    rng = np.random.default_rng(3)
    first = 10 * np.arange(n)
    comes = rng.random(n) < share
    at = np.concatenate((first, first[comes] + delay))
    key = np.concatenate((np.arange(n), np.flatnonzero(comes)))
    stream = np.concatenate((np.zeros(n, np.int64), np.ones(int(comes.sum()), np.int64)))
    order = np.argsort(at, kind="stable")
    return AttributeValues(order, at[order], key[order], stream[order], rng.random(len(at)))


def fed(statistics: Statistics, values: AttributeValues, sets: Ints = NO_SETS) -> Statistics:
    for end in range(statistics.pane, int(values.at[-1]), statistics.pane):
        statistics.observe(values[np.flatnonzero((values.at >= end - statistics.pane) & (values.at < end))])
        statistics.close(end, sets)
    return statistics


def test_an_object_that_should_have_come_and_did_not_is_not_waited_for() -> None:
    statistics = fed(Statistics(2, 10_000), paired(4_000, 400, 0.5))
    foreseen = statistics.forecast
    assert foreseen is not None
    assert foreseen.pair[0, 1] == pytest.approx(0.5, abs=0.08)
    assert foreseen.pair[1, 0] > 0.9
    assert reached_by(foreseen, 0, 1, 100) < 0.1
    assert reached_by(foreseen, 0, 1, 900) > 0.9
    young, old = (to_come(foreseen, foreseen.pair[0, 1], 0, 1, age) for age in (100, 1_500))
    assert young > 0.4
    assert old < 0.02
    # Nobody goes from 1 to 0. All were there before, so one that was not is a riddle, yet not one to wait for.
    assert to_come(foreseen, foreseen.pair[1, 0], 1, 0, 0) < 0.5 * foreseen.pair[1, 0]


def test_occurrences_and_values_of_the_window() -> None:
    n = 4_000
    at = np.arange(n)
    values = AttributeValues(at, at, (at // 2) % 100, at % 2, np.where(at % 2 == 0, 3.0, at % 7))
    foreseen = fed(Statistics(2, 2_000), values).forecast
    assert foreseen is not None
    # In a window of 2,000 each stream sees its 100 objects ten times.
    np.testing.assert_allclose(foreseen.many, 10.0, rtol=0.25)
    assert foreseen.amount[0] == pytest.approx(3.0)
    assert foreseen.amount[1] > 6.0
    np.testing.assert_allclose(np.diag(foreseen.pair), 0.9, atol=0.03)


def test_the_sample_of_delays_stays_small_and_streams_may_come_later() -> None:
    values = appearances(20_000, 5, seed=2)
    statistics = fed(Statistics(0, 5_000), values)
    assert statistics.streams == 5
    assert FOLLOWED // 8 <= statistics.sample.sizes[USED] <= FOLLOWED
    assert statistics.forecast is not None
    assert statistics.forecast.pair.shape == (5, 5)


def test_statistics_go_on_after_a_restart_as_if_there_was_none() -> None:
    values, sets = appearances(6_000, 4, seed=4), np.array([0b0011, 0b0111, 0b0111])
    one = fed(Statistics(4, 1_000), values[slice(0, 3_100)], sets)
    other = Statistics.resumed(one.state(), 4, 1_000)
    for each in (one, other):
        each.observe(values[slice(3_100, 4_000)])
        assert each.close(4_000, sets)
    assert one.forecast is not None
    assert other.forecast is not None
    for mine, theirs in zip(one.forecast, other.forecast, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_restart_between_a_new_stream_and_the_next_forecast_is_none() -> None:
    """The forecast knows fewer streams than there are: that was refused as damaged."""
    values = appearances(6_000, 4, seed=4)
    one = fed(Statistics(0, 1_000), values[np.flatnonzero((values.stream < 3) & (values.at < 3_000))])
    one.observe(values[np.flatnonzero((values.at >= 3_000) & (values.at < 3_050))])
    assert one.forecast is not None
    assert (len(one.forecast.pair), one.streams) == (3, 4)
    other = Statistics.resumed(one.state(), 0, 1_000)
    assert other.streams == 4
    assert other.forecast is not None
    for mine, theirs in zip(one.forecast, other.forecast, strict=True):
        np.testing.assert_array_equal(mine, theirs)
