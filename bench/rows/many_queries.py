"""The paper's experiments (mtops-cikm11 §7): 10, 100 and 1,000 queries, shared against one engine per query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from time import process_time

import numpy as np

from bench.feed import Source, footprint, rows_meta
from bench.harness import Line, Ratio, Result, Run, median_ratio, row
from skyband.datasets import uniform
from skyband.engines.base import AnyEngine, Registration
from skyband.model import Ints, MetaQuery

VARY = {
    "k": "k 10 to 1,000; win 1 M, slide 100 K",
    "slide": "slide 100 K to 1 M; win 1 M, k 1,000",
    "win-slide": "win 100 K to 1 M, slide 10 K to 100 K; k 100",
    "all": "win 100 K to 1 M, slide 10 K to 100 K, k 10 to 1,000",
}
ASKED_CPU = {"queries-1000-k": 100.0, "queries-1000-all": 5.0}
ASKED_CANDIDATES = {"queries-1000-k": 100.0, "queries-1000-all": 100.0}
ALONE = "mintopk"
BAND = "mtopband"
BAND_RECORDS = {100: 100_000, 1_000: 20_000}
"""Records per round for mtopband where slides differ: a list per view makes it too slow for a million."""


@dataclass(frozen=True)
class Settings:
    queries: int
    vary: str
    shrink: int = 1
    warm_up: int = 2_000_000
    measured: int = 1_000_000
    batch: int = 50_000
    rounds: int = 3
    sample: int = 100
    seed: int = 1

    @property
    def band_measured(self) -> int:
        return self.measured if self.vary == "k" else min(self.measured, BAND_RECORDS.get(self.queries, self.measured))


@dataclass
class Contestant:
    """One engine for all queries, or one for each."""

    name: str
    engines: list[tuple[AnyEngine, MetaQuery]]
    scale: float
    """Queries per engine that is measured: above 1 where only a sample of the independent ones is run."""
    warm_up: int
    measured: int
    """Records per turn; a round has two turns: maintenance only, then with reports."""
    silent: list[float] = field(default_factory=list)
    """CPU seconds per record without reports, of each round."""
    loud: list[float] = field(default_factory=list)
    candidates: list[float] = field(default_factory=list)

    def warm(self, source: Source, s: Settings) -> None:
        self._feed(source, s.warm_up - self.warm_up, s.warm_up, s.batch, reports=False)
        self.candidates.clear()

    def round(self, source: Source, s: Settings, i: int) -> None:
        low = s.warm_up + 2 * i * self.measured
        middle, high = low + self.measured, low + 2 * self.measured
        self.silent.append(self._feed(source, low, middle, s.batch, reports=False) / self.measured)
        self.loud.append(self._feed(source, middle, high, s.batch, reports=True) / self.measured)

    def _feed(self, source: Source, low: int, high: int, size: int, reports: bool) -> float:
        """CPU seconds of `advance` alone; moments are prepared outside. Keeps the mean of candidates at batch ends."""
        seconds, kept, ends = 0.0, 0, -(-(high - low) // size)
        for engine, meta in self.engines:
            for batch in source.batches(meta, low, high, size):
                fed = batch if reports else batch.silent()
                began = process_time()
                engine.advance(fed.records, fed.due)
                seconds += process_time() - began
                kept += engine.counters["candidates"]
        self.candidates.append(self.scale * kept / ends)
        return self.scale * seconds

    @property
    def kept(self) -> float:
        return fmean(self.candidates)

    def bytes(self) -> float:
        return self.scale * sum(footprint(engine) for engine, _ in self.engines)

    def line(self) -> Line:
        views = [engine.counters.get("views") for engine, _ in self.engines]
        return {
            "contestant": self.name,
            "CPU ns/record, maintenance only": 1e9 * median(self.silent),
            "CPU ns/record, with reports": 1e9 * median(self.loud),
            "candidates": round(self.kept),
            "views": None if None in views else round(self.scale * sum(n for n in views if n is not None)),
            "bytes, views included": round(self.bytes()),
        }


def workload(s: Settings) -> MetaQuery:
    """Queries drawn as the paper draws them: whole numbers, uniform, each parameter by itself."""
    draw = np.random.default_rng([s.seed, s.queries])
    n = s.queries
    rows, most = 1_000 // s.shrink, 1_000 // min(s.shrink, 20)

    def between(low: int, high: int, scale: int) -> Ints:
        return draw.integers(low * scale, high * scale, size=n, endpoint=True)

    width, slide, k = (np.full(n, x) for x in (1_000 * rows, 100 * rows, most))
    if s.vary == "slide":
        slide = between(100, 1_000, rows)
    if s.vary in ("win-slide", "all"):
        width, slide, k = between(100, 1_000, rows), between(10, 100, rows), np.full(n, max(most // 10, 1))
    if s.vary in ("k", "all"):
        k = draw.integers(max(most // 100, 1), most, size=n, endpoint=True)
    return rows_meta(width, slide, k)


def contestants(found: list[Registration], meta: MetaQuery, s: Settings) -> Iterator[Contestant]:
    for registration in found:
        warm_up, measured = s.warm_up, s.measured
        beats, name = [meta], registration.name
        if name == ALONE:
            beats, name = [meta.beat(i) for i in sampled(meta, s.sample)], f"{ALONE} x {len(meta)}"
        if name == BAND and s.band_measured < s.measured:
            warm_up, measured = meta.longest, s.band_measured
        engines = [(registration.build(beat), beat) for beat in beats]
        yield Contestant(name, engines, len(meta) / sum(map(len, beats)), warm_up, measured)


def sampled(meta: MetaQuery, size: int) -> list[int]:
    """Queries evenly chosen in order of their expected candidates, k · H(win / slide): a fair sample of the costs."""
    order = np.argsort(meta.k * np.log1p(meta.width / meta.period), kind="stable")
    size = min(size, len(order))
    return [int(order[int((i + 0.5) * len(order) / size)]) for i in range(size)]


def measure(s: Settings, run: Run) -> Result:
    result = Result(settings={**asdict(s), "scores": "uniform", "windows": "rows", "figure": "median of the rounds"})
    meta = workload(s)
    everyone = list(contestants(run.engines(["mtoplist", BAND, ALONE], result), meta, s))
    source = Source.of(uniform(s.warm_up + 2 * s.rounds * s.measured, s.seed))
    for one in everyone:
        run.say(f"warming up: {one.name}")
        one.warm(source, s)
    for i in range(s.rounds):
        for one in everyone:
            run.say(f"round {i + 1} of {s.rounds}: {one.name}")
            one.round(source, s, i)
    result.lines = [one.line() for one in everyone]
    result.details["rounds"] = {
        one.name: {"silent": one.silent, "with reports": one.loud, "candidates": one.candidates} for one in everyone
    }
    result.details["counters"] = {one.name: one.engines[0][0].counters for one in everyone if len(one.engines) == 1}
    for shared in (one for one in everyone if one.name == "mtoplist"):
        for other in (one for one in everyone if one is not shared):
            result.ratios += _ratios(other, shared, s, run)
        result.notes.append(_work(shared))
    result.notes += _reading(s, [one.name for one in everyone])
    return result


def _ratios(other: Contestant, shared: Contestant, s: Settings, run: Run) -> list[Ratio]:
    row_name = f"queries-{s.queries}-{s.vary}"
    asked = other.name.startswith(ALONE) and not run.quick
    over = f"{other.name} over {shared.name}"
    return [
        Ratio(
            f"{over}, CPU, maintenance only",
            median_ratio(other.silent, shared.silent),
            ASKED_CPU.get(row_name) if asked else None,
        ),
        Ratio(f"{over}, CPU, with reports", median_ratio(other.loud, shared.loud)),
        Ratio(
            f"{over}, candidates", other.kept / max(shared.kept, 1.0), ASKED_CANDIDATES.get(row_name) if asked else None
        ),
        Ratio(f"{over}, bytes", other.bytes() / max(shared.bytes(), 1.0)),
    ]


def _work(shared: Contestant) -> str:
    """Where the shared engine's time goes."""
    counters = shared.engines[0][0].counters
    per = 1_000 / max(counters["records"], 1)
    return (
        f"{shared.name}: {counters.get('views', 0):,} views alive at the end; per 1,000 records"
        f" {per * counters.get('settlements', 0):.3g} settlements,"
        f" {per * counters.get('pointer_moves', 0):,.0f} pointer moves,"
        f" {per * counters.get('insertions', 0):.3g} insertions"
    )


def _reading(s: Settings, names: list[str]) -> list[str]:
    """How to read the figures."""
    notes = [
        "`with reports` is `advance` as it is, ids of the answers included; `maintenance only` gives it no moments."
        " Result rows proper are made by the Monitor and are in neither",
        "candidates: mean at batch ends; bytes: arrays held at the end, spare room included",
    ]
    if s.sample < s.queries:
        notes.append(
            f"{ALONE}: {s.sample} of {s.queries} queries are run, evenly chosen by expected cost, one after the other"
            f" over all records, and their sums scaled by {s.queries / s.sample:g}"
        )
    if BAND in names and s.band_measured < s.measured:
        notes.append(
            f"{BAND} is warmed up with one window and measured on {s.band_measured:,} records a turn: it keeps a list"
            " per view, and more would take the better part of an hour"
        )
    return notes


def _register(queries: int, vary: str) -> None:
    full = Settings(queries, vary)
    tiny = Settings(queries, vary, shrink=500, warm_up=4_000, measured=1_000, batch=1_000, rounds=2, sample=5)
    row(f"queries-{queries}-{vary}", f"{queries:,} queries; {VARY[vary]}")(
        lambda run: measure(tiny if run.quick else full, run)
    )


for _queries in (10, 100, 1_000):
    for _vary in VARY:
        _register(_queries, _vary)
