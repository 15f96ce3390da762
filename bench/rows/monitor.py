"""The way to the engine: a Monitor that is pushed tables, against two stacks of panes in NumPy that see scores only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

import skyband as sb
from bench.harness import Ratio, Result, Run, in_turns, row
from skyband.datasets import uniform
from skyband.model import Floats

START = 1_700_000_000_000_000
STREAM = sb.Stream("s", time="ts", key="id")
ASKED = {10_000: 5.0, 1_000: 12.0, 100: 90.0}
"""Nanoseconds a record by slide, on two quiet cores."""


@dataclass(frozen=True)
class Settings:
    window: int = 1_000_000
    k: int = 100
    records: int = 4_000_000
    push: int = 500_000
    rounds: int = 3
    pushes: int = 400
    seed: int = 1


TINY = Settings(window=20_000, k=10, records=80_000, push=20_000, rounds=1, pushes=5)


def two_stacks(score: Floats, window: int, slide: int, k: int) -> Iterator[Floats]:
    """The k best scores of every window: the best of each pane, and of the window's older panes, taken from the end of
    their block backwards, with those since. Ids, times and payload would cost more."""
    panes = window // slide
    best = np.partition(score[: len(score) // slide * slide].reshape(-1, slide), max(slide - k, 0), axis=1)[:, -k:]

    def better(one: Floats, other: Floats) -> Floats:
        both = np.concatenate((one, other))
        return np.partition(both, len(both) - k)[-k:] if len(both) > k else both

    older, newer = [best[0][:0]] * (panes + 1), best[0][:0]
    for end in range(1, len(best) + 1):
        newer = better(newer, best[end - 1])
        if end % panes == 0:
            for place in range(panes - 1, -1, -1):
                older[place] = better(best[end - panes + place], older[place + 1] if place < panes - 1 else best[0][:0])
            yield older[0]
            newer = best[0][:0]
        elif end > panes:
            yield better(older[end % panes], newer)


@row("monitor", "a Monitor, pushed large tables and small ones, against two stacks of panes in NumPy")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "columns": 3, "figure": "best of the rounds"})
    score = uniform(s.records, s.seed)
    at = START + np.arange(s.records)
    table = pa.table({"ts": pa.array(at).cast(pa.timestamp("us", "UTC")), "id": np.arange(s.records), "score": score})
    slides = [slide for slide in ASKED if slide < s.window]
    contestants: dict[str, Callable[[], object]] = {}
    for slide in slides:
        contestants[f"Monitor, slide {slide:,}"] = partial(_pushed, s, table, slide)
        contestants[f"two stacks, slide {slide:,}"] = partial(_reported, s, score, slide)
    run.say("compiling")
    _pushed(replace(s, window=s.push), table.slice(0, 2 * s.push), slides[0])
    seconds = in_turns(contestants, s.rounds, run)
    best = {name: 1e9 * min(times) / s.records for name, times in seconds.items()}
    result.lines += [{"contestant": name, "ns/record": each} for name, each in best.items()]
    for slide in slides:
        ours, theirs = best[f"Monitor, slide {slide:,}"], best[f"two stacks, slide {slide:,}"]
        result.ratios.append(
            Ratio(f"Monitor over two stacks, slide {slide:,}, time", ours / theirs, at_most=run.asked(1))
        )
        result.ratios.append(Ratio(f"Monitor, slide {slide:,}, ns", ours, at_most=run.asked(ASKED[slide])))
    run.say("small pushes")
    small = {"1,000 records, one query": _small(s, table), "50 records, trades.sql": _trades(s)}
    for (name, (median, mean)), asked in zip(small.items(), (150, 1_200), strict=True):
        result.lines.append({"contestant": name, "us/push, median": 1e6 * median, "us/push, mean": 1e6 * mean})
        result.ratios.append(Ratio(f"a push of {name}, us, median", 1e6 * median, at_most=run.asked(asked)))
        result.ratios.append(Ratio(f"a push of {name}, us, mean", 1e6 * mean))
    result.details["seconds"] = seconds
    result.notes.append("two stacks know no ids, no times and no payload")
    return result


def _workload(s: Settings, slide: int) -> sb.Workload:
    top = sb.TopK("q", s.k, "score", f"{s.window / 1e6} seconds", f"{slide / 1e6} seconds")
    return sb.Workload([top], stream=STREAM)


def _pushed(s: Settings, table: pa.Table, slide: int) -> int:
    monitor = sb.Monitor(_workload(s, slide))
    return sum(len(monitor.push(table.slice(first, s.push))) for first in range(0, len(table), s.push))


def _reported(s: Settings, score: Floats, slide: int) -> int:
    return sum(len(best) for best in two_stacks(score, s.window, slide, s.k))


def _small(s: Settings, table: pa.Table) -> tuple[float, float]:
    """The median and the mean seconds of a push of 1,000 records: one in ten has a report to make."""
    monitor = sb.Monitor(_workload(s, min(10_000, s.window // 10)))
    parts = [table.slice(first, 1_000) for first in range(0, (s.pushes + 5) * 1_000, 1_000)]
    return _timed(monitor, parts)


def _trades(s: Settings) -> tuple[float, float]:
    """The same of 50 trades, for the eight queries of an example."""
    text = (Path(__file__).parents[2] / "examples" / "trades.sql").read_text(encoding="utf-8")
    draw, n = np.random.default_rng(s.seed), 50 * (s.pushes + 5)
    trades = pa.table(
        {
            "ts": pa.array(START + 20_000 * np.arange(n)).cast(pa.timestamp("us", "UTC")),
            "trade_id": np.arange(n),
            "symbol": draw.choice(["AAA", "BBB", "CCC", "DDD", "EEE"], n),
            "price": 100 * np.exp(draw.standard_normal(n)),
            "size": draw.integers(1, 1_000, n),
            "change": draw.standard_normal(n) / 100,
        }
    )
    return _timed(sb.Monitor(sb.Workload.from_sql(text)), [trades.slice(first, 50) for first in range(0, n, 50)])


def _timed(monitor: sb.Monitor, parts: list[pa.Table]) -> tuple[float, float]:
    seconds = []
    for part in parts:
        began = perf_counter()
        monitor.push(part)
        seconds.append(perf_counter() - began)
    steady = seconds[len(seconds) // 4 :]
    return float(np.median(steady)), float(np.mean(steady))
