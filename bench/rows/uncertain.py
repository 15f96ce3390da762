"""Uncertain streams: a pass of `pk_topk` against the recurrences of the paper, a slide against starting anew, and the
sharing plans against each other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from math import log2
from statistics import fmean, median

import numpy as np

from bench.harness import Ratio, Result, Run, cpu_seconds, in_turns, median_ratio, row
from skyband.datasets import QUERY_SETS, neighbours, query_set, uniform
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.kernels.uncertain.worlds_plain import recurrence, recurrence_with_rules
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import NEVER, DueReports, Floats, Ints, MetaQuery
from skyband.planner.sharing import (
    Cycle,
    Group,
    by_frequency,
    combined,
    cost_apart,
    cost_of_groups,
    dynamic,
    greedy,
    papers_cost,
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    n: int = 10_000
    k: int = 100
    reports: int = 200
    slides: int = 200
    sampled: int = 20
    rounds: int = 5
    seed: int = 1


TINY = Settings(n=400, k=10, reports=5, slides=5, sampled=2, rounds=2)


@dataclass(frozen=True)
class Source:
    """A stream of uncertain records; positions are times."""

    score: Floats
    p: Floats
    rule: Ints

    @staticmethod
    def of(n: int, ruled: bool, seed: int) -> Source:
        p = 1.0 - uniform(n, seed + 1)
        return Source(uniform(n, seed), p, neighbours(p, 1.0, seed) if ruled else np.full(n, -1))

    def tuples(self, low: int, high: int) -> Tuples:
        at, part = np.arange(low, high), slice(low, high)
        rule = np.where(self.rule[part] < 0, NO_RULE, self.rule[part])
        return Tuples(at, at, self.score[part].copy(), self.p[part].copy(), rule, at - low, rule)


def _meta(width: int, slide: int, k: int) -> MetaQuery:
    one = np.array([0])
    return MetaQuery("rows", one + width, one + slide, one + width % slide, one + k, one)


def standing(source: Source, s: Settings) -> tuple[PkTopk, list[DueReports]]:
    """An engine with a full window in rank order, and reports over it during which nothing comes or goes."""
    width = 10 * s.n
    engine = PkTopk(_meta(width, 1, s.k))
    engine.advance(source.tuples(0, s.n), _reports(width, s.n, 1, s.k))
    return engine, [_reports(width, s.n + 1 + i * s.reports, s.reports, s.k) for i in range(s.rounds + 1)]


def _reports(width: int, first: int, count: int, k: int) -> DueReports:
    end = first + np.arange(count)
    return DueReports(end - width, end, np.full(count, k), np.zeros(count, np.int64), int(end[-1]))


def _plain(source: Source, s: Settings, ruled: bool) -> float:
    """CPU seconds of the recurrence over the whole window; with rules from evenly spaced places."""
    order = np.argsort(-source.score[: s.n], kind="stable")
    p, rule = source.p[order], source.rule[order]
    if not ruled:
        recurrence(p, s.k)
        return median(cpu_seconds(partial(recurrence, p, s.k)) for _ in range(s.rounds))
    places = ((np.arange(s.sampled) + 0.5) * s.n / s.sampled).astype(int).tolist()
    recurrence_with_rules(p, rule, s.k, 0, 2)
    spent = [cpu_seconds(partial(recurrence_with_rules, p, rule, s.k, at, at + 2)) / 2 for at in places]
    return fmean(spent) * s.n


@row(
    "uncertain-pass",
    "one pass of pk_topk (n 10,000, k 100, p uniform) against the paper's recurrences, and a slide of 1 %",
)
def passes(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "p": "uniform", "figure": "median of the rounds"})
    for ruled, asked in ((False, 15.0), (True, 1000.0)):
        name = "rules" if ruled else "no rules"
        run.say(name)
        source = Source.of(s.n + s.slides * s.n // 100, ruled, s.seed)
        engine, due_now = standing(source, s)
        engine.advance(Tuples.none(), due_now[0])
        before = engine.counters
        spent = [cpu_seconds(partial(engine.advance, Tuples.none(), due)) / s.reports for due in due_now[1:]]
        scanned = (engine.counters["scanned"] - before["scanned"]) / (s.reports * s.rounds)
        plain = _plain(source, s, ruled)
        slide, full = _sliding(source, s)
        once = median(spent)
        result.lines.append(
            {
                "contestant": name,
                "µs/pass": 1e6 * once,
                "records read": scanned,
                "µs/recurrence": 1e6 * plain,
                "µs/slide of 1 %": 1e6 * slide,
                "µs/anew": 1e6 * full,
            }
        )
        what = "O(n²k)" if ruled else "O(nk)"
        result.ratios.append(Ratio(f"{name}: {what} recurrence over a pass", plain / once, run.asked(asked)))
        result.ratios.append(Ratio(f"{name}: anew (sorted and scanned) over a slide", full / slide, run.asked(2.0)))
    result.notes += [
        "a pass: records in rank order already; the recurrences too",
        f"with rules the recurrence is timed at {s.sampled} evenly spaced pairs of places and scaled up",
        "a slide: 1 % of the window leaves and comes, then a report",
    ]
    return result


def _sliding(source: Source, s: Settings) -> tuple[float, float]:
    """CPU seconds of a slide of 1 %, and of the same window from scratch."""
    step = s.n // 100
    meta = _meta(s.n, step, s.k)
    engine = PkTopk(meta)
    engine.advance(source.tuples(0, s.n), meta.due_reports(np.arange(s.n), int(NEVER), int(NEVER), s.n))
    last = s.n + s.slides * step
    due = meta.due_reports(np.arange(s.n, last), s.n - 1, s.n, last)
    slide = cpu_seconds(partial(engine.advance, source.tuples(s.n, last), due)) / len(due)
    anew = []
    for _ in range(s.rounds):
        fresh, tuples = PkTopk(_meta(s.n, s.n, s.k)), source.tuples(0, s.n)
        anew.append(cpu_seconds(partial(fresh.advance, tuples, _reports(s.n, s.n, 1, s.k))))
    return slide, median(anew)


@dataclass(frozen=True)
class Plans:
    sets: int = 300
    queries: tuple[int, ...] = (20, 40, 60, 80, 100)
    longest: tuple[int, ...] = (10_000, 20_000, 30_000, 40_000)
    x: int = 20
    seed: int = 0


FEW = Plans(sets=5, queries=(20, 100), longest=(200,))


@row(
    "uncertain-plans",
    "cost per unit of time without sharing (NS) over IN, INCO, GA and DP, beside log₂x (f in 1 … 40, k in 2 … 100)",
)
def plans(run: Run) -> Result:
    s = FEW if run.quick else Plans()
    result = Result(settings={"sets": s.sets, "cost": "c(k) = k", "seed": s.seed})
    for kind in QUERY_SETS:
        for x in s.queries:
            run.say(f"{kind} {x}")
            ratios = np.array([_savings(kind, x, s.seed + number) for number in range(s.sets)])
            mean = ratios.mean(axis=0)
            names = ("NS/IN", "NS/INCO", "NS/GA", "NS/DP", "GA/DP")
            figures = dict(zip(names, mean.tolist(), strict=True))
            result.lines.append({"contestant": f"{kind}, {x} queries", "log₂x": log2(x), **figures})
            if kind == "uu":
                asked = run.asked(6.6) if x == 100 else None
                result.ratios.append(Ratio(f"{x} queries: NS over DP", figures["NS/DP"], asked))
                result.ratios.append(Ratio(f"{x} queries: GA over DP", figures["GA/DP"], None, run.asked(1.05)))
                result.details[f"largest GA/DP of {x}"] = float(ratios[:, 4].max())
    result.notes.append(f"means over {s.sets:,} sets of queries each")
    return result


def _savings(kind: str, x: int, seed: int) -> tuple[float, float, float, float, float]:
    drawn = query_set(kind, x, seed)
    every, k = drawn.every.tolist(), drawn.k.tolist()
    apart = cost_apart(every, k, papers_cost)
    inside = by_frequency(every, k)
    groups = combined(inside)
    ga, dp = greedy(groups, papers_cost).per_unit, dynamic(groups, papers_cost).per_unit
    within, together = cost_of_groups(inside, papers_cost), cost_of_groups(groups, papers_cost)
    return apart / within, apart / together, apart / ga, apart / dp, ga / dp


@row("uncertain-planner", "planning time of GA and DP for f up to 40,000 (uncertain-tkde Figure 17)")
def planner(run: Run) -> Result:
    s = FEW if run.quick else Plans()
    result = Result(settings={"x": s.x, "seed": s.seed})
    for longest in s.longest:
        groups = [
            combined(by_frequency(drawn.every.tolist(), drawn.k.tolist()))
            for drawn in (query_set("uu", s.x, s.seed + number, every=(1, longest)) for number in range(5))
        ]
        found: dict[str, list[Cycle]] = {}
        spent = in_turns(
            {"GA": partial(_planned, groups, found, "GA"), "DP": partial(_planned, groups, found, "DP")}, 3, run
        )
        for name in ("GA", "DP"):
            result.lines.append(
                {
                    "contestant": f"{name}, f up to {longest:,}",
                    "ms/plan": 1e3 * median(spent[name]) / len(groups),
                    "cost/unit": fmean(cycle.per_unit for cycle in found[name]),
                }
            )
        result.ratios.append(Ratio(f"f up to {longest:,}: DP over GA, time", median_ratio(spent["DP"], spent["GA"])))
    return result


def _planned(groups: list[list[Group]], found: dict[str, list[Cycle]], name: str) -> None:
    plan = greedy if name == "GA" else dynamic
    found[name] = [plan(each, papers_cost) for each in groups]
