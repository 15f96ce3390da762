"""Real streams: a batch on Spark = a Monitor = Spark's own window with a rank, row for row, ties and nulls included.

The stages of a stream with every file; a stream on Spark with late data, and with times before 1970.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.datasets import REAL, available, load
from skyband.engines.oracle import complete as oracle
from skyband.language import compile_score
from skyband.model.duration import duration_text
from skyband.runtime.hashing import hash_rows
from skyband.spark.event_time import quoted
from tests.spark.jobs import write_files
from tests.spark.test_processor import Played

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(__file__).parents[3] / "shared" / "data"
ROWS = 20_000
pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.skipif(not DATA.is_dir(), reason="the real streams are not here: no ../shared/data"),
]


def _workload(name: str, table: pa.Table, lateness: str | None = None) -> tuple[sb.Workload, int, int]:
    """Windows of a twelfth of the time there is, sliding by a fifth of that, in whole seconds."""
    real = REAL[name]
    span = pc.max(table.column("ts")).value - pc.min(table.column("ts")).value
    slide = max(span // 60 // 1_000_000, 1) * 1_000_000
    width = 5 * slide
    best = sb.TopK("best", 10, real.rank_by, duration_text(width), duration_text(slide))
    worst = sb.TopK("worst", 3, real.rank_by, duration_text(3 * slide), duration_text(2 * slide), ascending=True)
    recent = sb.TopK("recent", 5, real.rank_by, "2000 rows", 500)
    stream = sb.Stream(name, time="ts", key=real.stream.key, lateness=lateness or duration_text(real.stream.lateness))
    return sb.Workload([best, worst, recent], stream=stream), width, slide


def _identity(row: dict[str, Any]) -> str:
    return str([row[name] for name in ("query", "window_end", "row_end", "group_key", "rank")])


@pytest.mark.parametrize("name", available(DATA) if DATA.is_dir() else ["flights"])
def test_every_way_gives_the_same_rows(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = _micro(load(DATA, name, arrival=False))
    path = str(tmp_path / "in.parquet")
    pq.write_table(table, path)
    workload, width, slide = _workload(name, table)
    df = spark.read.parquet(path)
    on_spark = workload.over(df.repartition(3)).toArrow()

    monitor = sb.Monitor(workload)
    alone = pa.concat_tables([monitor.push(_in_order(table, REAL[name].stream.key)), monitor.close()])
    assert sorted(on_spark.to_pylist(), key=_identity) == sorted(alone.to_pylist(), key=_identity)

    best = [row for row in on_spark.to_pylist() if row["query"] == "best"]
    assert sorted((row["window_end"], row["rank"], row["score"]) for row in best) == _by_spark(
        spark, path, workload, table.column_names, width, slide
    )


@pytest.mark.parametrize("name", available(DATA) if DATA.is_dir() else ["flights"])
def test_a_stream_s_stages_say_what_a_monitor_says(name: str) -> None:
    """Every file in order of arrival, in micro-batches; late records where the file has them."""
    table = _micro(load(DATA, name))
    workload, _, _ = _workload(name, table, lateness="5 minutes")
    parts = [_in_order(table.slice(low, 4_000), REAL[name].stream.key) for low in range(0, len(table), 4_000)]
    played, monitor = Played(workload, table.schema), sb.Monitor(workload)
    reported = []
    for part in parts:
        played.push(part, parts=2)
        reported.append(monitor.push(part))
    assert sorted(played.table().to_pylist(), key=_identity) == sorted(
        pa.concat_tables(reported).to_pylist(), key=_identity
    )


@pytest.mark.parametrize(
    ("name", "first", "window", "slide", "lateness"),
    [("honeypot", 350_000, "1 hour", "2 minutes", "5 minutes"), ("icebergs", 0, "60 days", "10 days", "1 day")],
)
def test_a_stream_and_its_drain_are_the_oracle_that_is_told_the_micro_batches(
    spark: SparkSession, tmp_path: Path, name: str, first: int, window: str, slide: str, lateness: str
) -> None:
    """Half of the honeypot's records are late here, up to 22 minutes; many icebergs were seen before 1970."""
    from skyband.spark.io.sinks import Memory
    from skyband.spark.state.drain import drain

    real, table = REAL[name], _micro(load(DATA, name).slice(first, 2_000))
    stream = sb.Stream(name, time="ts", key=real.stream.key, lateness=lateness)
    queries = [sb.TopK("best", 5, real.rank_by, window, slide), sb.TopK("few", 2, real.rank_by, slide)]
    workload = sb.Workload(queries, stream=stream)
    parts = [table.slice(low, 500) for low in range(0, len(table), 500)]
    write_files(tmp_path / "in", parts)
    files, memory, checkpoint = str(tmp_path / "in"), Memory(), str(tmp_path / "ck")
    df = spark.readStream.schema(spark.read.parquet(files).schema).option("maxFilesPerTrigger", 1).parquet(files)
    writer = workload.over(df).writeStream.foreachBatch(memory.write_batch).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    rest = drain(spark, workload.plan(), {name: df}, checkpoint).toArrow()
    rows = pa.concat_tables([*memory.tables.values(), rest]).to_pylist()
    found = sorted((row["query"], _micros(row["window_end"]), row["rank"], row["score"]) for row in rows)
    expected, late = _by_oracle(workload, parts)
    assert found == expected
    assert (late > 0) == (name == "honeypot")


def _by_oracle(workload: sb.Workload, parts: list[pa.Table]) -> tuple[list[tuple[Any, ...]], int]:
    """(query, end, rank, score) of every window, and how many records came after a window of theirs was reported."""
    stream, found = workload.streams[0], []
    score = compile_score(workload.queries[0].by, parts[0].schema, stream=stream.name)
    records, watermark, late = [], -(2**62), 0
    for part in parts:
        at = part.column("ts").cast(pa.int64()).to_numpy()
        keys = part.column(stream.key).to_pylist() if stream.key else [0] * len(part)
        ties = zip(keys, hash_rows(part).tolist(), strict=True)
        for time, value, tie in zip(at.tolist(), score.evaluate(part).tolist(), ties, strict=True):
            records.append(oracle.Record(time, value, tie, "", watermark))
            late += any(end <= watermark for query in workload.queries for _, end in oracle.windows(query, time))
        watermark = max(watermark, (int(at.max()) - stream.lateness) // 1_000 * 1_000)
    for query in workload.queries:
        for report in oracle.answer(query, records):
            ranks = enumerate(report.best, 1)
            found += [(query.name, report.end, rank, (record.score or 0.0) + 0.0) for rank, record in ranks]
    return sorted(found), late


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _micro(table: pa.Table) -> pa.Table:
    return table.slice(0, ROWS).set_column(
        table.column_names.index("ts"), "ts", table.column("ts").slice(0, ROWS).cast(pa.timestamp("us"))
    )


def _in_order(table: pa.Table, key: str | None) -> pa.Table:
    """Positions on Spark go by time, key and hash."""
    hashed = table.append_column("hash", pa.array(hash_rows(table)))
    order = [("ts", "ascending"), *([(key, "ascending")] if key else []), ("hash", "ascending")]
    return hashed.sort_by(order).drop_columns(["hash"])


def _by_spark(
    spark: SparkSession, path: str, workload: sb.Workload, columns: list[str], width: int, slide: int
) -> list[tuple[Any, ...]]:
    """What a user of Spark writes: hopping windows, a rank over all of each."""
    names = ", ".join(quoted(name) for name in sorted(columns))
    key = f"{quoted(workload.streams[0].key)} ASC, " if workload.streams[0].key else ""
    score = workload.queries[0].by
    spark.read.parquet(path).createOrReplaceTempView("real")
    scored = f"try_divide({score.replace('/', ',')})" if "/" in score else score
    found = spark.sql(
        f"""
        WITH scored AS (SELECT *, CAST({scored} AS DOUBLE) AS s_, xxhash64({names}) AS h_ FROM real),
        hopping AS (SELECT *, window(ts, '{width // 1_000_000} seconds', '{slide // 1_000_000} seconds') AS w_
                    FROM scored WHERE s_ IS NOT NULL AND NOT isnan(s_)),
        ranked AS (SELECT w_.end AS window_end, s_,
                   row_number() OVER (PARTITION BY w_ ORDER BY s_ DESC, ts DESC, {key}h_ ASC) AS r_ FROM hopping)
        SELECT window_end, r_, s_ FROM ranked WHERE r_ <= 10
        """
    )
    return sorted(tuple(row.values()) for row in found.toArrow().to_pylist())
