"""From encoded rows as they come over the wire to a family's input: slices in order, positions counted through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from skyband.model import NEVER
from skyband.runtime import steps
from skyband.runtime.encoded import AT, GROUP, ints, joined
from skyband.runtime.operator import FamilyOperator
from skyband.runtime.positions import Positions
from skyband.spark.stages.twins import with_twins


class PartitionSlice(NamedTuple):
    """`rows` of partition `slice`. The last one of a partition says its `size` in records, in all, or the `newest` time
    there, where somebody has to know; and of a
    stream whose groups expire, its `oldest`."""

    rows: bytes | pa.Buffer
    slice: int
    size: int
    newest: int = int(NEVER)
    oldest: int | None = None


def one_table(slices: Iterable[PartitionSlice]) -> pa.Table | None:
    """All rows; None if there are none."""
    return _joined(with_twins(each.rows) for each in slices)


def feed(
    operator: FamilyOperator, slices: list[PartitionSlice], positions: Positions, watermark: int
) -> Iterator[pa.Table]:
    """Everything that came, and every report that is due by then."""
    if operator.planned.family.kind == "rows":
        yield from _feed_rows(operator, slices, positions)
    else:
        # Tasks mostly read stretches of time: put behind each other they need no sorting.
        tables = sorted(filter(None, (with_twins(each.rows) for each in slices)), key=_first)
        yield from steps.feed(operator, _joined(tables), watermark)


def _feed_rows(operator: FamilyOperator, slices: list[PartitionSlice], positions: Positions) -> Iterator[pa.Table]:
    """Number the records of these slices behind those seen so far, which are counted on, then feed them."""
    in_order = sorted(((each, with_twins(each.rows)) for each in slices), key=_place)
    if operator.planned.family.per:
        table = _joined(table for _, table in in_order)
        if table is not None:
            yield from steps.feed_groups(operator, table, _text(table), positions)
        for each in slices:
            if each.oldest is not None:
                positions.pass_by(each.size, each.oldest)
        return
    first = before = positions.seen.get("", 0)
    numbered = []
    for each, table in in_order:
        if table is not None:
            numbered.append(table.set_column(0, AT, pa.array(ints(table, AT) + before)))
        before += each.size
    positions.seen[""] = before
    yield from steps.feed_positions(operator, _joined(numbered), first, before)


def _place(piece: tuple[PartitionSlice, pa.Table | None]) -> tuple[int, int]:
    """Pieces of one partition by their first row."""
    each, table = piece
    return each.slice, -1 if table is None else _first(table)


def _first(table: pa.Table) -> int:
    return int(table.column(AT)[0].as_py()) if len(table) else -1


def _joined(tables: Iterable[pa.Table | None]) -> pa.Table | None:
    some = [table for table in tables if table is not None]
    return joined(some) if some else None


def _text(table: pa.Table) -> pa.Array:
    return pa.concat_arrays(table.column(GROUP).chunks)
