"""Disorder keeps its bound, and the late ones are truly late."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from skyband.datasets import arrival_order, disordered, lateness
from skyband.datasets._draw import generator
from skyband.errors import SkybandError

TIMES = st.lists(st.integers(0, 1_000), max_size=60).map(lambda x: np.sort(np.array(x, np.int64)))


@given(TIMES, st.integers(0, 300), st.integers(0, 5))
def test_no_record_is_later_than_the_bound(time: np.ndarray, bound: int, seed: int) -> None:
    order = arrival_order(time, bound, seed)
    assert np.array_equal(np.sort(order), np.arange(len(time)))
    assert lateness(time[order]).max(initial=0) <= bound


@given(TIMES, st.integers(0, 300), st.integers(0, 5), st.floats(0, 1))
def test_exactly_the_chosen_records_are_late(time: np.ndarray, bound: int, seed: int, late: float) -> None:
    order = arrival_order(time, bound, seed, late)
    assert np.array_equal(np.sort(order), np.arange(len(time)))
    chosen = generator(seed, 1).random(len(time)) < late
    newest_punctual = time[~chosen].max(initial=-1)
    truly_late = chosen & (time + bound < newest_punctual)
    assert np.array_equal(np.sort(order[lateness(time[order]) > bound]), np.flatnonzero(truly_late))


def test_the_share_of_late_records_is_as_asked() -> None:
    time = np.arange(100_000, dtype=np.int64) * 1_000
    order = arrival_order(time, 60_000, seed=1, late=0.05)
    share = (lateness(time[order]) > 60_000).mean()
    assert 0.045 < share < 0.055
    assert lateness(time[order]).max() <= 5 * 60_000


def test_order_is_really_lost_and_reproducible() -> None:
    time = np.arange(1_000, dtype=np.int64)
    order = arrival_order(time, 50, seed=1)
    assert (np.diff(order) < 0).mean() > 0.3
    assert np.array_equal(order, arrival_order(time, 50, seed=1))
    assert not np.array_equal(order, arrival_order(time, 50, seed=2))


def test_a_bound_of_zero_keeps_the_order_of_time() -> None:
    time = np.repeat(np.arange(100, dtype=np.int64), 3)
    assert lateness(time[arrival_order(time, 0)]).max() == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_table_is_disordered_by_its_time_column(unit: str) -> None:
    seconds = pa.array(range(100)).cast(pa.timestamp("s", "UTC"))
    table = pa.table({"ts": seconds.cast(pa.timestamp(unit, "UTC")), "n": range(100)})
    mixed = disordered(table, "ts", bound=10_000_000, seed=3)
    numbers = mixed["n"].to_numpy()
    assert sorted(numbers) == list(range(100))
    assert 0 < lateness(numbers).max() <= 10
    assert mixed["ts"].cast(pa.timestamp("s", "UTC")).cast(pa.int64()).to_numpy().tolist() == numbers.tolist()


def test_bad_settings_are_refused() -> None:
    time = np.arange(3, dtype=np.int64)
    with pytest.raises(SkybandError, match="bound = -1"):
        arrival_order(time, -1)
    with pytest.raises(SkybandError, match=r"a share of 1\.5"):
        arrival_order(time, 1, late=1.5)
    with pytest.raises(SkybandError, match="no column 'when'"):
        disordered(pa.table({"ts": [1]}), "when", 1)
