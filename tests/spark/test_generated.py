"""Tables that a function makes: every worker goes on where it was, whoever made those in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

import pyarrow as pa

from skyband.spark.io.generated import between

made: list[int] = []


def numbers(options: Mapping[str, str]) -> Iterator[pa.Table]:
    for number in count():
        made.append(number)
        yield pa.table({"n": [number]})


def told(first: int, last: int) -> list[int]:
    return [table.column("n")[0].as_py() for table in between(numbers, {"seed": "1"}, first, last)]


def test_what_others_made_is_passed_over_and_not_made_from_the_beginning() -> None:
    """Of two workers that take turns each began anew, again and again: a stream took longer with every minute."""
    for first in range(0, 1_000, 20):
        assert told(first, first + 10) == list(range(first, first + 10))
    assert made == list(range(990))


def test_a_replay_begins_again() -> None:
    assert told(5, 8) == told(5, 8) == [5, 6, 7]
    assert told(0, 2) == [0, 1]
