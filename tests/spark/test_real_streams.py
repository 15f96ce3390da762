"""Real streams: a batch on Spark = a Monitor = Spark's own window with a rank, row for row, ties and nulls included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.datasets import REAL, available, load
from skyband.model.duration import duration_text
from skyband.spark.clock import quoted

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


def _workload(name: str, table: pa.Table) -> tuple[sb.Workload, int, int]:
    """Windows of a twelfth of the time there is, sliding by a fifth of that, in whole seconds."""
    real = REAL[name]
    span = pc.max(table.column("ts")).value - pc.min(table.column("ts")).value
    slide = max(span // 60 // 1_000_000, 1) * 1_000_000
    width = 5 * slide
    best = sb.TopK("best", 10, real.rank_by, duration_text(width), duration_text(slide))
    worst = sb.TopK("worst", 3, real.rank_by, duration_text(3 * slide), duration_text(2 * slide), ascending=True)
    recent = sb.TopK("recent", 5, real.rank_by, "2000 rows", 500)
    stream = sb.Stream(name, time="ts", key=real.stream.key, lateness=real.stream.lateness)
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


def _micro(table: pa.Table) -> pa.Table:
    return table.slice(0, ROWS).set_column(
        table.column_names.index("ts"), "ts", table.column("ts").slice(0, ROWS).cast(pa.timestamp("us"))
    )


def _in_order(table: pa.Table, key: str | None) -> pa.Table:
    """Positions on Spark go by time, key and hash."""
    from skyband.runtime.hashing import hash_rows

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
