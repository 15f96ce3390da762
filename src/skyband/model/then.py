"""The second key of a ranking: what records with equal scores are ranked by."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skyband.errors import SkybandError

_DIRECTED = re.compile(r"(.*\S)\s+(ASC|DESC)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Then:
    """An expression, higher values first unless `ascending`. Records without a value come last either way."""

    by: str
    ascending: bool = False

    def __post_init__(self) -> None:
        if not self.by.strip():
            raise SkybandError("a second key without an expression", expected="an expression, as in `size ASC`")
        object.__setattr__(self, "by", self.by.strip())

    def __str__(self) -> str:
        return f"{self.by} {'ASC' if self.ascending else 'DESC'}"


def then(value: str | Then | None) -> Then | None:
    """A second key from what a person writes: 'size', 'size ASC', 'abs(change) DESC'."""
    if value is None or isinstance(value, Then):
        return value
    match = _DIRECTED.fullmatch(value)
    return Then(value) if match is None else Then(match[1], match[2].upper() == "ASC")
