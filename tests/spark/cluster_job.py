"""A job as a user's script would be: a session, a batch and a stream; prints both as JSON. Run by test_cluster.py.

python cluster_job.py MASTER FOLDER, where MASTER is a master's address or `connect`.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from pyspark.sql import DataFrame, SparkSession  # noqa: E402

import skyband as sb  # noqa: E402

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def main(master: str, folder: Path) -> None:
    builder = SparkSession.builder.remote("local[2]") if master == "connect" else SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    workload = sb.Workload.from_sql((folder / "workload.sql").read_text())
    sources = {stream.name: str(folder / "in" / stream.name) for stream in workload.streams}
    batch = {name: spark.read.parquet(source) for name, source in sources.items()}
    streaming = {
        name: spark.readStream.schema(batch[name].schema).option("maxFilesPerTrigger", 1).parquet(source)
        for name, source in sources.items()
    }
    found = {"batch": _rows(workload.over(batch)), "stream": _streamed(spark, workload, streaming, folder)}
    (folder / "found.json").write_text(json.dumps(found))
    spark.stop()


def _streamed(
    spark: SparkSession, workload: sb.Workload, frames: dict[str, DataFrame], folder: Path
) -> list[list[Any]]:
    writer = workload.over(frames).writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    return _rows(spark.read.parquet(str(folder / "out")))


def _rows(df: DataFrame) -> list[list[Any]]:
    return [[str(value) for value in row.values()] for row in df.toArrow().to_pylist()]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
