"""Records that may not exist, or whose scores have an error."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.pruning import prune_worlds
from skyband.engines.uncertain.pk_normal import highest
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.model import Floats, Ints
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.runtime.data_models.base import Columns, DataModel
from skyband.runtime.data_models.complete import ranking
from skyband.runtime.data_models.marks import probabilities
from skyband.runtime.encoded import (
    AT,
    ERROR,
    EXPECTED,
    PROBABILITY,
    RULE,
    SCORE,
    SOURCE,
    P,
    floats,
    ints,
    key_order,
)  # fmt: skip
from skyband.runtime.encoder import Encoder, FamilyEncoder, Survivors, Valued, family_number, query_score
from skyband.runtime.executors.base import Executor, Reports
from skyband.runtime.executors.small_groups import SmallGroupTable
from skyband.runtime.executors.uncertain_groups import UncertainGroups
from skyband.runtime.fates import fates_of
from skyband.runtime.hashing import hash_rows
from skyband.runtime.row_store import RowStore


class Uncertain(DataModel):
    valued = True
    batch_columns = (P, RULE)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> Encoder:
        return TupleEncoder(self.planned, schema, self.survivors)

    def survivors(self, found: Valued, times: Times, group: Ints | None) -> Ints | None:
        """A score that may be anything within its error is outranked by none for sure."""
        if group is not None or self.planned.family.error is not None:
            return None
        p, rule = found.more[P].astype(np.float64), found.more[RULE].astype(np.int64)
        return prune_worlds(
            self.meta, times, found.score.astype(np.float64, copy=False), p, rule, self.planned.family.fixed
        )

    def executor(self, grace: Ints | None) -> Executor:
        # An integration (pk_normal) costs more than a Python call: its groups need no table.
        table = bool(self.planned.family.per) and self.planned.choice.engine == SmallGroupTable.engine
        return UncertainGroups(self.meta, self, grace, table)

    def batch(self, rows: pa.Table | None, ids: Ints) -> Tuples:
        if rows is None:
            return Tuples.none()
        score, mean, error = floats(rows, SCORE), None, None
        if ERROR in rows.column_names:
            mean, error = score, floats(rows, ERROR)
            score = highest(mean, error)
        columns = floats(rows, P), ints(rows, RULE), key_order(rows), ints(rows, SOURCE)
        return Tuples(ids, ints(rows, AT), score, *columns, mean, error)

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        """What possible worlds say of each row: its probability or its expected rank. One that left has neither."""
        value = reports.beside(report, rank)
        using = [query.using for query in self.planned.family.queries]
        expects = np.array([each is not None and each.expects for each in using])[reports.query[report]]
        found = {PROBABILITY: pa.array(value, mask=(rank == 0) | expects)}
        return found | ({EXPECTED: pa.array(value, mask=(rank == 0) | ~expects)} if expects.any() else {})


class TupleEncoder(FamilyEncoder):
    """A score, with a probability, a rule and a source as whole numbers, and with its error if it has one."""

    def __init__(self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors) -> None:
        super().__init__(planned, schema, survivors)
        first = planned.family.queries[0]
        self.score = query_score(first, planned.family, schema)
        self.error = family_number(planned.family, first.error, schema) if first.error else None

    @property
    def value_columns(self) -> frozenset[str]:
        stream, error = self.planned.family.stream, frozenset[str]() if self.error is None else self.error.columns
        marks = frozenset(name for name in (stream.probability, stream.rule, stream.source) if name is not None)
        return self.score.columns | error | marks

    def valued(self, table: pa.Table) -> Valued:
        family, score, keep = self.planned.family, self.score.evaluate(table), self.passing(table)
        stream, missing = family.stream, np.isnan(score)
        more: dict[str, Ints | Floats] = {
            P: probabilities(table, stream),
            RULE: numbered(table, stream.rule),
            SOURCE: numbered(table, stream.source),
        }
        if self.error is not None:
            more[ERROR] = _errors(self.error.evaluate(table), score)
            missing |= np.isnan(more[ERROR])
        return Valued(keep & ~missing, ranking(score, family.ascending), more, fates_of(keep, missing))


def _errors(error: Floats, score: Floats) -> Floats:
    """Standard errors: 0 where there is none, or the score is infinite; NaN where one is negative or infinite, or so
    large that what the score may be is."""
    found = np.nan_to_num(error, nan=0.0, posinf=np.inf, neginf=-np.inf)
    found = np.where(np.isinf(score), 0.0, found)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.abs(score) + 16.0 * found
    return np.where((found >= 0) & ((found == 0) | (reach < np.inf)), found, np.nan) + 0.0


def numbered(table: pa.Table, name: str | None) -> Ints:
    """One number per value of the column: integers as they stand, else a stable 64-bit hash (two of a million values
    share one with a chance of 3e-8). NO_RULE where the column is NULL, or there is none."""
    if name is None:
        return np.full(len(table), NO_RULE)
    column = table.column(name)
    missing = np.asarray(column.is_null())
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        number = np.asarray(pc.fill_null(column, 0)).astype(np.int64)
    else:
        number = hash_rows(table.select([name])).astype(np.int64)
    return np.where(missing, NO_RULE, number)
