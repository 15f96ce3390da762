"""Which times of a stream may be true. One record with a time far ahead of the others would take the watermark with it,
and all that comes after would be late."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import ClassVar, Protocol

from skyband.errors import SkybandError
from skyband.model.duration import duration_text, microseconds
from skyband.model.window import LONGEST

A_DAY = "1 day"
"""How far ahead of the clock a time may be where nothing is said."""
FURTHEST = 2**61
"""In microseconds from 1970: no time is further away."""
Moment = str | date
"""Text in ISO form, a datetime, or a date. In UTC unless it says a zone."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """What the clock on the wall says."""
    return datetime.now(UTC)


class TimeBounds(Protocol):
    """What a stream says of its times."""

    by_clock: ClassVar[bool]
    """Whether it depends on what time it is."""

    def limits(self, now: int) -> tuple[int, int]:
        """The first and the last time that may be true, in microseconds, when the clock says `now`."""
        ...

    @property
    def told(self) -> str:
        """Which these are, in words."""
        ...

    @property
    def broken(self) -> str:
        """What is said of a time that is not one of these."""
        ...

    @property
    def option(self) -> str | None:
        """As an option of the stream; None where it stands elsewhere, or is what holds where nothing is said."""
        ...

    @property
    def behind_time(self) -> str:
        """What stands behind the column of times."""
        ...


@dataclass(frozen=True)
class Ahead:
    """No time is further ahead of the clock than that."""

    length: int
    by_clock: ClassVar[bool] = True
    behind_time: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not 0 <= self.length <= LONGEST:
            raise SkybandError(
                f"AHEAD = {duration_text(self.length)} is out of range",
                expected="zero or more, below 36,000 years, or NONE",
            )

    def limits(self, now: int) -> tuple[int, int]:
        return -FURTHEST, min(now + self.length, FURTHEST)

    @property
    def told(self) -> str:
        return f"up to {duration_text(self.length)} ahead of the clock"

    @property
    def broken(self) -> str:
        return f"time more than {duration_text(self.length)} ahead of the clock"

    @property
    def option(self) -> str | None:
        return None if self == Ahead(microseconds(A_DAY)) else f"AHEAD = {duration_text(self.length)}"


@dataclass(frozen=True)
class AnyTime:
    """There is no bound."""

    by_clock: ClassVar[bool] = False
    told: ClassVar[str] = "however far ahead of the clock"
    broken: ClassVar[str] = "time out of range"
    option: ClassVar[str] = "AHEAD = NONE"
    behind_time: ClassVar[str] = ""

    def limits(self, now: int) -> tuple[int, int]:
        return -FURTHEST, FURTHEST


@dataclass(frozen=True)
class Between:
    """Of a history: every time is one of these, the two among them."""

    first: int
    last: int
    by_clock: ClassVar[bool] = False
    option: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise SkybandError(
                f"no time is between {moment_text(self.first)} and {moment_text(self.last)}",
                expected="the earlier one first",
            )

    def limits(self, now: int) -> tuple[int, int]:
        return self.first, self.last

    @property
    def told(self) -> str:
        return f"times{self.behind_time}"

    @property
    def broken(self) -> str:
        return f"time not{self.behind_time}"

    @property
    def behind_time(self) -> str:
        return f" BETWEEN {moment_text(self.first)} AND {moment_text(self.last)}"


def time_bounds(ahead: str | timedelta | None, between: tuple[Moment, Moment] | None) -> TimeBounds:
    """What the parameters of a stream mean."""
    if between is not None:
        if ahead != A_DAY:
            raise both_given()
        first, last = between
        return Between(moment(first), moment(last))
    return AnyTime() if ahead is None else Ahead(microseconds(ahead, "ahead"))


def both_given() -> SkybandError:
    return SkybandError(
        "both AHEAD and BETWEEN were given",
        expected="one of them",
        hint="BETWEEN says which times there are, whatever the clock says",
    )


def moment(value: Moment) -> int:
    """Microseconds from 1970."""
    try:
        found = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        raise SkybandError(
            f"{value!r} is not a time", expected="such as '2026-01-31' or '2026-01-31 12:00:00'"
        ) from None
    if not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def moment_text(at: int) -> str:
    """As a constant of the language."""
    return f"TIMESTAMP '{(_EPOCH + timedelta(microseconds=at)).replace(tzinfo=None).isoformat(' ')}'"
