"""The heaviest groups of each pane, and how much the others may have: partial aggregates that stay few.

A mergeable summary after Misra and Gries, with certain counts beside the estimates. A group that is kept has what was
counted of it, `low`, and its *gain*, at first the same. Where a pane has more than n groups the n with the largest
gains are kept; the gain of the next, d, is taken from those of all that are kept, and added to what *anyone* may have
besides. Then no group has more than its gain and anyone's together, one that was left out no more than anyone; and
every d was taken from n + 1 groups, so that (n + 1) * anyone is at most the sum over all groups.

All three are added up where summaries are put together, of tasks, of pushes, or of panes. So a bag of rows is a
summary: a row says `low` and, in the columns `#u`, gain - low; what anyone may have is the `#u` of a row of its own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.model import Flags, Ints
from skyband.model.partials import ANYONE, UNSEEN
from skyband.model.plain import taken
from skyband.runtime.aggregation import is_added
from skyband.runtime.encoded import AT, GROUP, OBJECT, ints
from skyband.runtime.exact_sum import Digits, as_ints, digits_of_ints

BEYOND = np.int64(2**63 - 1)
U = tuple(f"#{name}" for name in UNSEEN)


def heaviest(rows: pa.Table, stretch: Ints, low: Digits, most: int) -> pa.Table:
    """Rows of which each group has at most one in a stretch (a pane, of a PER group), with no more than so many groups
    of each. `low` is what was counted."""
    word = ints(rows, OBJECT)
    mine = np.flatnonzero(word != ANYONE)
    unseen = unseen_of(rows)
    gain = _gains(low, unseen, mine)
    order = np.lexsort((word[mine], -gain, stretch[mine]))
    if not len(order):
        return rows
    in_order, gain = mine[order], gain[order]
    cut = _Cut.of(stretch[in_order], gain, most)
    if cut is None:
        return rows
    keep = np.sort(np.concatenate((in_order[cut.keep], np.flatnonzero(word == ANYONE))))
    less = np.where(word[keep] == ANYONE, 0, -cut.of_stretch(stretch[keep]))
    by = digits_of_ints(less)
    kept = _with_unseen(taken(rows, keep), {place: unseen[place][keep] + by.get(place, 0) for place in unseen})
    return pa.concat_tables([kept, _anyone(rows, stretch, cut)], promote_options="default")


def unseen_of(rows: pa.Table) -> dict[int, Ints]:
    """The digits in the columns `#u`; zero where there are none."""
    none = np.zeros(len(rows), np.int64)
    return {
        place: np.array(rows.column(name).fill_null(0), np.int64) if name in rows.column_names else none
        for place, name in enumerate(U)
    }


def _gains(low: Digits, unseen: Digits, mine: Ints) -> Ints:
    """Of these rows; the largest number for what is larger than any."""
    total = {place: (low.get(place, 0) + unseen[place])[mine] for place in unseen}
    gain, beyond = as_ints(total)
    return np.where(beyond, BEYOND, gain)


class _Cut:
    """Of rows by stretch, each with the largest gain first: which are kept, and the gain of the first that is not."""

    def __init__(self, keep: Flags, stretch: Ints, gain: Ints) -> None:
        self.keep, self.stretch, self.gain = keep, stretch, gain

    @staticmethod
    def of(stretch: Ints, gain: Ints, most: int) -> _Cut | None:
        """None where nothing is left out. Gains that are beyond all numbers cannot be taken away: these are kept."""
        begin = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
        size = np.diff(np.append(begin, len(stretch)))
        over = size > most
        over[over] = gain[(begin + most)[over]] < BEYOND
        if not over.any():
            return None
        place = np.arange(len(stretch)) - np.repeat(begin, size)
        keep = (place < most) | ~np.repeat(over, size)
        return _Cut(keep, stretch[begin[over]], gain[(begin + most)[over]])

    def of_stretch(self, stretch: Ints) -> Ints:
        """What is taken from the gains of rows there."""
        place = np.minimum(np.searchsorted(self.stretch, stretch), len(self.stretch) - 1)
        return np.where(self.stretch[place] == stretch, self.gain[place], 0)


def _anyone(rows: pa.Table, stretch: Ints, cut: _Cut) -> pa.Table:
    """A row for each stretch where some were left out, as new as its newest row."""
    order = np.lexsort((ints(rows, AT), stretch))
    last = order[np.searchsorted(stretch[order], cut.stretch, side="right") - 1]
    newest = taken(rows, last)
    blank = {
        name: pa.array(np.zeros(len(last), np.int64))
        if is_added(name)
        else pa.nulls(len(last), newest.schema.field(name).type)
        for name in rows.column_names
        if name not in (AT, GROUP, *U)
    }
    blank[OBJECT] = pa.array(np.full(len(last), ANYONE))
    columns = {name: blank.get(name, newest.column(name)) for name in rows.column_names}
    return _with_unseen(pa.table(columns), digits_of_ints(cut.gain))


def _with_unseen(rows: pa.Table, digits: Digits) -> pa.Table:
    for place, name in enumerate(U):
        column = pa.array(digits.get(place, np.zeros(len(rows), np.int64)))
        at = rows.column_names.index(name) if name in rows.column_names else None
        rows = rows.append_column(name, column) if at is None else rows.set_column(at, name, column)
    return rows
