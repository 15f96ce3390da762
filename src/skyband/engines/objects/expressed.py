"""The structure of `eaa` where an expression over attributes makes the score.

Kernels know no expressions. They lay out attributes, a row for each stream, and whoever knows the expression scores all
objects that changed since the last report at once; in a pass all instances, as they are and as they may become: since
no score falls when an attribute rises, what the highest attributes make is the best score.
"""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.objects.rank import changed_attributes, take_scores
from skyband.engines.kernels.objects.settle import instance_attributes
from skyband.engines.objects.family import assembly_of
from skyband.engines.objects.instances import Instances
from skyband.model import Flags, Floats, MetaQuery

SLACK = 1e-10
"""Of the largest attribute: so much are sums that were added up in another order, and functions that are right but for
the last bit, given in favour of who might be dropped."""


class Expressed(Instances):
    """The k-dominance set of one window width."""

    def __init__(self, meta: MetaQuery, width: int) -> None:
        super().__init__(meta, width)
        how = assembly_of(meta)
        assert how.score is not None
        self._score, self._low = how.score, how.low[:, None]
        self._slack = SLACK * np.maximum(np.abs(how.low), np.abs(how.highest))[:, None]

    def rate(self) -> None:
        attributes = changed_attributes(self.cells, self.objects, self.numbers, self.recipe)
        take_scores(self.objects, self.numbers, self.recipe, self._score(attributes))

    def scores(self, keep: Flags) -> tuple[Floats, Floats]:
        state = (self.values, self.cells, self.objects, self.numbers, self.recipe)
        place, current, best = instance_attributes(*state, keep)
        now = self._score(np.maximum(current - self._slack, self._low))
        most = self._score(best + self._slack)
        # Who has no score is ahead of nobody; who may have any is not dropped.
        return _spread(keep, place, now, -np.inf), _spread(keep, place, most, np.inf)


def _spread(keep: Flags, place: np.ndarray, score: Floats, instead: float) -> Floats:
    """By the place of a value."""
    found = np.full(len(keep), instead)
    found[place] = np.where(np.isnan(score), instead, score)
    return found
