"""EAA: early aggregation. Objects as windows to come will see them, and only those that may still be reported.

**Idea.** An object has an instance for every window start at which it loses a value: the values from there on. Its
current score can only rise while it lives, its best score (what is missing at its highest) only fall; it is dropped
when k distinct objects that live as long have current scores above its best (with a threshold instead of a k: when its
best is not above it). For one start that is a threshold, the
k-th best current score, so a single pass from the newest value back, with a heap of the k best objects, finds everyone
to drop: no list is scanned and no pair compared. Between such passes scores follow their values through two-part sums,
and a tournament tree gives the best k.

Where an expression over attributes makes the score, kernels lay out the attributes of objects that changed, and it is
computed for all of them at once, before a report and in a pass (`expressed.py`).

**Guarantee.** Exact. After `settle` it keeps no more than the k-dominance set of Theorem 1, values between two window
starts counting as one. Where nothing may be pruned (see `nothing_prunes`) it keeps the window and stays exact.

**Cost.** A value: O(log n) in the tournament when it comes and when it goes, O(log k) amortised for the passes, which
come when half of the values are new; O(streams of the object) for its score. A report: O(k log n). Space: linear in
what is kept.

**Source.** incomplete-cikm09 §3.2 and §5; the three orders of Figure 3 (time, current score, best score) are the feed
order, the heap of current scores and the threshold that best scores are held against.

**Errata.** The paper's best score gives a stream whose value the instance has lost nothing more, which holds only if
`times` bounds an object's whole life (`Assembly.ever`); if it bounds a window, the stream may send again while the
instance lives. An object with two instances above another is one dominator, not two. Dropping an instance must not drop
its values while an older instance uses them.

>>> import numpy as np
>>> from skyband.model import MetaQuery
>>> two = np.ones(2)
>>> how = Assembly("SUM", "SUM", two, 0 * two, 10 * two, np.ones(2, np.int64))
>>> one = np.array([0])
>>> engine = Eaa(MetaQuery("rows", one + 4, one + 4, one, one + 2, one, apart=how))
>>> fed = AttributeValues(*np.array([[1, 2, 3, 4], [0, 1, 2, 3], [7, 8, 9, 7], [0, 0, 1, 1]]), np.array([4, 5, 6, 3.0]))
>>> answers = engine.advance(fed, engine.meta.due_reports(fed.at, int(NEVER), int(NEVER), 4))
>>> answers.id.tolist(), answers.score.tolist()
([4, 3], [7.0, 6.0])
"""

from __future__ import annotations

from skyband.engines.base import Capabilities, register
from skyband.engines.objects.expressed import Expressed
from skyband.engines.objects.family import Family, assembly_of
from skyband.engines.objects.instances import Instances
from skyband.model import NEVER, MetaQuery
from skyband.model.apart import Assembly, AttributeValues

__all__ = ["NEVER", "Assembly", "AttributeValues", "Eaa", "Instances"]


@register(
    "eaa",
    Capabilities(
        "objects aggregated as they come; the k-dominance set by thresholds of window starts",
        "incomplete-cikm09 §3.2, §5; the thresholds are ours",
        data="objects",
        thresholds=True,
        expressions=True,
        priority=1,
    ),
)
class Eaa(Family):
    """Keeps an object while fewer than k others are sure to stay ahead of it."""

    def structure(self, meta: MetaQuery, width: int) -> Instances:
        return Instances(meta, width) if assembly_of(meta).score is None else Expressed(meta, width)
