"""What leaves the JVM of a batch: rows that some family may need, and those that are to be counted; no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import skyband as sb
from skyband.runtime.clock import FOREVER
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
RECORDS = 40_000
STREAM = "CREATE STREAM s WITH (TIME = ts, KEY = id"
WINDOW = "[RANGE 20 SECONDS SLIDE 5 SECONDS]"


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    """One a millisecond. A hundredth each have no time, no score or an impossible probability, and one record that most
    filters leave out comes from the far end of time."""
    draw, number = np.random.default_rng(14), np.arange(RECORDS)
    at = np.where(number == 3, FOREVER + 1, 1_000 * number)
    table = pa.table({
        "ts": pa.array(at, pa.int64(), mask=number % 100 == 7).cast(pa.timestamp("us", "UTC")),
        "id": pa.array(number),
        "a": pa.array(draw.random(RECORDS), mask=number % 100 == 8),
        "b": pa.array(np.where(number == 3, 999_999, draw.integers(0, 1_000_000, RECORDS))),
        "p": pa.array(np.where(number % 100 == 9, 2.0, 0.5)),
        "g": pa.array(draw.integers(0, 50, RECORDS)),
    })  # fmt: skip
    return spark.createDataFrame(table).cache()


def crossed(workload: sb.Workload, df: DataFrame) -> tuple[list[str], dict[str, int], int]:
    """Result rows, what was left out, and how many rows Python was sent."""
    from pyspark.sql import Observation

    from skyband.runtime.reader import StreamReader
    from skyband.spark.columns import arrow_schema
    from skyband.spark.pipeline import over
    from skyband.spark.stages.prune import Bound
    from skyband.spark.stages.push_down import push_down_bounds

    schema, seen = arrow_schema(df), Observation()
    plan = workload.plan(None, {"s": schema})
    rows = over(plan, {"s": df}, left_out={"s": seen}).toArrow()
    reader, bound = StreamReader(workload.streams[0], schema), [Bound.of(each, schema) for each in plan.families]
    left_out = {name: int(count) for name, count in seen.get.items()}
    return jobs.bag(rows.to_pylist()), left_out, push_down_bounds(df, reader, bound).count()


def monitored(workload: sb.Workload, df: DataFrame) -> tuple[list[str], dict[str, int]]:
    monitor = sb.Monitor(workload)
    rows = pa.concat_tables([monitor.push(df.toArrow()), monitor.close()])
    counters: dict[str, Any] = monitor.counters
    lost = {name: counters[name] for name in ("unranked", "future")} | {"bad": sum(counters["bad"].values())}
    return jobs.bag(rows.to_pylist()), lost


CASES = {
    "six families": (
        [f"SELECT TOP 3 id FROM s {WINDOW} WHERE b >= {n} ORDER BY a" for n in range(3)]
        + [f"SELECT TOP 3 id FROM s {WINDOW} WHERE b >= {n} ORDER BY b ASC" for n in range(3)],
        ")",
        0.2,
    ),
    "groups of a few": (
        [
            f"SELECT TOP 3 id FROM s {WINDOW} ORDER BY a",
            f"SELECT TOP 2 PER g id FROM s {WINDOW} WHERE b < 50000 ORDER BY a",
            f"SELECT ABOVE 980000 PER g id FROM s {WINDOW} ORDER BY b",
        ],
        ")",
        0.2,
    ),
    "groups of all": (
        [f"SELECT TOP 3 id FROM s {WINDOW} ORDER BY a", f"SELECT TOP 2 PER g id FROM s {WINDOW} ORDER BY a"],
        ")",
        1.0,
    ),
    "uncertain": ([f"SELECT TOP 3 id FROM s {WINDOW} WHERE b < 50000 ORDER BY a"], ", PROBABILITY = p)", 0.2),
    "positions": (
        [f"SELECT TOP 3 id FROM s {WINDOW} ORDER BY a", "SELECT TOP 3 id FROM s [ROWS 9000] WHERE b < 10 ORDER BY a"],
        ")",
        1.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_that_no_family_needs_stay_in_the_jvm(spark: SparkSession, records: DataFrame, name: str) -> None:
    queries, stream, most = CASES[name]
    text = "".join(f"CREATE QUERY q{number} AS {query};\n" for number, query in enumerate(queries))
    workload = sb.Workload.from_sql(f"{STREAM}{stream};\n{text}")
    rows, left_out, sent = crossed(workload, records)
    assert (rows, left_out) == monitored(workload, records)
    assert (sent < most * RECORDS) if most < 1 else (sent == RECORDS)
