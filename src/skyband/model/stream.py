"""Where records come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Self

from skyband.errors import SkybandError
from skyband.model.duration import duration_text, microseconds
from skyband.model.frozen import set_fields
from skyband.model.names import quoted
from skyband.model.parameters import refuse_unknown
from skyband.model.table import LookedUp
from skyband.model.time_bounds import A_DAY, Moment, TimeBounds, time_bounds
from skyband.model.window import LONGEST


@contextmanager
def said_of_stream(name: str) -> Iterator[None]:
    """What is refused in it is said of the stream."""
    try:
        yield
    except SkybandError as wrong:
        wrong.message = f"stream {name}: {wrong.message}"
        raise


def check_lateness(late: int) -> int:
    """So many microseconds, which every clock can hold."""
    if not 0 <= late <= LONGEST:
        raise SkybandError(
            f"a lateness of {duration_text(late)} is out of range", expected="zero or more, below 36,000 years"
        )
    return late


def check_expiry(length: int) -> int:
    if not 0 < length <= LONGEST:
        raise SkybandError(
            f"EXPIRE = {duration_text(length)} is out of range", expected="more than zero, below 36,000 years"
        )
    return length


@dataclass(frozen=True, init=False)
class Stream:
    """Where records come from: which column is the time, which the key, and how late a record may be.

    `columns` (name, type) may be declared; otherwise they are taken from the first data seen. `op` names the column
    that tells inserts from deletes. On an uncertain stream `probability` is the column with each record's membership
    probability; records of one `rule` exclude each other, and `source` names the stream a record is from where several
    are read as one. A time that is further ahead of the clock than `ahead` (None: no bound) is no time; `between` says
    of a history which are. A group (PER) that has been silent for `expire` is forgotten, with its count of records.
    """

    name: str
    time: str
    key: str | None
    lateness: int
    bounds: TimeBounds
    """Which times may be true; a record with any other is as if it had never come."""
    expire: int | None
    """A group (PER) without a record for so long, by the watermark, is unknown again; None: it never is."""
    op: str | None
    columns: tuple[tuple[str, str], ...]
    probability: str | None
    rule: str | None
    source: str | None
    tables: tuple[LookedUp, ...] = field(compare=False)
    """Those that queries join, which a workload knows."""

    @refuse_unknown
    def __init__(
        self,
        name: str,
        time: str,
        key: str | None = None,
        lateness: str | timedelta | Literal[0] = 0,
        op: str | None = None,
        columns: Sequence[tuple[str, str]] = (),
        probability: str | None = None,
        rule: str | None = None,
        source: str | None = None,
        ahead: str | timedelta | None = A_DAY,
        between: tuple[Moment, Moment] | None = None,
        expire: str | timedelta | None = None,
    ) -> None:
        with said_of_stream(name):
            bounds = time_bounds(ahead, between)
            silent = None if expire is None else check_expiry(microseconds(expire, "expire"))
        late = check_lateness(microseconds(lateness, f"stream {name}: lateness"))
        if op is not None and key is None:
            raise SkybandError(
                f"stream {name} has deletes (OP = {op}) but no key",
                expected="KEY as well",
                hint="a delete names its record by key",
            )
        for word, column in (("RULE", rule), ("SOURCE", source)):
            if column is not None and probability is None:
                raise SkybandError(
                    f"stream {name} has {word} = {column} but no probabilities",
                    expected="PROBABILITY as well",
                    hint=f"{word} says something only of records that may not exist",
                )
        if op is not None and probability is not None:
            raise SkybandError(
                f"stream {name} has both deletes (OP = {op}) and probabilities", expected="one of OP and PROBABILITY"
            )
        set_fields(self, name=name, time=time, key=key, lateness=late, op=op, columns=tuple(columns))
        set_fields(self, bounds=bounds, expire=silent, probability=probability, rule=rule, source=source, tables=())

    def looking_up(self, tables: Sequence[LookedUp]) -> Self:
        """The same stream, with these tables to look columns up in."""
        same = copy(self)
        set_fields(same, tables=tuple(tables))
        return same

    def never_expiring(self) -> Self:
        """The same stream where no group is forgotten: in a batch, which has no watermark to go by."""
        same = copy(self)
        set_fields(same, expire=None)
        return same

    def __str__(self) -> str:
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)
        options = [f"TIME = {quoted(self.time)}{self.bounds.behind_time}"]
        if self.key is not None:
            options.append(f"KEY = {quoted(self.key)}")
        if self.lateness:
            options.append(f"LATENESS = {duration_text(self.lateness)}")
        if self.bounds.option is not None:
            options.append(self.bounds.option)
        if self.expire is not None:
            options.append(f"EXPIRE = {duration_text(self.expire)}")
        if self.op is not None:
            options.append(f"OP = {quoted(self.op)}")
        if self.probability is not None:
            options.append(f"PROBABILITY = {quoted(self.probability)}")
        if self.rule is not None:
            options.append(f"RULE = {quoted(self.rule)}")
        if self.source is not None:
            options.append(f"SOURCE = {quoted(self.source)}")
        columns = f" ({declared})" if declared else ""
        return f"CREATE STREAM {quoted(self.name)}{columns} WITH ({', '.join(options)});"
