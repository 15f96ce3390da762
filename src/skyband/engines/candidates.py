"""The state that engines for complete data have in common, and its snapshot: the candidates and the clock.

Whatever an engine builds around its candidates (views, pointers, counters of dominance) follows from them and the meta
query. So a snapshot holds nothing else, stays as small as the candidates, and can be restored by any of these engines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.codec import pack, unpack
from skyband.model import NEVER, Floats, Ints, MetaQuery, Moments, Records

KIND = "complete"


@dataclass(frozen=True)
class Candidates:
    """Records that may still be reported, by id."""

    id: Ints
    at: Ints
    score: Floats

    def __len__(self) -> int:
        return len(self.id)

    def since(self, start: int) -> Candidates:
        keep = self.at >= start
        return Candidates(self.id[keep], self.at[keep], self.score[keep])

    @staticmethod
    def sorted(id: Ints, at: Ints, score: Floats) -> Candidates:
        order = np.argsort(id)
        return Candidates(id[order], at[order], score[order])


class CandidateEngine:
    """Bookkeeping of the clock, counters and snapshots; an algorithm adds `_advance`, `_candidates` and `_rebuild`."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        self.fed = 0
        self.last = int(NEVER)
        self.until = int(NEVER)

    def _clock(self, records: Records, moments: Moments) -> None:
        self.fed += len(records)
        if len(records):
            self.last = int(records.at[-1])
        self.until = moments.until

    def kept(self) -> Candidates:
        raise NotImplementedError

    def candidates(self) -> Ints:
        return self.kept().id

    def snapshot(self) -> bytes:
        kept = self.kept()
        clock = {"fed": self.fed, "last": self.last, "until": self.until}
        return pack(KIND, {"id": kept.id, "at": kept.at, "score": kept.score}, clock | _tagged(self.counters))

    def restore(self, state: bytes) -> None:
        columns, numbers = unpack(KIND, state)
        self.fed, self.last, self.until = numbers["fed"], numbers["last"], numbers["until"]
        self.rebuild(Candidates(columns["id"], columns["at"], columns["score"]))
        self.recount({name[1:]: value for name, value in numbers.items() if name.startswith("#")})

    def rebuild(self, kept: Candidates) -> None:
        """Build the structure around candidates that a snapshot kept; the clock is set already."""
        raise NotImplementedError

    def recount(self, counters: Counters) -> None:
        """Take over the work counted before the snapshot."""
        raise NotImplementedError

    @property
    def counters(self) -> Counters:
        raise NotImplementedError

    def open_windows(self, kept: Candidates) -> tuple[Ints, Ints, Ints]:
        """(start, end, k) of the windows still to be reported that hold a candidate, by start."""
        start, end, k = self.meta.openings(kept.at, int(NEVER))
        due = end > self.until
        return start[due], end[due], k[due]


def _tagged(counters: Counters) -> Counters:
    return {f"#{name}": value for name, value in counters.items()}
