"""Windows and lists beyond the usual on Spark: batch = stream = Monitor = oracle, whatever the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.spark.event_time import from_watermark
from tests import support
from tests.spark.test_parity import MILLI, in_stream_order, oracle, ordered
from tests.spark.test_processor import Played

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 6_000
LATENESS = 20 * MILLI


STREAM = sb.Stream("s", time="ts", key="id", lateness=support.micros(LATENESS))
GROWS: dict[str, Any] = {"window": "900 milliseconds", "cumulate": "90 milliseconds"}
DECAYING = [
    sb.TopK("decays", 4, "score", **GROWS, half_life="1 second"),
    sb.TopK("decay", 2, "score + 1", "1 second", "250 milliseconds", per="color", half_life="3 seconds"),
    sb.TopK("fades", 3, "score", "unbounded", "300 milliseconds", half_life="1 second"),
    sb.TopK("least", 3, "score", "1 second", ascending=True, ties=True, half_life="400 seconds", where="bonus >= 0"),
]
"""Their scores are computed: the Monitor that `tests/monitor/test_decay.py` compares with an oracle says which bits."""


def asked() -> list[sb.TopK | sb.Above]:
    """Of each by one score, by another in groups, and turned round."""
    return [
        sb.TopK("grows", 4, "score", **GROWS, offset="30 milliseconds"),
        sb.TopK("grow", 2, "score - bonus", "2 seconds", cumulate="250 milliseconds", per="color", where="bonus > 0"),
        sb.Above("above", 55, "score", **GROWS, ascending=True),
        sb.TopK("tied", 3, "score", "900 milliseconds", "300 milliseconds", where="bonus > 0", ties=True),
        sb.TopK("each", 2, "score - bonus", "400 milliseconds", "100 milliseconds", per="color", ties=True),
        sb.TopK("low", 9, "score", "2 seconds", "90 milliseconds", ascending=True, ties=True),
        sb.TopK("ever", 4, "score", "unbounded", "170 milliseconds", offset="30 milliseconds", then="bonus"),
        sb.TopK("seldom", 1, "score", "unbounded", "9 seconds", where="bonus > 0"),
        sb.TopK("ever each", 2, "score - bonus", "unbounded", "400 milliseconds", per="color", where="bonus > 0"),
    ]


@pytest.fixture(scope="module")
def workload() -> sb.Workload:
    return sb.Workload([*asked(), *DECAYING], stream=STREAM)


@pytest.fixture(scope="module")
def records() -> pa.Table:
    """One a millisecond, with many equal scores."""
    draw = np.random.default_rng(5)
    at = MILLI * (np.arange(RECORDS) + draw.integers(0, 20, RECORDS))
    score = np.where(draw.random(RECORDS) < 0.3, draw.integers(0, 240, RECORDS) / 4, draw.integers(0, 50, RECORDS))
    color = [["red", "blue", None][number] for number in draw.integers(0, 3, RECORDS).tolist()]
    columns = at.tolist(), range(RECORDS), score.tolist(), draw.integers(-1, 3, RECORDS).tolist(), color
    return support.table_of(list(zip(*columns, strict=True)))


@pytest.fixture(scope="module")
def file(records: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("records") / "in.parquet")
    pq.write_table(records, path)
    return path


@pytest.fixture(scope="module")
def expected(records: pa.Table) -> list[support.Expected]:
    rows = oracle(sb.Workload(asked(), stream=STREAM), [in_stream_order(records, "id")])
    return in_order([*rows, *support.run_monitor(sb.Workload(DECAYING, stream=STREAM), [records])])


def in_order(rows: list[support.Expected]) -> list[support.Expected]:
    return sorted(rows, key=lambda row: (row.query, row.end, row.group, row.rank))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_batch_is_the_oracle(
    spark: SparkSession, workload: sb.Workload, file: str, expected: list[support.Expected], parts: int
) -> None:
    df = spark.read.parquet(file).repartition(parts)
    assert ordered(workload.over(df).toArrow()) == expected


def test_a_monitor_is_the_oracle(workload: sb.Workload, records: pa.Table, expected: list[support.Expected]) -> None:
    pushes = [records.slice(low, 1_700) for low in range(0, RECORDS, 1_700)]
    assert in_order(support.run_monitor(workload, pushes)) == expected


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_stream_is_the_oracle_also_after_a_restart(
    workload: sb.Workload, records: pa.Table, expected: list[support.Expected], parts: int
) -> None:
    played = Played(workload)
    for number, low in enumerate(range(0, RECORDS, 1_200)):
        if number == 2:
            played = played.restarted(workload)
        played.push(records.slice(low, 1_200), parts)
    reached = from_watermark(played.watermark)
    assert played.rows() == [row for row in expected if row.end <= reached]
