"""Exact sums of doubles and of integers, as whole numbers in the base 2³².

A double is a whole number times a power of two, so it is a few digits of that base; digit `d` counts 2^(32 d). Digits
of many numbers are added up one by one, each in 64 bits, without carrying: two thousand million numbers fit. What has
been added can be taken away again, and no order of doing so changes the sum. It is rounded once, when it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skyband.model import Flags, Floats, Ints

Digits = Mapping[int, Ints]
"""By digit: one for each number."""
BITS = 32
MASK = (1 << BITS) - 1
SMALL = 1 << (BITS - 1)
LARGE = 48
EXACT = 1 << 53
"""Whole numbers up to here are doubles."""


def digits_of_ints(values: Ints) -> dict[int, Ints]:
    """One digit, which may be negative, where none is larger."""
    if not len(values) or (values.min() >= -SMALL and values.max() < SMALL):
        return {0: values}
    return {0: values & MASK, 1: values >> BITS}


def digits_of_floats(values: Floats) -> dict[int, Ints]:
    """Of finite doubles; digits that all are zero are left out, but for digit 0."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    exponent = exponent.astype(np.int64) - 53
    size, sign = np.abs(whole), np.where(whole < 0, -1, 1)
    first, shift = np.where(size == 0, 0, exponent >> 5), exponent & 31
    low = (size & MASK) << shift
    high = ((size >> BITS) << shift) + (low >> BITS)
    parts = [sign * (low & MASK), sign * (high & MASK), sign * (high >> BITS)]
    found: dict[int, Ints] = {0: np.zeros(len(values), np.int64)}
    for begin in np.unique(first).tolist():
        mine = first == begin
        everyone = bool(mine.all())
        for place, part in enumerate(parts):
            own = part if everyone else np.where(mine, part, 0)
            if own.any():
                before = found.get(begin + place)
                found[begin + place] = own if before is None else before + own
    return found


def carried(digits: Digits) -> tuple[Ints, int]:
    """All digits from the lowest on, each in [0, 2³²) but for the last, which has the sign: (digits, numbers); and the
    number of the first."""
    low, high = min(digits), max(digits)
    count = len(next(iter(digits.values())))
    found, carry = np.zeros((high - low + 3, count), np.int64), np.zeros(count, np.int64)
    for place in range(low, high + 3):
        whole = digits.get(place, 0) + carry
        last = place == high + 2
        found[place - low] = whole if last else whole & MASK
        carry = whole >> BITS
    return found, low


def eased(digits: Digits) -> dict[int, Ints]:
    """The same numbers with digits that leave room for more: what has grown beyond 2⁴⁸ is carried."""
    found, place = dict(digits), min(digits, default=0)
    while place <= max(found, default=-1):
        digit = found.get(place)
        if digit is not None and bool((np.abs(digit) >> LARGE).any()):
            found[place] = digit & MASK
            found[place + 1] = found.get(place + 1, 0) + (digit >> BITS)
        place += 1
    return found


def as_ints(digits: Digits) -> tuple[Ints, Flags]:
    """Whole numbers, and which of them leave 64 bits."""
    if set(digits) == {0}:
        return digits[0], np.zeros(len(digits[0]), bool)
    found, _ = carried(digits)
    value = found[0] + (found[1] << BITS)
    inner = np.where(value < 0, MASK, 0)
    # Higher digits say no more than the sign, which the last has.
    fits = (found[2:-1] == inner).all(axis=0) & (found[-1] == np.where(value < 0, -1, 0))
    return value, ~fits


def as_floats(digits: Digits) -> Floats:
    """The nearest doubles."""
    found, low = carried(digits)
    negative = found[-1] < 0
    if negative.any():
        turned, _ = carried({low + place: np.where(negative, -row, row) for place, row in enumerate(found)})
        found = turned[: len(found)]
    count = found.shape[1]
    every = np.arange(count)
    top = len(found) - 1 - np.argmax(found[::-1] != 0, axis=0)

    def digit(below: int) -> np.ndarray:
        place = top - below
        return np.where(place >= 0, found[np.maximum(place, 0), every], 0).astype(np.uint64)

    first, second, third = digit(0), digit(1), digit(2)
    sticky = np.zeros(count, bool)
    for place in range(len(found)):
        sticky |= (place < top - 2) & (found[place] != 0)
    # The upper 64 bits of three digits: more than a double has, so that one bit can stand for all below.
    room = np.uint64(31) - _log2(first)
    upper = (((first << np.uint64(32)) | second) << room) | (third >> (np.uint64(32) - room))
    below = (third << room) & np.uint64(MASK)
    upper |= (sticky | (below != 0)).astype(np.uint64)
    scale = BITS * (top + low - 1) - room.astype(np.int64)
    with np.errstate(over="ignore"):  # A sum may be beyond all doubles.
        value = np.ldexp(upper.astype(np.float64), scale)
    return np.asarray(np.where(negative, -value, value) + 0.0)


def as_quotients(digits: Digits, by: int) -> Floats:
    """The nearest doubles of the numbers divided by one that is a double, such as a power of ten below 10²³."""
    found = as_floats(digits) / by
    # A double that is the number itself was rounded by the division alone.
    whole, beyond = as_ints(digits)
    for place in np.flatnonzero(beyond | (np.abs(whole) > EXACT) | (whole < -EXACT)):
        exact = sum(int(digit[place]) << (BITS * number) for number, digit in digits.items())
        found[place] = exact / by  # Python rounds quotients of whole numbers once.
    return found


def _log2(values: np.ndarray) -> np.ndarray:
    """The highest bit of numbers below 2³²; of 0 it is 0."""
    return np.asarray(np.maximum(np.frexp(values.astype(np.float64))[1] - 1, 0), np.uint64)
