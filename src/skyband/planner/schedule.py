"""The schedule of an uncertain family: which of its queries share a pass, and at which moments.

Queries share a pass only when their windows have the same length. Of those with a FREQUENCY, the ones that need no
larger k than a SLIDE query reporting at least as often ride along with it, at its moments, for nothing. The others
follow a sharing plan: the dynamic program where its table is small, else the greedy algorithm.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

from skyband.model import Ints, Query, TopK
from skyband.planner.sharing import (
    Cost,
    Cycle,
    Group,
    by_frequency,
    combined,
    cost_apart,
    dynamic,
    greedy,
    work_of_dynamic,
)  # fmt: skip

MOST_WORK = 5e6
"""Sums that the dynamic program may compute; about a tenth of a second."""
MOST_MOMENTS = 200
"""DueReports that a cycle of the dynamic program may have; each becomes a beat of every query executed at it."""


def engine_cost(k: int) -> float:
    """Microseconds of a pass of `pk_topk` (10,000 records, p uniform, no rules): a fixed part, and k·√k, because the
    scan stops after about 2k records and a row's band is as wide as the standard deviation of their number."""
    return 30.0 + float(0.06 * k**1.5)


def normal_cost(k: int) -> float:
    """The same of `pk_normal`, with 2,000 records in reach: nodes for every score around the k-th."""
    return 9_000.0 + 1_600.0 * k


@dataclass(frozen=True)
class Beats:
    """Query `query[i]` (of the family) reports at every moment congruent to `phase[i]` modulo `period[i]`."""

    query: Ints
    period: Ints
    phase: Ints


@dataclass(frozen=True)
class Sharing:
    """Queries over windows of one length. Times of `groups` and `cycle` are in `unit`s; `members` of groups are places
    in the family. `riders` are (FREQUENCY query, SLIDE query) pairs."""

    width: int
    unit: int
    queries: tuple[int, ...]
    slides: tuple[int, ...]
    riders: tuple[tuple[int, int], ...]
    groups: tuple[Group, ...]
    cycle: Cycle | None
    apart: float
    """Cost per unit of the planned queries, each by itself."""


def shared_passes(queries: Sequence[Query], cost: Cost = engine_cost) -> list[Sharing]:
    """One for each length of window, in the order of the queries."""
    by_width: dict[int, list[int]] = {}
    for place, query in enumerate(queries):
        by_width.setdefault(query.window.width, []).append(place)
    return [_sharing(queries, width, places, cost) for width, places in by_width.items()]


def beats(queries: Sequence[Query], sharings: Sequence[Sharing]) -> Beats:
    """The moments of every query, ordered by query."""
    found: list[tuple[int, int, int]] = []
    for sharing in sharings:
        host = {place: place for place in sharing.slides} | dict(sharing.riders)
        for place, other in host.items():
            frame = queries[other].window
            found.append((place, frame.slide, frame.end_phase()))
        for number, group in enumerate(sharing.groups):
            for period, phase in _group_beats(sharing, number):
                found += [(place, period, phase) for place in group.members]
    columns = np.array(sorted(found), np.int64).reshape(-1, 3).T.copy()
    return Beats(columns[0], columns[1], columns[2])


def _group_beats(sharing: Sharing, group: int) -> list[tuple[int, int]]:
    assert sharing.cycle is not None
    cycle, unit = sharing.cycle, sharing.unit
    if cycle.periods is not None:
        return [(cycle.periods[group] * unit, 0)]
    due = cycle.moments_of(group)
    if (np.diff(due, prepend=0) == due[0]).all():
        return [(int(due[0]) * unit, 0)]
    return [(cycle.length * unit, int(moment) % cycle.length * unit) for moment in due]


def _sharing(queries: Sequence[Query], width: int, places: list[int], cost: Cost) -> Sharing:
    slides = tuple(place for place in places if not queries[place].window.at_least_every)
    often = [place for place in places if queries[place].window.at_least_every]
    hosts = _hosts(queries, often, slides)
    riders = [(place, hosts[place]) for place in often if place in hosts]
    planned = [place for place in often if place not in hosts]
    if not planned:
        return Sharing(width, 1, tuple(places), slides, tuple(riders), (), None, 0.0)
    every = [queries[place].window.slide for place in planned]
    k = [_k(queries[place]) for place in planned]
    unit = gcd(*every)
    often = [each // unit for each in every]
    groups = [
        Group(group.every, group.k, tuple(planned[i] for i in group.members))
        for group in combined(by_frequency(often, k))
    ]
    cycle = best_cycle(tuple(groups), cost)
    return Sharing(width, unit, tuple(places), slides, tuple(riders), tuple(groups), cycle, cost_apart(often, k, cost))


def _hosts(queries: Sequence[Query], often: Sequence[int], slides: tuple[int, ...]) -> dict[int, int]:
    """By FREQUENCY query: a SLIDE query that reports at least as often and asks for at least as many; of those the one
    that reports least often, and of several such the first."""
    # By slide: (k, place) of those that ask for more than all before them. No other is ever the first that is enough.
    rising: dict[int, list[tuple[int, int]]] = {}
    for place in slides:
        before = rising.setdefault(queries[place].window.slide, [])
        if not before or before[-1][0] < _k(queries[place]):
            before.append((_k(queries[place]), place))
    waiting = deque(sorted(rising))
    # Slides so far, each with its largest k. They rise and the k fall: a longer slide with a larger k is better.
    able: list[tuple[int, int]] = []
    found = {}
    for place in sorted(often, key=lambda each: queries[each].window.slide):
        while waiting and waiting[0] <= queries[place].window.slide:
            slide = waiting.popleft()
            most = rising[slide][-1][0]
            while able and able[-1][1] <= most:
                able.pop()
            able.append((slide, most))
        k = _k(queries[place])
        enough = bisect_right(able, -k, key=lambda each: -each[1])
        if enough:
            hosts = rising[able[enough - 1][0]]
            found[place] = hosts[bisect_left(hosts, (k,))][1]
    return found


def _k(query: Query) -> int:
    assert isinstance(query, TopK)
    return query.k


@lru_cache(maxsize=256)
def best_cycle(groups: tuple[Group, ...], cost: Cost) -> Cycle:
    """The dynamic program's cycle where that is computed quickly and not long, else the greedy one."""
    nested = greedy(groups, cost)
    if work_of_dynamic(groups) > MOST_WORK or groups[-1].every > MOST_WORK / 10:
        return nested
    best = dynamic(groups, cost)
    if len(best.moment) > MOST_MOMENTS or best.per_unit >= nested.per_unit * (1 - 1e-12):
        return nested
    return best
