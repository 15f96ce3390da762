"""Stage 0 for files: tasks read them with Arrow, the columns that tell which records are needed before the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from skyband.model import Ints
from skyband.runtime.encoded import ints
from skyband.runtime.encoder import taken
from skyband.spark.io.parquet_files import ColumnsWanted, FilePart, RowGroup
from skyband.spark.stages.prune import PLACE, Piece, Prune

Parts = Callable[[pa.RecordBatch], Iterable[FilePart]]
"""What a task is to read, by what Spark sent it."""


@dataclass(frozen=True)
class PartsOfTasks:
    """What each task is to read, by the number that Spark sends it."""

    tasks: tuple[tuple[FilePart, ...], ...]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[FilePart]:
        for number in batch.column(0).to_pylist():
            yield from self.tasks[number]


@dataclass(frozen=True)
class Scan:
    """What `mapInArrow` calls on every partition of what names the files."""

    prune: Prune
    wanted: ColumnsWanted
    parts: Parts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.prune.pruned(self._pieces(batches))

    def _pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Piece]:
        first = [name for name in self.wanted.schema.names if name in self.prune.columns]
        for batch in batches:
            for part in self.parts(batch):
                for group in part.row_groups(self.wanted):
                    yield self._piece(group, first)

    def _piece(self, group: RowGroup, first: list[str]) -> Piece:
        table = group.read(first)
        whole = _Whole(group, table, self.wanted.schema)
        table = table.append_column(PLACE, pa.array(np.arange(len(table))))
        reader = self.prune.reader.narrowed(table.schema, lambda few: whole(ints(few, PLACE)))
        return Piece(reader, table, whole)


class _Whole:
    """All columns of the records of a row group. Those that are not known yet are read once, and only if some record is
    asked for."""

    def __init__(self, group: RowGroup, known: pa.Table, schema: pa.Schema) -> None:
        self._group, self._known, self._schema = group, known, schema

    def __call__(self, chosen: Ints) -> pa.Table:
        return taken(self._table, chosen) if len(chosen) else self._schema.empty_table()

    @cached_property
    def _table(self) -> pa.Table:
        others = [name for name in self._schema.names if name not in self._known.column_names]
        rest = self._group.read(others)
        columns = [
            (self._known if name in self._known.column_names else rest).column(name) for name in self._schema.names
        ]
        return pa.table(columns, self._schema)
