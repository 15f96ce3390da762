"""A sample of the values of each group and pane that tells how many different ones there are.

Values are 63-bit numbers that look random. The smallest K are kept, and the first that is left out is remembered: where
that is a share t of the way to the largest number, about one value in 1/t is below it (a theta sketch, or KMV). Of
several samples the least bound holds for all, and the values below it are the sample of their union; so samples of
tasks, of pushes and of panes can be put together in any order, and none is left out of a group with at most K values.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.groups.numbers import Places, pair_places
from skyband.model import Floats, Ints
from skyband.model.approximate_groups import WITHIN
from skyband.model.partials import SAMPLED, SPAN
from skyband.runtime.aggregation import N
from skyband.runtime.encoded import OBJECT, ints

NO_BOUND = np.int64(2**63 - 1)
MIX = np.uint64(0x9E3779B97F4A7C15)
BOUND = f"#min{SAMPLED}"


def spread(hashed: pa.Array) -> pa.Array:
    """Hashes as numbers from 0 on; NULL stays."""
    words = np.asarray(pc.fill_null(hashed, 0)).astype(np.int64).view(np.uint64) >> np.uint64(1)
    return pa.array(words.view(np.int64), mask=np.asarray(hashed.is_null()))


def sampled(rows: pa.Table, stretch: Ints, name: str, most: int) -> pa.Table:
    """Rows of which each value has at most one of a group and stretch (a pane, of a PER group), with at most so many
    values of argument `name`. What counts records, one row of each group and stretch, carries the bound."""
    places = _places(ints(rows, OBJECT), stretch)
    place, bound = places.of, np.full(len(places.last), NO_BOUND)
    np.minimum.at(bound, place, _filled(rows.column(BOUND.format(name)), NO_BOUND))
    column = rows.column(f"#x{name}")
    value, is_value = _filled(column, 0), np.asarray(column.is_valid())
    keep = ~is_value | (value < bound[place])
    crowded = np.bincount(place[is_value & keep], minlength=len(bound)) > most
    mine = np.flatnonzero(is_value & keep & crowded[place])
    mine = mine[np.lexsort((value[mine], place[mine]))]
    begin = np.flatnonzero(np.diff(place[mine], prepend=-1))
    nth = np.arange(len(mine)) - np.repeat(begin, np.diff(np.append(begin, len(mine))))
    first_out = mine[nth == most]
    bound[place[first_out]] = value[first_out]
    keep[mine[nth >= most]] = False
    told = np.where(_filled(rows.column(N), 0) > 0, bound[place], NO_BOUND)
    at = rows.column_names.index(BOUND.format(name))
    rows = rows.set_column(at, BOUND.format(name), pa.array(told, mask=told == NO_BOUND))
    return rows if keep.all() else rows.filter(pa.array(keep))


def bounds(count: Ints, bound: Ints) -> tuple[Ints, Ints]:
    """Around counts that were estimated from samples with these bounds; exact where there is none."""
    share: Floats = bound / SPAN
    deviation = np.sqrt(count * (1 - share) / share)
    exact = bound == NO_BOUND
    low = np.floor(count - WITHIN * deviation).astype(np.int64)
    high = np.ceil(count + WITHIN * deviation).astype(np.int64)
    return np.where(exact, count, np.maximum(low, 0)), np.where(exact, count, high)


def _places(word: Ints, stretch: Ints) -> Places:
    """Equal pairs have equal ones. One word of two, as good as random, tells them apart."""
    mixed = (word.view(np.uint64) ^ (stretch.view(np.uint64) * MIX)) * MIX
    return pair_places(mixed.view(np.int64), np.zeros(len(word), np.int64))


def _filled(column: pa.ChunkedArray, none: np.int64 | int) -> Ints:
    return np.array(pc.fill_null(column, int(none)), np.int64)
