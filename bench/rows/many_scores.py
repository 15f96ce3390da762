"""Many scoring functions over one window: `sma` against `tma`, `tsl` and one BLAS product per time stamp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from time import process_time

import numpy as np

from bench.harness import Line, Ratio, Result, Run, row
from skyband.datasets import anticorrelated, independent
from skyband.engines.many.points import PointIndex
from skyband.engines.many.sma import Sma
from skyband.engines.many.tma import Tma
from skyband.engines.many.tsl import Tsl
from skyband.model import Floats, Ints
from skyband.model.many import Points, ScoreSpec

NONE: Ints = np.empty(0, np.int64)
SPREAD = {"IND": independent, "ANT": anticorrelated}
INDEXES: dict[str, Callable[[int, int], PointIndex]] = {"sma": Sma, "tma": Tma, "tsl": Tsl}
BLOCK = 5
"""Time stamps that a contestant runs before the next one has its turn."""


@dataclass(frozen=True)
class Settings:
    """The paper's default."""

    n: int = 1_000_000
    d: int = 4
    r: int = 10_000
    queries: int = 1_000
    k: int = 20
    stamps: int = 100
    seed: int = 1


TINY = Settings(n=2_000, r=100, queries=20, k=5, stamps=10)


class Contestant:
    """An engine filled with a window, and the CPU seconds it took since."""

    def __init__(self, name: str, s: Settings, x: Floats, weights: Floats) -> None:
        self.name, self.s, self.x = name, s, x
        self.engine = INDEXES[name](s.d, s.n)
        asked = [ScoreSpec.linear(s.k, weight) for weight in weights]
        if name == "tsl":
            # Its first search of anti-correlated points takes minutes; views that grow with the window need none.
            self.places = self.engine.add(asked)
            self.engine.answers(self.places)
        self.engine.advance(Points(np.arange(s.n), x[: s.n]), NONE, 0)
        if name != "tsl":
            self.places = self.engine.add(asked)
        self.engine.answers(self.places)
        self.before = self.engine.counters
        self.seconds = 0.0

    def run(self, stamp: int) -> None:
        begin = self.s.n + stamp * self.s.r
        at, x = np.arange(begin, begin + self.s.r), self.x[begin : begin + self.s.r]
        began = process_time()
        self.engine.advance(Points(at, x), NONE, begin + self.s.r - self.s.n)
        self.engine.answers(self.places)
        self.seconds += process_time() - began

    def count(self, counter: str) -> float:
        """Per query, since the window was full."""
        return (self.engine.counters[counter] - self.before[counter]) / self.s.queries


class Blas:
    """What a NumPy user writes: the scores of all arrivals for all queries in one product, and those above each query's
    k-th best sorted in. What it would have to do when one of the k best expires is left out, in its favour."""

    name = "BLAS and threshold"

    def __init__(self, s: Settings, x: Floats, weights: Floats) -> None:
        self.s, self.x, self.weights = s, x, np.ascontiguousarray(weights.T)
        self.best = np.stack([self._best(weight) for weight in weights])
        self.seconds = 0.0

    def _best(self, weight: Floats) -> Floats:
        score = self.x[: self.s.n] @ weight
        return -np.sort(-np.partition(score, self.s.n - self.s.k)[self.s.n - self.s.k :])

    def run(self, stamp: int) -> None:
        begin = self.s.n + stamp * self.s.r
        x = self.x[begin : begin + self.s.r]
        began = process_time()
        score = x @ self.weights
        row, query = np.nonzero(score >= self.best[:, -1])
        for i, q in zip(row.tolist(), query.tolist(), strict=True):
            mine = self.best[q]
            place = int(np.searchsorted(-mine, -score[i, q]))
            if place < len(mine):
                mine[place + 1 :] = mine[place:-1].copy()
                mine[place] = score[i, q]
        self.seconds += process_time() - began


def stream(s: Settings, kind: str) -> tuple[Floats, Floats]:
    points = SPREAD[kind](s.n + s.stamps * s.r, s.d, s.seed)
    return points, np.random.default_rng(s.seed + 1).random((s.queries, s.d))


def warm_up() -> None:
    """Compile what engines may come to use: at such sizes they change over while they are measured."""
    x = independent(600, 4, 1)
    for build in (Sma, Tma):
        for share in (0.0, 1.0):
            engine = build(4, 500, share=share)
            places = engine.add([ScoreSpec.linear(3, weight) for weight in x[:80]])
            for begin in range(0, 600, 50):
                engine.advance(Points(np.arange(begin, begin + 50), x[begin : begin + 50]), NONE, begin - 450)
                engine.answers(places)


def race(s: Settings, contestants: list[Contestant | Blas], run: Run) -> None:
    for begin in range(0, s.stamps, BLOCK):
        run.say(f"time stamp {begin} of {s.stamps}")
        for each in contestants:
            for stamp in range(begin, min(begin + BLOCK, s.stamps)):
                each.run(stamp)


def _default(kind: str, over_blas: float) -> Callable[[Run], Result]:
    def measure(run: Run) -> Result:
        s = TINY if run.quick else Settings()
        result = Result(settings={**asdict(s), "points": kind, "figure": "CPU time per time stamp"})
        x, weights = stream(s, kind)
        warm_up()
        run.say("filling windows")
        engines = [Contestant(name, s, x, weights) for name in ("sma", "tma", "tsl")]
        everyone: list[Contestant | Blas] = [*engines, Blas(s, x, weights)]
        race(s, everyone, run)
        spent = {each.name: each.seconds / s.stamps for each in everyone}
        for each in everyone:
            searches = each.count("recomputations") if isinstance(each, Contestant) else None
            figures: Line = {"contestant": each.name, "ms": 1e3 * spent[each.name]}
            figures |= {"times sma": spent[each.name] / spent["sma"], "searches per query": searches}
            result.lines.append(figures)
        result.ratios = [
            Ratio("tsl over sma, time", spent["tsl"] / spent["sma"], at_least=run.asked(10)),
            Ratio("tma over sma, time", spent["tma"] / spent["sma"], at_least=run.asked(1)),
            Ratio("BLAS over sma, time", spent["BLAS and threshold"] / spent["sma"], at_least=run.asked(over_blas)),
        ]
        sma = engines[0].engine
        assert isinstance(sma, Sma)
        result.ratios.append(
            Ratio("bytes a record over 8 (d + 3)", sma.window_bytes / s.n / (8 * (s.d + 3)), at_most=run.asked(1))
        )
        result.notes.append("BLAS and threshold never searches: what it owes when results expire is left out")
        return result

    return measure


row("scores-ind", "1,000 scores over a window of 1 M independent points")(_default("IND", 10))
row("scores-ant", "1,000 scores over a window of 1 M anti-correlated points")(_default("ANT", 3))

TABLE_2 = {"IND": (1.1, 5.9, 11.2, 21.6, 53.3, 104.6), "ANT": (1.1, 5.9, 11.5, 22.4, 54.4, 106.5)}
K = (1, 5, 10, 20, 50, 100)


DRAWN = {"IND": (40, 20), "ANT": (5, 200)}
"""Seeds and queries. All queries over independent points look at the few points of one corner, so a seed is hardly more
than one draw, however many queries there are: only more seeds say more."""


def kept_by_sma(s: Settings, kind: str) -> list[float]:
    """By k: the mean length of a query's list over the time stamps."""
    x, weights = stream(s, kind)
    engine = Sma(s.d, s.n)
    engine.advance(Points(np.arange(s.n), x[: s.n]), NONE, 0)
    places = engine.add([ScoreSpec.linear(k, weight) for k in K for weight in weights]).reshape(len(K), -1)
    kept = np.zeros(len(K))
    for stamp in range(s.stamps):
        begin = s.n + stamp * s.r
        engine.advance(Points(np.arange(begin, begin + s.r), x[begin : begin + s.r]), NONE, begin + s.r - s.n)
        kept += engine.list_sizes()[places].mean(axis=1) / s.stamps
    return kept.tolist()


@row("scores-table2", "mean skyband of sma, as Table 2 of the paper prints it")
def table2(run: Run) -> Result:
    base = replace(TINY, stamps=5) if run.quick else Settings()
    result = Result(settings={**asdict(base), "seeds and queries": str(DRAWN)})
    for kind, printed in TABLE_2.items():
        seeds, queries = (5, 10) if run.quick else DRAWN[kind]
        sizes = []
        for seed in range(1, seeds + 1):
            run.say(f"{kind}, seed {seed}")
            sizes.append(kept_by_sma(replace(base, seed=seed, queries=queries), kind))
        drawn = np.array(sizes) / np.array(printed)
        fives = drawn.reshape(-1, 5, len(K)).mean(axis=1)
        for i, (k, paper) in enumerate(zip(K, printed, strict=True)):
            over = float(drawn[:, i].mean())
            figures: Line = {
                "points": kind,
                "k": k,
                "sma": over * paper,
                "paper": paper,
                "spread of a seed": drawn[:, i].std(),
            }
            figures |= {"least of five": fives[:, i].min(), "most of five": fives[:, i].max()}
            result.lines.append(figures)
            what = f"{kind}, k = {k}, over the paper"
            result.ratios.append(Ratio(what, over, at_least=run.asked(0.92), at_most=run.asked(1.08)))
    result.notes.append("a spread and means of five seeds are relative to the paper's figure")
    return result


CURVES: dict[str, tuple[int, ...]] = {
    "d": (2, 3, 4, 5, 6),
    "n": (1_000_000, 2_000_000, 3_000_000, 5_000_000),
    "r": (1_000, 5_000, 10_000, 50_000, 100_000),
    "queries": (100, 500, 1_000, 2_000, 5_000),
    "k": (1, 5, 10, 20, 50, 100),
}


def _curve(what: str) -> Callable[[Run], Result]:
    def measure(run: Run) -> Result:
        base = replace(TINY, stamps=4) if run.quick else Settings(stamps=20)
        values = tuple(value // 50 + 1 for value in CURVES[what][:2]) if run.quick and what in "nr" else CURVES[what]
        result = Result(settings={**asdict(base), "varies": what, "figure": "CPU time per time stamp"})
        spent: dict[tuple[str, int], float] = {}
        warm_up()
        for kind in SPREAD:
            for value in values[:2] if run.quick else values:
                s = replace(base, **{what: value})
                if what == "n":
                    s = replace(s, r=max(1, value // 100))
                x, weights = stream(s, kind)
                run.say(f"{kind}, {what} = {value}")
                racers: list[Contestant | Blas] = [Contestant(name, s, x, weights) for name in ("sma", "tma")]
                race(s, racers, run)
                for each in racers:
                    spent[kind + each.name, value] = each.seconds / s.stamps
                    figure = 1e3 * each.seconds / s.stamps
                    result.lines.append({"points": kind, "contestant": each.name, what: value, "ms": figure})
        if what == "queries" and not run.quick:
            for kind in SPREAD:
                growth = spent[kind + "sma", 5_000] / spent[kind + "sma", 1_000]
                result.ratios.append(Ratio(f"{kind}: 5,000 queries over 1,000, time", growth, at_most=6))
        return result

    return measure


for what in CURVES:
    row(f"scores-curve-{what}", f"sma and tma against {what}")(_curve(what))
