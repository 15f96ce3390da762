"""Groups of records: partial aggregates, here one for each record, and engines that rank the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from skyband.engines.base import Counters, DataModelName
from skyband.engines.oracle import groups as oracle
from skyband.model import Flags, Ints, Keys, MetaQuery
from skyband.model.partials import COUNT, Asked, Last, Partials, Totals
from tests.engines.conformance.desk import (
    LABEL,
    Case,
    Column,
    Listed,
    beats,
    clocks,
    columns,
    delays,
    in_some_window,
    kinds,
    served,
    times,
)

SCORES = {"COUNT": "*", "SUM": "x", "MIN": "x", "MAX": "x", "LAST": "x", "DISTINCT": "x"}


@dataclass(frozen=True)
class Score:
    """What groups are ranked by; HAVING number 0 wants two records."""

    function: str

    def keys(self, totals: Totals) -> tuple[Keys, Flags]:
        found = {
            "COUNT": lambda: totals.added[COUNT],
            "SUM": lambda: totals.added["s0.0"],
            "MIN": lambda: totals.least["0"],
            "MAX": lambda: totals.largest["0"],
            "LAST": lambda: totals.last["0"].key,
            "DISTINCT": lambda: totals.added["x0"],
        }[self.function]()
        return found, np.ones(len(found), bool)

    def passes(self, having: int, totals: Totals) -> Flags:
        return totals.added[COUNT] > 1

    def above(self, query: int, keys: Keys) -> Flags:
        raise AssertionError("nobody asks here")

    def gains(self, added: Mapping[str, Ints]) -> Ints | None:
        return {"COUNT": added[COUNT], "SUM": added["s0.0"]}.get(self.function)


@dataclass(frozen=True, eq=False)
class GroupCase(Case):
    """In feed order: by time, of equal times the larger group first."""

    group: Ints
    value: Ints
    function: str

    def batch(self, numbers: Ints) -> Partials:
        value, at = self.value[numbers], self.at[numbers]
        one = np.ones(len(numbers), np.int64)
        last = Last(at, value, value, one > 0)
        kept = {COUNT: one, "s0.0": value}, {"0": value}, {"0": value}, {"0": last}
        rules = Score(self.function)
        return Partials(LABEL - numbers, at, self.group[numbers], *kept, {"0": value}, {"0": one > 0}, rules)


@st.composite
def workloads(draw: st.DrawFn, engines: Sequence[str], late: bool, tied: bool) -> GroupCase:
    """Ties, repeats and gaps, groups that come and go, any aggregate, some queries with a HAVING."""
    kind = draw(st.sampled_from(kinds(engines, late)))
    at = draw(times(kind))
    n = len(at)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    group = rng.integers(0, draw(st.sampled_from([2, 5, 20])), n) * 77_777_777_777 - 5
    value = np.ones(n, np.int64) if tied else rng.integers(draw(st.sampled_from([-3, 0])), 9, n)
    order = np.lexsort((-group, at))
    width, period, phase, k = columns(draw(beats(3, st.integers(1, 4))))
    asked = Asked(np.array([draw(st.sampled_from([-1, -1, 0])) for _ in k], np.int64), np.zeros(len(k), bool))
    meta = MetaQuery(kind, width, period, phase, k, np.arange(len(k)), asked=asked)
    function = draw(st.sampled_from(sorted(SCORES)))
    return GroupCase(meta, at, draw(clocks(at)), draw(delays(n, late)), group[order], value[order], function)


Truth = list[tuple[int, int]]
"""The newest record of each group, best first, with the group's score."""


class Groups:
    name: DataModelName = "groups"
    precision = 1.0

    def cases(self, *engines: str, late: bool = False, tied: bool = False) -> st.SearchStrategy[GroupCase]:
        return served(engines, workloads(engines, late, tied))

    def long(self, engine: str, shape: Column, n: int, untils: Sequence[int]) -> GroupCase:
        draw = np.random.default_rng(n)
        width, period, phase, k = columns([(500, 100, 0, 5), (300, 70, 3, 4)])
        asked = Asked(np.array([-1, -1]), np.zeros(2, bool))
        meta = MetaQuery("rows", width, period, phase, k, np.arange(2), asked=asked)
        value = (shape(draw, n) * 1000).astype(np.int64)
        rest = draw.zipf(1.2, n) % 200, value, "SUM"
        return GroupCase(meta, np.arange(n), tuple(untils), np.zeros(n, np.int64), *rest)

    def truth(self, case: GroupCase, query: int, numbers: Ints) -> Truth:
        function = "COUNT" if case.function == "DISTINCT" else case.function
        members: dict[int, list[int]] = {}
        for number in numbers.tolist():
            members.setdefault(int(case.group[number]), []).append(number)
        found = []
        assert case.meta.asked is not None
        least = 2 if case.meta.asked.having[query] == 0 else 1
        for group, mine in members.items():
            records = [oracle.Record(int(case.at[i]), (group,), {"x": int(case.value[i])}) for i in mine]
            once = case.function == "DISTINCT"
            score = oracle.aggregate(function, SCORES[case.function], once, records, lambda value: value)
            if len(mine) >= least:
                found.append((-score, -max(mine), max(mine), score))
        return [(newest, score) for *_, newest, score in sorted(found)]

    def agree(self, case: GroupCase, query: int, found: Listed, truth: Truth) -> None:
        assert found == truth[: int(case.meta.k[query])]

    def hits(self, case: GroupCase, query: int, found: Listed, truth: Truth) -> tuple[int, int]:
        best = truth[: int(case.meta.k[query])]
        return len(set(found) & set(best)), len(best)

    def needed(self, engine: str, case: GroupCase, until: int, arrived: Ints) -> tuple[set[int], set[int]]:
        """All that some window still holds: nothing of a sum can be dropped."""
        window = in_some_window(case, until, arrived)
        return window, window

    def copies(self, case: GroupCase) -> int:
        return 1

    def work(self, engine: str, case: GroupCase, counters: Counters) -> tuple[int, int]:
        """A group is looked at when one of its records comes or goes, and at every report."""
        reports = sum(1 for _ in case.windows(0, len(case.at)))
        return len(case.at), 4 * len(case.at) * len(case.meta) + reports * 2 * case.meta.longest
