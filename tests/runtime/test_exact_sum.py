"""Sums in the base 2³²: the nearest double to the exact sum, and integers that leave 64 bits are seen."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
from hypothesis import given, strategies as st

from skyband.runtime.exact_sum import as_floats, as_ints, as_quotients, digits_of_floats, digits_of_ints, eased
from tests.drawn import examples

doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1000, 1000, width=32),
    st.sampled_from([5e-324, -5e-324, 1.7e308, -1.7e308, 2.0**53, 1.0, 0.1, 1e16, 0.0, -0.0]),
)
integers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -(2**63), 0, -1]))


def nearest(values: list[float]) -> float:
    exact = sum(map(Fraction, values), Fraction())
    try:
        return float(exact) + 0.0
    except OverflowError:
        return inf if exact > 0 else -inf


@examples(600)
@given(values=st.lists(doubles, min_size=1, max_size=12), gone=st.integers(0, 12))
def test_a_sum_is_rounded_once_whatever_was_taken_away(values: list[float], gone: int) -> None:
    """Three numbers side by side: the sum, its opposite, and what is left when some have left again."""
    digits = digits_of_floats(np.array(values))
    sums = {
        place: np.array([each.sum(), -each.sum(), each.sum() - each[:gone].sum()]) for place, each in digits.items()
    }
    assert as_floats(sums).tolist() == [nearest(values), -nearest(values) + 0.0, nearest(values[gone:])]


@examples(300)
@given(values=st.lists(integers, min_size=1, max_size=6))
def test_integers_that_leave_64_bits_are_seen(values: list[int]) -> None:
    digits = digits_of_ints(np.array(values, np.int64))
    found, beyond = as_ints({place: np.array([each.sum(), 0]) for place, each in digits.items()})
    fits = -(2**63) <= sum(values) < 2**63
    assert beyond.tolist() == [not fits, False]
    assert not fits or found.tolist() == [sum(values), 0]


@examples(200)
@given(digits=st.dictionaries(st.integers(-2, 2), st.integers(-(2**62), 2**62), min_size=1), again=st.integers(1, 3))
def test_digits_that_are_carried_are_the_same_number_and_leave_room(digits: dict[int, int], again: int) -> None:
    """Also when it is done once more: no digit is made for nothing."""
    found = {place: np.array([digit, 0, -digit]) for place, digit in digits.items()}
    for _ in range(again):
        found = eased(found)
    exact = sum(Fraction(digit) * Fraction(2) ** (32 * place) for place, digit in digits.items())
    told = [
        sum(Fraction(int(each[at])) * Fraction(2) ** (32 * place) for place, each in found.items()) for at in range(3)
    ]
    assert told == [exact, 0, -exact]
    assert all((np.abs(each) < 2**49).all() for each in found.values())
    assert len(found) <= len(digits) + 5


@examples(200)
@given(values=st.lists(integers, min_size=1, max_size=4), scale=st.integers(0, 18))
def test_quotients_are_rounded_once(values: list[int], scale: int) -> None:
    """Also of sums that leave 64 bits."""
    digits = {place: np.array([each.sum(), 0]) for place, each in digits_of_ints(np.array(values, np.int64)).items()}
    assert as_quotients(digits, 10**scale).tolist() == [float(Fraction(sum(values), 10**scale)), 0.0]
