"""Rows that are partial aggregates of groups: those of one group and pane become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.engines.groups.numbers import Places, pair_places
from skyband.model import Ints, MetaQuery
from skyband.model.plain import taken
from skyband.runtime.aggregation import N, combined, is_added
from skyband.runtime.encoded import AT, GROUP, OBJECT, coded_groups, ints
from skyband.runtime.group_values import one_array

LOWEST = -(2**63)
BLOCK = 65_536
"""So many records are summed up at once, about."""


def merged(meta: MetaQuery | None, rows: pa.Table) -> pa.Table:
    """Rows of one group and pane as one; without a meta query all are of one pane. A value that is counted once has a
    row of its own."""
    names = rows.column_names
    once = [name for name in names if name.startswith("#x")]
    if not once:
        return in_order(_merged(meta, rows, []))
    plain = [name for name in names if name not in once]
    totals = rows.select(plain) if N not in names else rows.select(plain).filter(pc.greater(rows.column(N), 0))
    parts = [_merged(meta, totals, [])] if len(totals) else []
    for name in once:
        some = rows.filter(rows.column(name).is_valid())
        if len(some):
            blank = {each: _blank(each, some.column(each)) for each in plain if is_partial(each)}
            kept = {each: some.column(each) for each in (*plain, name) if each not in blank}
            parts.append(_merged(meta, pa.table(kept | blank), [name]))
    found = _with(pa.concat_tables(parts, promote_options="default"), once)
    return in_order(found.select(names))


def in_order(rows: pa.Table) -> pa.Table:
    """By the newest record: windows of rows take them as they come."""
    at = ints(rows, AT)
    return rows if bool((at[1:] >= at[:-1]).all()) else taken(rows, np.argsort(at, kind="stable"))


def _with(rows: pa.Table, once: Sequence[str]) -> pa.Table:
    for name in once:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(len(rows), pa.int64()))
    return rows


def is_partial(name: str) -> bool:
    return is_added(name) or name.startswith(("#min", "#max", "#last"))


def _blank(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Nothing to add; no value."""
    zero = is_added(name) or "." in name
    return pa.array(np.zeros(len(column), np.int64)) if zero else pa.nulls(len(column), column.type)


def _merged(meta: MetaQuery | None, rows: pa.Table, once: Sequence[str]) -> pa.Table:
    at, word = ints(rows, AT), ints(rows, OBJECT)
    others = [ints(rows, name) for name in once]
    if GROUP in rows.column_names:
        others.append(coded_groups(rows)[0])
    for other in others:
        code, size = _coded(other)
        word = _coded(word)[0] * size + code
    places = pair_places(word, panes_of(meta, at))
    if len(places.last) == len(rows):
        return rows
    newest = _newest(at, places)
    parts = {
        name: whole_column(rows, name) if is_added(name) or "." in name else one_array(rows.column(name))
        for name in rows.column_names
        if is_partial(name)
    }
    together = combined(parts, at, places, newest)
    rest = taken(rows.select([name for name in rows.column_names[1:] if name not in together]), places.last)
    found = {name: pa.array(together[name]) if name in together else rest[name] for name in rows.column_names[1:]}
    return pa.table({AT: pa.array(newest)} | found)


def _newest(at: Ints, places: Places) -> Ints:
    """Of each place the time of its newest."""
    if bool((at[1:] >= at[:-1]).all()):
        return at[places.last]
    newest = np.full(len(places.last), LOWEST)
    np.maximum.at(newest, places.of, at)
    return newest


def blocks(meta: MetaQuery, at: Ints) -> list[int]:
    """Where to cut records in the order of time: between panes, after about `BLOCK` of them."""
    whole = [0, len(at)]
    if len(at) < 2 * BLOCK or not bool((at[1:] >= at[:-1]).all()):
        return whole
    edges = meta.edges(int(at[0]), int(at[-1]), most=len(at))
    if edges is None:
        return whole
    later = np.searchsorted(edges, at[BLOCK:-BLOCK:BLOCK], side="right")
    cuts = np.searchsorted(at, edges[later[later < len(edges)]])
    cut: list[int] = np.unique(np.concatenate((whole, cuts))).tolist()
    return cut


def panes_of(meta: MetaQuery | None, at: Ints) -> Ints:
    """The number of each time's pane; its own where windows are cut more finely than there are records."""
    if meta is None:
        return np.zeros(len(at), np.int64)
    first, last = int(at.min()), int(at.max())
    edges = meta.edges(first, last, most=max(4 * len(at), 64))
    return at if edges is None else np.searchsorted(edges, at, side="right")


def stretches(meta: MetaQuery, rows: pa.Table) -> Ints:
    """The pane and PER group of each row as one number."""
    stretch = np.unique(panes_of(meta, ints(rows, AT)), return_inverse=True)[1]
    if GROUP not in rows.column_names:
        return stretch
    part, names = coded_groups(rows)
    return stretch * len(names) + part


def _coded(word: Ints) -> tuple[Ints, int]:
    """Small numbers for these, and how many there are."""
    places = pair_places(word, np.zeros(len(word), np.int64))
    return places.of.astype(np.int64), len(places.last)


def whole_column(rows: pa.Table, name: str) -> Ints:
    """Counts and digits as numbers; digits that nothing is said of are zero."""
    column = rows.column(name)
    return np.asarray(pc.fill_null(column, 0) if column.null_count else column)
