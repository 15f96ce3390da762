"""Checkpoints of earlier releases go on where they were: each archive in `golden/` is one, as `write` left it.

A release that cannot read one has to refuse it with a message, and says so here. To keep one of a new release:

    python -m tests.spark.test_stored NAME
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest

import skyband as sb
from tests.spark import jobs
from tests.spark.test_workload_change import started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
GOLDEN = Path(__file__).parent / "golden"
KEPT, FILES = 3, 6
"""Files that such a checkpoint has read, and all of them."""
MORE = """
CREATE QUERY symbols AS SELECT TOP 3 symbol, SUM(size) AS shares FROM trades [RANGE 1 MINUTE SLIDE 15 SECONDS]
  GROUP BY symbol ORDER BY shares DESC;
CREATE QUERY last AS SELECT TOP 3 PER symbol trade_id FROM trades [RANGE 25 SECONDS] ORDER BY size DESC, price ASC;
"""
WORKLOAD = sb.Workload.from_sql(jobs.WORKLOAD + MORE)


@pytest.mark.parametrize("archive", sorted(GOLDEN.glob("*.tar.xz")), ids=lambda path: path.name.partition(".tar")[0])
def test_a_checkpoint_that_was_kept_goes_on(spark: SparkSession, tmp_path: Path, archive: Path) -> None:
    with tarfile.open(archive) as kept:
        kept.extractall(tmp_path, filter="data")
    tables, monitor = jobs.trades(files=FILES), sb.Monitor(WORKLOAD)
    told = [monitor.push(table).to_pylist() for table in tables]
    jobs.write_files(tmp_path / "in", tables[KEPT:], first=KEPT)
    rows = started(spark, tmp_path, WORKLOAD)
    assert len(rows) > 100
    assert jobs.bag(rows) == jobs.bag([row for each in told[KEPT:] for row in each])


def write(spark: SparkSession, folder: Path, archive: Path) -> None:
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    jobs.write_files(folder / "in", jobs.trades(files=KEPT))
    started(spark, folder, WORKLOAD)
    with tarfile.open(archive, "w:xz") as kept:
        kept.add(folder / "noted", "noted")


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    from tests.conftest import SETTINGS

    write(
        SparkSession.builder.master("local[2]").config(map=dict(SETTINGS)).getOrCreate(),
        Path("/tmp/skyband-golden"),
        GOLDEN / f"{sys.argv[1]}.tar.xz",
    )
