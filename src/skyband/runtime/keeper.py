"""What keeps a family's candidates: one engine, one engine per PER group, or all groups in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from skyband.engines.base import Counters
from skyband.model import Floats, Ints

Take = Callable[[Ints], pa.Table]
"""Packed rows of these ids."""


@dataclass(frozen=True)
class Reports:
    """Report i: query `query[i]` (of the family) over [start, end) for the group `names[group[i]]`, answered by the
    next `size[i]` ids, best first. The reports of one query and group are in time order."""

    query: Ints
    start: Ints
    end: Ints
    group: Ints
    size: Ints
    id: Ints
    names: list[str]
    figure: Floats | None = None
    """Of uncertain streams, beside `id`: what the semantics computes, a probability or an expected rank."""
    score: Floats | None = None
    """Of objects, beside `id`, which names the newest record of each; higher first."""

    def __len__(self) -> int:
        return len(self.end)

    @staticmethod
    def joined(parts: list[Reports]) -> Reports:
        """Parts of different groups as one."""

        def column(name: str) -> Ints:
            return np.concatenate([np.empty(0, np.int64), *(getattr(part, name) for part in parts)])

        names = [name for part in parts for name in part.names]
        before = np.cumsum([0, *(len(part.names) for part in parts)])
        group = np.concatenate([np.empty(0, np.int64), *(p.group + n for p, n in zip(parts, before, strict=False))])
        figures = [part.figure for part in parts if part.figure is not None]
        scores = [part.score for part in parts if part.score is not None]
        return Reports(
            column("query"), column("start"), column("end"), group, column("size"), column("id"), names,
            np.concatenate(figures) if figures else None, np.concatenate(scores) if scores else None,
        )  # fmt: skip

    def beside(self, values: Floats, report: Ints, rank: Ints) -> Floats:
        """Of `values`, which stand beside `id`, those of rows with this rank in this report; NaN for rank 0, none."""
        entry = (np.cumsum(self.size) - self.size)[report] + rank - 1
        found: Floats = np.append(values, np.nan)[np.where(rank == 0, -1, entry)]
        return found


class Keeper(Protocol):
    """Groups are named by the packed rows; `seen` says, for ROWS, how many records each group has seen by now."""

    def advance(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> Reports:
        """Feed rows, given in feed order, and make every report up to `until` (for ROWS: to what was seen)."""

    def admit(self, ids: Ints, take: Take, until: int, seen: Mapping[str, int] | None) -> None:
        """Take in rows that are older than some already fed; they count in reports later than `until`."""

    def close(self, until: int) -> Reports:
        """Every report up to `until` for every group, also of ROWS."""

    def candidates(self) -> Ints:
        """Ids of what may still be reported, rising."""

    def next_report(self, until: int) -> int | None:
        """The first moment after `until` at which there may be a report, as far as is known now."""

    @property
    def counters(self) -> Counters: ...

    def resume(self, counters: Counters, peak: int) -> None:
        """Count on from what a snapshot said."""
