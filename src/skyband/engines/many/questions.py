"""The queries of an engine for many scores as columns, for kernels; a query that goes leaves its place to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyband.engines.kernels.grid.state import Queries
from skyband.model import Ints
from skyband.model.many import ScoreSpec

DEEPEST = 64
"""Results that a program may hold at once; the language keeps expressions far below."""


class Questions:
    """`columns` is what kernels see of all queries asked so far."""

    def __init__(self, d: int) -> None:
        self.d = d
        self._asked: list[ScoreSpec | None] = []
        self._scratch = np.empty((2, DEEPEST))
        self.columns = self._columns()

    def __len__(self) -> int:
        return len(self._asked)

    def add(self, asked: Sequence[ScoreSpec]) -> Ints:
        """Their places: those that were left, then new ones."""
        places = [i for i, each in enumerate(self._asked) if each is None][: len(asked)]
        places += range(len(self._asked), len(self._asked) + len(asked) - len(places))
        for place, each in zip(places, asked, strict=True):
            self._asked[place : place + 1] = [each]
        self.columns = self._columns()
        return np.array(places, np.int64)

    def remove(self, place: int) -> None:
        self._asked[place] = None
        self.columns = self._columns()

    def _columns(self) -> Queries:
        n, d = len(self._asked), self.d
        widest = max((len(each.weight) for each in self._asked if each), default=0)
        weight, column = np.zeros((n, max(widest, 1))), np.zeros((n, max(widest, 1)), np.int64)
        low, high = np.full((n, d), -np.inf), np.full((n, d), np.inf)
        terms, begin = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        for i, each in enumerate(self._asked):
            begin[i + 1] = begin[i]
            if each is None:
                continue
            terms[i] = len(each.weight)
            weight[i, : terms[i]], column[i, : terms[i]] = each.weight, each.column
            low[i], high[i] = each.low, each.high
            begin[i + 1] += len(each.op)
        known = [each for each in self._asked if each]
        return Queries(
            alive=np.array([each is not None for each in self._asked], np.bool_),
            k=np.array([each.k if each else 0 for each in self._asked], np.int64),
            threshold=np.array(
                [np.nan if each is None or each.threshold is None else each.threshold for each in self._asked]
            ),
            turn=np.array([-1.0 if each and each.turned else 1.0 for each in self._asked]),
            limited=(np.isfinite(low) | np.isfinite(high)).any(axis=1),
            low=low,
            high=high,
            terms=terms,
            weight=weight,
            column=column,
            begin=begin,
            op=np.concatenate([np.empty(0, np.int64), *(each.op for each in known)]),
            value=np.concatenate([np.empty(0), *(each.value for each in known)]),
            scratch=self._scratch,
        )
