"""What Python workers pay for every task, whatever the task is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _tracked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker that has run a stage of ours: the objects that a collection looks at."""
    for _ in batches:
        if "skyband.spark.stages.prune" in sys.modules:
            yield pa.record_batch({"objects": [len(gc.get_objects())], "modules": [len(sys.modules)]})


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_collection_after_a_task_passes_over_what_was_imported(spark: SparkSession) -> None:
    records = spark.range(1_000).selectExpr("timestamp_seconds(id) AS ts", "id", "double(id) AS score")
    work = sb.Workload([sb.TopK("q", 3, "score", "100 seconds", "10 seconds")], stream=sb.Stream("s", time="ts"))
    for _ in range(2):
        work.over(records).collect()
    found = spark.range(8).repartition(4).mapInArrow(_tracked, "objects BIGINT, modules BIGINT").collect()
    assert found, "no worker was used again"
    assert max(row.objects for row in found) < 40_000, found
