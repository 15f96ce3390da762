"""Late records, counted all of them: also those that prune drops, because nobody could have reported them.

Prune sees every record and no watermark; `maintain` knows the watermark and sees only what prune kept. So prune sends
along how many records it saw in each stretch of time between two moments that matter, and `maintain` adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from skyband.model import Ints, MetaQuery
from skyband.planner import PlannedFamily

KEY = "late/0"
"""The key of the state that takes the counts; it keeps nothing."""
TIMES = pa.schema({"at": pa.int64(), "records": pa.int64()})
MOST_CUTS = 50_000


@dataclass(frozen=True)
class Lateness:
    """The RANGE windows of one stream, as far as being late is about them. Where there are windows of rows as well, no
    record is lost: those are never reported before their records came."""

    metas: list[MetaQuery]
    loses: bool = True

    @staticmethod
    def of(families: list[PlannedFamily]) -> Lateness:
        metas = [each.meta for each in families if each.family.kind == "range"]
        return Lateness(metas, len(metas) == len(families))

    def seen(self, at: Ints) -> pa.Table | None:
        """How many records there are at or after each of some times, and before the next; None if nobody asks.

        Times between two neighbouring window edges are the same to every watermark: the edge stands for all.
        """
        if not self.metas or not len(at):
            return None
        cuts = self._cuts(int(at.min()), int(at.max()), min(len(at) // 2, MOST_CUTS))
        if cuts is None:
            cuts, records = np.unique(at, return_counts=True)
        elif bool((at[1:] >= at[:-1]).all()):
            records = np.diff(np.searchsorted(at, cuts), append=len(at))
        else:
            records = np.bincount(np.searchsorted(cuts, at, side="right") - 1, minlength=len(cuts))
        some = records > 0
        return pa.table([cuts[some], records[some]], schema=TIMES)

    def count(self, seen: pa.Table, watermark: int) -> tuple[int, int]:
        """(late, dropped): records of which some window was reported by the watermark, or all were."""
        at, records = seen.column("at").to_numpy(), seen.column("records").to_numpy()
        late, gone = self._limits(watermark)
        return int(records[at < late].sum()), int(records[at < gone].sum()) if self.loses else 0

    def _limits(self, watermark: int) -> tuple[int, int]:
        """A record is late before the newest window end that was reported; it is lost before the oldest start of a
        window that was not."""
        width, period, phase = self._beats
        ended = watermark - (watermark - phase) % period
        return int(ended.max()), int((ended + period - width).min())

    def _cuts(self, first: int, last: int, most: int) -> Ints | None:
        """Every window edge in (first, last], and `first`; None if there are more than `most`."""
        width, period, phase = self._beats
        if 2 * int(((last - first) // period + 1).sum()) > most:
            return None
        cuts = [
            np.arange(first + 1 + (shift - first - 1) % step, last + 1, step)
            for step, end, wide in zip(period.tolist(), phase.tolist(), width.tolist(), strict=True)
            for shift in (end, end - wide)
        ]
        return np.unique(np.concatenate([np.array([first]), *cuts]))

    @cached_property
    def _beats(self) -> tuple[Ints, Ints, Ints]:
        """Width, period and phase of all beats; each only once."""
        each = [np.stack((meta.width, meta.period, meta.phase % meta.period)) for meta in self.metas]
        width, period, phase = np.unique(np.concatenate(each, axis=1), axis=1)
        return width, period, phase
