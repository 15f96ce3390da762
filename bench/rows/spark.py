"""The pipeline on Spark against Spark's own ways, over Parquet files and into the noop sink."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb
from bench.harness import Ratio, Result, Run, row
from skyband.datasets import uniform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from skyband.spark.inputs import Given, Input

START = 1_700_000_000_000_000
STREAM = sb.Stream("s", time="ts", key="id")


@dataclass(frozen=True)
class Settings:
    records: int = 10_000_000
    few: int = 20_000
    files: int = 8
    rounds: int = 3
    queries: int = 200
    window: int = 1_000
    """Seconds."""
    seed: int = 1


TINY = Settings(records=40_000, few=2_000, files=2, rounds=1, queries=5, window=20)


def session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "6g")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _write(folder: Path, s: Settings) -> None:
    """A record every millisecond, so that 10 M of them are 10,000 seconds."""
    score, each = uniform(s.records, s.seed), s.records // s.files
    for number in range(s.files):
        part = slice(number * each, (number + 1) * each)
        at = START + 1_000 * np.arange(part.start, part.stop)
        table = pa.table({"ts": pa.array(at).cast(pa.timestamp("us", "UTC")), "id": at, "score": score[part]})
        pq.write_table(table, folder / f"{number:02}.parquet")


def _top(name: str, k: int, width: int, slide: str) -> sb.TopK:
    return sb.TopK(name, k, "score", f"{width} seconds", slide)


def _noop(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def answers_only(workload: sb.Workload, records: Given) -> None:
    """Everything but the rows: answers are found, and then counted instead of written."""
    from bench import counting
    from skyband.spark.inputs import by_stream

    _noop(counting.over(workload.plan(), by_stream(workload.streams, records)["s"]))


def _two_levels(df: DataFrame, window: int) -> DataFrame:
    """Spark's own best form: the best 100 of every pane of 10 s, then of the panes of every window."""
    from pyspark.sql import functions as f

    best = f.max_by(f.struct("ts", "id", "score"), f.struct("score", "ts", "id"), 100).alias("best")
    panes = df.groupBy(f.window("ts", "10 seconds").alias("pane")).agg(best)
    rows = panes.select(f.explode("best").alias("row")).select("row.*")
    return rows.groupBy(f.window("ts", f"{window} seconds", "10 seconds")).agg(best)


@row("spark-batch", "one query and 200, slides of 10 s and 0.1 s, against Spark's own aggregations")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "k": 100, "figure": "best of the rounds"})
    run.say("writing files")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, s)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark's own, about pandas 3
            df = session().read.parquet(name)
            seconds = _in_turns(_contestants(s, df, sb.scan(name)), s.rounds, run)
    records = {"Spark's window and max_by": s.few}
    best = {contestant: min(times) for contestant, times in seconds.items()}
    speed = {contestant: 1e-6 * records.get(contestant, s.records) / each for contestant, each in best.items()}
    for contestant, each in best.items():
        result.lines.append({"contestant": contestant, "s": each, "M records/s": speed[contestant]})
    result.ratios += [
        Ratio(
            "one query over Spark's window and max_by, speed",
            speed["one query"] / speed["Spark's window and max_by"],
            at_least=run.asked(300),
        ),
        Ratio(
            "one query over windowed max, speed", speed["one query"] / speed["windowed max"], at_least=run.asked(0.7)
        ),
        Ratio(
            "one query, scan in the tasks, over windowed max, speed",
            speed["one query, scan in the tasks"] / speed["windowed max"],
            at_least=run.asked(1.3),
        ),
        Ratio(
            "one query, scan in the tasks, over Spark's max_by of panes, then of windows, speed",
            speed["one query, scan in the tasks"] / speed["Spark's max_by of panes, then of windows"],
            at_least=run.asked(10),
        ),
        Ratio(
            "200 queries over one, scan in the tasks, time, output apart",
            best["200 queries, scan in the tasks, answers only"] / best["one query, scan in the tasks, answers only"],
            at_most=run.asked(1.5),
        ),
        Ratio(
            "slide 0.1 s over slide 10 s, time, output apart",
            best["slide 0.1 s, answers only"] / best["one query, answers only"],
            at_most=run.asked(2),
        ),
        Ratio(
            "200 queries over one, time, output apart",
            best["200 queries, answers only"] / best["one query, answers only"],
            at_most=run.asked(2),
        ),
    ]
    result.notes.append(f"Spark's window and max_by copies each record into 100 windows: measured on {s.few:,} records")
    result.notes.append("answers only: every answer is found in maintain, but not written as rows")
    return result


LARGE = Settings(records=100_000_000, files=16, rounds=4)


@row("spark-large", "100 M records: one query that the tasks scan, against Spark's windowed max")
def measure_large(run: Run) -> Result:
    s = TINY if run.quick else LARGE
    result = Result(settings={**asdict(s), "k": 100, "figure": "best of the rounds"})
    run.say("writing files")
    with tempfile.TemporaryDirectory() as name:
        _write(Path(name), s)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark's own, about pandas 3
            known = _contestants(s, session().read.parquet(name), sb.scan(name))
            chosen = ("windowed max", "one query, scan in the tasks")
            seconds = _in_turns({each: known[each] for each in chosen}, s.rounds, run)
    best = {contestant: min(times) for contestant, times in seconds.items()}
    for contestant, each in best.items():
        result.lines.append({"contestant": contestant, "s": each, "M records/s": 1e-6 * s.records / each})
    windowed, ours = best.values()
    result.ratios.append(
        Ratio("one query, scan in the tasks, over windowed max, speed", windowed / ours, at_least=run.asked(2))
    )
    return result


def _contestants(s: Settings, df: DataFrame, scan: Input) -> dict[str, Callable[[], object]]:
    from pyspark.sql import functions as f

    draw = np.random.default_rng(s.seed)
    one = sb.Workload([_top("q", 100, s.window, "10 seconds")], stream=STREAM)
    fine = sb.Workload([_top("q", 100, s.window, "0.1 seconds")], stream=STREAM)
    widths = draw.integers(s.window // 2, s.window + 1, s.queries).tolist()
    many = sb.Workload(
        [_top(f"q{i}", int(draw.integers(10, 101)), w, f"{max(w // 100, 1)} seconds") for i, w in enumerate(widths)],
        stream=STREAM,
    )
    few = df.limit(s.few)
    best = f.max_by(f.struct("ts", "id", "score"), f.struct("score", "ts", "id"), 100)
    return {
        "scan, max(score)": lambda: df.agg(f.max("score")).collect(),
        "windowed max": lambda: _noop(df.groupBy(f.window("ts", "10 seconds")).agg(f.max("score"))),
        "Spark's window and max_by": lambda: _noop(
            few.groupBy(f.window("ts", f"{s.window} seconds", "10 seconds")).agg(best)
        ),
        "Spark's max_by of panes, then of windows": lambda: _noop(_two_levels(df, s.window)),
        "one query": lambda: _noop(one.over(df)),
        "one query, scan in the tasks": lambda: _noop(one.over(scan)),
        "200 queries": lambda: _noop(many.over(df)),
        "200 queries, scan in the tasks": lambda: _noop(many.over(scan)),
        "one query, answers only": lambda: answers_only(one, df),
        "slide 0.1 s, answers only": lambda: answers_only(fine, df),
        "200 queries, answers only": lambda: answers_only(many, df),
        "one query, scan in the tasks, answers only": lambda: answers_only(one, scan),
        "200 queries, scan in the tasks, answers only": lambda: answers_only(many, scan),
    }


def _in_turns(contestants: dict[str, Callable[[], Any]], rounds: int, run: Run) -> dict[str, list[float]]:
    """Wall time, for Spark works in other processes; one round before that does not count, where it matters."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(int(run.quick), rounds + 1):
        for name, act in contestants.items():
            run.say(f"round {turn} of {rounds}: {name}")
            began = time.perf_counter()
            act()
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return seconds
