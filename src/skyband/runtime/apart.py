"""The keeper of objects whose attributes arrive apart: one engine per PER group, fed with values of objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import numpy as np
import pyarrow as pa

from skyband.engines.base import IncompleteEngine, registration
from skyband.engines.codec import pack, unpack
from skyband.model import Ints, Moments, Sightings
from skyband.planner import PlannedFamily
from skyband.runtime.keeper import Reports
from skyband.runtime.members import Member, Members
from skyband.runtime.packed import AT, FEED, OBJECT, SCORE, floats, ints

MEMORY = "objects"


class Apart(Members[IncompleteEngine, Sightings]):
    """Reports name an object by its newest record in the window; the score is the object's."""

    def __init__(self, planned: PlannedFamily, linger: Ints | None) -> None:
        super().__init__(planned.meta, linger)
        assert planned.meta.apart is not None
        self._build = cast("Callable[[], IncompleteEngine]", planned.build)
        self._declared = len(planned.meta.apart) > 0
        self._learns = not registration(planned.choice.engine).capabilities.exact
        self._numbers: dict[int, int] = {}
        """Of streams that are not declared: the number of each, as they came."""

    def build(self) -> IncompleteEngine:
        return self._build()

    def nothing(self) -> Sightings:
        return Sightings.none()

    def read(self, rows: pa.Table, ids: Ints) -> Sightings:
        feed = ints(rows, FEED)
        if not self._declared:
            feed = self._numbered(feed)
        return Sightings(ids, ints(rows, AT), ints(rows, OBJECT), feed, floats(rows, SCORE))

    def rebuild(self, engine: IncompleteEngine, fed: Sightings, fresh: int) -> None:
        engine.rebuild(fed, fresh)

    def report(self, member: Member[IncompleteEngine], fed: Sightings, moments: Moments) -> Reports:
        answers = member.engine.advance(fed, moments)
        entries = answers.entries()
        group = np.zeros(len(moments), np.int64)
        # Rows carry scores with the higher first, whatever the query's order.
        score = (-answers.score if self.meta.ascending else answers.score)[entries]
        return Reports(
            moments.query, moments.start, moments.end, group, answers.size, answers.id[entries], [member.name],
            score=score,
        )  # fmt: skip

    def memory(self) -> bytes:
        """What the rows alone do not say: an approximate engine has learnt from values that it forgot. Else empty."""
        if not self._learns:
            return b""
        clocks = {name: [member.last, member.until] for name, member in self.members.items()}
        known = {"clocks": clocks, "numbers": [[name, number] for name, number in self._numbers.items()]}
        states = [member.engine.snapshot() for member in self.members.values()]
        return pack(MEMORY, {"state": [json.dumps(known).encode(), *states]}, {})

    def recall(self, memory: bytes) -> None:
        """Go on from there; engines then hold their rows already."""
        first, *states = unpack(MEMORY, memory)[0]["state"]
        known = json.loads(first)
        self._numbers = dict(known["numbers"])
        for (name, clock), state in zip(known["clocks"].items(), states, strict=True):
            member = self._member(name)
            member.engine.restore(state)
            member.last, member.until = clock

    def _numbered(self, names: Ints) -> Ints:
        distinct, place = np.unique(names, return_inverse=True)
        known = self._numbers
        number = np.array([known.setdefault(name, len(known)) for name in distinct.tolist()], np.int64)
        return number[place] if len(names) else names
