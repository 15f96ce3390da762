"""What one micro-batch reads is bounded, and a made-up stream does not run away from those who read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skyband.spark.io.generated import Pace
from skyband.spark.io.micro_batches import bounded
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("kind", "options", "more"),
    [
        ("parquet", {}, {"maxBytesPerTrigger": str(256 * 2**20)}),
        ("delta", {"ignoreDeletes": "true"}, {"maxBytesPerTrigger": str(256 * 2**20)}),
        ("csv", {"maxfilespertrigger": "3"}, {}),
        ("json", {"maxBytesPerTrigger": "10m"}, {}),
        ("kafka", {}, {"maxOffsetsPerTrigger": "1000000"}),
        ("kafka", {"maxOffsetsPerTrigger": "7"}, {}),
    ],
)
def test_a_bound_holds_unless_another_was_said(kind: str, options: dict[str, str], more: dict[str, str]) -> None:
    assert bounded(kind, options) == options | more


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_backlog_of_files_is_read_in_steps(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skyband.runtime.locations import Location
    from skyband.spark.io import micro_batches
    from skyband.spark.io.sources import open_source

    jobs.write_files(tmp_path / "in", jobs.trades(files=3))
    monkeypatch.setattr(micro_batches, "MOST_BYTES", 1_000)
    (stream,) = jobs.workload().streams
    df = open_source(spark, Location("files", str(tmp_path / "in")), stream, streaming=True).frame
    sizes: list[int] = []
    writer = df.writeStream.foreachBatch(lambda rows, _: sizes.append(rows.count()))
    writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()
    assert len(sizes) == 3, "a file each"


def test_the_market_waits_for_those_who_read_it() -> None:
    pace = Pace({"speed": "30", "ahead": "60"})
    assert pace.due(0, now=100.0) == 60, "the first windows close with the first micro-batch"
    assert pace.due(0, now=100.5) == 75
    assert pace.due(60, now=400.0) == 60 + 150, "workers compiled for five minutes; five seconds have become due"
    assert pace.due(210, now=401.0) == 240, "from here on time runs"


def test_the_demo_takes_a_second_of_the_market_at_a_time() -> None:
    pace = Pace({"speed": "30", "ahead": "20", "most": "1"})
    assert pace.due(0, now=100.0) == 20
    assert pace.due(20, now=130.0) == 50, "what happened while the first micro-batch was prepared is not made up for"
    assert pace.due(50, now=130.5) == 65


@pytest.mark.parametrize("says_where", [True, False])
def test_the_market_opens_when_a_micro_batch_without_records_is_through(says_where: bool) -> None:
    """After every start. Spark 4.1 does not say where a micro-batch begins."""
    from skyband.spark.io.generated import _StreamReader

    at = {"tables": 0}
    for _ in range(2):
        reader = _StreamReader(lambda _: iter(()), {"speed": "0.001", "ahead": "20", "prepare": "first"})
        reader.partitions(at, at)
        prepared = reader.latestOffset(at if says_where else None)
        assert prepared != at, "Spark leaves out a micro-batch that brings nothing new"
        assert prepared["tables"] == at["tables"]
        reader.partitions(at, prepared)
        opened = reader.latestOffset(prepared if says_where else None)
        assert opened["tables"] == at["tables"] + 20
        at = opened


def test_a_market_without_speed_comes_in_steps_and_ends() -> None:
    pace = Pace({"speed": "0", "seconds": "1000"})
    assert [pace.due(given, now=0.0) for given in (0, 600, 1000)] == [600, 1000, 1000]
    assert Pace({"speed": "0", "seconds": "1000"}).due(0, now=0.0, everything=True) == 1000, "as --once wants it"
