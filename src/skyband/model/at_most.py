"""AT MOST n PER c: how many records of one category a list may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skyband.errors import SkybandError
from skyband.model.names import quoted, tuple_of


@dataclass(frozen=True)
class AtMost:
    """No more than `count` records with the same values of these columns; NULL is a value of its own."""

    count: int
    per: tuple[str, ...]

    def __post_init__(self) -> None:
        if type(self.count) is not int or not 1 <= self.count < 2**31:
            raise SkybandError(f"AT MOST takes a whole number from 1 on, not {self.count!r}")
        if not self.per:
            raise SkybandError(
                f"AT MOST {self.count} without columns", expected="columns whose values are counted: (2, 'symbol')"
            )

    def __str__(self) -> str:
        return f"AT MOST {self.count} PER {', '.join(map(quoted, self.per))}"


def at_most(value: tuple[int, str | Sequence[str]] | AtMost | None) -> AtMost | None:
    """From what a person writes: (2, 'symbol'), (1, ['symbol', 'venue'])."""
    if value is None or isinstance(value, AtMost):
        return value
    try:
        count, columns = value
    except (TypeError, ValueError):
        raise SkybandError(f"at_most={value!r}", expected="a number and columns: (2, 'symbol')") from None
    return AtMost(count, tuple_of(columns))
