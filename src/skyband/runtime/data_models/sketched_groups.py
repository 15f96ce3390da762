"""Groups of which values are counted once, about: of each group and pane a sample of the values is kept."""

from __future__ import annotations

import pyarrow as pa

from skyband.model import Ints
from skyband.model.approximate_groups import VALUES_KEPT
from skyband.model.partials import SAMPLED
from skyband.runtime.data_models.base import Columns
from skyband.runtime.data_models.groups import GroupEncoder, Groups, taken_totals
from skyband.runtime.distinct_sample import BOUND, bounds, sampled, spread
from skyband.runtime.encoded import HIGH, LOW
from skyband.runtime.executors.base import Reports
from skyband.runtime.partial_rows import in_order, merged, stretches
from skyband.runtime.row_store import RowStore


class SketchedGroups(Groups):
    """Every group is there, and what is not counted once is exact."""

    folds = True

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> GroupEncoder:
        return SketchEncoder(self.planned, schema, self.survivors, self.layout, self.prune)

    def prune(self, rows: pa.Table, aligned: bool = True) -> pa.Table:
        """What is of one group and pane becomes one row, beside a row for each value of a sample."""
        if not aligned or not len(rows):
            return rows
        rows = merged(self.meta, in_order(rows))
        for number in self._once:
            rows = sampled(rows, stretches(self.meta, rows), number, VALUES_KEPT)
        return rows

    def fold(self, rows: pa.Table) -> pa.Table:
        return self.prune(rows)

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        found = super().shown(reports, report, rank, rows, store)
        if reports.listed is None or not found:
            return found
        ranked = next((each for each in self.layout.aggregates if str(each) == self.planned.family.by), None)
        if ranked is None or not ranked.distinct:
            none = pa.nulls(len(report), pa.int64())
            return found | {LOW: none, HIGH: none}
        number = self.layout.arguments.index(ranked.argument)
        totals = taken_totals(reports.listed.totals, reports.begin[report] + rank - 1)
        low, high = bounds(totals.added[f"x{number}"], totals.least[SAMPLED.format(number)])
        return found | {LOW: pa.array(low), HIGH: pa.array(high)}

    @property
    def _once(self) -> list[str]:
        """The numbers of the arguments whose values are counted once."""
        layout = self.layout
        return [str(layout.arguments.index(each.argument)) for each in layout.aggregates if each.distinct]

    @property
    def why_in_order(self) -> str | None:
        """Whatever was left out, rows say it."""
        return None if self.planned.family.kind == "range" else super().why_in_order


class SketchEncoder(GroupEncoder):
    """Values as numbers that look random, none of them left out yet."""

    def _rows_of(self, table: pa.Table, at: Ints, group: pa.Array | None) -> pa.Table:
        rows = super()._rows_of(table, at, group)
        for place, name in enumerate(rows.column_names):
            if name.startswith("#x"):
                rows = rows.set_column(place, name, spread(rows.column(name).combine_chunks()))
                rows = rows.append_column(BOUND.format(name[2:]), pa.nulls(len(rows), pa.int64()))
        return rows
