"""Records with one score."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from skyband.engines.base import AnyEngine, registered
from skyband.engines.compiled import is_compiled
from skyband.engines.complete.panes import panes
from skyband.engines.complete.plain_above import PlainAbove
from skyband.engines.pruning import prune, prune_groups, prune_plainly
from skyband.errors import SkybandError
from skyband.model import Flags, Ints, Keys, Query, Records, TopK
from skyband.model.times import Times
from skyband.planner import GROUPED, PlannedFamily
from skyband.runtime.data_models.base import DataModel
from skyband.runtime.encoded import AT, ints, keys
from skyband.runtime.encoder import (
    Encoder,
    FamilyEncoder,
    PushDown,
    RankSql,
    ScoreColumn,
    Survivors,
    Valued,
    query_score,
)
from skyband.runtime.executors.base import Executor
from skyband.runtime.executors.group_table import AllTimeTable, SkybandTable
from skyband.runtime.executors.per_group import PerGroup
from skyband.runtime.fates import fates_of

NOTHING = Records(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


class Complete(DataModel):
    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return ScoreEncoder(self.planned, schema, self.survivors)

    def survivors(self, found: Valued, times: Times, group: Ints | None) -> Ints | None:
        if not self.is_compiled:
            return prune_plainly(self.meta, times, found.score, group)
        if group is not None:
            return prune_groups(self.meta, group, times, found.score)
        return prune(self.meta, times, found.score)

    def covers(self, one: Query, other: Query) -> bool:
        """Of all time the best k are kept, with the columns that are shown."""
        shown = "*" in one.plain or set(other.select) <= set(one.select)
        enough = isinstance(one, TopK) and isinstance(other, TopK) and other.k <= one.k
        return self.meta.unbounded and shown and enough

    def executor(self, grace: Ints | None) -> Executor:
        if self.planned.choice.engine == GROUPED:
            table = AllTimeTable if self.meta.unbounded else SkybandTable
            return table(self.meta, grace, self.planned.family.score_type)
        return super().executor(grace)

    @property
    def is_compiled(self) -> bool:
        return is_compiled(self.unit)

    def first_use(self, purpose: str) -> AbstractContextManager[None]:
        return super().first_use(purpose) if self.is_compiled else nullcontext()

    def standby(self, grace: Ints | None) -> Executor | None:
        return None if self.is_compiled else PerGroup(self.meta, InNumpy(self), grace)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Records:
        return NOTHING if rows is None else Records(ints(rows, AT), keys(rows), ids)


class InNumpy:
    """An engine without kernels for each group, whatever was chosen."""

    valued = False

    def __init__(self, model: Complete) -> None:
        built = panes if model.meta.threshold is None else PlainAbove
        self.build: Callable[[], AnyEngine] = partial(built, model.meta)
        self.batch = model.batch


class ScoreEncoder(FamilyEncoder):
    """One score for every record."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        self.score = query_score(planned.family.queries[0], planned.family, schema)
        refuse_doubles_only(planned)

    @property
    def value_columns(self) -> frozenset[str]:
        return self.score.columns

    def valued(self, table: pa.Table) -> Valued:
        keep = None if self.filter is None else self.filter.evaluate(table)
        score, missing = self._scores(table)
        fates = fates_of(keep, missing)
        if missing is not None:
            keep = ~missing if keep is None else keep & ~missing
        if self.planned.meta.threshold is not None:
            above = score > self.planned.meta.threshold.min()
            keep = above if keep is None else keep & above
        return Valued(keep, ranking(score, self.planned.family.ascending), fates=fates)

    def _scores(self, table: pa.Table) -> tuple[Keys, Flags | None]:
        """The scores, and which are missing; None if none is."""
        if self.planned.family.score_type.whole:
            return self.score.integers(table)
        score = self.score.read(table)
        # The smallest of numbers is none if one of them is none.
        return score, np.isnan(score) if len(score) and np.isnan(score.min()) else None

    def score_column(self) -> ScoreColumn | None:
        family, meta = self.planned.family, self.planned.meta
        name = self.score.column
        if name is None or family.kind == "rows" or family.per or (meta.threshold is not None and family.ascending):
            return None
        if meta.unbounded:
            return None  # The newest record decides where reports end, however low its score is.
        threshold = None if meta.threshold is None else meta.threshold.min(keepdims=True)
        return ScoreColumn(name, lambda table: ranking(self._scores(table)[0], family.ascending), threshold, meta)

    def push_down(self) -> PushDown | None:
        """PER groups are too small for a sample; a threshold is the same for all of them."""
        found = super().push_down()
        family, whole = self.planned.family, self.planned.family.score_type.whole
        key = self.score.key_sql() if whole == self.score.type.whole else self.score.spark_sql()
        if found is None or key is None:
            return found
        score = f"({key})" if not family.ascending else f"(~({key}))" if whole else f"(-({key}))"
        ranked = RankSql(score, whole)
        if self.planned.meta.threshold is not None:
            lowest = self.planned.meta.threshold.min().item()
            above = f"({key}) > {'bigint' if whole else 'double'}('{lowest!r}')"
            return replace(found, hopeful=f"{ranked.missing} OR {above}")
        return found if family.per else replace(found, bounded=ranked)


def refuse_doubles_only(planned: PlannedFamily) -> None:
    """An engine that was written for doubles would take neighbours beyond 2⁵³ for equals."""
    engine, family = planned.choice.engine, planned.family
    known = registered("complete")
    # A second key makes whole numbers of whatever scores.
    whole = family.score_type.whole or family.then is not None
    if not whole or engine not in known or known[engine].capabilities.integer_keys:
        return
    able = [name for name, each in known.items() if each.capabilities.integer_keys]
    nearest = f"ORDER BY CAST({family.by} AS DOUBLE) ranks by the nearest DOUBLE"
    these = f"these are of type {family.score_type.name}" if family.then is None else f"here {family.then} comes second"
    raise SkybandError(
        f"query {family.queries[0].name}: engine {engine} ranks DOUBLE scores, and {these}",
        expected="one of " + ", ".join(able),
        hint=nearest if family.then is None else None,
    )


def ranking(score: Keys, ascending: bool) -> Keys:
    """Higher first. The least integer has no negative, so of integers all bits are turned."""
    if not ascending:
        return score
    return np.invert(score) if score.dtype == np.int64 else -score
