"""Objects whose attributes arrive apart, as a query says it: OBJECT client ACROSS server (SUM)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from skyband.errors import SkybandError
from skyband.model.apart import COLLECTIONS, COMBINATIONS, EXPRESSION, UNLIMITED, Assembly, Combination
from skyband.model.names import quoted, tuple_of
from skyband.model.parameters import refuse_unknown

Bounds = tuple[float, float]
COUNT = "COUNT"
COLLECTED = (*COLLECTIONS, COUNT)
"""How a query may collect values. Engines know no COUNT: it is the sum of a 1 for every value."""
_CALL = re.compile(rf"\s*({'|'.join(COMBINATIONS)})\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, init=False)
class Feed:
    """One of the streams across which an object's attributes arrive, by the value of the ACROSS column.

    `between` are the lowest and the highest value it sends, `times` how often it names one object within a window at
    most, `weight` what its attribute is multiplied with, `alias` what it is called in an expression that ranks objects.
    What is left out is taken from the Across.
    """

    name: str
    between: Bounds | None
    times: int | None
    weight: float
    alias: str | None

    @refuse_unknown
    def __init__(
        self,
        name: str | int,
        between: Bounds | None = None,
        times: int | None = None,
        weight: float = 1.0,
        alias: str | None = None,
    ) -> None:
        whose = f"stream {str(name)!r}"
        _set(self, name=str(name), between=_bounds(between, whose), times=_times(times, whose), weight=float(weight))
        _set(self, alias=alias)
        if alias is not None and not alias.strip():
            raise SkybandError(f"stream {self.name!r} has an empty name", expected="a word for ORDER BY, or no alias")
        if not (isfinite(self.weight) and self.weight >= 0):
            raise SkybandError(
                f"stream {self.name!r}: a weight must be 0 or more, not {weight!r}",
                hint="a score must not fall when an attribute rises",
            )

    def __str__(self) -> str:
        weight = f" WEIGHT {number_text(self.weight)}" if self.weight != 1.0 else ""
        name = self.name.replace("\\", "\\\\").replace("'", "''")
        called = f" AS {quoted(self.alias)}" if self.alias is not None else ""
        return f"'{name}'{called}{weight}{_traits(self.between, self.times)}"


@dataclass(frozen=True, init=False)
class Across:
    """Which columns name the object, which column the stream a value is from, and how the values of one stream in a
    window make an attribute. `streams` declares the streams there are; `between` and `times` hold for each that says
    nothing else. With `ever` the numbers of times are about an object's whole life, not about one window. Where the
    streams have aliases, objects are ranked by an expression over these, and `value` is what is collected."""

    object: tuple[str, ...]
    stream: str
    collect: str
    streams: tuple[Feed, ...]
    between: Bounds | None
    times: int | None
    ever: bool
    value: str | None

    @refuse_unknown
    def __init__(
        self,
        object: str | Sequence[str],
        stream: str,
        collect: str = "SUM",
        streams: Sequence[str | int | Feed] = (),
        between: Bounds | None = None,
        times: int | None = None,
        ever: bool = False,
        value: str | None = None,
    ) -> None:
        feeds = tuple(feed if isinstance(feed, Feed) else Feed(feed) for feed in streams)
        _set(self, object=tuple_of(object), stream=stream, collect=collect.upper(), streams=feeds)
        often = _times(1 if ever and times is None else times, "EACH")
        _set(self, between=_bounds(between, "EACH"), times=often, ever=ever, value=value.strip() if value else None)
        self._check()
        self._check_names()

    def _check(self) -> None:
        if not self.object:
            raise SkybandError("OBJECT names no column", expected="at least one column")
        if self.collect not in COLLECTED:
            raise SkybandError(
                f"values of one stream cannot be collected by {self.collect}", expected=" or ".join(COLLECTED)
            )
        names = [feed.name for feed in self.streams]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise SkybandError(f"stream {twice!r} is declared twice", expected="each stream once")
        if not names and (self.between is not None or self.times is not None):
            raise SkybandError(
                "bounds for EACH stream, and the streams are not declared",
                expected=f"the list of them: ACROSS {quoted(self.stream)} IN ('a', 'b', ...)",
                hint="bounds say how high a score can still rise, which depends on the number of streams",
            )
        if self.counts and (self.between or any(feed.between for feed in self.streams)):
            raise SkybandError(
                "bounds of values (BETWEEN), which COUNT does not look at",
                expected="how many there may be: AT MOST n TIMES",
                hint="to count some values only, say which: WHERE ...",
            )

    def _check_names(self) -> None:
        """Either all streams have names and it is said here what is collected, or ORDER BY says it."""
        unnamed = next((feed.name for feed in self.streams if feed.alias is None), None)
        if not self.named:
            if self.value is not None:
                raise SkybandError(
                    f"({self.collect} {self.value}) says what is collected, and no stream has a name",
                    expected=f"names for an expression in ORDER BY: ACROSS {quoted(self.stream)} IN ('a' AS a, ...)",
                    hint=f"without names ORDER BY says it: ({self.collect}) ... ORDER BY SUM({self.value})",
                )
            return
        names = [name.lower() for name in self.names]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        weighted = next((feed for feed in self.streams if feed.weight != 1.0), None)
        if unnamed is not None:
            raise SkybandError(f"stream {unnamed!r} has no name, and others have", expected=f"'{unnamed}' AS name")
        if twice is not None:
            raise SkybandError(f"two streams are called {twice}", expected="a name for each")
        if weighted is not None:
            raise SkybandError(
                f"stream {weighted.name!r} has a name and a weight",
                expected=f"the weight in ORDER BY: {number_text(weighted.weight)} * {weighted.alias}",
            )
        if self.value is None and not self.counts:
            raise SkybandError(
                f"the streams have names, and ({self.collect}) does not say what is collected",
                expected=f"({self.collect} expression)",
                hint="ORDER BY says how the attributes make a score, over the names of the streams",
            )

    @property
    def named(self) -> bool:
        """Objects are ranked by an expression over names of their attributes."""
        return any(feed.alias is not None for feed in self.streams)

    @property
    def names(self) -> tuple[str, ...]:
        """What the attributes are called."""
        return tuple(feed.alias for feed in self.streams if feed.alias is not None)

    @property
    def collected(self) -> str:
        """The value of a record, where this says it. A COUNT of nothing in particular is one of records."""
        return self.value or "1"

    @property
    def counts(self) -> bool:
        """A value is one more, whatever it is."""
        return self.collect == COUNT

    def __str__(self) -> str:
        streams = f" IN ({', '.join(map(str, self.streams))})" if self.streams else ""
        each = f" EACH{traits}" if (traits := _traits(self.between, self.times)) else ""
        each += " EVER" if self.ever else ""
        columns, value = ", ".join(map(quoted, self.object)), f" {self.value}" if self.value else ""
        return f"OBJECT {columns} ACROSS {quoted(self.stream)}{streams} ({self.collect}{value}){each}"

    def resolved(self, value: str | None = None) -> Across:
        """The same with what holds for each stream written out: two spellings of one thing are equal in this form.
        `value` is what is collected, in its normal form."""
        feeds = [
            Feed(feed.name, feed.between or self.between, self._said(feed), feed.weight, feed.alias)
            for feed in self.streams
        ]
        return Across(self.object, self.stream, self.collect, feeds, ever=self.ever, value=value or self.value)

    def assembly(self, combine: str, score: Combination | None = None) -> Assembly:
        """What engines need to know; `score` where it is an expression."""
        feeds = self.resolved().streams
        bounds = [feed.between or (0.0, 1.0 if self.counts else inf) for feed in feeds]
        return Assembly(
            "SUM" if self.counts else self.collect,
            combine,
            weight=np.array([feed.weight for feed in feeds], np.float64),
            low=np.array([low for low, _ in bounds], np.float64),
            high=np.array([high for _, high in bounds], np.float64),
            times=np.array([self._promised(feed) for feed in self.streams], np.int64),
            ever=self.ever,
            score=score,
        )

    def _promised(self, feed: Feed) -> int:
        """How often the stream names an object at most: once, where its highest value is declared and this is not; any
        number of times where nothing is."""
        unsaid = 1 if feed.between or self.between else UNLIMITED
        return feed.times or self.times or unsaid

    def _said(self, feed: Feed) -> int | None:
        """The same, written out. Of a COUNT no bound says that it was meant: not to be told is another thing than 1."""
        return feed.times or self.times or (None if self.counts else 1)


def combined(by: str) -> tuple[str, str]:
    """`SUM(bytes)` as the word and the expression in its parentheses."""
    match = _CALL.fullmatch(by)
    if match is None:
        raise SkybandError(
            f"objects cannot be ranked by {by}",
            expected="one of " + ", ".join(f"{word}(expression)" for word in COMBINATIONS),
            hint="it says how the attributes from all streams make one score",
        )
    return match[1].upper(), match[2].strip()


def combination_word(across: Across, by: str) -> str:
    """SUM, MAX, MIN or PRODUCT, or that it is an expression."""
    return EXPRESSION if across.named else combined(by)[0]


def ranked_by(across: Across, by: str) -> str:
    """What objects are ranked by, as it is written back; refused where it is not defined."""
    if across.named:
        return by
    word, value = combined(by)
    check_combination(across, word)
    return f"{word}({value})"


def check_combination(across: Across, combine: str) -> None:
    """Refuse scores that are not defined without the list of streams, or that would not be monotone."""
    if combine in ("MIN", "PRODUCT") and not across.streams:
        raise SkybandError(
            f"{combine} over streams that are not declared",
            expected=f"the list of them: ACROSS {quoted(across.stream)} IN ('a', 'b', ...)",
            hint=f"a missing attribute counts with its lowest value, and {combine} must know which are missing",
        )
    feeds = across.resolved().streams
    negative = next((feed for feed in feeds if feed.between is not None and feed.between[0] < 0), None)
    if combine == "PRODUCT" and negative is not None:
        raise SkybandError(
            f"PRODUCT with values of stream {negative.name!r} that may be negative",
            expected="a lowest value of 0 or more",
            hint="a score must not fall when an attribute rises",
        )


def number_text(value: float) -> str:
    """The shortest text that reads back to it."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _set(frozen: object, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)


def _traits(between: Bounds | None, times: int | None) -> str:
    low_high = f" BETWEEN {number_text(between[0])} AND {number_text(between[1])}" if between else ""
    return low_high + (f" AT MOST {times} TIME{'' if times == 1 else 'S'}" if times is not None else "")


def _bounds(between: Bounds | None, whose: str) -> Bounds | None:
    if between is None:
        return None
    low, high = float(between[0]), float(between[1])
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise SkybandError(
            f"{whose}: values between {between[0]!r} and {between[1]!r} make no sense",
            expected="two numbers, the lower one first",
        )
    return low, high


def _times(times: int | None, whose: str) -> int | None:
    if times is not None and (type(times) is not int or not 1 <= times < 2**31):
        raise SkybandError(f"{whose}: AT MOST takes a whole number of times from 1 on, not {times!r}")
    return times
