"""Lengths of time, in whole microseconds, and how people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from numbers import Integral, Real

from skyband.errors import SkybandError

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "m": "minute",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "w": "week",
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
UNITS_HINT = "units are microseconds, milliseconds, seconds, minutes, hours, days and weeks"


def unit_microseconds(word: str) -> int | None:
    """Microseconds in one `word` ('mins', 'HOURS', 's' ...); None when it is no unit of time."""
    name = word.lower()
    name = _SHORT.get(name, name)
    return MICROSECONDS.get(name, MICROSECONDS.get(name.removesuffix("s")))


def scale(number: str, unit: int) -> int | None:
    """`number` (decimal text) times `unit`, exactly; None when it is not a whole number of microseconds."""
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction) * unit
    power = 10 ** len(fraction)
    return digits // power if digits % power == 0 else None


def microseconds(value: object, what: str = "") -> int:
    """'1 hour 30 minutes', '-5 seconds' or a timedelta, as microseconds; `what` is the parameter it was given for.

    A bare number is refused, because people mean seconds by it, or milliseconds. Zero is zero in every unit.
    """
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, bool) or not isinstance(value, str | Real):
        raise SkybandError(
            f"{given(value, what)} is not a length of time", expected="text such as '30 minutes', or a timedelta"
        )
    if isinstance(value, Real):
        return _zero(value, what)
    sign = -1 if value.lstrip().startswith("-") else 1
    text = value.lstrip()[sign < 0 :]
    total, at = 0, 0
    for part in _PART.finditer(text):
        unit = unit_microseconds(part[2])
        amount = None if unit is None or part.start() != at else scale(part[1], unit)
        if amount is None:
            break
        total, at = total + amount, part.end()
    if at == 0 or text[at:].strip():
        raise SkybandError(
            f"{given(value, what)} is not a length of time",
            expected="a number and a unit, as in '30 minutes'",
            hint=UNITS_HINT,
        )
    return sign * total


def given(value: object, what: str) -> str:
    """A value as the caller wrote it, with its parameter where that is known."""
    text = str(value) if isinstance(value, Real) else repr(value)
    return f"{what}={text}" if what else text


def _zero(value: Real, what: str) -> int:
    if value == 0:
        return 0
    several = what.endswith("window") and isinstance(value, Integral)
    raise SkybandError(
        f"{given(value, what)} has no unit",
        expected="text such as '30 minutes', or a timedelta",
        hint=f"write '{value} seconds' or timedelta(seconds={value}), or '{value} microseconds' if those are meant"
        + (f"; '{value} rows' is a window of rows" if several else ""),
    )


def duration_text(value: int) -> str:
    """The shortest exact way to write `value` microseconds: '30 MINUTES', '1 HOUR', '0 SECONDS'."""
    if value == 0:
        return "0 SECONDS"
    for name in ("week", "day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(value, MICROSECONDS[name])
        if rest == 0:
            return f"{count} {name.upper()}{'' if count == 1 else 'S'}"
    raise AssertionError("every whole number of microseconds is a number of microseconds")
