"""JSON values from a topic: our whole pipeline against Spark, which reads the same values and sums one column."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skyband as sb
from bench.harness import Ratio, Result, Run, row
from bench.machine import cpu_seconds
from bench.rows.spark import START, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB = "import sys; from bench.rows.kafka import main; main(*sys.argv[1:])"
TOPIC = "trades"
COLUMNS = [("ts", "TIMESTAMP"), ("id", "BIGINT"), ("symbol", "STRING"), ("price", "DOUBLE"), ("size", "BIGINT")]
STREAM = sb.Stream("s", time="ts", key="id", columns=COLUMNS)
ONE = sb.Workload([sb.TopK("q", 100, "price", "100 seconds", "10 seconds")], stream=STREAM)
OURS, OURS_BY_SPARK = "one query, tasks read the values", "one query, Spark reads the values"
SUM, FETCH = "Spark's from_json and sum", "Spark's longest value"


@dataclass(frozen=True)
class Settings:
    records: int = 2_000_000
    partitions: int = 8
    rounds: int = 3
    seed: int = 1


TINY = Settings(records=5_000, partitions=2, rounds=1)


@row("kafka", "JSON values from a topic with 8 partitions: one query against from_json and the sum of one column")
def measure(run: Run) -> Result:
    s = TINY if run.quick else Settings()
    result = Result(settings={**asdict(s), "window": "100 s", "slide": "10 s", "k": 100, "figure": "best of rounds"})
    found = _from_a_file(s, run) if run.quick else _from_a_broker(s, run)
    best = {name: tuple(map(min, zip(*each, strict=True))) for name, each in found.items()}
    for name, (wall, cpu) in best.items():
        result.lines.append({"contestant": name, "s": wall, "M records/s": 1e-6 * s.records / wall, "CPU s": cpu})
    result.ratios += [
        Ratio("tasks read the values over Spark's sum, speed", best[SUM][0] / best[OURS][0], at_least=run.asked(0.8)),
        Ratio("the same by CPU time of all processes", best[SUM][1] / best[OURS][1]),
        Ratio("tasks over Spark as the reader, speed", best[OURS_BY_SPARK][0] / best[OURS][0]),
    ]
    result.notes.append("CPU s: of the JVM, the Python workers and the driver; the broker's is not in it")
    if run.quick:
        result.notes.append("quick: the values come from a file, without a broker")
    result.details["seconds and CPU seconds of every round"] = found
    return result


Figures = dict[str, list[tuple[float, float]]]


def _from_a_broker(s: Settings, run: Run) -> Figures:
    """In a process of its own: a JVM that runs already cannot be given Kafka's jars."""
    from tests.spark import servers

    with tempfile.TemporaryDirectory() as folder, servers.kafka(Path(folder), s.partitions) as server:
        run.say("a topic is filled and read")
        words = [sys.executable, "-c", JOB, server, str(s.records), str(s.rounds)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures


def _from_a_file(s: Settings, run: Run) -> Figures:
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark = session()
        values(spark, s.records).write.parquet(f"{name}/values")
        return _in_turns(spark.read.parquet(f"{name}/values"), s.rounds)


def values(spark: SparkSession, records: int) -> DataFrame:
    """A record every millisecond, as a producer would write it."""
    columns = [
        f"timestamp_micros({START} + 1000 * id) AS ts",
        "id",
        "concat('SYM', id % 50) AS symbol",
        "round(100 * rand(1), 2) AS price",
        "cast(1000 * rand(2) AS BIGINT) AS size",
    ]
    return spark.range(records).selectExpr(*columns).selectExpr("cast(to_json(struct(*)) AS BINARY) AS value")


def _in_turns(read: DataFrame, rounds: int) -> Figures:
    found: Figures = {name: [] for name in (FETCH, SUM, OURS, OURS_BY_SPARK)}
    for turn in range(rounds + 1):
        for name, act in _contestants(read).items():
            wall, cpu = time.perf_counter(), cpu_seconds()
            act()
            if turn:
                found[name].append((time.perf_counter() - wall, cpu_seconds() - cpu))
    return found


def _contestants(read: DataFrame) -> dict[str, Callable[[], Any]]:
    from pyspark.sql import functions as f

    from skyband.spark.columns import declared
    from skyband.spark.values import JsonRecords

    schema = declared(STREAM)
    assert schema is not None
    records = JsonRecords(read, schema)
    parsed = read.select(f.from_json(f.col("value").cast("string"), schema).alias("record"))
    return {
        FETCH: lambda: read.agg(f.max(f.length("value"))).collect(),
        SUM: lambda: parsed.agg(f.sum("record.price")).collect(),
        OURS: lambda: _noop(ONE.over(records)),
        OURS_BY_SPARK: lambda: _noop(ONE.over(records.frame)),
    }


def _noop(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def main(server: str, records: str, rounds: str) -> None:
    from skyband.spark.io.maven import KAFKA, connector
    from skyband.spark.session import session as start

    spark = start(False, [connector(KAFKA)], "local[2]")
    options = {"kafka.bootstrap.servers": server}
    values(spark, int(records)).write.format("kafka").options(topic=TOPIC, **options).save()
    read = spark.read.format("kafka").options(subscribe=TOPIC, **options).load().select("value")
    print(json.dumps(_in_turns(read, int(rounds))))
