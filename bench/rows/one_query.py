"""One query: the engine against a bare pass over the scores, and against NumPy's partition at every report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from bench.feed import Batch, Source, feed, one_query
from bench.harness import Ratio, Result, Run, in_turns, row
from skyband.datasets import uniform
from skyband.engines.base import Registration
from skyband.engines.kernels.jit import kernel
from skyband.model import Floats, MetaQuery


@dataclass(frozen=True)
class Settings:
    window: int = 1_000_000
    slide: int = 10_000
    k: int = 100
    records: int = 10_000_000
    batch: int = 1_000_000
    rounds: int = 5
    partitions: int = 20
    seed: int = 1


TINY = Settings(window=10_000, slide=500, k=10, records=50_000, batch=10_000, rounds=2, partitions=3)


@kernel
def count_above(score: Floats, cut: float) -> int:
    """The least anybody can do who looks at every score."""
    n = 0
    for i in range(len(score)):
        n += score[i] > cut
    return n


def partition_reports(score: Floats, window: int, slide: int, k: int, reports: int) -> None:
    """What a user of NumPy writes: at every report the k best scores of the window, sorted. Ids would cost more."""
    for end in range(window, window + reports * slide, slide):
        best = np.partition(score[end - window : end], window - k)[window - k :]
        best.sort()


@row("one-query", "one query against a bare pass over the scores and NumPy partition per report")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "scores": "uniform", "figure": "best of the rounds"})
    meta = one_query(s.window, s.slide, s.k)
    source = Source.of(uniform(s.records, s.seed))
    engines = run.engines(["mtoplist", "mintopk"], result)
    prepared = list(source.batches(meta, 0, s.records, s.batch))
    per_record = {"bare pass": s.records, "NumPy partition": s.partitions * s.slide}
    contestants: dict[str, Callable[[], object]] = {
        "bare pass": partial(count_above, source.score, 0.5),
        "NumPy partition": partial(partition_reports, source.score, s.window, s.slide, s.k, s.partitions),
    }
    for engine in engines:
        contestants[engine.name] = partial(_prepared, engine, meta, prepared)
        contestants[f"{engine.name} and moments"] = partial(_with_moments, engine, meta, source, s)
    run.say("compiling")
    count_above(source.score[:10], 0.5)
    for engine in engines:
        feed(engine.build(meta), prepared[:2])

    seconds = in_turns(contestants, s.rounds, run)
    best = {name: min(times) / per_record.get(name, s.records) for name, times in seconds.items()}
    for name, each in best.items():
        result.lines.append(
            {
                "contestant": name,
                "ns/record": 1e9 * each,
                "bare passes": each / best["bare pass"],
                "times as fast as NumPy": best["NumPy partition"] / each,
            }
        )
    result.details["seconds"] = seconds
    if "mtoplist" in best:
        each = best["mtoplist"]
        result.ratios = [
            Ratio("mtoplist over bare pass, time", each / best["bare pass"], at_most=run.asked(25)),
            Ratio("NumPy partition over mtoplist, time", best["NumPy partition"] / each, at_least=run.asked(100)),
        ]
    result.notes += [
        "an engine's line is `advance` over all records, answers included, with the report moments prepared;"
        " `and moments` computes them inside the measured time",
        f"NumPy partition is measured at {s.partitions} full windows and counted per record of their slides",
    ]
    return result


def _prepared(engine: Registration, meta: MetaQuery, batches: list[Batch]) -> None:
    feed(engine.build(meta), batches)


def _with_moments(engine: Registration, meta: MetaQuery, source: Source, s: Settings) -> None:
    feed(engine.build(meta), source.batches(meta, 0, s.records, s.batch))
