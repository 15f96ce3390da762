"""Records with one score, in lists that have at most so many of a category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from skyband.engines.pruning import prune_capped
from skyband.engines.second_key import dense_ranks
from skyband.model import Ints, Records
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.runtime.columns import column_field, groupable
from skyband.runtime.data_models.complete import Complete, ScoreEncoder
from skyband.runtime.data_models.decayed import Decayed, DecayEncoder
from skyband.runtime.data_models.second_key import SecondKey, SecondKeyEncoder
from skyband.runtime.encoded import CATEGORY, SECOND, ints
from skyband.runtime.encoder import Encoder, FamilyEncoder, PushDown, ScoreColumn, Survivors, Valued
from skyband.runtime.hashing import group_hash


class AtMost(Complete):
    """Whatever ranks the records: they have a category besides, and better ones of another count otherwise."""

    encoding: type[CategoryEncoder]

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return self.encoding(self.planned, schema, self.survivors)

    def survivors(self, found: Valued, times: Times, group: Ints | None) -> Ints | None:
        second, category = found.more.get(SECOND), found.more[CATEGORY].astype(np.int64, copy=False)
        rank = found.score if second is None else dense_ranks(found.score, second)
        return prune_capped(self.meta, times, rank, category, group, self.is_compiled)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Records:
        found = super().batch(rows, ids)
        return found if rows is None else replace(found, category=ints(rows, CATEGORY))


class CategoryEncoder(ScoreEncoder):
    """Keeps the category beside what ranks."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        name = planned.family.queries[0].name
        for column in planned.family.at_most:
            groupable(column_field(schema, column, f"query {name}, AT MOST"), name, "AT MOST ... PER")

    @property
    def value_columns(self) -> frozenset[str]:
        return super().value_columns | frozenset(self.planned.family.at_most)

    def valued(self, table: pa.Table) -> Valued:
        found, columns = super().valued(table), list(self.planned.family.at_most)
        return replace(found, more={**found.more, CATEGORY: group_hash(table.select(columns))})

    def push_down(self) -> PushDown | None:
        """k better records may be of one category: no score alone is too low."""
        return FamilyEncoder.push_down(self)

    def score_column(self) -> ScoreColumn | None:
        return None


class _SecondKeyEncoder(CategoryEncoder, SecondKeyEncoder):
    pass


class _DecayEncoder(CategoryEncoder, DecayEncoder):
    pass


class ByScore(AtMost):
    batch_columns = (CATEGORY,)
    encoding = CategoryEncoder


class BySecondKey(AtMost, SecondKey):
    batch_columns = (*SecondKey.batch_columns, CATEGORY)
    encoding = _SecondKeyEncoder


class ByDecayed(AtMost, Decayed):
    batch_columns = (CATEGORY,)
    encoding = _DecayEncoder
