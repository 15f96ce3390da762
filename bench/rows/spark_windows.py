"""Streams of which the whole window is kept, on Spark: what a micro-batch costs in which no report is due."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb
from bench.harness import Ratio, Result, Run, row
from bench.rows.spark import START, session
from bench.rows.spark_stream import ROCKSDB

STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id{more}); CREATE QUERY q AS SELECT TOP 10 "
KINDS = {
    "deletes": STREAM.format(more=", OP = op") + "id FROM s {window} ORDER BY x",
    "rules": STREAM.format(more=", PROBABILITY = p, RULE = pair") + "id FROM s {window} ORDER BY x",
    "errors": STREAM.format(more="") + "id FROM s {window} ORDER BY x WITH ERROR e",
    "objects": STREAM.format(more="") + "part FROM s {window} OBJECT part ACROSS place (SUM) ORDER BY SUM(x)",
}
SLOWER = {"errors": 10}
"""Reports of scores with an error are dear: so many times fewer records."""


@dataclass(frozen=True)
class Settings:
    slide: int = 20
    """Seconds; the short window is as long."""
    longer: int = 10
    rate: int = 1_000
    """Records a second."""
    quiet_files: int = 14
    """Each of a second; no report is due in any but the first."""
    rounds: int = 3
    kinds: tuple[str, ...] = tuple(KINDS)
    seed: int = 1


TINY = Settings(rate=20, quiet_files=2, rounds=1, kinds=("deletes",))


@row("spark-windows", "deletes, rules, errors, objects: a quiet micro-batch with a window ten times as long")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "k": 10, "figure": "medians over the rounds"})
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skyband.spark.settings import suit_checkpoint

        spark, folder = session(), Path(name)
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        suit_checkpoint(spark, name)
        for kind in s.kinds:
            source = folder / kind
            _write(source, s, s.rate // SLOWER.get(kind, 1))
            found = defaultdict[int, list[int]](list)
            for turn in range(s.rounds):
                for width in (s.slide, s.longer * s.slide):
                    run.say(f"{kind}, round {turn + 1} of {s.rounds}, a window of {width} s")
                    over = f"[RANGE {width} SECONDS SLIDE {s.slide} SECONDS]"
                    work = sb.Workload.from_sql(KINDS[kind].format(window=over))
                    found[width] += _quiet(spark, source, work, folder / f"{kind}-{turn}-{width}")
            short, long = (float(np.median(each)) for each in found.values())
            for width, each in found.items():
                result.lines.append({"kind": kind, "window, s": width, "ms a micro-batch": float(np.median(each))})
            result.ratios.append(
                Ratio(f"{kind}: a window {s.longer} times as long, time", long / short, at_most=run.asked(1.3))
            )
    result.notes.append("the micro-batch that fills the window and the first after it, which reports, are left out")
    return result


def _quiet(spark: Any, source: Path, work: sb.Workload, check: Path) -> list[int]:
    """Milliseconds of the micro-batches in which no report is due."""
    schema = spark.read.parquet(str(source)).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = work.over(df).writeStream.format("noop").option("checkpointLocation", str(check))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    with_records = [each for each in query.recentProgress if each.numInputRows]
    return [each.durationMs["triggerExecution"] for each in with_records[2:]]


def _write(folder: Path, s: Settings, rate: int) -> None:
    """Enough to fill the longer window, in one file; then a file for every second."""
    folder.mkdir()
    draw = np.random.default_rng(s.seed)
    before = 2 * s.longer * s.slide
    for number, (low, high) in enumerate([(0, before), *((before + i, before + i + 1) for i in range(s.quiet_files))]):
        id = np.arange(low * rate, high * rate)
        columns = {
            "ts": pa.array(START + id * (1_000_000 // rate)).cast(pa.timestamp("us", "UTC")),
            "id": id,
            "x": draw.random(len(id)),
            "e": draw.uniform(0.01, 0.1, len(id)),
            "p": draw.uniform(0.05, 0.5, len(id)),
            "pair": id // 2,
            "op": np.full(len(id), "i"),
            "part": draw.integers(0, 2_000, len(id)),
            "place": draw.choice(["a", "b"], len(id)),
        }
        pq.write_table(pa.table(columns), folder / f"{number:03}.parquet")
        time.sleep(0.01)
