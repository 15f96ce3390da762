"""What the kernels of `eaa` share: values in feed order, cells (an object's values in one stream), objects.

A cell's values in the window are summed (or maximised) in two parts, so that nothing is ever subtracted: of the values
that were there at the last settling each knows what it and the later ones of its cell make together; what came since is
added up as it comes. Sums are kept as two floats, so that they are right to the last bit in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.engines.kernels.jit import inlined
from skyband.model.types import Flags, Floats, Ints

Links = NDArray[np.int32]
NOBODY = -1
SUM, MAX, LAST, AVG = range(4)
"""Collections, as in `skyband.model.apart`."""
MIN, PRODUCT = 2, 3
"""Combinations: SUM, MAX, MIN, PRODUCT."""
EXPRESSION = 4
"""Or something that no kernel can compute."""

STORED, FRONT, SETTLED, CELLS, OBJECTS, LEAVES, DIRTY, NEXT_END = range(8)
FED, COMPARED, INSERTED, BEYOND, SETTLINGS, VISITED, PEAK = range(8, 15)
NUMBERS = 15
"""Places in an engine's numbers: values stored, the first one in the window, how many were there at the last settling;
cells and objects; how many objects the tournament takes (the table twice as many); objects whose score must be computed
anew; the next moment of a report; and counts: values fed, scores compared, places changed in the tournament, values
beyond the declared number, settlings, values visited by them, the most values held."""


class Recipe(NamedTuple):
    """How scores are made; `streams` is 0 where they are not declared."""

    collect: int
    combine: int
    streams: int
    weight: Floats
    low: Floats
    high: Floats
    times: Ints
    ever: bool
    sparse: bool
    """A stream without values adds nothing to a score: a sum whose lowest values are 0."""
    sign: float
    """-1 where the lowest score ranks first."""


class Beats(NamedTuple):
    """When windows of one width end; without entries any moment may end one."""

    width: int
    period: Ints
    phase: Ints


class Values(NamedTuple):
    """In feed order. `following` is the next value of the same cell; `hi` and `lo` what it and those make together."""

    at: Ints
    id: Ints
    feed: Ints
    value: Floats
    hi: Floats
    lo: Floats
    cell: Links
    following: Links


class Cells(NamedTuple):
    """`first` and `last` value in the window, how many there are of the settled (`old`) and of the later ones (`new`),
    and what each of the two parts makes. `link` is the object's next cell."""

    object: Links
    stream: Links
    link: Links
    first: Links
    last: Links
    old: Links
    new: Links
    old_hi: Floats
    old_lo: Floats
    new_hi: Floats
    new_lo: Floats


class Objects(NamedTuple):
    """`newest` is an object's last value, `held` how many it has in the window, `cell` its first cell. `score` is as it
    ranks and `shown` the newest value, or NOBODY for an object that is not in the window or has no score. `table` finds
    an object by its key; `winner` is a tournament tree over the objects' places, `frontier` room for reading it."""

    key: Ints
    score: Floats
    shown: Links
    newest: Links
    cell: Links
    held: Links
    waiting: Flags
    dirty: Links
    table: Links
    winner: Links
    frontier: Links


class Fed(NamedTuple):
    """Values to come, as in `skyband.model.apart.AttributeValues`."""

    id: Ints
    at: Ints
    object: Ints
    stream: Ints
    value: Floats


class Due(NamedTuple):
    """Reports to come, by end; those of one window side by side, the largest k first. `above` is the score that has to
    be exceeded, NaN where there is none."""

    start: Ints
    end: Ints
    k: Ints
    above: Floats


class Answered(NamedTuple):
    """Entries of reports, `used` of them so far; `begin` and `size` are by report."""

    begin: Ints
    size: Ints
    id: Ints
    score: Floats
    used: Ints


@inlined
def adds(collect: int) -> bool:
    """A mean is kept as a sum, and divided when somebody asks."""
    return collect in (SUM, AVG)


@inlined
def put(hi: float, lo: float, more: float) -> tuple[float, float]:
    """The sum of two floats and one more, without loss."""
    total = hi + more
    part = total - hi
    return total, lo + ((hi - (total - part)) + (more - part))


@inlined
def rounded(hi: float, lo: float) -> float:
    """One float again; an infinite sum has no low part worth adding."""
    return hi + lo if np.isfinite(hi) else hi
