"""The groups with the largest counts or sums, of which only the heaviest of each pane are kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.limits import Limits
from skyband.errors import SkybandError
from skyband.language.expressions.group_types import argument_type
from skyband.model import Flags, Ints
from skyband.model.approximate_groups import groups_kept
from skyband.model.grouping import Aggregate
from skyband.model.partials import COUNT, UNSEEN, Totals
from skyband.planner import PlannedFamily
from skyband.runtime.aggregation import is_added
from skyband.runtime.data_models.base import Columns
from skyband.runtime.data_models.groups import GroupEncoder, Groups, taken_totals
from skyband.runtime.encoded import HIGH, LOW, OBJECT
from skyband.runtime.encoder import Rejected
from skyband.runtime.exact_sum import Digits, as_ints
from skyband.runtime.executors.base import Reports
from skyband.runtime.group_values import argument_column
from skyband.runtime.heaviest import heaviest
from skyband.runtime.partial_rows import in_order, merged, stretches, whole_column
from skyband.runtime.row_store import RowStore

NEGATIVE = "negative value"


class HeavyGroups(Groups):
    """Rows are those of groups, and what anyone may have besides (`runtime/heaviest.py`). A score is what was counted;
    the true one is not above what may have been missed in addition."""

    folds = True
    # What is kept is small, and what anyone may have is one number for all of them.
    spreads = False

    def __init__(self, planned: PlannedFamily) -> None:
        super().__init__(planned)
        self.most = groups_kept(planned.family.queries)

    def adopt(self, planned: PlannedFamily) -> None:
        super().adopt(planned)
        self.most = groups_kept(planned.family.queries)

    def limits(self, column: str) -> Limits:
        """One row may be of anyone."""
        return Limits() if column == OBJECT else super().limits(column)

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> GroupEncoder:
        return HeavyEncoder(self.planned, schema, self.survivors, self.layout, self.prune)

    def prune(self, rows: pa.Table, aligned: bool = True) -> pa.Table:
        """What is of one group and pane becomes one row, and of each pane the heaviest are kept."""
        if not aligned or not len(rows):
            return rows
        rows = merged(self.meta, in_order(rows))
        added = {name[1:]: whole_column(rows, name) for name in rows.column_names if is_added(name)}
        return in_order(heaviest(rows, stretches(self.meta, rows), self._counted(added), self.most))

    def fold(self, rows: pa.Table) -> pa.Table:
        return self.prune(rows)

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        found = super().shown(reports, report, rank, rows, store)
        if reports.listed is not None and found:
            low, high = self._bounds(taken_totals(reports.listed.totals, reports.begin[report] + rank - 1))
            found |= {LOW: low, HIGH: high}
        return found

    def _bounds(self, totals: Totals) -> tuple[pa.Array, pa.Array]:
        """NULL where one leaves BIGINT."""
        none, low = np.zeros(len(totals), np.int64), self._counted(totals.added)
        high = {place: low.get(place, none) + totals.added.get(name, none) for place, name in enumerate(UNSEEN)}
        (least, too_large), (most, beyond) = as_ints(low), as_ints(high)
        return pa.array(least, mask=too_large), pa.array(most, mask=beyond)

    def _counted(self, added: Mapping[str, Ints]) -> Digits:
        """What is ranked by, as digits."""
        ranked, count = ranked_by(self.planned), added[COUNT]
        if ranked.function == "SUM":
            return {place: added[name] for place, name in enumerate(("s0.0", "s0.1")) if name in added}
        return {0: count if ranked.argument == "*" else count - added.get("null0", 0)}

    @property
    def why_in_order(self) -> str | None:
        """Whatever was left out, rows say it."""
        return None if self.planned.family.kind == "range" else super().why_in_order


def ranked_by(planned: PlannedFamily) -> Aggregate:
    """The one aggregate of the family."""
    (ranked,) = planned.family.aggregates
    return ranked


class HeavyEncoder(GroupEncoder):
    """Sums only rise: a record with a value below zero is bad."""

    def _check(self) -> None:
        super()._check()
        ranked, stream = ranked_by(self.planned), self.planned.family.stream.name
        if ranked.function != "SUM":
            return
        kind = argument_type(ranked.argument, self._schema, stream)
        if not pa.types.is_integer(kind):
            raise SkybandError(
                f"APPROXIMATE with {ranked} of a column of type {kind}",
                expected="whole numbers",
                hint=f"SUM(CAST({ranked.argument} AS BIGINT)), or EXACT",
            )

    def sound(self, table: pa.Table, keep: Flags | None) -> tuple[Flags | None, Rejected]:
        ranked, stream = ranked_by(self.planned), self.planned.family.stream.name
        if ranked.function != "SUM":
            return keep, ()
        column = argument_column(ranked.argument, table, self._schema, stream)
        wrong = np.asarray(pc.fill_null(pc.less(column, 0), False)).astype(bool)
        bad = wrong if keep is None else wrong & keep
        if not bad.any():
            return keep, ()
        sound = ~wrong if keep is None else keep & ~wrong
        return sound, [(NEGATIVE, table.filter(pa.array(bad)))]
