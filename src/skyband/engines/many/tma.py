"""TMA: the k best of every query, searched again when one of them leaves.

**Idea.** The window lies in a grid. A query watches the cells in which a point could enter its k best, so an arrival is
scored only by the queries that watch its cell. When one of the k best expires or is deleted, and has not been pushed
out by arrivals before, the query's cells are searched anew, best first.

**Guarantee.** Exact: points, scores and ties as the whole window sorted. Works on streams with deletes, for nothing is
concluded from the order in which points leave.

**Cost.** An arrival costs its place in the grid and one score per query that watches there. Of N points r leave in a
cycle: a query is searched again with probability at most 1 - (1 - r/N)^k (§6). Space: at most 8·(d + 3) bytes a point,
k entries a query, and one entry per query and watched cell.

**Source.** tma-sma-sigmod06 §4 (Figures 6 and 9), §7.

**Errata.** Figure 6 stops at maxscore <= top_score and misses a newer point of equal score in a cell with the same best
corner: this goes on while >=. A list short of k because there are no more points is not searched in every cycle. Cells
are not walked from neighbour to neighbour but found by halving boxes: on anti-correlated points the walk spends its
time in empty cells. Points expire by age, all lists looking at their own entries: expiry needs no influence list.

>>> import numpy as np
>>> from skyband.model.many import ScoreSpec, Points
>>> engine = Tma(2)
>>> place = engine.add([ScoreSpec.linear(2, np.array([0.3, 0.7])), ScoreSpec.linear(1, np.array([1.0, -1.0]))])
>>> engine.advance(Points(np.arange(4), np.array([[1, 9], [8, 2], [5, 5], [9, 3.0]])), np.empty(0, np.int64), 0)
>>> answers = engine.answers(place)
>>> [answers.id[answers[i]].tolist() for i in range(2)]
[[0, 2], [3]]
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, register
from skyband.engines.many.grid import GridEngine
from skyband.engines.many.points import PointEngine
from skyband.model import Ints, MetaQuery


class Tma(GridEngine):
    skyband = False

    def list_room(self, k: Ints, room: int) -> Ints:
        return np.minimum(k, room)


@register(
    "tma",
    Capabilities(
        "the k best of every score in a grid, searched again when one leaves",
        "tma-sma-sigmod06 §4",
        data="multi_score",
        thresholds=True,
        deletes=True,
        priority=1,
    ),
)
def build(meta: MetaQuery) -> PointEngine:
    return PointEngine(meta, Tma)
