"""Windows and lists beyond the usual on Spark: batch = stream = Monitor = oracle, whatever the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.engines.codec import table_of
from skyband.spark.event_time import from_watermark
from tests import support
from tests.spark.test_parity import MILLI, full, in_stream_order, oracle, ordered
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
    sb.TopK("lasts", 4, "score", **GROWS, half_life="1 second", at_most=(2, "color")),
]
"""Their scores are computed: the Monitor that `tests/monitor/test_decay.py` compares with an oracle says which bits."""


CAPPED = sb.TopK("capped", 5, "score", "900 milliseconds", "300 milliseconds", at_most=(1, ["color", "bonus"]))


def asked() -> list[sb.TopK | sb.Above]:
    """Of each by one score, by another in groups, and turned round."""
    return [
        sb.TopK("grows", 4, "score", **GROWS, offset="30 milliseconds"),
        sb.TopK("grow", 2, "score - bonus", "2 seconds", cumulate="250 milliseconds", per="color", where="bonus > 0"),
        sb.Above("above", 55, "score", **GROWS, ascending=True),
        sb.TopK("tied", 3, "score", "900 milliseconds", "300 milliseconds", where="bonus > 0", ties=True),
        sb.TopK("each", 2, "score - bonus", "400 milliseconds", "100 milliseconds", per="color", ties=True),
        sb.TopK("low", 9, "score", "2 seconds", "90 milliseconds", ascending=True, ties=True),
        CAPPED,
        sb.TopK("once", 9, "score", **GROWS, at_most=(1, ["color", "bonus"]), then="bonus ASC", where="bonus > 0"),
        sb.TopK("cap", 3, "score - bonus", "400 milliseconds", "100 milliseconds", per="color", at_most=(1, "bonus")),
        sb.TopK("ever", 4, "score", "unbounded", "170 milliseconds", offset="30 milliseconds", then="bonus"),
        sb.TopK("seldom", 1, "score", "unbounded", "9 seconds", where="bonus > 0"),
        sb.TopK("ever each", 2, "score - bonus", "unbounded", "400 milliseconds", per="color", where="bonus > 0"),
    ]


COUNTED = [
    sb.TopK("counted", 5, "score", "700 rows", 300, at_most=(2, "color"), where="bonus > 0"),
    sb.TopK("counts", 2, "score", "200 rows", 90, at_most=(1, "bonus"), per="color", ascending=True),
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


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_categories_are_counted_where_positions_are_known_only_up_to_a_shift(
    spark: SparkSession, file: str, records: pa.Table
) -> None:
    workload = sb.Workload(COUNTED, stream=STREAM)
    df = spark.read.parquet(file).repartition(7)
    assert ordered(workload.over(df).toArrow()) == oracle(workload, [in_stream_order(records, "id")])
    played, pushes = Played(workload), [records.slice(low, 1_500) for low in range(0, RECORDS, 1_500)]
    for table in pushes:
        played.push(table, 7)
    told = [in_stream_order(table, "id") for table in pushes]
    assert played.rows() == [row for row in oracle(workload, told) if full(workload, row, told)]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_no_score_alone_is_too_low_to_be_read(spark: SparkSession, file: str, records: pa.Table) -> None:
    """All that is good is of one category: bounds of samples and statistics of row groups would rule the others out."""
    place, end = np.arange(RECORDS), np.argsort(records["ts"].to_numpy(), kind="stable")[[0, -1]]
    red = (records["color"].to_numpy() == "red") | np.isin(place, end)
    score = np.where(np.isin(place, end), 2_000.0, np.where(red, 1_000.0 + place % 7, records["score"].to_numpy()))
    color = pa.compute.if_else(pa.array(red), "red", records["color"])
    table = records.set_column(2, "score", pa.array(score)).set_column(4, "color", color)
    table = table.sort_by([("score", "descending")])
    pq.write_table(table, path := file.replace("in.parquet", "uneven.parquet"), row_group_size=500)
    query = sb.TopK("uneven", 5, "score", "900 milliseconds", at_most=(2, "color"))
    workload = sb.Workload([query], stream=STREAM)
    expected = oracle(workload, [in_stream_order(table, "id")])
    rows = workload.over(spark.read.parquet(path))
    assert "skyband_bound" not in rows._jdf.queryExecution().toString()
    assert ordered(rows.toArrow()) == ordered(workload.over(sb.scan(path)).toArrow()) == expected


def test_tasks_send_on_what_a_list_may_have(records: pa.Table) -> None:
    """Of 6,000 records hardly any crosses to another task, and by ROWS few."""
    for query, most in ((CAPPED, 400), (COUNTED[0], 600)):
        played = Played(sb.Workload([query], stream=STREAM))
        packed = [row["rows"] for batch in played.prune(iter(records.to_batches())) for row in batch.to_pylist()]
        sent = [table_of(rows) for rows in packed if rows]
        assert 0 < sum(len(rows) for rows in sent if rows is not None) < most
