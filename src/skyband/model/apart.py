"""Objects whose attributes arrive apart, in several streams: what an engine for objects sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skyband.errors import SkybandError
from skyband.model.arrays import Flags, Floats, Ints
from skyband.model.parameters import refuse_unknown

COLLECTIONS = ("SUM", "MAX", "LAST", "AVG")
"""How the values of an object in one stream make its attribute."""
FALLING = ("LAST", "AVG")
"""Those that another value may lower."""
COMBINATIONS = ("SUM", "MAX", "MIN", "PRODUCT")
"""How the attributes of an object make its score."""
EXPRESSION = "EXPRESSION"
"""Or by an expression over them."""
UNLIMITED = 2**31 - 1
"""A number of times that nobody promised anything about."""


@dataclass(frozen=True)
class AttributeValues:
    """Values of objects in feed order: by time (or position), and of equal times the object with the larger id first.

    So of two objects with equal scores the one whose newest value was fed later ranks higher, and engines need no other
    tie rule. `id` labels the record, `object` is a 64-bit key of the object, `stream` numbers the stream from 0.
    """

    id: Ints
    at: Ints
    object: Ints
    stream: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, part: slice | Ints | Flags) -> AttributeValues:
        return AttributeValues(self.id[part], self.at[part], self.object[part], self.stream[part], self.value[part])

    def append(self, later: AttributeValues) -> AttributeValues:
        """These and then those, which are newer."""
        names = ("id", "at", "object", "stream", "value")
        return AttributeValues(*(np.concatenate((getattr(self, name), getattr(later, name))) for name in names))

    @staticmethod
    def none() -> AttributeValues:
        empty = np.empty(0, np.int64)
        return AttributeValues(empty, empty, empty, empty, np.empty(0))


class Combination(Protocol):
    """A score that does not fall when an attribute rises."""

    def __call__(self, attributes: Floats) -> Floats:
        """The score of every object; `attributes` has a row for each stream. NaN where there is none."""

    def steady(self, highest: Floats) -> bool:
        """Whether an object that has a score keeps one, as its attributes rise up to these."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """How an object's score is made: its values in each stream are collected to an attribute, the lowest value stands
    for an attribute that is missing, and the attributes, times their weights, are combined; or they go into an
    expression, `score`."""

    collect: str
    combine: str
    weight: Floats
    """One per stream, not negative. Empty where the streams are not declared: then every weight is 1, every lowest
    value 0, and streams are numbered as they come."""
    low: Floats
    high: Floats
    """The declared highest value of each stream; infinity where none is declared."""
    times: Ints
    """The declared largest number of values of one object in one window of each stream."""
    ever: bool = False
    """`times` is about an object's whole life, not about one window: what the paper assumes. A value that the window
    will lose first then still says that its stream has one less to come, so more can be pruned."""
    score: Combination | None = None
    """Of an expression."""

    def __post_init__(self) -> None:
        known = EXPRESSION if self.score is not None else self.combine if self.combine in COMBINATIONS else None
        if self.collect not in COLLECTIONS or self.combine != known:
            raise SkybandError(f"there is no {self.combine} of {self.collect}", expected="a known combination")

    @property
    def highest(self) -> Floats:
        """What each attribute can become at most."""
        return np.asarray(self.high * self.times if self.collect == "SUM" else self.high)

    @property
    def steady(self) -> bool:
        """Whether an object that has a score keeps one while its attributes rise."""
        return self.score is None or self.score.steady(self.highest)

    def __len__(self) -> int:
        """Declared streams; 0 where they are not declared."""
        return len(self.weight)


@dataclass(frozen=True, init=False)
class Approximate:
    """A query that may miss something. Of objects: the precision wanted, or how many it may keep; of groups: how many
    it keeps of each pane. At most one of them is given."""

    precision: float | None
    objects: int | None
    groups: int | None

    @refuse_unknown
    def __init__(self, precision: float | None = None, objects: int | None = None, groups: int | None = None) -> None:
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "objects", objects)
        object.__setattr__(self, "groups", groups)
        self._check()

    def _check(self) -> None:
        if self.precision is not None and self.objects is not None:
            raise SkybandError(
                "both a precision and a number of objects were given",
                expected="one of them",
                hint="the precision decides how many objects are kept, or the other way round",
            )
        if self.groups is not None and (self.precision is not None or self.objects is not None):
            other = "precision" if self.precision is not None else "number of objects"
            raise SkybandError(
                f"both a number of groups and a {other} were given",
                expected="one of them: groups are those of GROUP BY",
            )
        if self.precision is not None and not 0 < self.precision <= 1:
            raise SkybandError(f"a precision must be above 0 and at most 1, not {self.precision!r}")
        if self.objects is not None and self.objects < 1:
            raise SkybandError(f"the objects kept must be a whole number from 1 on, not {self.objects!r}")
        if self.groups is not None and self.groups < 1:
            raise SkybandError(f"the groups kept must be a whole number from 1 on, not {self.groups!r}")

    def __str__(self) -> str:
        if self.precision is not None:
            return f"APPROXIMATE WITH PRECISION {self.precision!r}"
        if self.groups is not None:
            return f"APPROXIMATE KEEPING {self.groups} GROUPS"
        return "APPROXIMATE" + (f" KEEPING {self.objects} OBJECTS" if self.objects is not None else "")
