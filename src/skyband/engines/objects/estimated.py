"""The structure of `approximate`: what `eaa` keeps, by estimated best scores."""

from __future__ import annotations

from math import inf
from typing import Protocol

import numpy as np

from skyband.engines.kernels.objects.estimate import estimated_scores
from skyband.engines.kernels.objects.state import OBJECTS, SETTLED, STORED, Answered, Due, Values
from skyband.engines.objects.eaa import Instances
from skyband.engines.objects.family import nothing_prunes
from skyband.engines.objects.statistics import Statistics
from skyband.model import Flags, Floats, Ints, MetaQuery
from skyband.model.apart import FALLING, AttributeValues

MOST_STREAMS = 62
"""Sets of streams are bits of a number; with more streams nothing is forgotten early."""
HIGHEST = 1e4
"""A knob beyond this is infinite."""
STEP = 16
"""Values taken between two passes: these, or an eighth of the values and a quarter of the objects kept."""


class Guide(Protocol):
    """Who knows the streams and holds the knob."""

    @property
    def statistics(self) -> Statistics: ...

    @property
    def knob(self) -> float: ...

    @property
    def aged(self) -> bool: ...

    def settling(self, objects: int) -> None:
        """A pass begins, with so many objects kept."""


class Estimated(Instances):
    """The k-dominance set by estimated best scores."""

    def __init__(self, meta: MetaQuery, width: int, guide: Guide) -> None:
        super().__init__(meta, width)
        self._guide = guide
        self._exact = self.prunes
        self.prunes = _may_guess(meta)
        if self.prunes and not self._exact:
            # Only the passes of `eaa` ask for highest values, and here it makes none.
            self.recipe = self.recipe._replace(high=np.zeros(len(self.recipe.high)))

    def scores(self, keep: Flags) -> tuple[Floats, Floats]:
        guide = self._guide
        forecast, knob = guide.statistics.forecast, guide.knob
        d = guide.statistics.streams
        known = forecast is not None and len(forecast.pair) == d <= MOST_STREAMS
        if forecast is None or not known or knob > HIGHEST:
            return super().scores(keep) if self._exact else (np.zeros(len(keep)), np.full(len(keep), inf))
        forecast = forecast._replace(aged=guide.aged)
        weight = self.recipe.weight if self.recipe.streams else np.ones(d)
        low = self.recipe.low if self.recipe.streams else np.zeros(d)
        state = (self.values, self.cells, self.objects, self.numbers, self.recipe)
        return estimated_scores(*state, keep, forecast, weight, low, knob, self._exact)

    def settle(self) -> None:
        if self.prunes:
            self._guide.settling(int(self.numbers[OBJECTS]))
        super().settle()

    def load(self, values: AttributeValues, until: int) -> None:
        """Nothing is forgotten on the way: a part of the values says nothing about the others."""
        prunes, self.prunes = self.prunes, False
        super().load(values, until)
        self.settle()
        self.prunes = prunes

    def _run(self, values: AttributeValues, due: Due, at: Ints, out: Answered) -> int:
        """Passes come more often than in `eaa`, for much is dropped in each: `run` asks for one when there is no room,
        so it is shown little."""
        stored, settled = int(self.numbers[STORED]), int(self.numbers[SETTLED])
        more = max(STEP, min(settled // 8, int(self.numbers[OBJECTS]) // 4))
        room = min(max(settled + more, stored), len(self.values.at))
        whole = self.values
        self.values = Values._make(each[:room] for each in whole)
        try:
            return super()._run(values, due, at, out)
        finally:
            self.values = whole


def _may_guess(meta: MetaQuery) -> bool:
    """Bounds are learnt where none are declared; but a score that may fall cannot be foreseen by what it may gain."""
    how = meta.apart
    falls = how is None or how.collect in FALLING or bool((how.low < 0).any())
    return nothing_prunes(meta) is None or not (meta.ascending or falls)
