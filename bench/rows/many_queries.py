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
from skyband.engines.base import Engine, Registration
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
    """One engine for all queries, or one for each; with reports, or maintaining only."""

    name: str
    reports: bool
    engines: list[tuple[Engine, MetaQuery]]
    scale: float
    """Queries per engine that is measured: above 1 where only a sample of the independent ones is run."""
    measured: int
    """Records per round."""
    seconds: list[float] = field(default_factory=list)
    """CPU time per record, of each round."""
    candidates: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.name}, {'with reports' if self.reports else 'maintenance only'}"

    def warm_up(self, source: Source, s: Settings, state: bytes | None) -> None:
        """Two windows; a contestant too slow for them takes the `state` another one has reached, which is the same."""
        if self.measured < s.measured and state is not None:
            self.engines[0][0].restore(state)
        else:
            self.feed(source, 0, s.warm_up, s.batch)
        self.candidates.clear()

    def round(self, source: Source, s: Settings, i: int) -> None:
        low = s.warm_up + i * self.measured
        self.seconds.append(self.feed(source, low, low + self.measured, s.batch) / self.measured)

    def feed(self, source: Source, low: int, high: int, size: int) -> float:
        """CPU seconds of `advance` alone; moments are prepared outside. Keeps the mean of candidates at batch ends."""
        seconds, kept, ends = 0.0, 0, -(-(high - low) // size)
        for engine, meta in self.engines:
            for batch in source.batches(meta, low, high, size):
                fed = batch if self.reports else batch.silent()
                began = process_time()
                engine.advance(fed.records, fed.moments)
                seconds += process_time() - began
                kept += engine.counters["candidates"]
        self.candidates.append(self.scale * kept / ends)
        return self.scale * seconds

    def bytes(self) -> float:
        return self.scale * sum(footprint(engine) for engine, _ in self.engines)

    def views(self) -> float | None:
        found = [engine.counters.get("views") for engine, _ in self.engines]
        return self.scale * sum(n for n in found if n is not None) if None not in found else None


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
        for reports in (False, True):
            if registration.name == ALONE:
                beats = [meta.beat(i) for i in sampled(meta, s.sample)]
                engines = [(registration.build(beat), beat) for beat in beats]
                yield Contestant(f"{ALONE} x {len(meta)}", reports, engines, len(meta) / len(beats), s.measured)
            else:
                measured = s.band_measured if registration.name == BAND else s.measured
                yield Contestant(registration.name, reports, [(registration.build(meta), meta)], 1.0, measured)


def sampled(meta: MetaQuery, size: int) -> list[int]:
    """Queries evenly chosen in order of their expected candidates, k · H(win / slide): a fair sample of the costs."""
    order = np.argsort(meta.k * np.log1p(meta.width / meta.period), kind="stable")
    size = min(size, len(order))
    return [int(order[int((i + 0.5) * len(order) / size)]) for i in range(size)]


def measure(s: Settings, run: Run) -> Result:
    result = Result(settings={**asdict(s), "scores": "uniform", "windows": "rows", "figure": "median of the rounds"})
    meta = workload(s)
    found = run.engines(["mtoplist", BAND, ALONE], result)
    everyone = list(contestants(found, meta, s))
    source = Source.of(uniform(s.warm_up + s.rounds * s.measured, s.seed))
    state: bytes | None = None
    for one in everyone:
        run.say(f"warming up: {one.label}")
        one.warm_up(source, s, state)
        if one.name == "mtoplist":
            state = one.engines[0][0].snapshot()
    for i in range(s.rounds):
        for one in everyone:
            run.say(f"round {i + 1} of {s.rounds}: {one.label}")
            one.round(source, s, i)

    pairs = {one.name: (one, other) for one, other in zip(everyone[::2], everyone[1::2], strict=True)}
    result.lines = [_line(silent, loud) for silent, loud in pairs.values()]
    result.details["candidates"] = {one.label: one.candidates for one in everyone}
    result.details["seconds per record"] = {one.label: one.seconds for one in everyone}
    result.details["counters"] = {one.label: one.engines[0][0].counters for one in everyone if one.scale == 1.0}
    _compare(result, pairs, s, run)
    _explain(result, pairs, s)
    return result


def _line(silent: Contestant, loud: Contestant) -> Line:
    views = silent.views()
    return {
        "contestant": silent.name,
        "CPU ns/record, maintenance only": 1e9 * median(silent.seconds),
        "CPU ns/record, with reports": 1e9 * median(loud.seconds),
        "candidates": round(fmean(silent.candidates)),
        "views": None if views is None else round(views),
        "bytes, views included": round(silent.bytes()),
    }


def _compare(result: Result, pairs: dict[str, tuple[Contestant, Contestant]], s: Settings, run: Run) -> None:
    if "mtoplist" not in pairs:
        return
    name = f"queries-{s.queries}-{s.vary}"
    silent, loud = pairs["mtoplist"]
    for other, (their_silent, their_loud) in pairs.items():
        if other == "mtoplist":
            continue
        alone = other.startswith(ALONE)
        cpu = ASKED_CPU.get(name) if alone and not run.quick else None
        fewer = ASKED_CANDIDATES.get(name) if alone and not run.quick else None
        kept = fmean(their_silent.candidates) / max(fmean(silent.candidates), 1.0)
        over = f"{other} over mtoplist"
        result.ratios += [
            Ratio(f"{over}, CPU, maintenance only", median_ratio(their_silent.seconds, silent.seconds), cpu),
            Ratio(f"{over}, CPU, with reports", median_ratio(their_loud.seconds, loud.seconds)),
            Ratio(f"{over}, candidates", kept, fewer),
            Ratio(f"{over}, bytes", their_silent.bytes() / max(silent.bytes(), 1.0)),
        ]


def _explain(result: Result, pairs: dict[str, tuple[Contestant, Contestant]], s: Settings) -> None:
    result.notes += [
        "`with reports` is `advance` as it is, ids of the answers included; `maintenance only` gives it no moments."
        " Result rows proper are made by the Monitor and are in neither",
        "candidates: mean at batch ends; bytes: arrays held at the end, spare room included",
    ]
    if s.sample < s.queries:
        result.notes.append(
            f"{ALONE}: {s.sample} of {s.queries} queries are run, evenly chosen by expected cost, one after the other"
            f" over all records, and their sums scaled by {s.queries / s.sample:g}"
        )
    if BAND in pairs and s.band_measured < s.measured:
        result.notes.append(
            f"{BAND} is measured on {s.band_measured:,} records a round, beginning from mtoplist's candidates after"
            " the warm-up (snapshots are portable): feeding it two windows would take the better part of an hour"
        )
    if "mtoplist" in pairs:
        counters = pairs["mtoplist"][0].engines[0][0].counters
        per = 1_000 / max(counters["records"], 1)
        result.notes.append(
            f"mtoplist: {counters.get('views', 0):,} views alive at the end; per 1,000 records"
            f" {per * counters.get('settlements', 0):.3g} settlements,"
            f" {per * counters.get('pointer_moves', 0):,.0f} pointer moves,"
            f" {per * counters.get('insertions', 0):.3g} insertions"
        )


def _register(queries: int, vary: str) -> None:
    full = Settings(queries, vary)
    tiny = Settings(queries, vary, shrink=200, warm_up=10_000, measured=5_000, batch=2_500, rounds=2, sample=5)
    row(f"queries-{queries}-{vary}", f"{queries:,} queries; {VARY[vary]}")(
        lambda run: measure(tiny if run.quick else full, run)
    )


for _queries in (10, 100, 1_000):
    for _vary in VARY:
        _register(_queries, _vary)
