"""Latency and throughput of the sharing plans under load, as uncertain-tkde §10 defines them.

What a pass costs is measured on the engine for each k; when passes are due follows from the plan; one processor
executes them in that order. Throughput: query executions per second of processor time there was. Latency: by how much
the times between a query's executions exceed its FREQUENCY, added up, on average over the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean

import numpy as np

from bench.harness import Ratio, Result, Run, cpu_seconds, row
from bench.rows.uncertain import Settings as Pass, Source, standing
from skyband.datasets import query_set
from skyband.engines.uncertain.pk_topk import Tuples
from skyband.planner.sharing import Cycle, Group, by_frequency, combined, cost_apart, dynamic, greedy

PLANS = ("NS", "IN", "INCO", "GA", "DP")
Due = tuple[int, int, tuple[int, ...]]
"""When, for which k, and which queries it answers."""


@dataclass(frozen=True)
class Settings:
    n: int = 10_000
    queries: tuple[int, ...] = (10, 20, 30, 40)
    horizon: int = 2_000
    sets: int = 20
    reports: int = 30
    seed: int = 3


TINY = Settings(n=300, queries=(10, 20), horizon=100, sets=2, reports=3)


@row(
    "uncertain-load",
    "latency and throughput of NS, IN, INCO, GA and DP (f in 1 … 40, k in 2 … 100; uncertain-tkde Figure 7)",
)
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "queries": str(s.queries), "rules": "pairs of neighbours"})
    cost = _pass_costs(s, run)
    twenty = [_drawn(20, s.seed + number) for number in range(s.sets)]
    unit = fmean(cost_apart(every, k, lambda k: float(cost[k])) for every, k in twenty)
    for x in s.queries:
        sets = [_drawn(x, s.seed + number) for number in range(s.sets)]
        for plan in PLANS:
            run.say(f"{x} queries: {plan}")
            found = np.array([_load(plan, every, k, cost, unit, s.horizon) for every, k in sets]).mean(axis=0)
            result.lines.append(
                {
                    "contestant": f"{plan}, {x} queries",
                    "load": float(found[0]),
                    "executions/s": float(found[1]),
                    "late, units a query": float(found[2]),
                }
            )
    last = {line["contestant"]: line for line in result.lines[-len(PLANS) :]}
    ns, dp = (last[f"{plan}, {s.queries[-1]} queries"]["executions/s"] for plan in ("NS", "DP"))
    assert isinstance(ns, float)
    assert isinstance(dp, float)
    result.ratios.append(Ratio(f"{s.queries[-1]} queries: throughput of DP over NS", dp / ns))
    result.notes += [
        f"a unit of time is {1e3 * unit:.3g} ms: what NS needs for one with 20 queries",
        f"{s.horizon:,} units, means over {s.sets} sets of queries",
    ]
    return result


def _drawn(x: int, seed: int) -> tuple[list[int], list[int]]:
    drawn = query_set("uu", x, seed)
    return drawn.every.tolist(), drawn.k.tolist()


def _pass_costs(s: Settings, run: Run) -> np.ndarray:
    """Seconds of a pass for k up to 100: measured at some, between them by straight lines."""
    measured = [1, 2, 5, 10, 20, 40, 60, 80, 100]
    found = []
    source = Source.of(s.n, True, s.seed)
    for k in measured:
        run.say(f"a pass at k = {k}")
        engine, due = standing(source, Pass(n=s.n, k=k, reports=s.reports, rounds=1))
        engine.advance(Tuples.none(), due[0])
        found.append(cpu_seconds(partial(engine.advance, Tuples.none(), due[1])) / s.reports)
    return np.interp(np.arange(101), measured, found)


def _load(
    plan: str, every: list[int], k: list[int], cost: np.ndarray, unit: float, horizon: int
) -> tuple[float, float, float]:
    """Load, executions per second and lateness per query, of one processor for `horizon` units."""
    due = sorted(due_moments(plan, every, k, cost, horizon))
    clock, work, executed = 0.0, 0.0, 0
    last = [0.0] * len(k)
    late = [0.0] * len(k)
    for moment, most, answered in due:
        clock = max(clock, float(moment)) + cost[most] / unit
        if clock > horizon:
            break
        work += cost[most] / unit
        executed += len(answered)
        for query in answered:
            late[query] += max(0.0, clock - last[query] - every[query])
            last[query] = clock
    for query, before in enumerate(last):
        late[query] += max(0.0, horizon - before - every[query])
    asked = sum(cost[most] for _, most, _ in due) / unit / horizon
    return float(asked), executed / (horizon * unit), fmean(late)


def due_moments(plan: str, every: list[int], k: list[int], cost: np.ndarray, horizon: int) -> Iterator[Due]:
    """Every pass of a plan up to the horizon."""
    if plan == "NS":
        groups = [Group(often, most, (number,)) for number, (often, most) in enumerate(zip(every, k, strict=True))]
    else:
        groups = by_frequency(every, k)
    if plan in ("NS", "IN", "INCO"):
        for group in combined(groups) if plan == "INCO" else groups:
            for moment in range(group.every, horizon + 1, group.every):
                yield moment, group.k, group.members
        return
    groups = combined(groups)
    cycle = (greedy if plan == "GA" else dynamic)(groups, lambda k: float(cost[k]))
    yield from _cycled(cycle, groups, horizon)


def _cycled(cycle: Cycle, groups: list[Group], horizon: int) -> Iterator[Due]:
    executed: dict[int, int] = {}
    for number in range(len(groups)):
        executed |= dict.fromkeys(cycle.moments_of(number).tolist(), number)
    for moment, number in executed.items():
        answered = tuple(query for group in groups[: number + 1] for query in group.members)
        for each in range(moment, horizon + 1, cycle.length):
            yield each, groups[number].k, answered
