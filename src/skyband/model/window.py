"""Windows: how much of the stream a report covers, and how often there is a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from skyband.errors import SkybandError
from skyband.model.duration import duration_text, given, microseconds
from skyband.model.types import Ints

Kind = Literal["range", "rows"]
_ROWS = re.compile(r"\s*(\d+)\s+rows?\s*", re.IGNORECASE)
LONGEST = 2**60
EVER = 5 * 2**60
"""As the width of a window: longer than from any time to a report of any other (times are within 2⁶¹, slides within
`LONGEST`), and what is added to a time or taken from it still fits into 64 bits."""
UNBOUNDED = "unbounded"
MOST_WINDOWS = 1_000_000
"""That hold one record: each of them is a report, whether anything else comes or not."""
MOST_STEPS = 100_000
"""Of a window that cumulates: each is looked at with every push."""
STEPS_HINT = (
    "SLIDE fixes the moments of the reports, and CUMULATE lets a window grow until the next begins; FREQUENCY lets the "
    "planner choose the moments"
)
Length = str | timedelta | int
"""Text, a timedelta, or a number of rows."""


class Beat(NamedTuple):
    """Reports at every moment congruent to `phase` modulo `period`, of the `width` before it."""

    width: int
    period: int
    phase: int


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
        if self.width // self.slide > MOST_WINDOWS:
            raise SkybandError(
                f"a window of {self.length_text(self.width)} with a {self.every_word} of "
                f"{self.length_text(self.slide)}: every record would be in {self.width // self.slide:,} windows, each "
                "of which is reported",
                expected=f"a {self.every_word} of which the window holds at most {MOST_WINDOWS:,}",
                hint=f"a {self.every_word} of {self.length_text(-(-self.width // MOST_WINDOWS))} will do",
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

    @property
    def special(self) -> str | None:
        """The word that makes it another window than most, for messages."""
        return None

    @property
    def unbounded(self) -> bool:
        """It has no start: whatever is older than its end is in it."""
        return False

    def end_phase(self) -> int:
        """Reports happen at every moment congruent to this, modulo `slide`."""
        return 0 if self.at_least_every else (self.offset + self.width) % self.slide

    def beats(self) -> list[Beat]:
        """When there are reports, and of how much."""
        return [Beat(self.width, self.slide, self.end_phase())]

    def starts(self, ends: Ints) -> Ints:
        """Where windows begin that end there."""
        return ends - self.width


@dataclass(frozen=True)
class CumulatingWindow(Window):
    """`[offset + j·width, offset + j·width + i·slide)` for every integer j and i = 1 … width / slide: what has come
    of a day so far, until it is over. Every step of the day is a beat of its own, which comes round once a day."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "rows" or self.at_least_every:
            raise SkybandError(
                f"CUMULATE goes with RANGE only, not with {'ROWS' if self.kind == 'rows' else 'FREQUENCY'}",
                expected="a window such as [RANGE 1 DAY CUMULATE 1 MINUTE]",
            )
        if self.width % self.slide or self.width // self.slide > MOST_STEPS:
            raise SkybandError(
                f"a window of {duration_text(self.width)} cannot be cumulated by {duration_text(self.slide)}",
                expected=f"a step of which the window holds a whole number, at most {MOST_STEPS:,}",
            )

    @property
    def every_word(self) -> str:
        return "step"

    @property
    def special(self) -> str:
        return "CUMULATE"

    def __str__(self) -> str:
        offset = f" OFFSET {duration_text(self.offset)}" if self.offset else ""
        return f"[RANGE {duration_text(self.width)} CUMULATE {duration_text(self.slide)}{offset}]"

    def beats(self) -> list[Beat]:
        lengths = range(self.slide, self.width + 1, self.slide)
        return [Beat(length, self.width, (self.offset + length) % self.width) for length in lengths]

    def starts(self, ends: Ints) -> Ints:
        return ends - 1 - (ends - 1 - self.offset) % self.width


@dataclass(frozen=True, init=False)
class UnboundedWindow(Window):
    """`(-∞, offset + j·slide)` for every integer j: all that ever came, told of again and again."""

    def __init__(self, slide: int, offset: int = 0) -> None:
        fields = {"kind": "range", "width": EVER, "slide": slide, "offset": offset, "at_least_every": False}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if not 0 < slide <= LONGEST:
            raise SkybandError(
                f"a slide must be longer than zero and shorter than 36,000 years, not {slide} microseconds"
            )

    @property
    def special(self) -> str:
        return "UNBOUNDED"

    @property
    def unbounded(self) -> bool:
        return True

    def __str__(self) -> str:
        offset = f" OFFSET {duration_text(self.offset)}" if self.offset else ""
        return f"[UNBOUNDED SLIDE {duration_text(self.slide)}{offset}]"

    def end_phase(self) -> int:
        return self.offset % self.slide


def window(
    width: str | timedelta | Window,
    slide: Length | None = None,
    offset: Length | None = None,
    frequency: Length | None = None,
    cumulate: Length | None = None,
) -> Window:
    """A Window from the words a person writes: `window("30 minutes", "1 minute")`, `window("100000 rows", 1000)`,
    `window("unbounded", "1 minute")`.

    Only rows are counted by bare numbers.
    """
    if isinstance(width, Window):
        if any(said is not None for said in (slide, offset, frequency, cumulate)):
            raise SkybandError(
                "a Window was given together with a slide, offset, frequency or cumulate",
                expected="either a Window object or the words",
            )
        return width
    steps = {"slide": slide, "frequency": frequency, "cumulate": cumulate}
    word, *more = [name for name, said in steps.items() if said is not None] or ["slide"]
    if more:
        raise SkybandError(f"both a {word} and a {more[0]} were given", expected="one of them", hint=STEPS_HINT)
    if isinstance(width, str) and width.strip().lower() == UNBOUNDED:
        return _unbounded(word, steps[word], offset)
    rows = _ROWS.fullmatch(width) if isinstance(width, str) else None
    length = int(rows[1]) if rows else microseconds(width, "window")
    measure = _row_count if rows else microseconds
    step = steps[word]
    return (CumulatingWindow if word == "cumulate" else Window)(
        kind="rows" if rows else "range",
        width=length,
        slide=length if step is None else measure(step, word),
        offset=0 if offset is None else measure(offset, "offset"),
        at_least_every=frequency is not None,
    )


def _unbounded(word: str, step: Length | None, offset: Length | None) -> Window:
    if word != "slide" or step is None:
        raise SkybandError(
            f"an unbounded window with {'no slide' if step is None else f'a {word}'}",
            expected="a slide: a report every so often, as in '1 minute'",
        )
    return UnboundedWindow(microseconds(step, "slide"), 0 if offset is None else microseconds(offset, "offset"))


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
