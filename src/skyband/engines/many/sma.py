"""SMA: of every query a skyband in score and time, so that what expires has its successors at hand.

**Idea.** As `tma`, but a query keeps every point above its floor that fewer than k newer points outrank. When one of
the k best expires, the next of the skyband takes its place. Only when fewer than k are left is the grid searched,
and the k-th score found then is the new floor.

**Guarantee.** Exact. Not for streams with deletes: a dominated point is dropped because its dominators outlive it.

**Cost.** As `tma`, but searches are rare (1.0, 4.6, 7.8 per query in 100 cycles of one percent for k = 1, 20, 100). An
arrival above the floor passes over the entries below it: O(k). Space: a few more than k entries per query (22.5 for
k = 20), with one counter each.

**Source.** tma-sma-sigmod06 §5 (Figure 11).

**Errata.** Figure 11 line 9 counts the arriving point as its own dominator; line 15 asks for membership in the last top
list, so that a point that expires together with its betters stays: entries leave by age. "Never recomputes on uniform
data" (§6) is not so. A floor is minus infinity while there are fewer than k matches; a list that has grown to four
times k has a floor that is too low, and is searched again.

>>> import numpy as np
>>> from skyband.model.many import ScoreSpec, Points
>>> engine = Sma(1, row_window=3)
>>> place = engine.add([ScoreSpec.linear(1, np.array([1.0]))])
>>> best = []
>>> for now, value in enumerate([10.0, 9.0, 8.0, 1.0, 2.0]):
...     engine.advance(Points(np.array([now]), np.array([[value]])), np.empty(0, np.int64), now - 2)
...     best.append(int(engine.answers(place).id[0]))
>>> best  # of the last three, by number
[0, 0, 0, 1, 2]
"""

from __future__ import annotations

import numpy as np

from skyband.engines.base import Capabilities, register
from skyband.engines.many.grid import GridEngine
from skyband.engines.many.points import PointEngine
from skyband.model import Ints, MetaQuery


class Sma(GridEngine):
    skyband = True

    def list_room(self, k: Ints, room: int) -> Ints:
        # One more than can be in the window, so that a list is never full of points that count.
        return np.minimum(4 * k + 32, room + 1)


@register(
    "sma",
    Capabilities(
        "a skyband in score and time for every score, in a grid",
        "tma-sma-sigmod06 §5",
        data="multi_score",
        thresholds=True,
        priority=2,
    ),
)
def build(meta: MetaQuery) -> PointEngine:
    return PointEngine(meta, Sma)
