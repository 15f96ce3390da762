"""Streaming on Spark: records a second, what a quiet micro-batch costs; and PER with many keys."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb
from bench.harness import Ratio, Result, Run, row
from bench.rows.spark import START, STREAM, answers_only, session
from skyband.datasets import uniform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class Settings:
    records: int = 30_000_000
    files: int = 12
    backlog: int = 4
    """Files of a micro-batch where much is waiting."""
    quiet_files: int = 12
    quiet_records: int = 10_000
    rounds: int = 3
    keys: int = 100_000
    keyed: int = 10_000_000
    seed: int = 1


TINY = Settings(records=40_000, files=4, backlog=2, quiet_files=3, quiet_records=500, rounds=0, keys=100, keyed=20_000)


def _write(folder: Path, score: np.ndarray, files: int, keys: int = 0) -> None:
    """A record every millisecond, the files in the order of time."""
    folder.mkdir()
    each = len(score) // files
    draw = np.random.default_rng(2)
    for number in range(files):
        part = slice(number * each, (number + 1) * each)
        at = START + 1_000 * np.arange(part.start, part.stop)
        columns = {"ts": pa.array(at).cast(pa.timestamp("us", "UTC")), "id": at, "score": score[part]}
        if keys:
            columns["key"] = draw.integers(0, keys, each)
        pq.write_table(pa.table(columns), folder / f"{number:03}.parquet")
        time.sleep(0.01)


def _streamed(spark: SparkSession, source: Path, work: Any, check: Path) -> list[dict[str, Any]]:
    """The progress of every micro-batch, one file each."""
    schema = spark.read.parquet(str(source)).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = work(df).writeStream.format("noop").option("checkpointLocation", str(check))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [{"rows": each.numInputRows, "ms": each.durationMs["triggerExecution"]} for each in query.recentProgress]


def _scanned(spark: SparkSession, source: Path, check: Path, files: int, each: int) -> list[dict[str, Any]]:
    """The same where tasks read the files, so many in a micro-batch, so many records in each: what Spark counts are the
    files."""
    scan = sb.scan(str(source), spark=spark, streaming=True, maxFilesPerTrigger=str(files))
    writer = _top().over(scan).writeStream.format("noop").option("checkpointLocation", str(check))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [
        {"rows": each * progress.numInputRows, "ms": progress.durationMs["triggerExecution"]}
        for progress in query.recentProgress
    ]


def _top(**options: Any) -> sb.Workload:
    return sb.Workload([sb.TopK("q", 100, "score", "1000 seconds", "10 seconds", **options)], stream=STREAM)


def _without_maintain(df: DataFrame) -> DataFrame:
    from skyband.runtime.reader import StreamReader
    from skyband.spark.columns import arrow_schema
    from skyband.spark.event_time import with_watermark
    from skyband.spark.inputs import SparkRows
    from skyband.spark.pipeline import encoded_rows
    from skyband.spark.stages.prune import Bound, Prune

    plan = _top().plan()
    reader = StreamReader(STREAM, arrow_schema(df))
    bound = [Bound.of(planned, reader.schema) for planned in plan.families]
    return with_watermark(encoded_rows(SparkRows(df), Prune(reader, bound)), STREAM)


def _doing_nothing(df: DataFrame) -> DataFrame:
    """As far as a stateful processor that reads its rows, and no further."""
    from bench.nothing import Nothing
    from skyband.spark.stages.maintain import MAINTAINED_DDL

    grouped = _without_maintain(df).groupBy("state_key")
    return grouped.transformWithState(Nothing(), MAINTAINED_DDL, "append", "EventTime")


@row("spark-stream", "records a second with large micro-batches, and what a quiet micro-batch costs")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "window": "1,000 s", "slide": "10 s", "k": 100})
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skyband.spark.pipeline import state_keys
        from skyband.spark.settings import suit_checkpoint

        spark, folder = session(), Path(name)
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        # As `skyband run` sets them.
        spark.conf.set("spark.sql.shuffle.partitions", str(min(2, state_keys(_top().plan()))))
        suit_checkpoint(spark, name)
        run.say("writing files")
        _write(folder / "big", uniform(s.records, s.seed), s.files)
        # Scores fall: after the first file nothing is among the best 100 of its window but what is newest.
        quiet = np.concatenate((np.full(s.quiet_records, 1.0), np.zeros((s.quiet_files - 1) * s.quiet_records)))
        _write(folder / "quiet", quiet - 1e-9 * np.arange(len(quiet)), s.quiet_files)
        run.say("large micro-batches")
        large = _streamed(spark, folder / "big", _top().over, folder / "check-big")

        def counts(turn: int) -> bool:
            """The round before all others does not, unless there are no others."""
            return turn > 0 or not s.rounds

        first, scanned, backlog = [], [], []
        for turn in range(s.rounds + 1):
            run.say(f"large micro-batches, scan in the tasks, round {turn} of {s.rounds}")
            one, several = (
                _scanned(spark, folder / "big", folder / f"check-scan-{files}-{turn}", files, s.records // s.files)
                for files in (1, s.backlog)
            )
            if not turn:
                first = one[1:]
            if counts(turn):
                scanned += one[1:]
                backlog += several[1:]
        small, idle, bare = [], [], []
        for turn in range(s.rounds + 1):
            run.say(f"quiet micro-batches, round {turn} of {s.rounds}")
            with_it = _streamed(spark, folder / "quiet", _top().over, folder / f"check-quiet-{turn}")
            nothing = _streamed(spark, folder / "quiet", _doing_nothing, folder / f"check-idle-{turn}")
            without = _streamed(spark, folder / "quiet", _without_maintain, folder / f"check-bare-{turn}")
            if counts(turn):
                small += with_it[1:]
                idle += nothing[1:]
                bare += without[1:]
    added, more = _median(small) - _median(bare), _median(small) - _median(idle)
    each, much = (f"{1e-6 * files * s.records / s.files:g} M" for files in (1, s.backlog))
    large = large[1:]
    result.lines += [
        _line(f"micro-batches of {each} records", large),
        _line(f"micro-batches of {each}, scan in the tasks, the first start of a JVM", first),
        _line(f"micro-batches of {each}, scan in the tasks", scanned),
        _line(f"micro-batches of {much}, scan in the tasks", backlog),
        {"what": "quiet micro-batch", "M records/s": None, "ms a micro-batch": _median(small)},
        {"what": "the same, a processor that does nothing", "M records/s": None, "ms a micro-batch": _median(idle)},
        {"what": "the same without maintain", "M records/s": None, "ms a micro-batch": _median(bare)},
    ]
    result.ratios += [
        Ratio(f"M records/s, micro-batches of {each}", _speed(large), at_least=run.asked(1.0)),
        Ratio(f"M records/s, micro-batches of {each}, scan in the tasks", _speed(scanned)),
        Ratio(f"M records/s, micro-batches of {much}, scan in the tasks", _speed(backlog), at_least=run.asked(6.0)),
        Ratio("s that maintain adds to a quiet micro-batch", max(added, 1) / 1_000, at_most=run.asked(0.3)),
        Ratio("s more than a processor that does nothing", max(more, 1) / 1_000, at_most=run.asked(0.05)),
    ]
    result.notes.append(
        "the first micro-batch of every start, which starts Python workers, is left out, and so is a round of those "
        "that tasks scan and of quiet ones, in which the JVM compiles (its first start is a line of its own); "
        "milliseconds are medians, speeds are of all records in all the time"
    )
    return result


@row("spark-per", "PER with many keys, a batch: time, state")
def measure_per(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "window": "1,000 s", "slide": "100 s", "k": 3})
    work = sb.Workload([sb.TopK("q", 3, "score", "1000 seconds", "100 seconds", per="key")], stream=STREAM)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark, folder = session(), Path(name)
        run.say("writing files")
        _write(folder / "in", uniform(s.keyed, s.seed), 8, s.keys)
        df = spark.read.parquet(str(folder / "in"))
        times, apart, scanned = [], [], []
        for _ in range(1 if run.quick else 2):
            run.say("PER on Spark")
            began = time.perf_counter()
            rows = work.over(df).count()
            times.append(time.perf_counter() - began)
            run.say("PER on Spark, answers only")
            began = time.perf_counter()
            answers_only(work, df)
            apart.append(time.perf_counter() - began)
            run.say("PER on Spark, scan in the tasks, answers only")
            began = time.perf_counter()
            answers_only(work, sb.scan(str(folder / "in"), spark=spark))
            scanned.append(time.perf_counter() - began)
        run.say("PER in a Monitor")
        monitor = sb.Monitor(work)
        began = time.perf_counter()
        for path in sorted((folder / "in").iterdir()):
            monitor.push(pq.read_table(path))
        alone = time.perf_counter() - began
    counts = monitor.counters
    result.lines += [
        {"where": "Spark, batch", "s": min(times), "M records/s": 1e-6 * s.keyed / min(times), "candidates": None},
        *(
            {"where": where, "s": min(each), "M records/s": 1e-6 * s.keyed / min(each), "candidates": None}
            for where, each in (
                ("Spark, batch, answers only", apart),
                ("Spark, batch, scan in the tasks, answers only", scanned),
            )
        ),
        {"where": "Monitor", "s": alone, "M records/s": 1e-6 * s.keyed / alone, "candidates": counts["candidates"]},
    ]
    result.ratios.append(Ratio("Monitor over Spark, time", alone / min(times)))
    result.notes.append(
        f"{rows:,} result rows; {counts['groups']:,} groups alive, at most {counts['candidates_peak']:,} candidates"
    )
    return result


def _line(what: str, progress: list[dict[str, Any]]) -> dict[str, str | int | float | None]:
    return {"what": what, "M records/s": _speed(progress), "ms a micro-batch": _median(progress)}


def _speed(progress: list[dict[str, Any]]) -> float:
    some = [each for each in progress if each["rows"]]
    return float(1e-3 * sum(each["rows"] for each in some) / max(sum(each["ms"] for each in some), 1))


def _median(progress: list[dict[str, Any]]) -> float:
    return float(np.median([each["ms"] for each in progress if each["rows"]]))
