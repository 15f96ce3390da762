"""Sharing plans at work: a stream that arrives at a rate, passes as they fall due, executed by the engine as it goes.

Nothing is simulated but waiting: the clock is the CPU time of this process, and where a plan has nothing to do until
the next moment, the clock is set forward to it. So a busy machine does not change the figures, and an overloaded plan
falls behind as it would at work. Throughput and lateness as uncertain-tkde §10 defines them (see uncertain_load).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean, median
from time import process_time

import numpy as np

from bench.harness import Ratio, Result, Run, cpu_seconds, row
from bench.rows.uncertain import Source
from bench.rows.uncertain_load import PLANS, Due, due_moments
from skyband.datasets import query_set, uncertain_streams
from skyband.engines.kernels.uncertain.rule_codes import NO_RULE
from skyband.engines.kernels.uncertain.worlds_plain import recurrence
from skyband.engines.uncertain.pk_topk import PkTopk, Tuples
from skyband.model import DueReports, MetaQuery, Using
from skyband.planner.schedule import engine_cost


@dataclass(frozen=True)
class Settings:
    n: int = 10_000
    rate: int = 100
    """Records that arrive in a unit of time."""
    queries: tuple[int, ...] = (10, 20, 30, 40)
    horizon: int = 300
    sets: int = 4
    seed: int = 3


TINY = Settings(n=300, rate=10, queries=(10, 20), horizon=40, sets=1)


class Live:
    """An engine with a full window, and the clock."""

    def __init__(self, source: Source, s: Settings) -> None:
        one = np.array([0])
        self.source, self.s = source, s
        self.engine = PkTopk(MetaQuery("rows", one + s.n, one + 1, one, one + 100, one))
        self.fed = 0
        self.arrive(0)

    def arrive(self, moment: int) -> None:
        """Take in everything that has come by then, and put it in order."""
        upto = self.s.n + moment * self.s.rate
        self._advance(self.source.tuples(self.fed, upto), upto, [1])
        self.fed = upto

    def execute(self, k: Sequence[int]) -> None:
        """One pass over the window as it is, for these k."""
        self._advance(Tuples.none(), self.fed, sorted(set(k), reverse=True))

    def _advance(self, tuples: Tuples, end: int, k: list[int]) -> None:
        at, zeros = np.full(len(k), end), np.zeros(len(k), np.int64)
        self.engine.advance(tuples, DueReports(at - self.s.n, at, np.array(k), zeros, end))


@dataclass(frozen=True)
class Found:
    """Loads are CPU time over the time there was; executions per second; lateness per query, in units."""

    load: float
    arrivals: float
    executed: float
    late: float


def at_work(due: list[Due], every: list[int], k: list[int], unit: float, live: Live) -> Found:
    """A plan's passes as they fall due, until the horizon."""
    horizon, now, reached, executed = live.s.horizon, 0.0, 0, 0
    arriving, passing = 0.0, 0.0
    last, late = [0.0] * len(k), [0.0] * len(k)
    for moment, _, answered in due:
        began = process_time()
        if moment > reached:
            live.arrive(moment)
            reached = moment
        arrived = process_time()
        live.execute([k[query] for query in answered])
        done = process_time()
        arriving, passing = arriving + arrived - began, passing + done - arrived
        now = max(now, float(moment)) + (done - began) / unit
        if now > horizon:
            break
        executed += len(answered)
        for query in answered:
            late[query] += max(0.0, now - last[query] - every[query])
            last[query] = now
    for query, before in enumerate(last):
        late[query] += max(0.0, horizon - before - every[query])
    there_was = unit * max(reached, 1)
    return Found((arriving + passing) / there_was, arriving / there_was, executed / (horizon * unit), fmean(late))


@row(
    "uncertain-live", "latency and throughput of NS, IN, INCO, GA and DP in a run of the engine with arrivals at a rate"
)
def live(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "queries": str(s.queries), "rules": "pairs of neighbours"})
    source = Source.of(s.n + s.horizon * s.rate + 1, True, s.seed)
    cost = np.array([engine_cost(k) for k in range(101)])
    # The first run compiles; the second says what NS needs for a unit with 20 queries.
    for _ in range(2):
        every, k = _drawn(20, s.seed)
        due = sorted(due_moments("NS", every, k, cost, s.horizon))
        unit = cpu_seconds(partial(at_work, due, every, k, 1e9, Live(source, s))) / s.horizon
    for x in s.queries:
        everyone: dict[str, list[Found]] = {plan: [] for plan in PLANS}
        for number in range(s.sets):
            every, k = _drawn(x, s.seed + number)
            for plan in PLANS:
                run.say(f"{x} queries, set {number + 1}: {plan}")
                due = sorted(due_moments(plan, every, k, cost, s.horizon))
                everyone[plan].append(at_work(due, every, k, unit, Live(source, s)))
        for plan, found in everyone.items():
            result.lines.append(
                {
                    "contestant": f"{plan}, {x} queries",
                    "load": fmean(each.load for each in found),
                    "of it arrivals": fmean(each.arrivals for each in found),
                    "executions/s": fmean(each.executed for each in found),
                    "late, units a query": fmean(each.late for each in found),
                }
            )
    last = {str(line["contestant"]).split(",")[0]: line for line in result.lines[-len(PLANS) :]}
    passing = {plan: float(line["load"] or 0) - float(line["of it arrivals"] or 0) for plan, line in last.items()}
    executed = {plan: float(line["executions/s"] or 0) for plan, line in last.items()}
    most = f"{s.queries[-1]} queries"
    result.ratios.append(Ratio(f"{most}: load of NS over DP, arrivals apart", passing["NS"] / passing["DP"]))
    result.ratios.append(Ratio(f"{most}: throughput of DP over NS", executed["DP"] / executed["NS"]))
    result.notes += [
        f"a unit of time is {1e3 * unit:.3g} ms: what NS needs for one with 20 queries, arrivals included",
        f"{s.horizon} units, means over {s.sets} sets of queries; {s.rate} records arrive in a unit",
        "the plans' own cost function: engine_cost",
    ]
    return result


def _drawn(x: int, seed: int) -> tuple[list[int], list[int]]:
    drawn = query_set("uu", x, seed)
    return drawn.every.tolist(), drawn.k.tolist()


@dataclass(frozen=True)
class Several:
    shapes: tuple[tuple[int, int], ...] = ((10, 1_000), (100, 100), (1_000, 10))
    """Streams, and records of each in the window."""
    k: tuple[int, ...] = (1, 5, 50)
    reports: int = 10
    rounds: int = 3
    seed: int = 0


@row(
    "uncertain-streams",
    "several streams, w records of each in the window with p = 1/w: the case in which a scan hardly stops",
)
def streams(run: Run) -> Result:
    s = Several(shapes=((5, 20),), k=(1, 3), reports=2, rounds=1) if run.quick else Several()
    result = Result(settings={**asdict(s), "shapes": str(s.shapes), "k": str(s.k)})
    for count, w in s.shapes:
        table = uncertain_streams(count, w, s.seed, windows=1)
        n, score = len(table), table["value"].to_numpy()
        p, source, at = np.full(n, 1.0 / w), np.arange(n) % count, np.arange(n)
        order = np.argsort(-score)
        for k in (each for each in s.k if each <= count):
            run.say(f"{count} streams of {w}, k = {k}")
            line: dict[str, str | int | float | None] = {"contestant": f"{count:,} streams of {w:,}, k {k}"}
            for using in (Using("PK_STREAMS"), Using()):
                one = np.array([0])
                engine = PkTopk(MetaQuery("rows", one + 10 * n, one + 1, one, one + k, one, using=(using,)))
                engine.advance(Tuples(at, at, score.copy(), p, np.full(n, NO_RULE), at, source), _passes(n, n, 1, k))
                passes = [_passes(n, n + 1 + i * s.reports, s.reports, k) for i in range(s.rounds)]
                before = engine.counters["scanned"]
                spent = median(cpu_seconds(partial(engine.advance, Tuples.none(), each)) for each in passes) / s.reports
                line[f"µs, {using}"] = 1e6 * spent
                line[f"read, {using}"] = (engine.counters["scanned"] - before) / (s.reports * s.rounds)
            recurrence(p, k)
            plain = median(cpu_seconds(partial(recurrence, p[order], k)) for _ in range(s.rounds))
            result.lines.append(line | {"µs, O(nk)": 1e6 * plain})
    result.notes.append("read: records that a pass looked at; `PK_STREAMS` goes on until no record can add 1e-20")
    return result


def _passes(n: int, first: int, count: int, k: int) -> DueReports:
    end = first + np.arange(count)
    return DueReports(end - 10 * n, end, np.full(count, k), np.zeros(count, np.int64), int(end[-1]))
