"""What a stream has not reported when it ends comes from its checkpoint; and what a checkpoint refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skyband.planner import Plan

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]


def test_a_stream_and_its_drain_are_what_a_monitor_says(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.io.sinks import Memory
    from skyband.spark.state.checkpoint import Checkpoint
    from skyband.spark.state.drain import drain

    tables, workload, memory = jobs.trades(files=4), sb.Workload.from_sql(jobs.WORKLOAD), Memory()
    jobs.write_files(tmp_path / "in", tables)
    files = str(tmp_path / "in")
    df = spark.readStream.schema(spark.read.parquet(files).schema).option("maxFilesPerTrigger", 2).parquet(files)
    writer = workload.over(df).writeStream.foreachBatch(memory.write_batch)
    query = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    query.awaitTermination()
    reported = pa.concat_tables(memory.tables.values())
    rest = drain(spark, workload.plan(), {"trades": df}, str(tmp_path / "ck")).toArrow()
    assert len(reported) > 0
    assert len(rest) > 0
    expected = jobs.bag(jobs.monitored(tables).to_pylist())
    assert jobs.bag(pa.concat_tables([reported, rest]).to_pylist()) == expected
    assert Checkpoint(spark, str(tmp_path / "ck")).committed == max(memory.tables)


def test_a_checkpoint_remembers_whose_it_is(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.state.checkpoint import Checkpoint

    plan = sb.Workload.from_sql(jobs.WORKLOAD).plan()
    mine = Checkpoint(spark, str(tmp_path))

    def joined(plan: Plan) -> dict[str, int]:
        found = mine.check(plan).with_batch
        return {query.name: found[str(query)] for query in plan.queries if found[str(query)]}

    assert mine.fresh
    assert joined(plan) == {}
    mine.claim(plan, mine.check(plan))
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0").write_text("")
    assert joined(plan) == {}
    more = jobs.WORKLOAD.replace("TOP 3 trade_id", "TOP 4 trade_id")
    changed = sb.Workload.from_sql(more).plan()
    assert joined(changed) == {"largest": 1}
    mine.claim(changed, mine.check(changed))
    (tmp_path / "commits" / "1").write_text("")
    assert joined(changed) == {"largest": 1}, "it stays new, however often the job starts"
    assert joined(plan) == {"largest": 2}, "it was away in between"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"version": 2', '"version": 7', "holds state of version 7"),
        ('"buckets": 16', '"buckets": 8', "holds PER groups in buckets, 8"),
        ('"query_buckets": 8', '"query_buckets": 4', "holds scores in buckets, 4"),
        ('"key": "trade_id"', '"key": "symbol"', "is of another stream: trades"),
    ],
)
def test_a_checkpoint_that_would_be_misread_is_refused(
    spark: SparkSession, tmp_path: Path, old: str, new: str, words: str
) -> None:
    from skyband.spark.state.checkpoint import Checkpoint
    from skyband.spark.state.note import NOTE

    plan = sb.Workload.from_sql(jobs.WORKLOAD).plan()
    mine = Checkpoint(spark, str(tmp_path))
    mine.claim(plan, mine.check(plan))
    text = (tmp_path / NOTE).read_text()
    assert old in text
    (tmp_path / NOTE).write_text(text.replace(old, new))
    (tmp_path / f".{NOTE}.crc").unlink(missing_ok=True)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("")
    with pytest.raises(sb.SkybandError, match=words):
        mine.check(plan)
    (tmp_path / NOTE).unlink()
    with pytest.raises(sb.SkybandError, match="not one of `skyband run`"):
        mine.check(plan)
