"""What the kernels of `sla` share: the window in a ring, objects and their cells, the view."""

from __future__ import annotations

from typing import NamedTuple

from skyband.engines.kernels.sla.lists import Links
from skyband.model.types import Flags, Floats, Ints

FIRST, NEXT, NEXT_END, FED, COMPARED, INSERTED, BEYOND, SEARCHES, READ, TURN, FREE_CELLS, FREE_OBJECTS, PEAK = range(13)
NUMBERS = 13
"""Places in an engine's numbers: the number of the oldest value in the window and of the next; the next moment of a
report; and counts: values fed, ranks compared, entries into the view, values beyond the declared number, searches,
entries they read, the last search's number, free cells and objects, the most values held."""


class Window(NamedTuple):
    """Values in a ring, by number modulo its size; `following` is the place of the next one of the same cell."""

    at: Ints
    id: Ints
    feed: Ints
    value: Floats
    cell: Links
    following: Links


class Owners(NamedTuple):
    """By cell (an object's values in one stream): object, stream, the object's next cell, first and last value, how
    many, the attribute they make, and for sums its low part. By object: key, first cell, values, the newest one's
    place, its rank (score, feed number), whether it is in the view, and the last search that saw it."""

    object: Links
    stream: Links
    link: Links
    first: Links
    last: Links
    many: Links
    attribute: Floats
    rest: Floats
    key: Ints
    cell: Links
    held: Links
    newest: Links
    score: Floats
    fed: Ints
    viewed: Flags
    seen: Ints
    table: Links
    free_cell: Links
    free_object: Links


class View(NamedTuple):
    """Objects, best first; nobody outside ranks at or above the floor (`level`, `level_fed`). `number` is its size and
    whether it holds everybody."""

    object: Links
    level: Floats
    level_fed: Ints
    number: Ints
