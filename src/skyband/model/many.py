"""Queries that differ in their scores: what an engine for many scoring functions is asked, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skyband.model.arrays import Flags, Floats, Ints

CONSTANT, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, ABSOLUTE = range(7)
"""Steps of a program in postfix form: push a constant, or take the last one or two results and push one."""
COLUMN = 8
"""From here on: push the value of column `step - COLUMN`."""
MOST_COLUMNS = 8
LARGEST = 1e30
"""Larger numbers are looked at one by one: products of them might overflow, and a bound would say nothing."""


@dataclass(frozen=True, eq=False)
class ScoreSpec:
    """One query over d columns: the best `k` by merit, or everything with a merit above `threshold`.

    The merit is the sum of `weight[i] * x[column[i]]`, added from the left, or, where there are no terms, what the
    program (`op`, `value`) gives. Higher merits rank first; with `turned` (ABOVE … ASC) lower ones. Only points with
    low <= x <= high count.
    """

    k: int
    low: Floats
    high: Floats
    weight: Floats
    column: Ints
    op: Ints
    value: Floats
    threshold: float | None = None
    turned: bool = False

    @staticmethod
    def linear(
        k: int, weight: Floats, low: Floats | None = None, high: Floats | None = None, threshold: float | None = None
    ) -> ScoreSpec:
        """The best k by a weighted sum of all columns."""
        d = len(weight)
        return ScoreSpec(
            k,
            np.full(d, -np.inf) if low is None else low,
            np.full(d, np.inf) if high is None else high,
            np.array(weight, np.float64),
            np.arange(d),
            np.empty(0, np.int64),
            np.empty(0),
            threshold,
        )


@dataclass(frozen=True)
class Points:
    """Records in feed order, as `Records`, but with d values each instead of a score: `x` has a row per record.

    Of two records with equal scores the one fed later ranks higher. The n-th record ever fed has number n, and, where
    there are labels, is known outside by its `id`. On a stream with deletes a row that is `gone` takes older records
    with the same `key` (two words) away.
    """

    at: Ints
    x: Floats
    id: Ints | None = None
    gone: Flags | None = None
    key: tuple[Ints, Ints] | None = None

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, part: slice | Ints) -> Points:
        return Points(
            self.at[part],
            self.x[part],
            None if self.id is None else self.id[part],
            None if self.gone is None else self.gone[part],
            None if self.key is None else (self.key[0][part], self.key[1][part]),
        )


@dataclass(frozen=True, eq=False)
class Scores:
    """What the queries of a multi-score family ask, over so many columns of a window that all share."""

    columns: int
    specs: tuple[ScoreSpec, ...]
    deletes: bool = False
    """Records may be taken back."""


@dataclass(frozen=True, order=True)
class Attribute:
    """A column of a multi-score family: an expression over the stream's columns, or, as a condition, 1 where it holds
    and 0 where not."""

    text: str
    condition: bool = False

    def __str__(self) -> str:
        return f"({self.text})" if self.condition else self.text


@dataclass(frozen=True)
class Shape:
    """A score and a filter taken apart: a weighted sum of attributes, or a program over them, and ranges.

    `terms` are (weight, attribute); without any, `steps` are (step, constant or attribute). `ranges` are (attribute,
    lowest, highest), both included.
    """

    terms: tuple[tuple[float, Attribute], ...]
    steps: tuple[tuple[int, float | Attribute], ...] = ()
    ranges: tuple[tuple[Attribute, float, float], ...] = ()

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """Each once, in the order they are used."""
        used = [attribute for _, attribute in self.terms]
        used += [value for _, value in self.steps if isinstance(value, Attribute)]
        return tuple(dict.fromkeys([*used, *(attribute for attribute, _, _ in self.ranges)]))

    def spec(
        self, columns: tuple[Attribute, ...], k: int, threshold: float | None = None, ascending: bool = False
    ) -> ScoreSpec:
        """The question over these columns; ASC turns the merit of TOP round, and of ABOVE only the ranking."""
        sign = -1.0 if ascending and threshold is None else 1.0
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        for attribute, least, most in self.ranges:
            i = columns.index(attribute)
            low[i], high[i] = max(low[i], least), min(high[i], most)
        steps = [*self.steps, (NEGATE, 0.0)] if self.steps and sign < 0 else list(self.steps)
        op = [COLUMN + columns.index(value) if isinstance(value, Attribute) else step for step, value in steps]
        return ScoreSpec(
            k,
            low,
            high,
            sign * np.array([weight for weight, _ in self.terms], np.float64),
            np.array([columns.index(attribute) for _, attribute in self.terms], np.int64),
            np.array(op, np.int64),
            np.array([0.0 if isinstance(value, Attribute) else value for _, value in steps], np.float64),
            threshold,
            ascending and threshold is not None,
        )
