"""When to execute queries that may be executed more often than they must (uncertain-tkde §4 to §8).

Every query has a FREQUENCY f, the longest time between two of its reports, and a k; one pass for the largest k answers
every smaller one, and costs c(k). Plans, from none to all of the sharing:

    NS     every query by itself, every f
    IN     one pass for all queries of equal f (§4)
    INCO   and those with a longer f and no larger k ride along (§5, the combination rule)
    GA     groups on nested periods: t₁ = f₁, tᵢ the last multiple of tᵢ₋₁ up to fᵢ (§8, O(g)); at most twice the best
    DP     the best cycle there is (§7)

Errata: the greedy algorithm's first cost is k₁, not f₁ (Algorithm 2); for Query Example 2 it finds 7/60, as good as the
dynamic program; Corollary 8.1 has the two names swapped, and so have the columns of Table 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from skyband.model import Ints

Cost = Callable[[int], float]


def papers_cost(k: int) -> float:
    """What the paper assumes: a pass costs its k."""
    return float(k)


@dataclass(frozen=True)
class Group:
    """Queries executed together at most `every` apart; `members` are their places, `k` the largest they ask."""

    every: int
    k: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Cycle:
    """A plan: at each `moment` (in (0, length], rising) the groups 0 … `group` are executed, in every cycle again.

    `cost` is that of one cycle. `periods` is set where the moments are nested: group i is then executed at every
    multiple of `periods[i]`, and moments need not be listed.
    """

    name: str
    length: int
    cost: float
    moment: Ints
    group: Ints
    periods: tuple[int, ...] | None = None

    @property
    def per_unit(self) -> float:
        return self.cost / self.length

    def moments_of(self, group: int) -> Ints:
        """Where in the cycle a group is executed."""
        if self.periods is not None:
            return np.arange(self.periods[group], self.length + 1, self.periods[group])
        return self.moment[self.group >= group]


def by_frequency(every: Sequence[int], k: Sequence[int]) -> list[Group]:
    """IN: one group for each FREQUENCY, the shortest first."""
    members: dict[int, list[int]] = {}
    for place, often in enumerate(every):
        members.setdefault(often, []).append(place)
    return [Group(often, max(k[i] for i in members[often]), tuple(members[often])) for often in sorted(members)]


def combined(groups: Sequence[Group]) -> list[Group]:
    """INCO: a group with no larger k than one that is executed more often rides along with it.

    Of those it could join, it joins the one executed least often; so both `every` and `k` rise from group to group.
    """
    found: list[Group] = []
    for group in groups:
        if found and group.k <= found[-1].k:
            last = found[-1]
            # The least often executed group whose k is enough: larger ones only stand behind it.
            found[-1] = Group(last.every, last.k, last.members + group.members)
        else:
            found.append(group)
    return found


def cost_apart(every: Sequence[int], k: Sequence[int], cost: Cost) -> float:
    """NS: per unit of time."""
    return sum(cost(each) / often for often, each in zip(every, k, strict=True))


def cost_of_groups(groups: Sequence[Group], cost: Cost) -> float:
    """IN and INCO: per unit of time, every group on its own."""
    return sum(cost(group.k) / group.every for group in groups)


def greedy(groups: Sequence[Group], cost: Cost) -> Cycle:
    """GA over combined groups, in O(g): the costs follow from the periods alone."""
    every = [group.every for group in groups]
    periods = tuple(accumulate(every, lambda period, often: often // period * period))
    costs = [cost(group.k) for group in groups]
    total = costs[0]
    for (shorter, longer), (less, more) in zip(pairwise(periods), pairwise(costs), strict=True):
        total = longer // shorter * total + more - less
    none = np.empty(0, np.int64)
    return Cycle("GA", periods[-1], total, none, none, periods)


def dynamic(groups: Sequence[Group], cost: Cost) -> Cycle:
    """DP over combined groups: the cheapest cycle per unit of time.

    Let D(i, t) be the least cost of the first i groups in [0, t]. Its last execution of group i leaves r < fᵢ behind:
    D(i, t) = cᵢ + min over r of D(i, t - 1 - r) + D(i - 1, r). D never falls with t, so of the r with equal D(i - 1, r)
    only the largest is looked at; and the smallest of those is f₁ - 1, so that f₁ values of t are computed at once.
    """
    longest = groups[-1].every
    table = [np.zeros(longest)]
    choice: list[Ints] = [np.empty(0, np.int64)]
    for group in groups:
        before = table[-1]
        now, chosen = before.copy(), np.full(longest, -1)
        ends = _run_ends(before[: min(group.every, longest)])
        step = int(ends[0]) + 1
        # The last group is executed once, at the end: its own row is never needed.
        for low in range(group.every, longest if group is not groups[-1] else 0, step):
            t = np.arange(low, min(low + step, longest))
            value = now[(t - 1)[:, None] - ends] + before[ends]
            best = value.argmin(axis=1)
            now[t] = cost(group.k) + value[np.arange(len(t)), best]
            chosen[t] = ends[best]
        table.append(now)
        choice.append(chosen)
    length = np.arange(1, longest + 1)
    total = table[-1] + cost(groups[-1].k)
    best_length = int(length[(total / length).argmin()])
    moment, group_at = _executions(choice, groups, best_length)
    return Cycle("DP", best_length, float(total[best_length - 1]), moment, group_at)


def _run_ends(values: np.ndarray) -> Ints:
    """The last place of every stretch of equal values."""
    return np.append(np.flatnonzero(np.diff(values) != 0), len(values) - 1)


def _executions(choice: list[Ints], groups: Sequence[Group], length: int) -> tuple[Ints, Ints]:
    """What the table chose for the cycle of this length: moments, and the group executed at each."""
    found = {length: len(groups) - 1}
    waiting = [(len(groups), 0, length - 1)]
    while waiting:
        level, begin, t = waiting.pop()
        while level and t < groups[level - 1].every:
            level -= 1
        if not level:
            continue
        rest = int(choice[level][t])
        found[begin + t - rest] = level - 1
        waiting.append((level, begin, t - rest - 1))
        waiting.append((level - 1, begin + t - rest, rest))
    moment = np.array(sorted(found), np.int64)
    return moment, np.array([found[each] for each in moment.tolist()], np.int64)


def work_of_dynamic(groups: Sequence[Group]) -> float:
    """About how many sums `dynamic` computes."""
    longest, shortest = groups[-1].every, groups[0].every
    return sum(float(longest) * max(group.every // shortest, 1) for group in groups)
