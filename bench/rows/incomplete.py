"""Incomplete streams: what `eaa` keeps beside the paper's tables, its speed beside `sla`, its memory by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean, median

import numpy as np

from bench.feed import footprint
from bench.harness import Line, Ratio, Result, Run, in_turns, median_ratio, row
from skyband.datasets import appearances
from skyband.engines.objects.eaa import Eaa
from skyband.engines.objects.family import Family
from skyband.engines.objects.sla import ONE_ARRAY, Sla
from skyband.model import NEVER, DueReports, MetaQuery
from skyband.model.apart import Assembly, AttributeValues

PRINTED = {(3, 10): 345.3, (4, 10): 450.0, (6, 10): 495.0, (3, 20): 396.3, (3, 50): 450.0, (3, 100): 481.7}
"""Objects kept by EAA in Tables 1 and 2, by (streams, k): W = 1,000, xi = 0.5."""


class SlaOneArray(Sla):
    """The paper's sorted list taken literally."""

    block = ONE_ARRAY


def meta_of(width: int, slide: int, k: int, streams: int, ever: bool = True) -> MetaQuery:
    """TOP k of the sum over streams with values in [0, 1], each object once per stream."""
    one = np.array([0])
    how = Assembly(
        "SUM", "SUM", np.ones(streams), np.zeros(streams), np.ones(streams), np.ones(streams, np.int64), ever
    )
    return MetaQuery("rows", one + width, one + slide, one + width % slide, one + k, one, apart=how)


def batches(fed: AttributeValues, meta: MetaQuery, size: int) -> Iterator[tuple[AttributeValues, DueReports]]:
    """The stream from its beginning, with the reports due."""
    for low in range(0, len(fed), size):
        part = fed[slice(low, low + size)]
        high = low + len(part)
        yield part, meta.due_reports(part.at, low - 1 if low else int(NEVER), low if low else int(NEVER), high)


@dataclass(frozen=True)
class Kept:
    width: int = 1_000
    windows: int = 20
    every: int = 50
    xi: float = 0.5
    constants: tuple[int, ...] = (20, 30, 50, 70, 100)
    seeds: int = 3
    seed: int = 1


SMALL = Kept(width=100, windows=3, every=20, constants=(5, 10), seeds=1)


@row("incomplete-kept", "distinct objects kept by eaa beside Tables 1 and 2 of incomplete-cikm09, and how C moves them")
def kept(run: Run) -> Result:
    s = SMALL if run.quick else Kept()
    result = Result(settings={**asdict(s), "constants": ", ".join(map(str, s.constants)), "slide": 1})
    for constant in s.constants:
        for (streams, k), printed in PRINTED.items():
            run.say(f"C {constant}, {streams} streams, k {k}")
            mean, all_objects, window_rule = _kept(s, streams, k, constant)
            result.lines.append(
                {
                    "contestant": f"C {constant}, {streams} streams, k {k}",
                    "objects kept": mean,
                    "printed": printed,
                    "over printed": mean / printed,
                    "in the window": all_objects,
                    "kept if once per window": window_rule,
                }
            )
            if constant == 50:
                what = f"{streams} streams, k {k}: objects kept over Table {'1' if k == 10 else '2'}"
                result.ratios.append(Ratio(what, mean / printed, run.asked(0.85), run.asked(1.15)))
    result.notes += [
        "distinct objects after a settling, mean over moments and seeds; slide 1, streams in turns, W rows in all",
        "printed: an object is in a stream once in its life; the last column promises it for one window only",
    ]
    return result


def _kept(s: Kept, streams: int, k: int, constant: int) -> tuple[float, float, float]:
    """Objects kept under the paper's promise, objects in the window, and those kept under the promise for a window."""
    found: list[list[int]] = [[], [], []]
    for seed in range(s.seed, s.seed + s.seeds):
        fed = appearances(s.windows * s.width, streams, s.xi, constant, seed)
        for place, ever in ((0, True), (2, False)):
            meta = meta_of(s.width, 1, k, streams, ever)
            engine = Eaa(meta)
            for part, due in batches(fed, meta, s.every):
                engine.advance(part, due)
                engine.settle()
                if due.until >= 2 * s.width:
                    found[place].append(engine.counters["objects"])
                    found[1].append(len(np.unique(fed.object[due.until - s.width : due.until])))
    return fmean(found[0]), fmean(found[1]), fmean(found[2])


@dataclass(frozen=True)
class Speed:
    width: int = 100_000
    slide: int = 1_000
    streams: int = 4
    k: int = 20
    records: int = 100_000
    literal: int = 10_000
    rounds: int = 5
    xi: float = 0.5
    seed: int = 1


BRIEF = Speed(width=600, slide=50, k=3, records=300, literal=100, rounds=2)


@row("incomplete-speed", "eaa against sla (W 100,000, slide 1,000, 4 streams, k 20), reports included")
def speed(run: Run) -> Result:
    s = BRIEF if run.quick else Speed()
    result = Result(settings=asdict(s))
    run.say("generating")
    fed = appearances(2 * s.width + (s.rounds + 1) * s.records, s.streams, s.xi, seed=s.seed)
    contestants = {"eaa": (Eaa, s.records), "sla": (Sla, s.records), "sla, one array": (SlaOneArray, s.literal)}
    feeds = {name: _running(build, n, fed, s, run) for name, (build, n) in contestants.items()}
    spent = in_turns({name: partial(next, feed[1]) for name, feed in feeds.items()}, s.rounds, run)
    for name, (_, n) in contestants.items():
        ns = 1e9 * median(spent[name]) / n
        engine = feeds[name][0]
        result.lines.append(
            {
                "contestant": name,
                "ns/value": ns,
                "M values/s": 1e3 / ns,
                "values kept": engine.counters["candidates"],
                "bytes/value of the window": footprint(engine) / s.width,
            }
        )
        spent[name] = [each / n for each in spent[name]]
    million = 1e-6 / median(spent["eaa"])
    result.ratios = [
        Ratio("eaa: million values a second", million, run.asked(1.0)),
        Ratio("sla as one array over eaa, time", median_ratio(spent["sla, one array"], spent["eaa"]), run.asked(20.0)),
        Ratio("sla in blocks over eaa, time", median_ratio(spent["sla"], spent["eaa"]), run.asked(20.0)),
    ]
    result.notes += [
        "sla as one array: the paper's sorted list, an entry that comes or goes moves those behind it",
        "sla in blocks of 64: the same lists as a B-tree of two levels, our own improvement of the baseline",
    ]
    return result


def _running(build: type[Family], n: int, fed: AttributeValues, s: Speed, run: Run) -> tuple[Family, Iterator[None]]:
    """An engine with a full window, and its feed: n values at a time."""
    meta = meta_of(s.width, s.slide, s.k, s.streams)
    engine = build(meta)
    run.say(f"filling {build.__name__}")
    begin = 2 * s.width
    for part, due in batches(fed[slice(0, begin)], meta, s.width):
        engine.advance(part, due[:0] if build is SlaOneArray else due)

    def turns() -> Iterator[None]:
        low = begin
        while True:
            part = fed[slice(low, low + n)]
            engine.advance(part, meta.due_reports(part.at, low - 1, low, low + n))
            low += n
            yield None

    feed = turns()
    next(feed)
    return engine, feed


@row("incomplete-memory", "what eaa keeps as the window grows: values, and bytes of its arrays")
def memory(run: Run) -> Result:
    s = BRIEF if run.quick else Speed()
    widths = [200, 400, 800] if run.quick else [12_500, 25_000, 50_000, 100_000, 200_000]
    result = Result(settings={**asdict(s), "width": "varies"})
    values, size = [], []
    fed = appearances(3 * widths[-1], s.streams, s.xi, seed=s.seed)
    for width in widths:
        run.say(f"window {width:,}")
        meta = meta_of(width, max(width // 100, 1), s.k, s.streams)
        engine = Eaa(meta)
        kept = []
        for part, due in batches(fed[slice(0, 3 * width)], meta, max(width // 10, 1)):
            engine.advance(part, due[:0])
            if due.until >= 2 * width:
                engine.settle()
                kept.append(engine.counters["candidates"])
        values.append(fmean(kept))
        size.append(footprint(engine))
        line: Line = {"contestant": f"W {width:,}", "values kept": values[-1], "of the window": values[-1] / width}
        result.lines.append({**line, "bytes/value of the window": size[-1] / width})
    slope, level = np.polyfit(widths, values, 1)
    result.notes.append(
        f"values kept = {slope:.3f} W {level:+.0f}; bytes = {np.polyfit(widths, size, 1)[0]:.1f} W and a constant"
    )
    share = values[-1] / widths[-1] / (values[0] / widths[0])
    result.ratios.append(Ratio("share of the window kept, longest over shortest", share, None, run.asked(1.2)))
    return result
