"""Late records of one stream, counted.

A Monitor sees every record and knows the watermark. On Spark, prune sees every record and no watermark, and maintain
knows the watermark and sees only what prune kept. So prune sends along how many records it saw in each stretch of time
between two moments that matter, and maintain adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from skyband.model import NEVER, Ints, MetaQuery
from skyband.model.meta import window_edges
from skyband.planner import PlannedFamily

TIMES = pa.schema({"at": pa.int64(), "records": pa.int64()})
MOST_CUTS = 50_000


@dataclass(frozen=True)
class Lateness:
    """The RANGE windows of one stream, as far as being late is about them. Where there are windows of rows as well, no
    record is lost: those are never reported before their records came."""

    metas: list[MetaQuery]
    loses: bool = True

    @staticmethod
    def of(families: Sequence[PlannedFamily]) -> Lateness:
        metas = [each.meta for each in families if each.family.kind == "range"]
        return Lateness(metas, len(metas) == len(families))

    def count(
        self, at: Ints, watermark: int, records: Ints | None = None, oldest: int | None = None
    ) -> tuple[int, int]:
        """(late, dropped): records of which some window was reported by the watermark, or all were. `records`: how many
        there are at each of these times, where that is not one. `oldest`: the least time, where it is known."""
        if not self.metas or watermark == NEVER or not len(at):
            return 0, 0
        late, gone = self._limits(watermark)
        if (at.min() if oldest is None else oldest) >= max(late, gone):
            return 0, 0
        each = np.ones(len(at), np.int64) if records is None else records
        return int(each[at < late].sum()), int(each[at < gone].sum()) if self.loses else 0

    def times(self, at: Ints) -> pa.Table | None:
        """How many records there are at or after each of some times, and before the next; None if nobody asks.

        Times between two neighbouring window edges are the same to every watermark: the edge stands for all. The newest
        time stands last, for itself, since queries to come may have other edges.
        """
        if not self.metas or not len(at):
            return None
        first, most = int(at.min()), min(len(at) // 2, MOST_CUTS)
        edges = window_edges(*self._beats, first, int(at.max()), most)
        if edges is None:
            cuts, records = np.unique(at, return_counts=True)
            return pa.table([cuts, records], schema=TIMES)
        cuts = np.append(first, edges)
        if bool((at[1:] >= at[:-1]).all()):
            records = np.diff(np.searchsorted(at, cuts), append=len(at))
        else:
            records = np.bincount(np.searchsorted(cuts, at, side="right") - 1, minlength=len(cuts))
        some = records > 0
        cuts, records = np.append(cuts[some], at.max()), np.append(records[some], 0)
        return pa.table([cuts, records], schema=TIMES)

    def _limits(self, watermark: int) -> tuple[int, int]:
        """A record is late before the newest window end that was reported; it is lost before the oldest start of a
        window that was not."""
        width, period, phase = self._beats
        ended = watermark - (watermark - phase) % period
        return int(ended.max()), int((ended + period - width).min())

    @cached_property
    def _beats(self) -> tuple[Ints, Ints, Ints]:
        """Width, period and phase of all beats; each only once."""
        each = [np.stack((meta.width, meta.period, meta.phase % meta.period)) for meta in self.metas]
        width, period, phase = np.unique(np.concatenate(each, axis=1), axis=1)
        return width, period, phase
