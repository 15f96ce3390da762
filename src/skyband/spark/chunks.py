"""From packed rows as they come over the wire to a family's input: chunks in order, positions counted through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from skyband.runtime import pieces
from skyband.runtime.family import FamilyRun
from skyband.runtime.packed import AT, GROUP, ints
from skyband.runtime.positions import Positions
from skyband.runtime.state import table_of


class Chunk(NamedTuple):
    """A packed row: `rows` of partition `chunk`. The last one of a partition says its `size` in records, in all."""

    rows: bytes
    chunk: int
    size: int


def one_table(chunks: Iterable[Chunk]) -> pa.Table | None:
    """All rows; None if there are none."""
    return _joined(table_of(chunk.rows) for chunk in chunks)


def feed_rows(run: FamilyRun, chunks: list[Chunk], positions: Positions) -> Iterator[pa.Table]:
    """ROWS: number the records of these chunks behind those seen so far, which are counted on, then feed them."""
    in_order = sorted(((chunk, table_of(chunk.rows)) for chunk in chunks), key=_place)
    if run.planned.family.per:
        table = _joined(table for _, table in in_order)
        if table is not None:
            yield from pieces.feed_groups(run, table, _text(table), positions)
        return
    first = before = positions.seen.get("", 0)
    numbered = []
    for chunk, table in in_order:
        if table is not None:
            numbered.append(table.set_column(0, AT, pa.array(ints(table, AT) + before)))
        before += chunk.size
    positions.seen[""] = before
    yield from pieces.feed_positions(run, _joined(numbered), first, before)


def _place(piece: tuple[Chunk, pa.Table | None]) -> tuple[int, int]:
    """Pieces of one partition by their first row."""
    chunk, table = piece
    return chunk.chunk, table.column(AT)[0].as_py() if table is not None and len(table) else -1


def _joined(tables: Iterable[pa.Table | None]) -> pa.Table | None:
    some = [table for table in tables if table is not None]
    return pa.concat_tables(some) if some else None


def _text(table: pa.Table) -> pa.Array:
    return pa.concat_arrays(table.column(GROUP).chunks)
