"""Lengths of time, numbers of rows, and the window in square brackets."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.expressions.bind import did_you_mean
from skyband.model import CumulatingWindow, Kind, UnboundedWindow, Window
from skyband.model.duration import MICROSECONDS, UNITS_HINT, scale, unit_microseconds
from skyband.model.window import STEPS_HINT

_STEPS = ("SLIDE", "CUMULATE", "OFFSET")
_SLIDES = ("HOP", "EVERY", "STEP", "ADVANCE", "BY")
_TUMBLING, _HOPPING = "[RANGE 1 HOUR]: one window follows the other", "[RANGE 1 HOUR SLIDE 1 MINUTE]"
_WINDOWS = {
    **dict.fromkeys(("TUMBLE", "TUMBLING", "SIZE", "LAST", "INTERVAL", "WINDOW"), _TUMBLING),
    **dict.fromkeys(("HOP", "HOPPING", "SLIDE", "SLIDING"), _HOPPING),
    "CUMULATE": "[RANGE 1 DAY CUMULATE 1 MINUTE]",
    "SESSION": "windows have a length that is said: [RANGE 1 HOUR]; where a session ends only what comes later tells",
    "COUNT": "[ROWS 1000] counts records",
}
"""What is said in other dialects, and how it is spelled here."""


@dataclass(frozen=True)
class Length:
    """Microseconds or rows, and where they are written."""

    amount: int
    span: Span


@dataclass(frozen=True)
class Frame:
    """What stands in the square brackets."""

    kind: Kind
    width: Length | None
    """None: it has no start."""
    slide: Length | None
    offset: Length | None
    span: Span
    cumulate: Length | None = None


def duration(cursor: Cursor, what: str) -> Length:
    """`30 MINUTES`, `1 HOUR 30 MINUTES`, `0.5 s`, and for offsets `-5 SECONDS`."""
    start = cursor.at
    sign = -1 if cursor.accept("-") else 1
    total = _part(cursor, what)
    while (token := cursor.peek()) is not None and token.text[:1].isdigit():
        total += _part(cursor, what)
    return Length(sign * total, cursor.since(start))


def _part(cursor: Cursor, what: str) -> int:
    start = cursor.at
    number = cursor.number(what)
    unit = cursor.peek()
    micros = unit_microseconds(unit.text) if unit is not None and cursor.is_name() else None
    if unit is None or micros is None:
        raise _no_unit(cursor, number, what)
    cursor.at += 1
    amount = scale(number, micros) if number.replace(".", "", 1).isdigit() else None
    if amount is None:
        raise SkybandError(
            f"{number} {unit.text} is not a whole number of microseconds",
            expected="a length of time in whole microseconds",
            span=cursor.since(start),
        )
    return amount


def _no_unit(cursor: Cursor, number: str, what: str) -> SkybandError:
    if cursor.is_word("ROWS") or cursor.is_word("ROW"):
        return cursor.error(
            f"found {cursor.found()} after {number}, in a window of time",
            expected="a unit of time",
            hint=f"a window of rows is written [ROWS {number}]",
        )
    token = cursor.peek()
    close = did_you_mean(token.text, [f"{unit}s" for unit in MICROSECONDS]) if token and cursor.is_name() else None
    return cursor.error(
        f"found {cursor.found()} after {number}",
        expected="a unit of time, as in `30 MINUTES`",
        hint=close or UNITS_HINT,
    )


def rows(cursor: Cursor, what: str) -> Length:
    """`1000` or `1000 ROWS`."""
    start = cursor.at
    number = cursor.number(what)
    if not number.isdigit():
        raise SkybandError(f"{number} is not a number of rows", expected="a whole number", span=cursor.since(start))
    token = cursor.peek()
    if token is not None and cursor.is_name() and unit_microseconds(token.text) is not None:
        raise cursor.error(
            f"found {cursor.found()} after {number}, in a window of rows",
            expected="a number of rows",
            hint=f"a window of time is written [RANGE {number} {token.text.upper()}]",
        )
    if not cursor.accept("ROWS"):
        cursor.accept("ROW")
    return Length(int(number), cursor.since(start))


def frame(cursor: Cursor) -> Frame:
    """`[RANGE 1 HOUR SLIDE 1 MINUTE OFFSET 5 SECONDS]`, `[ROWS 100000 SLIDE 1000]`, `[UNBOUNDED SLIDE 1 MINUTE]`."""
    start = cursor.at
    if not cursor.accept("["):
        raise cursor.error(
            f"found {cursor.found()} where the window should be",
            expected="a window, such as [RANGE 30 MINUTES SLIDE 1 MINUTE] or [ROWS 1000]",
            hint="the window comes right after the stream's name",
        )
    unbounded = cursor.accept("UNBOUNDED")
    kind = "range" if unbounded else _kind(cursor)
    width = None if unbounded else measure(cursor, kind, "the window")
    steps: dict[str, Length] = {}
    while not cursor.accept("]"):
        word = _step(cursor, steps)
        steps[word] = measure(cursor, kind, f"the {word.lower()}")
    return Frame(kind, width, steps.get("SLIDE"), steps.get("OFFSET"), cursor.since(start), steps.get("CUMULATE"))


def measure(cursor: Cursor, kind: Kind, what: str) -> Length:
    return rows(cursor, what) if kind == "rows" else duration(cursor, what)


def _kind(cursor: Cursor) -> Kind:
    if cursor.accept("RANGE"):
        return "range"
    if cursor.accept("ROWS"):
        return "rows"
    token = cursor.peek()
    known = _WINDOWS.get(token.text.upper()) if token else None
    if token is not None and token.token_type is TokenType.NUMBER:
        known = f"[RANGE {token.text} MINUTES] is a window of time, [ROWS {token.text}] one of records"
    hint = known or (did_you_mean(token.text, ("RANGE", "ROWS", "UNBOUNDED")) if token else None)
    raise cursor.error(
        f"found {cursor.found()} at the start of a window", expected="`RANGE`, `ROWS` or `UNBOUNDED`", hint=hint
    )


def _step(cursor: Cursor, seen: dict[str, Length]) -> str:
    for word in _STEPS:
        if cursor.is_word(word) and word in seen:
            raise cursor.error(f"{word} stands twice in this window", expected="one of them")
        if cursor.accept(word):
            return word
    token = cursor.peek()
    hint = did_you_mean(token.text, _STEPS) if token and cursor.is_name() else None
    if token is not None and token.text.upper() in _SLIDES:
        hint = "SLIDE says how far the next window starts behind this one: [RANGE 1 HOUR SLIDE 1 MINUTE]"
    expected = "`SLIDE`, `CUMULATE`, `OFFSET` or `]`"
    raise cursor.error(f"found {cursor.found()} inside a window", expected=expected, hint=hint)


def window(frame: Frame, frequency: Length | None) -> Window:
    """The model's Window, built part by part so that each complaint points at the part it is about."""
    given = {"SLIDE": frame.slide, "CUMULATE": frame.cumulate, "FREQUENCY": frequency}
    steps = [(word, step) for word, step in given.items() if step is not None]
    if len(steps) > 1:
        (one, _), (other, step), *_ = steps
        raise SkybandError(
            f"both {one} and {other} were given", expected="one of them", hint=STEPS_HINT, span=step.span
        )
    if frame.width is None:
        return _unbounded(frame, frequency)
    kind = CumulatingWindow if frame.cumulate is not None else Window
    width, often = frame.width.amount, frequency is not None
    built = _located(Window, frame.width.span, frame.kind, width, width)
    for _, step in steps:
        built = _located(kind, step.span, frame.kind, width, step.amount, 0, often)
    if frame.offset is not None:
        built = _located(kind, frame.offset.span, frame.kind, width, built.slide, frame.offset.amount, often)
    return built


def _unbounded(frame: Frame, frequency: Length | None) -> Window:
    other = frame.cumulate or frequency
    if frame.slide is None:
        found = "no SLIDE" if other is None else "CUMULATE" if frame.cumulate else "FREQUENCY"
        raise SkybandError(
            f"an UNBOUNDED window with {found}",
            expected="a window such as [UNBOUNDED SLIDE 1 MINUTE]",
            hint="it never ends, so it has to say when there are reports",
            span=frame.span if other is None else other.span,
        )
    offset = frame.offset or Length(0, frame.span)
    try:
        return UnboundedWindow(frame.slide.amount, offset.amount)
    except SkybandError as error:
        raise located(error, frame.slide.span) from None


def _located(
    of: type[Window], span: Span, kind: Kind, width: int, slide: int, offset: int = 0, often: bool = False
) -> Window:
    try:
        return of(kind, width, slide, offset, often)
    except SkybandError as error:
        raise located(error, span) from None
