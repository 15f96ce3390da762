"""What a report over an uncertain stream says of the possible worlds of its window."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skyband.errors import SkybandError

SEMANTICS = ("PK_TOPK", "PT_K", "U_TOPK", "U_KRANKS", "EXPECTED_RANK", "PK_STREAMS")
ALIASES = {"GLOBAL_TOPK": "PK_TOPK"}
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(\s*([^()]*?)\s*\))?\s*")


@dataclass(frozen=True)
class Using:
    """A semantics by name; PT_K has a `level`, the least probability that is reported."""

    name: str = "PK_TOPK"
    level: float | None = None

    def __post_init__(self) -> None:
        name = ALIASES.get(self.name.upper(), self.name.upper())
        object.__setattr__(self, "name", name)
        if name not in SEMANTICS:
            raise SkybandError(f"there is no semantics called {self.name}", expected=f"one of {', '.join(names())}")
        if name == "PT_K" and self.level is None:
            raise SkybandError("PT_K does not say how likely a record must be", expected="a level, as in PT_K(0.8)")
        if name != "PT_K" and self.level is not None:
            raise SkybandError(f"{name} takes no level", expected=name)
        if self.level is not None and not 0 < self.level <= 1:
            raise SkybandError(f"PT_K takes a probability above 0 and up to 1, not {self.level:g}")

    @property
    def expects(self) -> bool:
        """Its figure is an expected rank and not a probability."""
        return self.name == "EXPECTED_RANK"

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.name}({self.level!r})"


def names() -> tuple[str, ...]:
    """Every word that may follow USING."""
    return (*SEMANTICS, *ALIASES)


def using(value: str | Using | None) -> Using | None:
    """A Using from what a person writes: 'PT_K(0.8)', 'u_topk'."""
    if value is None or isinstance(value, Using):
        return value
    match = _CALL.fullmatch(value)
    try:
        if match is None:
            raise ValueError(value)
        return Using(match[1], None if match[2] is None else float(match[2]))
    except ValueError:
        raise SkybandError(
            f"{value!r} is not a semantics", expected=f"one of {', '.join(names())}; PT_K with a level: PT_K(0.8)"
        ) from None
