"""Dates and times written as text, in those forms of which Arrow and Spark make the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Flags, Ints
from skyband.model.plain import raw_bytes

DAY, SECOND = len("2024-01-01"), len("2024-01-01T00:00:00")
_COLON, _UTC, _PLUS, _MINUS = map(ord, ":Z+-")
_OFFSET = r"[+-](0[0-9]|1[0-7])(:?[0-9][0-9])?$|[+-]18(:?00)?$"
"""Spark's end at 18 hours."""


def dates(text: pa.StringArray) -> pa.Array:
    """`2024-01-01`; ArrowInvalid where one has another form."""
    return text.cast(pa.date32())


def moments(text: pa.StringArray) -> tuple[pa.Array, Flags]:
    """Times without a zone (`2024-01-01T00:00:00.000001`, a blank for the T, up to nine digits behind the point, or a
    day alone), and which have another form; ArrowInvalid where a zone is said, or a day that there is not."""
    odd = _odd(text)
    return _parsed(_without(text, odd), None), odd


def instants(text: pa.StringArray) -> tuple[pa.Array, Flags]:
    """The same with a zone behind (`Z`, `+01:00`, `+0100`, `+01`), or without one for UTC."""
    odd = _odd(text) | _far(text)
    text = _without(text, odd)
    zoned = _zoned(text)
    if zoned.all():
        return _parsed(text, "UTC"), odd
    if not (zoned & np.asarray(text.is_valid())).any():
        return _parsed(text, None).cast(pa.timestamp("us", "UTC")), odd
    size = np.asarray(pc.fill_null(pc.binary_length(text), 0))
    more = pa.array(np.where(zoned, "", np.where(size == DAY, "T00:00:00Z", "Z")))
    return _parsed(pc.binary_join_element_wise(text, more, ""), "UTC"), odd


def _without(text: pa.StringArray, odd: Flags) -> pa.StringArray:
    return pc.if_else(pa.array(odd), None, text) if odd.any() else text


def _parsed(text: pa.StringArray, zone: str | None) -> pa.Array:
    """In microseconds, rounded down. The text may say nanoseconds, if the time is not too far away for them."""
    try:
        return text.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        fine = text.cast(pa.timestamp("ns", zone))
    number = np.asarray(pc.fill_null(fine.cast(pa.int64()), 0)) // 1_000
    return pa.array(number, mask=np.asarray(fine.is_null())).cast(pa.timestamp("us", zone))


def _odd(text: pa.StringArray) -> Flags:
    """Arrow takes hours without minutes, and minutes without seconds, and a zone behind them; Spark not all of that."""
    ends, data = raw_bytes(text)
    size = np.diff(ends)
    odd: Flags = (size != 0) & (size != DAY) & (size < SECOND)
    long = np.flatnonzero(size >= SECOND)
    odd[long] = (data[ends[long] + 13] != _COLON) | (data[ends[long] + 16] != _COLON)
    return odd


def _zoned(text: pa.StringArray) -> Flags:
    """Which texts say their zone; NULL counts as one that does."""
    ends, data = raw_bytes(text)
    size = np.diff(ends)
    found: Flags = (size == 0) | _signed(ends, data)
    some = np.flatnonzero(size)
    found[some] |= data[ends[some + 1] - 1] == _UTC
    return found


def _far(text: pa.StringArray) -> Flags:
    """Which texts say an offset beyond those that Spark knows."""
    ends, data = raw_bytes(text)
    found = _signed(ends, data)
    places = np.flatnonzero(found)
    if len(places):
        found[places] = ~np.asarray(pc.match_substring_regex(text.take(pa.array(places)), _OFFSET))
    return found


def _signed(ends: Ints, data: np.ndarray) -> Flags:
    """Which texts have a sign where an offset may begin, behind the seconds."""
    found = np.zeros(len(ends) - 1, bool)
    some = np.flatnonzero(np.diff(ends) > SECOND)
    some = some[data[ends[some + 1] - 1] != _UTC]
    for back in (6, 5, 3):
        place = ends[some + 1] - back
        sign = data[place]
        found[some] |= (place >= ends[some] + SECOND) & ((sign == _PLUS) | (sign == _MINUS))
    return found
