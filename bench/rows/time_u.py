"""TIME-U: how many candidates a single query keeps at the end of a slide, against theory, and what a record costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean, median

from bench.feed import Source, feed, one_query
from bench.harness import Ratio, Result, Run, cpu_seconds, row
from skyband.datasets import uniform
from skyband.engines.base import AnyEngine, Registration
from skyband.model import MetaQuery

ENGINES = ("mintopk", "kskyband", "mtoplist")


@dataclass(frozen=True)
class Settings:
    window: int = 105_000
    slide: int = 105
    k: int = 100
    slides: int = 4_000
    measured: int = 1_050_000
    batch: int = 105_000
    rounds: int = 3
    seed: int = 1


TINY = Settings(window=2_100, slide=105, k=10, slides=20, measured=4_200, batch=2_100, rounds=2)


def harmonic(n: int) -> float:
    return sum(1.0 / i for i in range(1, n + 1))


@row("time-u", "candidates at slide ends on TIME-U (n 105,000, s 105, k 100) against theory, and time per record")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    theory = s.k * harmonic(s.window // s.slide)
    result = Result(settings={**asdict(s), "scores": "uniform", "figure": "median of the rounds"})
    meta = one_query(s.window, s.slide, s.k)
    found = run.engines(ENGINES, result)
    warm_up = 2 * s.window
    source = Source.of(uniform(warm_up + max(s.slides * s.slide, s.measured), s.seed))
    kept: dict[str, list[int]] = {}
    for registration in found:
        run.say(f"counting candidates of {registration.name}")
        kept[registration.name] = _at_slide_ends(_warm(registration, meta, source, s), meta, source, s)

    prepared = list(source.batches(meta, warm_up, warm_up + s.measured, s.batch))
    seconds = {registration.name: list[float]() for registration in found}
    for i in range(s.rounds):
        for registration in found:
            engine = _warm(registration, meta, source, s)
            run.say(f"round {i + 1} of {s.rounds}: {registration.name}")
            seconds[registration.name].append(cpu_seconds(partial(feed, engine, prepared)))
    for name, counts in kept.items():
        result.lines.append(
            {
                "contestant": name,
                "candidates at slide ends": fmean(counts),
                "theory k H(n/s)": theory,
                "ns/record": 1e9 * median(seconds[name]) / s.measured,
            }
        )
        asked = (run.asked(0.98), run.asked(1.02)) if name == "mintopk" else (None, None)
        result.ratios.append(Ratio(f"{name} candidates over theory", fmean(counts) / theory, *asked))
    result.details["seconds"] = seconds
    result.notes += [
        f"candidates: mean over {s.slides:,} slides after two windows, one `advance` per slide",
        f"time: batches of {s.batch:,} records, reports included",
        "kskyband keeps a superset by construction; sap-tkde17 Table 6 prints 784 for mintopk and 940 for kskyband",
    ]
    return result


def _warm(registration: Registration, meta: MetaQuery, source: Source, s: Settings) -> AnyEngine:
    engine = registration.build(meta)
    feed(engine, source.batches(meta, 0, 2 * s.window, s.batch))
    return engine


def _at_slide_ends(engine: AnyEngine, meta: MetaQuery, source: Source, s: Settings) -> list[int]:
    low = 2 * s.window
    counts = []
    for batch in source.batches(meta, low, low + s.slides * s.slide, s.slide):
        engine.advance(batch.records, batch.due)
        counts.append(engine.counters["candidates"])
    return counts
