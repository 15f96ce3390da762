"""Windows: how much of the stream a report covers, and how often there is a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from skyband.errors import SkybandError
from skyband.model.duration import duration_text, given, microseconds

Kind = Literal["range", "rows"]
_ROWS = re.compile(r"\s*(\d+)\s+rows?\s*", re.IGNORECASE)
LONGEST = 2**60
Length = str | timedelta | int
"""Text, a timedelta, or a number of rows."""


@dataclass(frozen=True)
class Window:
    """`[offset + j·slide, offset + j·slide + width)` for every integer j.

    Measured in microseconds since the epoch for `range`, in positions of the stream for `rows`. With `at_least_every`
    (FREQUENCY) the planner chooses the moments; the period it uses is `slide`.
    """

    kind: Kind
    width: int
    slide: int
    offset: int = 0
    at_least_every: bool = False

    def __post_init__(self) -> None:
        unit = "rows" if self.kind == "rows" else "microseconds"
        if self.width <= 0 or self.width > LONGEST:
            raise SkybandError(
                f"a window must be longer than zero and shorter than 36,000 years, not {self.width} {unit}"
            )
        if self.slide <= 0:
            raise SkybandError(f"a {self.every_word} must be longer than zero, not {self.slide} {unit}")
        if self.offset and (self.kind == "rows" or self.at_least_every):
            raise SkybandError(
                f"OFFSET goes with RANGE and SLIDE only, not with {'ROWS' if self.kind == 'rows' else 'FREQUENCY'}",
                hint="positions count from the first record, and FREQUENCY leaves the moments to the planner",
            )
        if self.slide > self.width:
            raise SkybandError(
                f"the {self.every_word} ({self.length_text(self.slide)}) is longer than the window "
                f"({self.length_text(self.width)}), so some records would be in no window",
                expected=f"a {self.every_word} of at most the window",
                hint="make the window longer or the step shorter",
            )

    @property
    def every_word(self) -> str:
        return "frequency" if self.at_least_every else "slide"

    def length_text(self, length: int) -> str:
        if self.kind == "rows":
            return f"{length} ROW{'' if length == 1 else 'S'}"
        return duration_text(length)

    def __str__(self) -> str:
        bare = self.kind == "rows"
        length = str(self.width) if bare else duration_text(self.width)
        text = f"{self.kind.upper()} {length}"
        if not self.at_least_every and self.slide != self.width:
            text += f" SLIDE {self.slide if bare else duration_text(self.slide)}"
        if self.offset:
            text += f" OFFSET {self.offset if bare else duration_text(self.offset)}"
        return f"[{text}]"

    def end_phase(self) -> int:
        """Reports happen at every moment congruent to this, modulo `slide`."""
        return 0 if self.at_least_every else (self.offset + self.width) % self.slide


def window(
    width: str | timedelta | Window,
    slide: Length | None = None,
    offset: Length | None = None,
    frequency: Length | None = None,
) -> Window:
    """A Window from the words a person writes: `window("30 minutes", "1 minute")`, `window("100000 rows", 1000)`.

    Only rows are counted by bare numbers.
    """
    if isinstance(width, Window):
        if slide is not None or offset is not None or frequency is not None:
            raise SkybandError(
                "a Window was given together with a slide, offset or frequency",
                expected="either a Window object or the words",
            )
        return width
    if slide is not None and frequency is not None:
        raise SkybandError(
            "both a slide and a frequency were given",
            expected="one of them",
            hint="SLIDE fixes the moments of the reports; FREQUENCY lets the planner choose them",
        )
    rows = _ROWS.fullmatch(width) if isinstance(width, str) else None
    length = int(rows[1]) if rows else microseconds(width, "window")
    measure = _row_count if rows else microseconds
    step, word = (slide, "slide") if slide is not None else (frequency, "frequency")
    return Window(
        kind="rows" if rows else "range",
        width=length,
        slide=length if step is None else measure(step, word),
        offset=0 if offset is None else measure(offset, "offset"),
        at_least_every=frequency is not None,
    )


def _row_count(value: Length, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"\s*(\d+)(\s+rows?)?\s*", value, re.IGNORECASE) if isinstance(value, str) else None
    if not match:
        raise SkybandError(
            f"{given(value, what)} is not a number of rows",
            expected="a whole number, or text such as '1000 rows'",
            hint="a window of rows slides by rows, a window of time by time",
        )
    return int(match[1])
