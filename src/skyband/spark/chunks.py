"""From packed rows as they come over the wire to a family's input: chunks in order, positions counted through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.planner import PlannedFamily
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import AT, GROUP, SCORE, floats, ints
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


def feed_rows(run: FamilyRun, planned: PlannedFamily, chunks: list[Chunk], seen: dict[str, int]) -> pa.Table | None:
    """ROWS: number the records of these chunks behind those seen so far, then feed them. `seen` goes on counting."""
    in_order = sorted(chunks, key=lambda chunk: chunk.chunk)
    if planned.family.per:
        table = one_table(in_order)
        if table is None:
            return None
        positions = Positions()
        positions.seen = seen
        place, now = positions.place(len(table), _text(table))
        table = table.set_column(0, AT, pa.array(place)).filter(pa.array(~np.isnan(floats(table, SCORE))))
        return run.feed_positions(table, now)
    tables, before = [], seen.get("", 0)
    for chunk in in_order:
        table = table_of(chunk.rows)
        if table is not None:
            tables.append(table.set_column(0, AT, pa.array(ints(table, AT) + before)))
        before += chunk.size
    seen[""] = before
    return run.feed_positions(pa.concat_tables(tables) if tables else None, {"": before})


def _text(table: pa.Table) -> pa.Array:
    return pa.concat_arrays(table.column(GROUP).chunks)
