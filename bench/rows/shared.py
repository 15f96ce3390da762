"""`shared` (docs/design/0002-shared.md): one query against a bare pass, fine slides, hard streams, and many queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from time import process_time

import numpy as np

from bench.feed import Batch, Source, feed, one_query, rows_meta
from bench.harness import Ratio, Result, Run, cpu_seconds, in_turns, row
from bench.rows.many_queries import Settings as Drawn, sampled, workload
from bench.rows.one_query import count_above
from skyband.datasets import falling, sine, uniform
from skyband.engines.base import AnyEngine, Registration
from skyband.engines.kernels.jit import kernel
from skyband.model import Answers, DueReports, Floats, Ints, MetaQuery

NAME = "shared"


@dataclass(frozen=True)
class One:
    """One query and its stream."""

    scores: Callable[[int, int], Floats]
    slide: int
    asked: float
    window: int = 1_000_000
    k: int = 100
    records: int = 8_000_000
    batch: int = 1_000_000
    rounds: int = 5
    seed: int = 1

    def tiny(self) -> One:
        slide = max(self.slide // 100, 1)
        return One(self.scores, slide, self.asked, window=10_000, k=10, records=40_000, batch=10_000, rounds=2)


ONE_QUERY = {
    "shared-slide-10000": One(uniform, 10_000, 8.0),
    "shared-slide-100": One(uniform, 100, 25.0),
    "shared-slide-1": One(uniform, 1, 100.0, records=4_000_000),
    "shared-sine": One(sine, 1_000, 30.0),
    "shared-falling": One(falling, 1_000, 60.0),
}


def measure_one(full: One, run: Run) -> Result:
    s = full.tiny() if run.quick else full
    settings = {**asdict(s), "scores": s.scores.__name__, "figure": "best of the rounds"}
    result = Result(settings=settings)
    meta = one_query(s.window, s.slide, s.k)
    source = Source.of(s.scores(s.records, s.seed))
    engines = run.engines([NAME, "mtoplist"], result)
    prepared = list(source.batches(meta, 0, s.records, s.batch))
    contestants: dict[str, Callable[[], object]] = {"bare pass": partial(count_above, source.score, 0.5)}
    run.say("compiling")
    count_above(source.score[:10], 0.5)
    for engine in engines:
        if engine.name != NAME and s.slide < 100:
            continue  # A report at every record would take the better part of an hour.
        feed(engine.build(meta), prepared[:1])
        contestants[engine.name] = partial(_changes if s.slide == 1 else _answers, engine, meta, prepared)
    seconds = in_turns(contestants, s.rounds, run)
    best = {name: min(times) / s.records for name, times in seconds.items()}
    for name, each in best.items():
        result.lines.append({"contestant": name, "ns/record": 1e9 * each, "bare passes": each / best["bare pass"]})
    result.details["seconds"] = seconds
    if NAME in best:
        over = best[NAME] / best["bare pass"]
        result.ratios.append(Ratio(f"{NAME} over bare pass, time", over, at_most=run.asked(s.asked)))
    result.notes.append("answers computed, rows not written; report moments prepared; the first window included")
    if s.slide == 1:
        result.notes.append("changes mode: reports whose entries are those of the report before are passed over")
    return result


def _answers(engine: Registration, meta: MetaQuery, batches: list[Batch]) -> None:
    feed(engine.build(meta), batches)


@kernel
def count_changes(begin: Ints, size: Ints) -> int:
    """Entries of the reports that do not share them with the report before: what changes mode has to compare."""
    changed = 0
    for i in range(len(begin)):
        if i == 0 or begin[i] != begin[i - 1] or size[i] != size[i - 1]:
            changed += size[i]
    return changed


def _changes(engine: Registration, meta: MetaQuery, batches: list[Batch]) -> int:
    running, changed = engine.build(meta), 0
    for batch in batches:
        answers = running.advance(batch.records, batch.due)
        changed += count_changes(answers.begin, answers.size)
    return changed


@row("shared-growth", "falling scores: how the cost per record grows with the window, 62,500 to 1 M")
def measure_growth(run: Run) -> Result:
    base = ONE_QUERY["shared-falling"].tiny() if run.quick else ONE_QUERY["shared-falling"]
    windows = [base.window // 16, base.window // 4, base.window]
    result = Result(settings={**asdict(base), "scores": "falling", "figure": "best of the rounds"})
    engines = run.engines([NAME], result)
    source = Source.of(falling(base.records, base.seed))
    contestants: dict[str, Callable[[], object]] = {}
    for engine in engines:
        for window in windows:
            meta = one_query(window, base.slide, base.k)
            prepared = list(source.batches(meta, 0, base.records, base.batch))
            feed(engine.build(meta), prepared[:1])
            contestants[f"window {window:,}"] = partial(_answers, engine, meta, prepared)
    seconds = in_turns(contestants, base.rounds, run)
    each = {name: min(times) / base.records for name, times in seconds.items()}
    result.lines = [{"contestant": name, "ns/record": 1e9 * value} for name, value in each.items()]
    if each:
        values = list(each.values())
        # n log k in all is a constant per record.
        result.ratios.append(Ratio("window 1 M over window 1 M / 16", values[-1] / values[0], at_most=run.asked(2.0)))
    return result


@dataclass(frozen=True)
class Many:
    queries: int
    warm_up: int = 2_000_000
    measured: int = 1_000_000
    batch: int = 50_000
    rounds: int = 3
    seed: int = 1
    shrink: int = 1


TINY_MANY = Many(10, warm_up=4_000, measured=1_000, batch=1_000, rounds=2, shrink=500)


@kernel
def write_rows(
    begin: Ints, size: Ints, id: Ints, score: Floats, query: Ints, start: Ints, end: Ints, whole: Ints, real: Floats
) -> int:
    """Every result row of a batch: query, window, rank, record and score, a column each."""
    row = 0
    for i in range(len(begin)):
        for j in range(size[i]):
            whole[0, row] = query[i]
            whole[1, row] = start[i]
            whole[2, row] = end[i]
            whole[3, row] = j + 1
            whole[4, row] = id[begin[i] + j]
            real[row] = score[begin[i] + j]
            row += 1
    return row


def _written(answers: Answers, due: DueReports) -> int:
    total = int(answers.size.sum())
    whole, real = np.empty((5, total), np.int64), np.empty(total)
    return write_rows(
        answers.begin,
        answers.size,
        answers.id,
        answers.score,
        due.query,
        due.start,
        due.end,
        whole,
        real,
    )


def _timed(engine: AnyEngine, batches: list[Batch]) -> tuple[float, float]:
    """CPU seconds of `advance`, and of writing out what it answered, batch by batch."""
    advancing = writing = 0.0
    for batch in batches:
        began = process_time()
        answers = engine.advance(batch.records, batch.due)
        between = process_time()
        _written(answers, batch.due)
        advancing += between - began
        writing += process_time() - between
    return advancing, writing


@row("shared-queries-1000", "1,000 queries (win 100 K to 1 M, slide 10 K to 100 K, k 10 to 1,000) against writing rows")
def measure_many(run: Run) -> Result:
    s = TINY_MANY if run.quick else Many(1_000)
    meta = workload(Drawn(s.queries, "all", shrink=s.shrink))
    result = Result(settings={**asdict(s), "scores": "uniform", "figure": "median of the rounds"})
    source = Source.of(uniform(s.warm_up + 2 * s.rounds * s.measured, s.seed))
    running = {engine.name: engine.build(meta) for engine in run.engines([NAME, "mtoplist"], result)}
    alone = [(meta.beat(i), i) for i in sampled(meta, 20)]
    apart = [(known.build(beat), beat) for known in run.engines(["mintopk"], result) for beat, _ in alone]
    silent = [batch.silent() for batch in source.batches(meta, 0, s.warm_up, s.batch)]
    for engine in [*running.values(), *(engine for engine, _ in apart)]:
        run.say("warming up")
        feed(engine, silent)
    lines: dict[str, list[float]] = {}
    for i in range(s.rounds):
        low = s.warm_up + 2 * i * s.measured
        quiet = [batch.silent() for batch in source.batches(meta, low, low + s.measured, s.batch)]
        loud = list(source.batches(meta, low + s.measured, low + 2 * s.measured, s.batch))
        for name, engine in running.items():
            run.say(f"round {i + 1} of {s.rounds}: {name}")
            lines.setdefault(f"{name}, no reports", []).append(_timed(engine, quiet)[0])
            advancing, writing = _timed(engine, loud)
            lines.setdefault(f"{name}, reports", []).append(advancing)
            if name == NAME:
                lines.setdefault("writing the rows", []).append(writing)
        if apart:
            run.say(f"round {i + 1} of {s.rounds}: mintopk")
            scale = len(meta) / len(apart)
            lines.setdefault("mintopk apart, no reports", []).append(
                scale * sum(_timed(engine, quiet)[0] for engine, _ in apart)
            )
            for engine, _ in apart:
                feed(engine, [batch.silent() for batch in loud])
    for name, times in lines.items():
        result.lines.append({"contestant": name, "ns/record": 1e9 * median(times) / s.measured})
    _many_ratios(result, lines, run)
    result.details["seconds"] = lines
    result.notes += [
        "writing the rows: query, window, rank, record and score of every row into columns, by a compiled loop; the"
        " Monitor's rows have the stream's columns too and cost several times that",
        f"mintopk: {len(apart)} of {len(meta)} queries are run, evenly chosen by expected cost, and scaled",
    ]
    return result


def _many_ratios(result: Result, lines: dict[str, list[float]], run: Run) -> None:
    ours, quiet = lines.get(f"{NAME}, reports"), lines.get(f"{NAME}, no reports")
    if ours is None or quiet is None:
        return

    def over(what: str, above: list[float] | None, below: list[float], **asked: float | None) -> None:
        if above is not None:
            result.ratios.append(Ratio(what, median(above) / max(median(below), 1e-12), **asked))

    over(f"{NAME} over writing its rows", ours, lines["writing the rows"], at_most=run.asked(3))
    over(f"mtoplist over {NAME}, reports", lines.get("mtoplist, reports"), ours, at_least=run.asked(5))
    over(f"mintopk over {NAME}, no reports", lines.get("mintopk apart, no reports"), quiet, at_least=run.asked(50))


def ph_workload(queries: int, shrink: int = 1) -> MetaQuery:
    """k 50 to 150, windows uniform in [2^13, 2^20], slides 5 % of the window (the PH-Tree's setting, ICDE 2024)."""
    draw = np.random.default_rng(queries)
    width = draw.integers(2**13 // shrink, 2**20 // shrink, queries, endpoint=True)
    return rows_meta(width, np.maximum(width // 20, 1), draw.integers(50, 150, queries, endpoint=True))


ASKED_MILLIONS = {10: 30.0, 100: None, 1_000: 5.0}


def measure_windows(queries: int, run: Run) -> Result:
    s = TINY_MANY if run.quick else Many(queries)
    meta = ph_workload(queries, s.shrink)
    result = Result(settings={**asdict(s), "queries": queries, "scores": "uniform", "figure": "best of the rounds"})
    source = Source.of(uniform(s.warm_up + s.rounds * s.measured, s.seed))
    bare: list[float] = []
    times: list[float] = []
    for known in run.engines([NAME], result):
        engine = known.build(meta)
        feed(engine, source.batches(meta, 0, s.warm_up, s.batch))
        for i in range(s.rounds):
            low = s.warm_up + i * s.measured
            run.say(f"round {i + 1} of {s.rounds}")
            times.append(_timed(engine, list(source.batches(meta, low, low + s.measured, s.batch)))[0])
            bare.append(cpu_seconds(partial(count_above, source.score[low : low + s.measured], 0.5)))
    for name, seconds in {NAME: times, "bare pass": bare}.items():
        if seconds:
            each = max(min(seconds), 1e-9) / s.measured
            result.lines.append({"contestant": name, "ns/record": 1e9 * each, "M records/s": 1e-6 / each})
    if times:
        speed, asked = s.measured / max(min(times), 1e-9) / 1e6, ASKED_MILLIONS[queries]
        result.ratios.append(Ratio("million records a second", speed, at_least=asked and run.asked(asked)))
    result.notes.append("answers computed, rows not written; a speed and not a ratio: it depends on the machine")
    result.details["seconds"] = times
    return result


for _name, _one in ONE_QUERY.items():
    row(
        _name, f"one query, window 1 M, k 100, slide {_one.slide:,}, {_one.scores.__name__} scores; against a bare pass"
    )(partial(measure_one, _one))
for _queries in ASKED_MILLIONS:
    row(f"shared-windows-{_queries}", f"{_queries:,} queries, k 50 to 150, windows in [2^13, 2^20], slides 5 %")(
        partial(measure_windows, _queries)
    )
