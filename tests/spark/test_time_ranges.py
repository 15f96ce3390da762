"""A batch whose reports are cut by time: the rows are those of one task, whoever answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import skyband as sb
from skyband.planner import PlannedFamily
from skyband.runtime.data_models.registry import data_model
from skyband.runtime.encoded import AT, ints
from skyband.runtime.reader import StreamReader
from skyband.runtime.results import Results
from skyband.runtime.time_ranges import LEAST, SHORT, SPREAD, UNKNOWN, WHOLE, Reach, TimeRanges, why_one
from skyband.spark.stages import prune
from skyband.spark.stages.batch import AnswerBatch, MaintainBatch
from skyband.spark.stages.prune import Bound, Prune
from skyband.spark.stages.unpack import Unpack
from skyband.spark.state.keys import LATE, by_range_key, merges
from tests import support
from tests.spark import jobs
from tests.spark.test_parity import in_stream_order, oracle, ordered
from tests.spark.test_scan import MODELS, PLAIN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MILLI = 1_000
some_ranges = st.builds(TimeRanges, st.integers(-5, 15), st.integers(1, 12), st.sampled_from([1, 2, 7]))
"""Short, and near zero."""
LONG = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY a AS SELECT TOP 3 * FROM s [RANGE 40 MILLISECONDS SLIDE 10 MILLISECONDS] ORDER BY score;
CREATE QUERY b AS SELECT TOP 2 id FROM s [RANGE 25 MILLISECONDS SLIDE 7 MILLISECONDS] ORDER BY score;
CREATE QUERY c AS SELECT TOP 2 id FROM s [RANGE 25 MILLISECONDS] ORDER BY score + bonus EMIT CHANGES;
""")


@pytest.fixture(autouse=True)
def _no_bad_records_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process logs the first few of a stream: those here are not to be in the way of other tests."""
    monkeypatch.setattr(prune, "_bad", {})


def batch(workload: sb.Workload, table: pa.Table, tasks: int, ranges: TimeRanges) -> pa.Table:
    """What the stages of a batch make of it, with so many tasks that prune."""
    plan = workload.plan(None, {"s": table.schema})
    reader = StreamReader(plan.streams[0], table.schema)
    bound = [Bound.of(planned, reader.schema) for planned in plan.families]
    bound = [each.in_batch(WHOLE if each.model.why_in_order else ranges) for each in bound]
    results = Results(plan, [reader])
    shares = [table.take(pa.array(np.arange(number, len(table), tasks))) for number in range(tasks)]
    sent = [row for share in shares for row in Prune(reader, bound, now=2**60)(iter(share.to_batches()))]
    sent = [row for row in sent if row["state_key"][0].as_py() != LATE]
    parts = by_range_key((each.model, each.ranges) for each in bound)
    rows: Iterator[pa.RecordBatch]
    if any(map(merges, plan.families)):
        rows = Unpack({key: part.planned for key, part in parts.items()}, results)(AnswerBatch(parts)(iter(sent)))
    else:
        rows = MaintainBatch(parts, results)(iter(sent))
    return pa.Table.from_batches(list(rows), results.schema)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    workload=support.workloads(most=8),
    tables=support.tables(),
    tasks=st.sampled_from([1, 2, 7]),
    ranges=some_ranges,
)
def test_a_batch_in_ranges_is_the_oracle(
    workload: sb.Workload, tables: list[pa.Table], tasks: int, ranges: TimeRanges
) -> None:
    """Times are whole numbers like the borders: records and ends of windows fall on them."""
    queries = [query for query in workload.queries if query.window.kind == "range"]
    if not queries:
        return
    ranged = sb.Workload(queries, streams=workload.streams)
    table = pa.concat_tables(tables)
    at = table.column("ts").cast(pa.int64()).to_numpy()
    ranges = replace(ranges, first=ranges.first + int(at.min(initial=1_000)))
    expected = oracle(ranged, [in_stream_order(table, ranged.streams[0].key)])
    assert ordered(batch(ranged, table, tasks, ranges)) == expected


@pytest.mark.parametrize("model", MODELS)
def test_every_data_model_can_be_cut(model: str) -> None:
    workload, table = MODELS[model]
    at = table.column("ts").cast(pa.int64()).drop_null().to_numpy()
    whole = jobs.bag(batch(workload, table, 1, WHOLE).to_pylist())
    assert whole, "a test without rows shows nothing"
    for tasks, count in ((2, 2), (1, 7), (7, 3)):
        ranges = TimeRanges(int(at.min()), int(at.max() - at.min()) // count, count)
        assert jobs.bag(batch(workload, table, tasks, ranges).to_pylist()) == whole


@settings(max_examples=100, deadline=None, derandomize=True)
@given(at=st.lists(st.integers(-20, 60), max_size=30), longest=st.integers(1, 20), ranges=some_ranges)
def test_a_record_goes_where_a_window_of_it_may_end(at: list[int], longest: int, ranges: TimeRanges) -> None:
    rows = pa.table({AT: pa.array(at, pa.int64())})
    sent = {number: ints(part, AT).tolist() for number, part in ranges.split(rows, longest)}
    for number in range(ranges.count):
        after, until = ranges.ends(number)
        assert sent[number] == [t for t in at if t + longest > after and t + 1 <= until]


@given(ranges=some_ranges, end=st.integers(-20, 120))
def test_a_report_is_in_one_range(ranges: TimeRanges, end: int) -> None:
    inside = [number for number in range(ranges.count) if ranges.ends(number).after < end <= ranges.ends(number).until]
    assert len(inside) == 1


def planned(query: str) -> PlannedFamily:
    (family,) = sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts, KEY = id); {query}").plan().families
    return family


TOP = "CREATE QUERY q AS SELECT TOP 3 {} id FROM s [RANGE 10 SECONDS] ORDER BY x"


def test_there_are_as_many_ranges_as_tasks_but_none_is_short() -> None:
    model, second = data_model(planned(TOP.format("") + ";")), 1_000_000
    found = TimeRanges.of(model, Reach(5, 5 + 390 * second), 4)
    assert found == TimeRanges(5, 100 * second, 4)
    assert TimeRanges.of(model, Reach(5, 5 + 390 * second), 100).length == LEAST * 10 * second
    assert why_one(model, Reach(5, 5 + 60 * second), 4) == SHORT
    assert TimeRanges.of(model, Reach(5, 5 + 60 * second), 4) == WHOLE
    assert why_one(model, None, 4) == UNKNOWN
    assert why_one(model, Reach(5, 5 + 390 * second), 1) == SPREAD


def test_a_family_that_is_in_buckets_is_cut_as_far_as_tasks_are_left() -> None:
    model, reach = data_model(planned(TOP.format("PER id") + ";")), Reach(0, 10**12)
    assert why_one(model, reach, 16) == SPREAD
    assert TimeRanges.of(model, reach, 17).count == 2


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("CREATE QUERY q AS SELECT TOP 3 id FROM s [ROWS 10] ORDER BY x;", "windows of rows"),
        (TOP.format("") + " EMIT CHANGES;", "changes are told"),
        (
            "CREATE QUERY q AS SELECT TOP 3 id FROM s [RANGE 10 SECONDS] OBJECT o ACROSS f IN ('a', 'b') (SUM) "
            "EACH BETWEEN 0 AND 1 ORDER BY SUM(x) APPROXIMATE WITH PRECISION 0.9;",
            "what was learnt",
        ),
    ],
)
def test_reports_that_need_those_before_them_are_not_cut(query: str, why: str) -> None:
    told = why_one(data_model(planned(query)), Reach(0, 10**12), 4)
    assert told is not None
    assert told.startswith(why)


def long_records() -> pa.Table:
    draw = np.random.default_rng(2)
    return support.table_of(
        [(MILLI * n, n, float(draw.integers(0, 50)), int(draw.integers(0, 3)), "red") for n in range(500)]
    )


@pytest.mark.spark
@pytest.mark.smoke
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_tasks_share_the_reports_of_files(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    table, path = long_records(), str(tmp_path / "in.parquet")
    pq.write_table(table, path, row_group_size=90)
    rows = LONG.over(sb.scan(path, spark=spark)).withColumn("task", f.spark_partition_id()).toArrow()
    monitor = sb.Monitor(LONG)
    expected = pa.concat_tables([monitor.push(table), monitor.close()])
    assert jobs.bag(rows.drop_columns("task").to_pylist()) == jobs.bag(expected.to_pylist())
    cut = rows.filter(pa.compute.field("query") != "c")
    ends = [cut.filter(pa.compute.field("task") == task)["window_end"] for task in (0, 1)]
    assert pa.compute.max(ends[0]).as_py() < pa.compute.min(ends[1]).as_py()
    assert min(map(len, ends)) > len(cut) // 3
    both = [LONG.over(records, lines=True) for records in (sb.scan(path, spark=spark), spark.read.parquet(path))]
    told, expected = (jobs.bag(each.toArrow().to_pylist()) for each in both)
    assert len(told) > len(rows), "lines of reports are among them"
    assert told == expected


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_explain_says_how_reports_are_cut(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "in.parquet")
    pq.write_table(long_records(), path)
    said = LONG.explain(records=sb.scan(path, spark=spark))
    assert "reports of 1 family are answered in 2 ranges of time" in said
    assert "reports of 1 family are answered in 1 range of time: changes are told against the list before" in said
    assert f"in 1 range of time: {UNKNOWN}" in PLAIN.explain(records=spark.read.parquet(path))
