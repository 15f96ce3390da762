"""What the kernels over a grid share: points in chunks, cells in a tree, queries as columns, influence as links."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skyband.model.types import Flags, Floats, Ints

Links = NDArray[np.int32]
NOBODY = -1

FIRST, NEXT, SCORED, CELLS, COMPUTED, REFRESHED, INSERTED, COMPARED, FREE, UNUSED, SPARE, SPARES, SEARCHED = range(13)
NUMBERS = 13
"""Places in an engine's numbers: the oldest point, the next to come; points scored and cells visited by searches,
searches because a result expired and for other reasons, insertions into result lists, scores compared with a floor;
the first free influence entry and how many are free; the first free chunk and how many are free; the last search."""
CHUNK = 8
"""Points of a cell lie side by side, so many at a time: a search reads them in one go."""


class Points(NamedTuple):
    """The window. In a ring, by slot (a point's number mod the ring's size): time, cell, whether it was deleted. In
    chunks, by row: values and slot."""

    at: Ints
    cell: Links
    gone: Flags
    x: Floats
    slot: Links
    following: Links
    """By chunk: the cell's next one; of a free chunk the next free one."""


class Cells(NamedTuple):
    """A regular grid, and a binary tree over it that halves one axis after the other.

    Node 1 is everything, 2n and 2n + 1 are the halves of n, and the last `leaves` nodes are the cells. `filled` counts
    the points of a cell and, higher up, the halves that are not empty. One more cell takes the points that have no
    place: those with a value that is infinite, not a number, or huge.
    """

    edge: Floats
    """By axis: where cells begin; the last entry is where the last one ends."""
    scale: Floats
    sides: Ints
    """By axis: cells."""
    spread: Ints
    """By axis and coordinate: the part of the cell's number it decides."""
    low: NDArray[np.int16]
    """By node and axis: the first coordinate."""
    depth: NDArray[np.int8]
    reach: Ints
    """By depth and axis: coordinates of a node."""
    filled: Links
    head: Links
    """By cell: the chunk with the oldest points, and where in it they begin; the chunk with the newest."""
    start: Links
    tail: Links
    watched: Links
    """By node: the first influence entry."""
    strata: Ints
    """Shifts from a cell's node to the nodes above it that queries may watch, the cell itself first."""
    at_stratum: Flags
    """By depth: whether queries may watch nodes there."""


class Influence(NamedTuple):
    """Which query watches which node: doubly linked by node, so that an entry leaves in one step, and by query."""

    query: Links
    node: Links
    after: Links
    before: Links
    other: Links
    """The next entry of the same query; of a free entry the next free one."""
    seen: Ints
    """By node: the last search that saw it for a query that is scored always, and so watches nothing."""


class Queries(NamedTuple):
    """Columns of all queries; `terms` is 0 for programs. A slot that is not `alive` waits for another query."""

    alive: Flags
    k: Ints
    threshold: Floats
    """NaN for TOP."""
    turn: Floats
    limited: Flags
    low: Floats
    high: Floats
    terms: Ints
    weight: Floats
    column: Ints
    begin: Ints
    op: Ints
    value: Floats
    scratch: Floats


class Lists(NamedTuple):
    """Results: query q has `size[q]` entries from `begin[q]` on, best first. Nothing with a score of `floor[q]` or more
    that could be needed is missing; of a `whole` list nothing at all is. `stale` asks for a search."""

    score: Floats
    number: Ints
    dominated: Links
    begin: Ints
    size: Ints
    floor: Floats
    whole: Flags
    stale: Flags
    own: Links
    """The query's first influence entry."""
    dense: Flags
    """Scored always, that is, wherever any such query could be concerned; it watches nothing."""
    searched: Ints
    """The query's last search, counted through all of them, and how many points it looked at."""
    looked: Ints


class Scratch(NamedTuple):
    """A heap of nodes by bound, and the best points found so far, as a heap with the worst on top."""

    bound: Floats
    node: Links
    score: Floats
    number: Ints
    order: Links
    merged: Links
