"""Streams and queries as Python objects: a parameter that does not exist and a number without a unit are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from inspect import signature

import numpy as np
import pytest

import skyband as sb


def top(**options: object) -> sb.TopK:
    asked = {"name": "a", "k": 3, "by": "x", "window": "1 hour"} | options
    return sb.TopK(**asked)  # type: ignore[arg-type]


def above(**options: object) -> sb.Above:
    asked = {"name": "a", "threshold": 3, "by": "x", "window": "1 hour"} | options
    return sb.Above(**asked)  # type: ignore[arg-type]


def stream(**options: object) -> sb.Stream:
    return sb.Stream(**{"name": "s", "time": "ts"} | options)  # type: ignore[arg-type]


def across(**options: object) -> sb.Across:
    return sb.Across(**{"object": "o", "stream": "s"} | options)  # type: ignore[arg-type]


UNKNOWN: list[tuple[Callable[..., object], str, str | None]] = [
    (top, "order", "ascending"),
    (top, "desc", "ascending"),
    (top, "filter", "where"),
    (top, "wher", "where"),
    (top, "ascendin", "ascending"),
    (top, "partition_by", "per"),
    (top, "groupby", "group_by"),
    (top, "columns", "select"),
    (top, "fields", "select"),
    (top, "limit", "k"),
    (top, "n", "k"),
    (top, "order_by", "by"),
    (top, "Where", "where"),
    (top, "xyzzy", None),
    (above, "order", "ascending"),
    (above, "level", "threshold"),
    (above, "slides", "slide"),
    (stream, "timestamp", "time"),
    (stream, "fields", "columns"),
    (stream, "watermark", "lateness"),
    (across, "bounds", "between"),
    (across, "aggregate", "collect"),
    (lambda **given: sb.Feed("f", **given), "weigth", "weight"),
    (lambda **given: sb.Approximate(**given), "keep", "objects"),
    (lambda **given: sb.Workload([top()], **given), "source", "stream"),
]


@pytest.mark.parametrize(("make", "word", "nearest"), UNKNOWN, ids=[each[1] for each in UNKNOWN])
def test_a_parameter_that_does_not_exist_is_refused_with_the_nearest(
    make: Callable[..., object], word: str, nearest: str | None
) -> None:
    with pytest.raises(sb.SkybandError, match=f"`{word}=`") as caught:
        make(**{word: "whatever"})
    assert caught.value.hint == (None if nearest is None else f"did you mean `{nearest}=`?")
    if nearest is not None:
        assert nearest in str(caught.value.expected)


@pytest.mark.parametrize("kind", [sb.TopK, sb.Above])
def test_what_a_query_takes_stands_in_its_signature(kind: type[sb.TopK] | type[sb.Above]) -> None:
    named = signature(kind).parameters
    options = [
        "where",
        "per",
        "select",
        "ascending",
        "changes",
        "stream",
        "offset",
        "frequency",
        "cumulate",
        "using",
        "across",
        "approximate",
        "error",
        "join",
        "then",
        "group_by",
        "having",
        "rest",
        *(["ties", "half_life", "at_most"] if kind is sb.TopK else []),
    ]
    assert [name for name, each in named.items() if each.kind is each.KEYWORD_ONLY] == options
    assert not any(each.kind is each.VAR_KEYWORD for each in named.values())


BARE = [
    (lambda: top(window=3600), "window", 3600),
    (lambda: top(window=0.5), "window", 0.5),
    (lambda: top(slide=60), "slide", 60),
    (lambda: above(slide=np.int64(60)), "slide", 60),
    (lambda: top(offset=5), "offset", 5),
    (lambda: top(frequency=60), "frequency", 60),
    (lambda: stream(lateness=10), "lateness", 10),
]


@pytest.mark.parametrize(("make", "what", "number"), BARE, ids=[f"{what} {number}" for _, what, number in BARE])
def test_a_number_without_a_unit_is_no_length_of_time(make: Callable[[], object], what: str, number: float) -> None:
    with pytest.raises(sb.SkybandError, match=f"{what}={number} has no unit") as caught:
        make()
    hint = str(caught.value.hint)
    assert f"'{number} seconds' or timedelta(seconds={number})" in hint
    assert f"'{number} microseconds'" in hint
    assert (f"'{number} rows'" in hint) == (what == "window" and isinstance(number, int))


def test_the_refused_number_names_its_query() -> None:
    with pytest.raises(sb.SkybandError, match="query a: window=3600"):
        top(window=3600)


def test_zero_is_zero_in_every_unit() -> None:
    assert stream(lateness=0) == stream() == stream(lateness="0 seconds")
    assert top(offset=0) == top()


def test_rows_are_counted_in_bare_numbers() -> None:
    assert top(window="9000 rows", slide=1000) == top(window="9000 rows", slide="1000 rows")
    assert top(window="9000 rows", frequency=1000).window.at_least_every


def test_times_before_and_behind_are_lengths_too() -> None:
    assert top(offset="-5 seconds") == top(offset=timedelta(seconds=-5))


@pytest.mark.parametrize("lateness", ["-1 second", "40000000 weeks", timedelta(days=999_999_999)])
def test_lateness_has_a_range(lateness: str | timedelta) -> None:
    with pytest.raises(sb.SkybandError, match="a lateness of") as caught:
        stream(lateness=lateness)
    assert caught.value.expected == "zero or more, below 36,000 years"
