"""From packed rows as they come over the wire to a family's input: chunks in order, positions counted through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from skyband.planner import PlannedFamily
from skyband.runtime import pieces
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import AT, GROUP, ints
from skyband.runtime.positions import Positions
from skyband.runtime.state import table_of


class Chunk(NamedTuple):
    """A packed row: `rows` of partition `chunk`, which holds `size` records in all."""

    rows: bytes
    chunk: int
    size: int


def one_table(chunks: Iterable[Chunk]) -> pa.Table | None:
    """All rows; None if there are none."""
    tables = [table for chunk in chunks if (table := table_of(chunk.rows)) is not None]
    return pa.concat_tables(tables) if tables else None


def feed_rows(run: FamilyRun, planned: PlannedFamily, chunks: list[Chunk], seen: dict[str, int]) -> Iterator[pa.Table]:
    """ROWS: number the records of these chunks behind those seen so far, then feed them. `seen` goes on counting."""
    in_order = sorted(chunks, key=lambda chunk: chunk.chunk)
    if planned.family.per:
        table = one_table(in_order)
        if table is not None:
            positions = Positions()
            positions.seen = seen
            yield from pieces.feed_groups(run, table, _text(table), positions)
        return
    tables, first = [], seen.get("", 0)
    before = first
    for chunk in in_order:
        table = table_of(chunk.rows)
        if table is not None:
            tables.append(table.set_column(0, AT, pa.array(ints(table, AT) + before)))
        before += chunk.size
    seen[""] = before
    yield from pieces.feed_positions(run, pa.concat_tables(tables) if tables else None, first, before)


def _text(table: pa.Table) -> pa.Array:
    return pa.concat_arrays(table.column(GROUP).chunks)
