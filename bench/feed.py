"""Workloads and streams as engines see them: meta queries over rows, batches of records with their moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from skyband.engines.base import AnyEngine
from skyband.model import NEVER, DueReports, Floats, Ints, MetaQuery, Records


def rows_meta(width: Ints, slide: Ints, k: Ints) -> MetaQuery:
    """TOP k over [ROWS width SLIDE slide], one query per place of the arrays."""
    return MetaQuery("rows", width, slide, width % slide, k, np.arange(len(k)))


def one_query(width: int, slide: int, k: int) -> MetaQuery:
    return rows_meta(np.array([width]), np.array([slide]), np.array([k]))


@dataclass(frozen=True)
class Batch:
    records: Records
    due: DueReports

    def silent(self) -> Batch:
        """The same records, but no report is written: engines only maintain. The clock goes on."""
        return Batch(self.records, self.due[:0])


@dataclass(frozen=True)
class Source:
    """A stream of scores; the position is the time."""

    at: Ints
    score: Floats

    @staticmethod
    def of(score: Floats) -> Source:
        return Source(np.arange(len(score)), score)

    def batches(self, meta: MetaQuery, low: int, high: int, size: int) -> Iterator[Batch]:
        """Records [low, high) in batches, each with the reports due by its end; earlier records were fed before."""
        for begin in range(low, high, size):
            end = min(begin + size, high)
            at = self.at[begin:end]
            due = meta.due_reports(at, begin - 1 if begin else int(NEVER), begin, end)
            yield Batch(Records(at, self.score[begin:end]), due)


def feed(engine: AnyEngine, batches: Iterator[Batch] | list[Batch]) -> int:
    """Advance over all batches; the number of records reported."""
    return sum(len(engine.advance(batch.records, batch.due).id) for batch in batches)


def footprint(thing: object) -> int:
    """Bytes of the arrays a structure holds, views and spare room included; its Python objects are not counted."""
    return _bytes(thing, set())


def _bytes(thing: object, seen: set[int]) -> int:
    if id(thing) in seen or isinstance(thing, MetaQuery):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return _bytes(thing.base, seen) if isinstance(thing.base, np.ndarray) else thing.nbytes
    if isinstance(thing, dict):
        return sum(_bytes(part, seen) for part in thing.values())
    if isinstance(thing, list | tuple | set):
        return sum(_bytes(part, seen) for part in thing)
    if is_dataclass(thing):
        return sum(_bytes(getattr(thing, part.name), seen) for part in fields(thing))
    return _bytes(vars(thing), seen) if hasattr(thing, "__dict__") and not isinstance(thing, type) else 0
