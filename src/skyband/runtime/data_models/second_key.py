"""Records with one score, and a second key for those of equal score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from skyband.engines.base import AnyEngine
from skyband.engines.compiled import unit_of
from skyband.engines.pruning import prune, prune_groups, prune_plainly
from skyband.engines.second_key import by_second_key, dense_ranks
from skyband.language import compile_score
from skyband.model import Ints, Keys, Records
from skyband.model.score_type import LEAST, WHOLE
from skyband.model.times import Times
from skyband.planner import GROUPED, PlannedFamily
from skyband.runtime.data_models.complete import NOTHING, Complete, InNumpy, ScoreEncoder, ranking
from skyband.runtime.encoded import AT, SECOND, ints, keys
from skyband.runtime.encoder import Encoder, Survivors, Valued, of_query
from skyband.runtime.executors.base import Executor
from skyband.runtime.executors.group_table import AllTimeSecondKeyTable, SecondKeyTable
from skyband.runtime.executors.per_group import PerGroup


class SecondKey(Complete):
    """Engines know of one key. So TOP gives them whole numbers that rise with both, and ABOVE puts in order what they
    list. Bounds by the score alone stay right: they let pass whatever equals them."""

    batch_columns: tuple[str, ...] = (SECOND,)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return SecondKeyEncoder(self.planned, schema, self.survivors)

    def survivors(self, found: Valued, times: Times, group: Ints | None) -> Ints | None:
        if self.meta.threshold is not None:
            return None
        second = found.more[SECOND]
        if not self.is_compiled:
            return prune_plainly(self.meta, times, dense_ranks(found.score, second), group)
        if group is not None:
            return prune_groups(self.meta, group, times, dense_ranks(found.score, second))
        # What the score alone rules out need not be ranked.
        some = prune(self.meta, times, rising_integers(found.score))
        return some[prune(self.meta, times.of(some), dense_ranks(found.score[some], second[some]))]

    def executor(self, grace: Ints | None) -> Executor:
        if self.planned.choice.engine != GROUPED:
            return PerGroup(self.meta, self, grace)
        family = self.planned.family
        table = AllTimeSecondKeyTable if self.meta.unbounded else SecondKeyTable
        return table(self.meta, grace, family.score_type, family.then_type)

    @property
    def unit(self) -> str:
        return super().unit if self.meta.threshold is not None else unit_of(self.planned.choice.engine, WHOLE)

    def standby(self, grace: Ints | None) -> Executor | None:
        return None if self.is_compiled else PerGroup(self.meta, _InNumpy(self), grace)

    def build(self) -> AnyEngine:
        return by_second_key(self.meta, super().build)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Records:
        return NOTHING if rows is None else Records(ints(rows, AT), keys(rows), ids, keys(rows, SECOND))


class _InNumpy(InNumpy):
    def __init__(self, model: SecondKey) -> None:
        super().__init__(model)
        self.build = partial(by_second_key, model.meta, self.build)


class SecondKeyEncoder(ScoreEncoder):
    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        family, then = planned.family, planned.family.then
        assert then is not None
        self._ascending = then.ascending
        self.second = of_query(
            family.queries[0].name, lambda: compile_score(then.by, schema, stream=family.stream.name)
        )

    @property
    def value_columns(self) -> frozenset[str]:
        return super().value_columns | self.second.columns

    def valued(self, table: pa.Table) -> Valued:
        return replace(super().valued(table), more={SECOND: self._seconds(table)})

    def _seconds(self, table: pa.Table) -> Keys:
        """Higher first, and last where there is none."""
        if not self.planned.family.then_type.whole:
            return np.add(ranking(self.second.read(table), self._ascending), 0.0)
        values, missing = self.second.integers(table)
        return np.where(missing, LEAST, np.maximum(ranking(values, self._ascending), LEAST + 1))


def rising_integers(score: Keys) -> Ints:
    """Integers in the order of the scores, so that one kind of kernel does: the bits of doubles, which fall where they
    are negative."""
    bits: Ints = (score if score.dtype == np.int64 else np.add(score, 0.0)).view(np.int64)
    return bits if score.dtype == np.int64 else bits ^ ((bits >> 63) & np.int64(2**63 - 1))
