"""PkNormal: top-k over scores that are themselves uncertain, normal with a mean and a standard error.

**Idea.** A record's top-k probability is the integral, over its score x, of its density times P(at most k - 1 others
are above x). All records are integrated together: a walk from the highest possible score down, in panels narrow enough
for a proven error, with one row of how many are above at each node, from which each record is taken out in turn. The
walk ends where k records are surely above.

**Guarantee.** Probabilities within 1e-9 of the exact ones (kernels/uncertain/normal_scores has the proof); records may
also have membership probabilities and rules. A score without an error is as it stands.

**Cost.** About 11 nodes for every score expected in the stretch around the k-th best, some k + 16·sqrt(k) of them, and
at each node every record that reaches so high, twice the width of a row (17 standard deviations of the count). Points
with a rule per record, the other way to do it, need 1 / (2·error) of them per record for the same proof. Space: the
longest window.

**Source.** Ours; the semantics is that of uncertain-tkde §3 with a continuous score.

>>> import numpy as np
>>> from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
>>> from skyband.model import NEVER, MetaQuery
>>> one, at = np.array([0]), np.arange(2)
>>> engine = PkNormal(MetaQuery("rows", one + 2, one + 2, one, one + 1, one))
>>> mean, error = np.array([5.0, 5.5]), np.array([3.0, 4.0])  # the difference is normal(0.5, 5)
>>> fed = Tuples(at + 1, at, highest(mean, error), np.ones(2), np.full(2, NO_RULE), at, at, mean, error)
>>> answers = engine.advance(fed, engine.meta.due_reports(at, int(NEVER), 0, 2))
>>> answers.id.tolist(), answers.score.round(6).tolist()
([2], [0.539828])
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skyband.engines.base import Capabilities, register
from skyband.engines.kernels.uncertain.normal_curve import curve
from skyband.engines.kernels.uncertain.normal_reports import report_normals
from skyband.engines.kernels.uncertain.normal_scores import REACH, Normal
from skyband.engines.kernels.uncertain.ranks import STORED
from skyband.engines.kernels.uncertain.world_reports import Due, Lists
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import Floats


@register(
    "pk_normal",
    Capabilities(
        "top-k over scores with a mean and a standard error, by integration",
        "ours, after uncertain-tkde §3",
        data="uncertain",
        errors=True,
        priority=1,
    ),
)
class PkNormal(PkTopk):
    """As `PkTopk`, with a mean and an error of each record; `score` is the highest that it can be."""

    def _make_room(self, size: int) -> None:
        self._normal = Normal(np.empty(size), np.empty(size), curve())

    def _put(self, tuples: Tuples, stored: int) -> None:
        super()._put(tuples, stored)
        if len(tuples):
            assert tuples.mean is not None
            assert tuples.error is not None
            place = slice(stored, stored + len(tuples))
            # An error that vanishes beside its mean is none: no number lies between what the score may be.
            sure = highest(tuples.mean, tuples.error) == tuples.mean
            self._normal.mean[place], self._normal.error[place] = tuples.mean, np.where(sure, 0.0, tuples.error)

    def _report(self, due: Due) -> Lists:
        return report_normals(self._store, self._normal, due, self.meta.longest, self._board)

    def held(self) -> Tuples:
        live = slice(self._dead(), int(self._sizes[STORED]))
        return replace(super().held(), mean=self._normal.mean[live], error=self._normal.error[live])


def highest(mean: Floats, error: Floats) -> Floats:
    """The highest that such a score can be, but for 3e-14: what the engine sorts by."""
    return mean + REACH * error
