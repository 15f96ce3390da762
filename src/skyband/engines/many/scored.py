"""Which queries watch cells, and which are scored always, all at once; chosen by what their searches have seen."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.grid.dense import fits_dense, lower, new_dense
from skyband.engines.kernels.grid.feed import unwatch_those
from skyband.engines.kernels.grid.state import Cells, Influence, Lists, Queries
from skyband.model import Ints

NONE: Ints = np.empty(0, np.int64)
FAR = 2**62
FEW = 64
"""Fewer weighted sums than this watch cells: there is nothing to win."""
SHARE = 0.003
"""When an arrival lies in the watched cells of more than this share of the queries, scoring it for all of them is
cheaper: measured, a query that watches costs 26 to 67 ns (a link to follow, seldom in a cache), a score among all the
others 0.2 ns, and those only in cells that somebody has seen (docs/design/0005). With 0 all who fit are scored from the
first search on."""


class Scored:
    """The queries that are scored always are lanes of `dense`; there may be none. Cells that none of them has seen in
    its last search are left out."""

    def __init__(self, queries: Queries, share: float = SHARE) -> None:
        self.dense = new_dense(queries, NONE)
        self._share = share
        self._fit = NONE
        self.oldest = FAR
        """The oldest of their last searches: cells that none saw since concern none of them."""

    def wanted(self, lists: Lists, window: int) -> bool:
        """A search looks at the points of the cells that its query would watch: the share of the window it looked at is
        the share of arrivals that would come to it."""
        fit = self._fit[~lists.stale[self._fit]]
        if not self._share or not window or not len(fit):
            return not self._share or bool(self)
        if len(self._fit) < FEW:
            return False
        # A quarter of the share to go back: nobody should come and go.
        return bool(lists.looked[fit].mean() / window > (self._share / 4 if self else self._share))

    def __bool__(self) -> bool:
        return len(self.dense.query) > 0

    def regroup(
        self, on: bool, queries: Queries, lists: Lists, cells: Cells, influence: Influence, numbers: Ints
    ) -> None:
        """Score all who fit for every arrival, or nobody."""
        self._fit = np.flatnonzero(fits_dense(queries) & np.isnan(queries.threshold))
        chosen = self._fit if on and (len(self._fit) >= FEW or not self._share) else NONE
        now = np.zeros(len(lists.dense), np.bool_)
        now[chosen] = True
        # Who goes back to watching has to be searched first.
        lists.stale[lists.dense & ~now] = True
        lists.dense[:] = now
        unwatch_those(cells, influence, lists, numbers, chosen)
        self.dense, self.oldest = new_dense(queries, chosen), FAR

    def lower(self, queries: Queries, lists: Lists, cells: Cells) -> None:
        """Bring floors up to date, for points anywhere in the grid."""
        if self:
            d, reach = len(cells.sides), np.zeros(8)
            reach[:d] = np.maximum(np.abs(cells.edge[:, 0]), np.abs(cells.edge[np.arange(d), cells.sides]))
            lower(self.dense, queries, lists, reach)
            known = lists.dense & ~lists.stale
            self.oldest = int(lists.searched[known].min(initial=FAR))
