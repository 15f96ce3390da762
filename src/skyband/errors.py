"""Every error a user meets: what was found, what was expected, what to do, and where."""

from __future__ import annotations

from dataclasses import dataclass

from skyband.redaction import redacted


@dataclass(frozen=True)
class Span:
    """A stretch of source text, by character offsets; `start == end` points between two characters."""

    source: str
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        return self.start - (self.source.rfind("\n", 0, self.start) + 1) + 1

    def underlined(self) -> str:
        """The line the span starts on, with the span marked below it."""
        first = self.source.rfind("\n", 0, self.start) + 1
        last = self.source.find("\n", self.start)
        text = self.source[first:] if last < 0 else self.source[first:last]
        width = max(1, min(self.end, first + len(text)) - self.start)
        number = str(self.line)
        gutter = " " * len(number)
        return f"{number} | {text}\n{gutter} | {' ' * (self.column - 1)}{'^' * width}"


class SkybandError(Exception):
    """A mistake that can be named before anything runs.

    `message` says what was found, `expected` what would have been right, `hint` what to do, `span` where. None of them
    shows a secret.
    """

    exit_code = 2
    """Of a command that ends with it."""

    def __init__(
        self, message: str, *, expected: str | None = None, hint: str | None = None, span: Span | None = None
    ) -> None:
        super().__init__(redacted(message))
        self.message = redacted(message)
        self.expected = None if expected is None else redacted(expected)
        self.hint = None if hint is None else redacted(hint)
        self.span = span

    def __str__(self) -> str:
        where = f" (line {self.span.line}, column {self.span.column})" if self.span else ""
        parts = [f"{self.message}{where}"]
        if self.span:
            parts.append(self.span.underlined())
        if self.expected:
            parts.append(f"expected: {self.expected}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class UnavailableError(SkybandError):
    """Something that is needed is not there, or not now: Java, memory, a server, an address. The same command may do
    well elsewhere or later."""

    exit_code = 3


class DataError(SkybandError):
    """Data or kept state that cannot be used as it is. The same command ends in the same way until that has changed."""

    exit_code = 4


def disk_full() -> SkybandError:
    return UnavailableError(
        "a disk is full: that of the sink, the checkpoint or temporary files",
        hint="make room; what was committed is safe, and the same command goes on from --checkpoint",
    )
