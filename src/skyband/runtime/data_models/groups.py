"""Groups of records: encoded rows are partial aggregates of a group over a pane, and answers are groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.limits import FARTHEST, Limits
from skyband.language import OverAggregates, columns, compile_number, compile_shown, of_groups, over_aggregates
from skyband.language.expressions.group_types import Types, check_aggregate, is_ordered
from skyband.model import Above, Flags, Ints, Keys, Query
from skyband.model.partials import ANYONE, COUNT, Last, Partials, Totals
from skyband.model.score_type import GREATEST, LEAST, double_below
from skyband.model.select import Item
from skyband.model.times import Times
from skyband.planner import PlannedFamily
from skyband.planner.families.groups import havings
from skyband.runtime.aggregation import (
    LastColumn,
    Layout,
    N,
    finished,
    is_added,
    is_left_out,
    record_columns,
    types_of,
    whole_numbers,
    with_carries,
)
from skyband.runtime.columns import column_field, groupable
from skyband.runtime.data_models.base import Columns, DataModel
from skyband.runtime.encoded import AT, GROUP, NAME, OBJECT, RANK, SCORE, group_codes, ints
from skyband.runtime.encoder import Encoded, FamilyEncoder, Rejected, Survivors, Take, of_query
from skyband.runtime.exact_sum import BITS
from skyband.runtime.executors.base import Reports
from skyband.runtime.fates import fates_of, lost_in_time, lost_of
from skyband.runtime.group_types import SHOWN, aggregate_schema, argument_types, item_type
from skyband.runtime.group_values import one_array, order_keys
from skyband.runtime.hashing import group_hash, hash_rows
from skyband.runtime.partial_rows import LOWEST, blocks, is_partial, merged, whole_column
from skyband.runtime.partitioning import ByObject, Partitioning
from skyband.runtime.row_store import RowStore


class Groups(DataModel):
    """Reports name a group by its newest partial aggregate in the window."""

    spreads = True
    """Nobody has to know of all groups."""

    def __init__(self, planned: PlannedFamily) -> None:
        super().__init__(planned)
        self.layout = Layout(planned.family.aggregates)
        self._rules: dict[tuple[object, ...], GroupRules] = {}

    def adopt(self, planned: PlannedFamily) -> None:
        super().adopt(planned)
        self._rules = {}

    def encoder(self, schema: pa.Schema, whole_window: bool = False) -> GroupEncoder:
        return GroupEncoder(self.planned, schema, self.survivors, self.layout, self.prune)

    def cuts(self, at: Ints) -> list[int]:
        return blocks(self.meta, at)

    def prune(self, rows: pa.Table, aligned: bool = True) -> pa.Table:
        """Nothing is dropped: what is of one group and pane becomes one row."""
        return merged(self.meta, rows) if aligned and len(rows) else rows

    def limits(self, column: str) -> Limits:
        if column == OBJECT:
            return Limits(ANYONE + 1)
        if column == SCORE:
            # Only says which records count while positions are given; rows that are put together have none.
            return Limits(null=True)
        counts = column == N or column.startswith("#null") or column.endswith(".ago")
        return Limits(0, FARTHEST, null=column != N) if counts else super().limits(column)

    def wrong(self, rows: pa.Table) -> str | None:
        """More records than there can be, or digits larger than so many records make."""
        records = whole_column(rows, N).astype(np.float64)
        if records.sum() > FARTHEST:
            return f"column {N} of its rows counts {records.sum():.0f} records"
        for name in rows.column_names:
            if is_added(name) and not name.startswith("#u."):
                size = np.abs(whole_column(rows, name).astype(np.float64))
                if bool((size > (records + 1.0) * 2.0**BITS).any()):
                    return f"column {name} of its rows has more than their records make"
        return None

    def reads(self, column: str) -> bool:
        return super().reads(column) or is_partial(column)

    def may_have(self, field: pa.Field, columns: pa.Schema) -> bool:
        return field.type == pa.int64() and is_left_out(field.name, self.layout, columns.names)

    def covers(self, one: Query, other: Query) -> bool:
        """All aggregates of all groups are kept for each."""
        return self.planned.family.unbounded

    @property
    def folds(self) -> bool:
        return self.planned.family.unbounded

    def fold(self, rows: pa.Table) -> pa.Table:
        """One row for each group (and value that is counted once)."""
        return with_carries(merged(None, rows))

    def heirs(self, old: pa.Table, new: pa.Table) -> Ints:
        some = np.flatnonzero(np.isin(ints(new, OBJECT), ints(old, OBJECT)))
        place = dict(zip(_named(new.take(pa.array(some))), some.tolist(), strict=True))
        return np.array([place[name] for name in _named(old)], np.int64)

    def hides(self, names: Sequence[str]) -> tuple[str, ...]:
        """All but what names a group, and what decides between equal scores where lists are merged."""
        return tuple(name for name in names if name.startswith("#") and name != AT and not name.startswith("#name"))

    def batch(self, rows: pa.Table | None, ids: Ints) -> Partials:
        if rows is None:
            return Partials.none()
        names = rows.column_names
        added = {name[1:]: whole_column(rows, name) for name in names if is_added(name)}
        least = {name[4:]: _keys(rows, name, 2**63 - 1) for name in names if name.startswith("#min")}
        largest = {name[4:]: _keys(rows, name, LOWEST) for name in names if name.startswith("#max")}
        last = {name[5:]: _last(rows, name) for name in names if name.startswith("#last") and "." not in name}
        distinct = {name[2:]: whole_column(rows, name) for name in names if name.startswith("#x")}
        counts = {name: np.asarray(rows.column(f"#x{name}").is_valid()) for name in distinct}
        rules = self._rules_for(rows.schema)
        return Partials(ids, ints(rows, AT), ints(rows, OBJECT), added, least, largest, last, distinct, counts, rules)

    def shown(self, reports: Reports, report: Ints, rank: Ints, rows: pa.Table, store: RowStore) -> Columns:
        """Of a group that left its name is told and nothing else. Often nobody is there but those that left."""
        assert store.rows is not None
        there, rules = np.flatnonzero(rank), self._rules_for(store.rows.schema)
        groups = self._names_of(rows)
        if not len(there):
            return rules.nothing(self._texts_shown, groups, len(rows))
        if len(there) == len(rank):
            return self._told(reports, report, rank, groups, store)
        listed = {name: column.take(pa.array(there)) for name, column in groups.items()}
        told = self._told(reports, report[there], rank[there], listed, store)
        place = pa.array(np.cumsum(rank != 0) - 1, mask=rank == 0)
        named = {SHOWN.format(name): groups[name] for name in self._texts_shown if name in groups}
        return {name: column.take(place) for name, column in told.items()} | named

    def _told(
        self, reports: Reports, report: Ints, rank: Ints, groups: Mapping[str, pa.ChunkedArray], store: RowStore
    ) -> Columns:
        """Of entries of reports, all of them listed."""
        assert reports.listed is not None
        assert store.rows is not None
        entry = reports.begin[report] + rank - 1
        rest, totals = reports.listed.rest[entry], taken_totals(reports.listed.totals, entry)
        rules, texts = self._rules_for(store.rows.schema), partial(_texts, store)
        groups = {
            name: pc.if_else(pa.array(rest), pa.scalar(None, column.type), column) for name, column in groups.items()
        }
        keys, some = rules.keys(totals)
        found: Columns = {SCORE: pa.array(keys, mask=~some)}
        if rest.any():
            found[RANK] = pa.array(rank, mask=rest)
        for text in self._texts_shown:
            found[SHOWN.format(text)] = groups[text] if text in groups else rules.shown(text, totals, groups, texts)
        return found

    @property
    def _texts_shown(self) -> list[str]:
        """All that its queries select."""
        return list(dict.fromkeys(item.by for query in self.planned.family.queries for item in _items(query)))

    def _names_of(self, rows: pa.Table) -> dict[str, pa.ChunkedArray]:
        """By column of GROUP BY: what it is."""
        return {name: rows.column(NAME.format(i)) for i, name in enumerate(self.planned.family.grouped)}

    def words(self, reports: Reports, store: RowStore) -> Ints | None:
        if reports.listed is None or store.rows is None:
            return None
        rules = self._rules_for(store.rows.schema)
        return hash_rows(rules.aggregates(reports.listed.totals, partial(_texts, store)))

    def listed(self, store: RowStore, ids: Ints) -> Ints:
        return ints(store.take(ids), OBJECT) if len(ids) else ids

    def _rules_for(self, rows: pa.Schema) -> GroupRules:
        """For rows with these columns; made once."""
        key = (*rows.names, *rows.types)
        if key not in self._rules:
            self._rules[key] = GroupRules(self.planned, types_of(self.layout, rows))
        return self._rules[key]

    @property
    def partitioning(self) -> Partitioning:
        """What is told of the rest, and changes, need all groups in one place."""
        family = self.planned.family
        apart = self.spreads and not (family.per or family.logged or family.rest)
        return ByObject(self.planned.parts) if apart else super().partitioning


def _named(rows: pa.Table) -> list[tuple[str, int]]:
    """The PER group and the group of each row."""
    code, names = group_codes(rows)
    return [(names[part], group) for part, group in zip(code.tolist(), ints(rows, OBJECT).tolist(), strict=True)]


def _texts(store: RowStore, name: str, labels: Ints, some: Flags) -> pa.Array:
    """What rows of the store have in a column."""
    values = one_array(store.take(labels).column(name))
    return pc.if_else(pa.array(some), values, pa.scalar(None, values.type))


def _items(query: Query) -> Sequence[Item]:
    return () if query.grouping is None else query.grouping.items


class GroupRules:
    """Scores, conditions and columns of groups, compiled for the types of a family's aggregates."""

    def __init__(self, planned: PlannedFamily, types: Types) -> None:
        family = planned.family
        self._layout, self._types = Layout(family.aggregates), types
        self._ascending = family.ascending
        self._thresholds = [each.threshold if isinstance(each, Above) else 0 for each in family.queries]
        self._score = over_aggregates(family.by)
        self._adds_up = (
            self._score.skeleton in self._score.aggregates and not family.ascending and family.approximate is None
        )
        self._compiled = self._score.score(self._schema(self._score))
        self._having = [of_groups(text) for text in havings(family)]
        self._passes = [each.filter(self._schema(each)) for each in self._having]
        for each in (each for text in (self._score, *self._having) for each in text.aggregates.values()):
            check_aggregate(each, types, ranks=True)
        texts = (family.by, *havings(family), *(item.by for query in family.queries for item in _items(query)))
        asked = {each for text in texts for each in over_aggregates(text).aggregates.values()}
        self._asked = [each for each in family.aggregates if each in asked]
        """Without those that were made of columns of the group."""

    def keys(self, totals: Totals) -> tuple[Keys, Flags]:
        if self._score.skeleton in self._score.aggregates:
            only = next(iter(self._score.aggregates.values()))
            if (found := whole_numbers(self._layout, totals, self._types, only)) is not None:
                return np.invert(found[0]) if self._ascending else found[0], found[1]
        table = self._table(self._score, totals)
        if self._compiled.type.whole:
            whole, null = self._compiled.integers(table)
            return ~whole if self._ascending else whole, ~null
        values = self._compiled.evaluate(table) + 0.0
        some = ~np.isnan(values)
        return -values if self._ascending else values, some

    def above(self, query: int, keys: Keys) -> Flags:
        if not len(keys):
            return np.empty(0, bool)  # Of no type yet, where nothing has been ranked.
        threshold = self._thresholds[query]
        if not self._compiled.type.whole:
            return np.asarray((-keys if self._ascending else keys) > double_below(threshold))
        level = floor(Fraction(threshold) * 10**self._compiled.type.scale)
        values = np.invert(keys) if self._ascending else keys
        if not LEAST <= level <= GREATEST:
            return np.full(len(keys), level < LEAST)
        return np.asarray(values > level)

    def gains(self, added: Mapping[str, Ints]) -> Ints | None:
        """Of COUNT, and of SUM of whole numbers where each has a value."""
        if not self._adds_up:
            return None
        only = next(iter(self._score.aggregates.values()))
        totals = Totals(added, {}, {}, {}, {})
        found = None if only.distinct else whole_numbers(self._layout, totals, self._types, only)
        if found is None or only.function == "COUNT":
            return None if found is None else found[0]
        values, some = found
        return values if bool((some | (added[COUNT] == 0)).all()) else None

    def passes(self, having: int, totals: Totals) -> Flags:
        return self._passes[having].evaluate(self._table(self._having[having], totals))

    def shown(self, text: str, totals: Totals, groups: Mapping[str, pa.ChunkedArray], texts: LastColumn) -> pa.Array:
        """An expression of SELECT."""
        taken = over_aggregates(text)
        values = finished(self._layout, totals, self._types, list(taken.aggregates.values()), texts)
        if taken.skeleton.strip() in taken.aggregates:
            return values[0]
        named = dict(zip(taken.aggregates, values, strict=True)) | dict(groups)
        return _evaluated(taken, pa.table(named))

    def nothing(self, texts: Sequence[str], groups: Mapping[str, pa.ChunkedArray], rows: int) -> dict[str, pa.Array]:
        """Expressions of SELECT, and the score, where nothing is known but the groups."""
        types = {name: column.type for name, column in groups.items()}
        found = {SCORE: pa.nulls(rows, pa.int64() if self._compiled.type.whole else pa.float64())}
        for text in texts:
            found[SHOWN.format(text)] = groups.get(text, pa.nulls(rows, item_type(text, self._types, types)))
        return found

    def aggregates(self, totals: Totals, texts: LastColumn) -> pa.Table:
        """Those that queries ask for. A hash of a row passes over NULLs, so whether there is one stands beside."""
        values = finished(self._layout, totals, self._types, self._asked, texts)
        named = {str(place): column for place, column in enumerate(values)}
        return pa.table(named | {f"{place} is": column.is_valid() for place, column in named.items()})

    def _table(self, taken: OverAggregates, totals: Totals) -> pa.Table:
        values = finished(self._layout, totals, self._types, list(taken.aggregates.values()))
        # A condition may be a constant: the count says of how many groups.
        return pa.table({N: totals.added[COUNT]} | dict(zip(taken.aggregates, values, strict=True)))

    def _schema(self, taken: OverAggregates) -> pa.Schema:
        return aggregate_schema(taken, self._types)


def _evaluated(taken: OverAggregates, table: pa.Table) -> pa.Array:
    found = compile_shown(taken.skeleton, table.schema).evaluate(table)
    return one_array(found) if isinstance(found, pa.ChunkedArray) else found


Pruned = Callable[[pa.Table, bool], pa.Table]
"""Rows of groups put together, if their panes are known."""


class GroupEncoder(FamilyEncoder):
    """Records to partial aggregates, one for each group and pane."""

    def __init__(
        self, planned: PlannedFamily, schema: pa.Schema, survivors: Survivors, layout: Layout, pruned: Pruned
    ) -> None:
        super().__init__(planned, schema, survivors)
        family, first = planned.family, planned.family.queries[0].name
        self._schema, self._layout, self._pruned = schema, layout, pruned
        for name in family.grouped:
            groupable(column_field(schema, name, f"query {first}, GROUP BY"), first, "GROUP BY")
        of_query(first, self._check)

    def _check(self) -> None:
        """What does not fit the columns is refused before anything comes."""
        family, schema = self.planned.family, self._schema
        types = argument_types(self._layout.aggregates, schema, family.stream.name)
        for each in self._layout.aggregates:
            check_aggregate(each, types)
        groups = {name: schema.field(name).type for name in family.grouped}
        GroupRules(self.planned, types)
        if family.thresholds:
            ranked = over_aggregates(family.by)
            compile_number(ranked.skeleton, aggregate_schema(ranked, types))
        for item in (item for query in family.queries for item in _items(query)):
            item_type(item.by, types, groups)

    def shown(self, schema: pa.Schema) -> tuple[str, ...]:
        return ()

    @property
    def value_columns(self) -> frozenset[str]:
        mentioned = (over_columns(each.argument, self._schema) for each in self._layout.aggregates)
        return frozenset(self.planned.family.grouped).union(*mentioned)

    def encode(
        self,
        table: pa.Table,
        times: Times,
        group: pa.Array | None,
        watermark: int,
        whole: Take | None = None,
    ) -> Encoded:
        at = times.at
        passes = None if self.filter is None else self.filter.evaluate(table)
        keep, rejected = self.sound(table, passes)
        records, fates = len(at), fates_of(passes, None, keep)
        lost = lost_in_time(self.planned.meta, at, watermark, fates)
        if keep is not None:
            chosen = np.flatnonzero(keep)
            table, at = table.take(pa.array(chosen)), at[chosen]
            group = None if group is None else group.take(pa.array(chosen))
        rows = self._merged(table, at, group) if times.aligned and len(at) else self._rows_of(table, at, group)
        return Encoded(rows, records, lost, rejected, fates)

    def _merged(self, table: pa.Table, at: Ints, group: pa.Array | None) -> pa.Table:
        """Block by block, so that what is made of one stays close to the processor."""
        parts = []
        for begin, end in pairwise(blocks(self.planned.meta, at)):
            mine = None if group is None else group.slice(begin, end - begin)
            parts.append(self._pruned(self._rows_of(table.slice(begin, end - begin), at[begin:end], mine), True))
        return pa.concat_tables(parts, promote_options="default").combine_chunks() if len(parts) > 1 else parts[0]

    def encode_all(self, table: pa.Table, at: Ints, group: pa.Array | None) -> Encoded:
        rows, passes = self._rows_of(table, at, group), self.passing(table)
        keep, rejected = self.sound(table, passes)
        mask = None if keep is None else ~keep
        fates = fates_of(passes, None, keep)
        lost = lost_of(len(self.planned.family.queries), fates)
        rows = rows.append_column(SCORE, pa.array(np.zeros(len(table)), mask=mask))
        return Encoded(rows, len(table), lost, rejected, fates)

    def sound(self, table: pa.Table, keep: Flags | None) -> tuple[Flags | None, Rejected]:
        """Of the records that qualify (None: all) those that can be counted; and the others, by reason."""
        return keep, ()

    def _rows_of(self, table: pa.Table, at: Ints, group: pa.Array | None) -> pa.Table:
        """A partial aggregate of every record."""
        family = self.planned.family
        named = table.select(list(dict.fromkeys(family.grouped)))
        found: dict[str, Any] = {AT: pa.array(at), OBJECT: pa.array(group_hash(named))}
        found |= {NAME.format(i): named.column(name) for i, name in enumerate(family.grouped)}
        if group is not None:
            found[GROUP] = group
        return pa.table(found | record_columns(self._layout, table, self._schema, family.stream.name))


def over_columns(argument: str, schema: pa.Schema) -> frozenset[str]:
    """The columns of the stream that an argument takes."""
    if argument == "*":
        return frozenset()
    spelt = {name.lower(): name for name in schema.names}
    return frozenset(spelt.get(name.lower(), name) for name in columns(argument))


def _keys(rows: pa.Table, name: str, none: int) -> Ints:
    column = one_array(rows.column(name))
    return np.where(np.asarray(column.is_valid()), order_keys(column), none)


def _last(rows: pa.Table, name: str) -> Last:
    column = one_array(rows.column(name))
    key = order_keys(column) if is_ordered(column.type) else np.zeros(len(rows), np.int64)
    at = ints(rows, AT) - whole_column(rows, f"{name}.ago")
    return Last(at, whole_column(rows, f"{name}.tie"), key, np.asarray(column.is_valid()))


def taken_totals(totals: Totals, entry: Ints) -> Totals:
    def each(named: Mapping[str, Ints]) -> dict[str, Ints]:
        return {name: values[entry] for name, values in named.items()}

    last = {name: values[entry] for name, values in totals.last.items()}
    return Totals(each(totals.added), each(totals.least), each(totals.largest), last, each(totals.last_id))
