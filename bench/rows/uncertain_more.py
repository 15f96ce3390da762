"""Uncertain streams: ten thousand PER groups, and scores with an error by integration against points."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

import numpy as np
import pyarrow as pa

import skyband as sb
from bench.harness import Ratio, Result, Run, cpu_seconds, row
from skyband.datasets import spread
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.uncertain.pk_normal import PkNormal, highest
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import Answers, DueReports, MetaQuery, Using
from skyband.runtime.executors import small_groups

LIMIT = 50.0
"""Microseconds that a group and push may cost."""


@dataclass(frozen=True)
class Groups:
    groups: int = 10_000
    alone: int = 500
    pushes: int = 6
    seed: int = 1


@row("uncertain-per", "10,000 PER groups of an uncertain stream: all in one table, against an engine for each")
def per(run: Run) -> Result:
    s = Groups(groups=50, alone=20, pushes=3) if run.quick else Groups()
    result = Result(settings={**asdict(s), "window": "100 s", "slide": "10 s", "k": 3, "rules": "3 of 10 records"})
    spent = {}
    for name, groups, large in (("one table", s.groups, small_groups.LARGE), ("an engine each", s.alone, 0)):
        run.say(name)
        spent[name] = _pushed(groups, large, s)
        result.lines.append({"contestant": f"{name}, {groups:,} groups", "µs a group and push": 1e6 * spent[name]})
    result.ratios.append(Ratio("µs a group and push, one table", 1e6 * spent["one table"], None, run.asked(LIMIT)))
    result.ratios.append(Ratio("an engine each over one table", spent["an engine each"] / spent["one table"]))
    result.notes.append("each push has one record of every group, and a report is due; rows are written")
    return result


def _pushed(groups: int, large: int, s: Groups) -> float:
    """CPU seconds a group and push, the first two pushes apart."""
    query = sb.TopK("q", k=3, by="x", window="100 s", slide="10 s", per="g")
    stream = sb.Stream("s", time="ts", key="id", probability="p", rule="rule")
    monitor, draw = sb.Monitor(sb.Workload([query], stream=stream)), np.random.default_rng(s.seed)
    before, small_groups.LARGE = small_groups.LARGE, large
    try:
        spent = [cpu_seconds(partial(monitor.push, _records(groups, number, draw))) for number in range(s.pushes + 2)]
    finally:
        small_groups.LARGE = before
    return median(spent[2:]) / groups


def _records(groups: int, push: int, draw: np.random.Generator) -> pa.Table:
    id = np.arange(push * groups, (push + 1) * groups)
    return pa.table(
        {
            "ts": pa.array(id * 10_000_000 // groups).cast(pa.timestamp("us")),
            "id": id,
            "x": draw.random(groups),
            "p": 1 - draw.random(groups),
            "rule": pa.array(draw.integers(0, 5, groups), mask=draw.random(groups) < 0.7),
            "g": draw.permutation(groups),
        }
    )


@dataclass(frozen=True)
class Errors:
    n: int = 2_000
    k: tuple[int, ...] = (1, 10, 100)
    points: tuple[int, ...] = (4, 16, 64)
    rounds: int = 3
    seed: int = 8


@row("uncertain-errors", "scores with an error: pk_normal against points with a rule per record, time and accuracy")
def errors(run: Run) -> Result:
    s = Errors(n=40, k=(1, 5), points=(4,), rounds=1) if run.quick else Errors()
    told = {"k": str(s.k), "points": str(s.points), "mean": "normal(5, 1)", "error": "0.05 to 0.5"}
    result = Result(settings={**asdict(s), **told})
    draw = np.random.default_rng(s.seed)
    mean, error, place = draw.normal(5, 1, s.n), draw.uniform(0.05, 0.5, s.n), np.arange(s.n)
    free = np.full(s.n, NO_RULE)
    whole = Tuples(place, place, highest(mean, error), np.ones(s.n), free, place, place, mean, error)
    for k in s.k:
        run.say(f"k = {k}: integration")
        everyone, spent = _timed(PkNormal(_meta(s.n, k, Using("PT_K", 1e-10))), whole, k, s.rounds)
        exact = np.zeros(s.n)
        exact[everyone.id] = everyone.score
        result.lines.append({"contestant": f"k {k}, pk_normal", "ms": 1e3 * spent, "off by": 1e-9})
        for points in s.points:
            run.say(f"k = {k}: {points} points")
            split = spread(pa.table({"m": mean, "e": error, "id": place}), "m", "e", points)
            id, at = split["id"].to_numpy().copy(), np.arange(len(split))
            tuples = Tuples(at, at, split["value"].to_numpy().copy(), split["p"].to_numpy().copy(), id, at, id)
            best, spent = _timed(PkTopk(_meta(len(at), k, Using("PK_STREAMS"))), tuples, k, s.rounds)
            off = float(np.abs(best.score - exact[id[best.id]]).max())
            result.lines.append({"contestant": f"k {k}, {points} points", "ms": 1e3 * spent, "off by": off})
    result.notes.append("pk_normal: the proven bound; points: the largest difference from it among the k reported")
    return result


def _meta(n: int, k: int, using: Using) -> MetaQuery:
    one = np.array([0])
    return MetaQuery("rows", one + 10 * n, one + 1, one, one + k, one, using=(using,))


def _timed(engine: PkTopk, tuples: Tuples, k: int, rounds: int) -> tuple[Answers, float]:
    """The answer, and CPU seconds of a report while nothing comes or goes."""
    n, zero = len(tuples), np.array([0])
    due = [DueReports(zero, zero + n + number, zero + k, zero, n + number) for number in range(rounds + 1)]
    answers = engine.advance(tuples, due[0])
    spent = [cpu_seconds(partial(engine.advance, Tuples.none(), each)) for each in due[1:]]
    return answers, median(spent)
