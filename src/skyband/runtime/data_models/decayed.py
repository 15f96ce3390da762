"""Records with one score that halves with time."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.model.plain import taken
from skyband.model.times import Times
from skyband.runtime.data_models.base import Columns
from skyband.runtime.data_models.complete import Complete, ScoreEncoder, ranking
from skyband.runtime.decay import rank, worth
from skyband.runtime.encoded import AT, GIVEN, SCORE, floats, ints
from skyband.runtime.encoder import Encoded, Encoder, FamilyEncoder, PushDown, ScoreColumn, Take, Valued
from skyband.runtime.executors.base import Reports
from skyband.runtime.fates import fates_of
from skyband.runtime.row_store import RowStore


class Decayed(Complete):
    """Ranked by what no report changes; shown as what they are worth at it."""

    hidden = tuple(name for name in Complete.hidden if name != AT)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return DecayEncoder(self.planned, schema, self.survivors)

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        family = self.planned.family
        assert family.half_life is not None
        value = worth(floats(rows, GIVEN), ints(rows, AT), reports.end[report], family.half_life)
        return {SCORE: pa.array(ranking(value, family.ascending))}


class DecayEncoder(ScoreEncoder):
    """Keeps the score as it was given, beside the rank."""

    def encode(
        self,
        table: pa.Table,
        times: Times,
        group: pa.Array | None,
        watermark: int,
        whole: Take | None = None,
    ) -> Encoded:
        timed = table.append_column(AT, pa.array(times.at))
        return super().encode(timed, times, group, watermark, whole or partial(taken, table))

    def valued(self, table: pa.Table) -> Valued:
        family, score, keep = self.planned.family, self.score.read(table), self.passing(table)
        assert family.half_life is not None
        ranked = score >= 0
        fates = fates_of(keep, ~ranked)
        score = np.where(ranked, score, 0.0)
        value = rank(score, ints(table, AT), family.half_life)
        return Valued(keep & ranked, ranking(value, family.ascending), {GIVEN: score}, fates)

    def push_down(self) -> PushDown | None:
        """Spark's logarithm is another one: only filters are its."""
        return FamilyEncoder.push_down(self)

    def score_column(self) -> ScoreColumn | None:
        return None
