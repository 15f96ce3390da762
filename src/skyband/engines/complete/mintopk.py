"""MinTopK: the minimal set for one query.

**Idea.** A sliding window's future windows are known now: for each of them the best k records so far are its predicted
answer. One list sorted by score holds the union of these predictions, with a pointer per future window to its k-th
best record. Newcomers move the pointers up, and a record below the pointers of all windows that hold it is dropped.

**Guarantee.** Exact, and minimal: it keeps a record if and only if it would be reported should nothing more arrive.

**Cost.** As MTopList with one query: a record costs one comparison unless it is among the best k of its slide. About
k · H(n / s) candidates at a slide's end for scores in random order.

**Source.** Yang et al., EDBT 2011; the baseline of mtops-cikm11 §7, where every query of a workload runs its own.

**Errata.** For one query MTopList *is* MinTopK (one k, views with rising ends), so this file only names it: same list,
same kernel, settled in bulk like MTopList. It is a stronger baseline than the paper's, which spends milliseconds per
object: speed-ups over it are smaller than the printed ones, and due to sharing alone.

>>> import numpy as np
>>> from skyband.model import MetaQuery, DueReports, Records
>>> one = lambda x: np.array([x])
>>> engine = MinTopK(MetaQuery("rows", one(3), one(1), one(0), one(1), one(0)))  # the best of the last three
>>> answers = engine.advance(
...     Records(np.arange(5), np.array([5.0, 9.0, 7.0, 3.0, 4.0])), engine.meta.due_reports(np.arange(5), -1, 0, 5)
... )
>>> answers.score.tolist()
[5.0, 9.0, 9.0, 9.0, 7.0]
>>> engine.candidates().tolist()
[4]
"""

from __future__ import annotations

from skyband.engines.base import Capabilities, register
from skyband.engines.complete.mtoplist import MTopList


@register(
    "mintopk",
    Capabilities(
        "one list sorted by score for one query, a pointer per future window",
        "Yang et al., EDBT 2011; mtops-cikm11 §7",
        several_queries=False,
        integer_keys=True,
    ),
)
class MinTopK(MTopList):
    pass
