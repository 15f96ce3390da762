"""Records with one score."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skyband.engines.pruning import prune, prune_groups
from skyband.model import Floats, Ints, Records
from skyband.planner import GROUPED, PlannedFamily
from skyband.runtime.data_models.base import DataModel
from skyband.runtime.encoded import AT, SCORE, floats, ints
from skyband.runtime.encoder import Encoder, FamilyEncoder, PushDown, Survivors, Valued, family_score
from skyband.runtime.executors.base import Executor
from skyband.runtime.executors.group_table import SkybandTable

NOTHING = Records(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


class Complete(DataModel):
    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return ScoreEncoder(self.planned, schema, self.survivors)

    def survivors(self, found: Valued, at: Ints, group: Ints | None, aligned: bool) -> Ints | None:
        if group is not None:
            return prune_groups(self.meta, group, at, found.score)
        return prune(self.meta, at, found.score, aligned)

    def executor(self, grace: Ints | None) -> Executor:
        if self.planned.choice.engine == GROUPED:
            return SkybandTable(self.meta, grace)
        return super().executor(grace)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Records:
        return NOTHING if rows is None else Records(ints(rows, AT), floats(rows, SCORE), ids)


class ScoreEncoder(FamilyEncoder):
    """One score for every record."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        self.score = family_score(planned.family, planned.family.queries[0].by, schema)

    def valued(self, table: pa.Table) -> Valued:
        family, score, keep = self.planned.family, self.score.evaluate(table), self.passing(table)
        missing = np.isnan(score)
        unranked = int((keep & missing).sum())
        keep = keep & ~missing
        if family.thresholds:
            keep &= score > family.lowest_threshold
        return Valued(keep, ranking(score, family.ascending), unranked=unranked)

    def push_down(self) -> PushDown | None:
        """ROWS counts every record, and PER groups are too small for a sample."""
        family, raw = self.planned.family, f"({self.score.spark_sql()})"
        if family.kind == "rows" or family.per:
            return None
        score = f"(-{raw})" if family.ascending else raw
        passes = "true" if self.filter is None else f"coalesce({self.filter.spark_sql()}, false)"
        hopeful = f"{raw} > double('{family.lowest_threshold!r}')" if family.thresholds else None
        return PushDown(score, passes, hopeful, self.planned.meta)


def ranking(score: Floats, ascending: bool) -> Floats:
    """Higher first. Adding zero makes -0 the same as 0, also in the bits."""
    found: Floats = (-score if ascending else score) + 0.0
    return found
