"""The state that engines for complete data have in common, and its snapshot: the candidates and the clock.

Whatever an engine builds around its candidates (views, pointers, counters of dominance) follows from them and the meta
query. So a snapshot holds nothing else, stays as small as the candidates, and can be restored by any of these engines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skyband.engines.base import Counters
from skyband.engines.codec import pack, unpack
from skyband.model import NEVER, Answers, Floats, Ints, MetaQuery, Moments, Records

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
    """Keeps the clock, takes and restores snapshots; an algorithm adds `advance`, `kept`, `rebuild` and counters."""

    def __init__(self, meta: MetaQuery) -> None:
        self.meta = meta
        # Ids given so far, and records among them: late ones make the candidates get new ids.
        self.fed = 0
        self.taken = 0
        self.last = int(NEVER)
        self.until = int(NEVER)

    def _clock(self, records: Records, moments: Moments) -> None:
        self.fed += len(records)
        self.taken += len(records)
        if len(records):
            self.last = int(records.at[-1])
        self.until = moments.until

    def advance(self, records: Records, moments: Moments) -> Answers:
        raise NotImplementedError

    def kept(self) -> Candidates:
        raise NotImplementedError

    def candidates(self) -> Ints:
        return self.kept().id

    def snapshot(self) -> bytes:
        kept = self.kept()
        clock = {"fed": self.fed, "taken": self.taken, "last": self.last, "until": self.until}
        return pack(KIND, {"id": kept.id, "at": kept.at, "score": kept.score}, clock | _tagged(self.counters))

    def restore(self, state: bytes) -> None:
        columns, numbers = unpack(KIND, state)
        self.fed, self.taken = numbers["fed"], numbers["taken"]
        self.last, self.until = numbers["last"], numbers["until"]
        self.rebuild(Candidates(columns["id"], columns["at"], columns["score"]))
        self.recount({name[1:]: value for name, value in numbers.items() if name.startswith("#")})

    def admit(self, late: Records, order: Ints) -> Ints:
        if not len(late):
            return self.candidates()
        kept, counters = self.kept(), self.counters
        at = np.concatenate((kept.at, late.at))[order]
        score = np.concatenate((kept.score, late.score))[order]
        id = self.fed + np.arange(len(order))
        self.fed += len(order)
        self.taken += len(late)
        self.last = max(self.last, int(late.at.max()))
        self.rebuild(Candidates(id, at, score))
        self.recount(counters)
        return id

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
