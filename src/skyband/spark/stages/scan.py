"""Stage 0 for files: tasks read them with Arrow, the columns that tell which records are needed before the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.model import Ints
from skyband.model.plain import taken
from skyband.runtime.encoded import ints
from skyband.runtime.reader import microseconds
from skyband.spark.io.file_parts import FilePart, Files, Section
from skyband.spark.stages.prune import PLACE, Piece, Prune
from skyband.spark.stages.rising_bounds import Extremes, Hopeless
from skyband.spark.worker import settled

URI, SHARE, SHARES = "#uri", "#share", "#shares"
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
class PartsOfFiles:
    """What Spark says of each new file of a stream: where it is, which share of it is meant, what its folders give."""

    folders: pa.Schema
    """Columns that they give."""

    def __call__(self, batch: pa.RecordBatch) -> Iterator[FilePart]:
        given = [batch.column(field.name).cast(field.type) for field in self.folders]
        told = (batch.column(name).to_pylist() for name in (URI, SHARE, SHARES))
        for place, (uri, share, shares) in enumerate(zip(*told, strict=True)):
            values = {name: column[place] for name, column in zip(self.folders.names, given, strict=True)}
            yield FilePart(uri, given=values, share=(share, shares))


@dataclass(frozen=True)
class Scan:
    """What `mapInArrow` calls on every partition of what names the files."""

    prune: Prune
    files: Files
    parts: Parts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settled(self.prune.pruned(lambda hopeless: self._pieces(batches, hopeless)))

    def _pieces(self, batches: Iterator[pa.RecordBatch], hopeless: Hopeless) -> Iterator[Piece]:
        first = [name for name in self.files.wanted.schema.names if name in self.prune.columns]
        scores = score_columns(self.prune)
        for batch in self.prune.told(batches):
            for part in self.parts(batch):
                for section in part.sections(self.files):
                    if not (scores and self._skips(section, scores, hopeless)):
                        yield self._piece(section, first)

    def _skips(self, section: Section, scores: set[str], hopeless: Hopeless) -> bool:
        """Whether nothing of a section is needed, and none of its records would have been counted as bad, of the
        future or without a score."""
        time = self.prune.reader.stream.time
        known = {name: section.extremes(name) for name in (*scores, time)}
        if any(each is None for each in known.values()):
            return False
        times = self.prune.reader.in_time(known[time])
        if times is None:
            return False
        at, far, _ = microseconds(pa.chunked_array([times]))
        first, last = self.prune.reader.stream.bounds.limits(self.prune.now or 0)
        if far is not None or at[0] < first or at[1] > last:
            return False
        values = pa.table({name: known[name] for name in scores})
        return hopeless(Extremes(int(at[0]), int(at[1]), section.rows, values)) and not _has_nan(section, scores)

    def _piece(self, section: Section, first: list[str]) -> Piece:
        table = section.read(first)
        whole = _Whole(section, table, self.files.wanted.schema)
        table = table.append_column(PLACE, _places(len(table)))
        reader = self.prune.reader.narrowed(table.schema, lambda few: whole(ints(few, PLACE)))
        return Piece(reader, table, lambda chosen: reader.read(whole(chosen)))


def _places(records: int) -> pa.Array:
    """From 0 on. To write them down anew takes a millisecond for a section of a million."""
    return _powers(records.bit_length()).slice(0, records)


@cache
def _powers(bits: int) -> pa.Array:
    return pa.array(np.arange(1 << bits))


def score_columns(prune: Prune) -> set[str]:
    """The columns that decide whether a record is needed, if nothing else does and nothing but its score and its time
    can be wrong with it; otherwise none."""
    found = [each.encoder.score_column() for each in prune.families]
    names = {each.name for each in found if each is not None}
    decided = None not in found and prune.lateness is None and prune.reader.columns == {prune.reader.stream.time}
    return names if decided and not (names & prune.reader.unread or prune.reader.looks_up) else set()


def _has_nan(section: Section, names: set[str]) -> bool:
    """Statistics leave NaN out: only the column itself tells."""
    doubtful = [name for name in names if pa.types.is_floating(section.kind(name))]
    return bool(doubtful) and any(pc.any(pc.is_nan(column)).as_py() for column in section.read(doubtful).columns)


class _Whole:
    """All columns of the records of a section. Those that are not known yet are read once, and only if some record is
    asked for."""

    def __init__(self, section: Section, known: pa.Table, schema: pa.Schema) -> None:
        self._section, self._known, self._schema = section, known, schema

    def __call__(self, chosen: Ints) -> pa.Table:
        return taken(self._table, chosen) if len(chosen) else self._schema.empty_table()

    @cached_property
    def _table(self) -> pa.Table:
        others = [name for name in self._schema.names if name not in self._known.column_names]
        rest = self._section.read(others)
        columns = [
            (self._known if name in self._known.column_names else rest).column(name) for name in self._schema.names
        ]
        return pa.table(columns, self._schema)
