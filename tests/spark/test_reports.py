"""Lines of reports: Monitor = batch = stream and its drain, also where there are no rows; counted the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given

import skyband as sb
from skyband.engines.codec import sealed
from skyband.runtime.state import json_bytes
from skyband.spark.stages.stream_reports import StreamReports
from skyband.spark.state.keys import LATE
from skyband.spark.state.store import KIND
from tests import support
from tests.drawn import examples
from tests.spark import jobs
from tests.spark.servers import table_rows
from tests.spark.test_processor import Played

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
WORKLOAD = (
    jobs.WORKLOAD
    + """
CREATE QUERY rare AS SELECT TOP 1 trade_id FROM trades [RANGE 4 SECONDS] WHERE price * size > 60000 ORDER BY price;
CREATE QUERY never AS SELECT TOP 1 PER symbol trade_id FROM trades [RANGE 9 SECONDS SLIDE 3 SECONDS] WHERE size < 0
  ORDER BY price;
CREATE QUERY counted AS SELECT TOP 1 trade_id FROM trades [ROWS 30 SLIDE 7] WHERE size < 0 ORDER BY price;
CREATE QUERY mixed AS SELECT TOP 1 PER symbol trade_id FROM trades [RANGE 2 SECONDS] WHERE price * size > 50000
  ORDER BY price;
"""
)
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def tables() -> list[pa.Table]:
    """With a gap of an hour, in which every window is empty."""
    first, second, third, last = jobs.trades(files=4, rate=5.0)
    hour = pa.scalar(3_600_000_000, pa.duration("us"))
    return [first, second, *(each.set_column(0, "ts", pc.add(each.column("ts"), hour)) for each in (third, last))]


@pytest.fixture(scope="module")
def monitored(tables: list[pa.Table]) -> tuple[Lines, dict[str, int]]:
    """A Monitor's lines, to the end, and its counts before that."""
    monitor, lines = sb.Monitor(sb.Workload.from_sql(WORKLOAD)), []
    for table in tables:
        monitor.push(table)
        lines += monitor.reports.to_pylist()
    counts = {name: each["reports"] for name, each in monitor.counters["queries"].items()}
    monitor.close()
    lines += monitor.reports.to_pylist()
    return lines, counts


def test_a_batch_has_the_lines_of_a_monitor(
    spark: SparkSession, tmp_path: Path, tables: list[pa.Table], monitored: tuple[Lines, dict[str, int]]
) -> None:
    from skyband.spark.reports import lines_of, result_rows

    workload = sb.Workload.from_sql(WORKLOAD)
    jobs.write_files(tmp_path / "in", tables)
    df = spark.read.parquet(str(tmp_path / "in"))
    both = workload.over(df, lines=True).persist()
    lines = lines_of(both, workload.results(df), final=True).toArrow()
    assert jobs.bag(lines.to_pylist()) == jobs.bag([line | {"final": True} for line in monitored[0]])
    plain = workload.over(df).toArrow()
    assert jobs.bag(result_rows(both).toArrow().to_pylist()) == jobs.bag(plain.to_pylist())
    both.unpersist()
    empty = {line["query"] for line in lines.to_pylist() if not line["rows"]}
    assert empty >= {"rare", "never", "counted", "mixed", "biggest", "entering", "lots"}


def test_a_stream_and_its_drain_have_the_lines_of_a_monitor(
    spark: SparkSession, tmp_path: Path, tables: list[pa.Table], monitored: tuple[Lines, dict[str, int]]
) -> None:
    from skyband.spark.metrics import Measures
    from skyband.spark.reports import lines_of
    from skyband.spark.state.drain import drain

    workload = sb.Workload.from_sql(WORKLOAD)
    plan, files, found = workload.plan(), str(tmp_path / "in"), list[pa.Table]()
    jobs.write_files(tmp_path / "in", tables)
    df = spark.readStream.schema(spark.read.parquet(files).schema).option("maxFilesPerTrigger", 1).parquet(files)
    results = workload.results(df)

    def write(rows: DataFrame, number: int) -> None:
        found.append(lines_of(rows.persist(), results, final=True).toArrow())
        rows.unpersist()

    writer = workload.over(df, lines=True).writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    query.awaitTermination()
    measures = Measures.of(plan)
    measures.settle(query)
    rest = drain(spark, plan, {"trades": df}, str(tmp_path / "ck"), lines=True)
    found.append(lines_of(rest, results, final=False).toArrow())
    assert jobs.bag(pa.concat_tables(found).to_pylist()) == jobs.bag(monitored[0])
    assert dict(measures.reports) == monitored[1]
    assert sum(not line["final"] for line in monitored[0]) > 10


@pytest.mark.parametrize("streaming", [True, False])
def test_the_command_writes_lines_beside_rows(
    tmp_path: Path, tables: list[pa.Table], monitored: tuple[Lines, dict[str, int]], streaming: bool
) -> None:
    jobs.write_files(tmp_path / "in", tables)
    words: list[str | Path] = ["run", jobs.write_workload(tmp_path, WORKLOAD), "--master", "local[2]"]
    words += ["--source", f"trades={tmp_path / 'in'}", "--sink", tmp_path / "out", "--reports", tmp_path / "lines"]
    more = ["--stream", "--once", "--drain"] if streaming else []
    done = jobs.warm(*words, *more)
    assert done.returncode == 0, done.stderr
    monitor = sb.Monitor(sb.Workload.from_sql(WORKLOAD))
    rows = pa.concat_tables([*(monitor.push(table) for table in tables), monitor.close()])
    assert jobs.bag(jobs.listed(tmp_path / "out").cast(rows.schema).to_pylist()) == jobs.bag(rows.to_pylist())
    lines = jobs.listed(tmp_path / "lines").cast(monitor.reports.schema).to_pylist()
    expected = monitored[0] if streaming else [line | {"final": True} for line in monitored[0]]
    assert jobs.bag(lines) == jobs.bag(expected)
    if streaming:
        assert f"{sum(monitored[1].values()):,} reports" in done.stderr


def test_lines_that_are_written_again_take_their_own_place(
    spark: SparkSession, postgres: str, monitored: tuple[Lines, dict[str, int]]
) -> None:
    from skyband.spark.io.sinks import lines_sink

    lines = spark.createDataFrame(pa.Table.from_pylist(monitored[0]))
    target = lines_sink(f"{postgres}?table=lines")
    target.check()
    for number in (0, 0):
        target.write_batch(lines, number)
    assert jobs.bag(table_rows(postgres, "lines")) == jobs.bag(monitored[0])


@examples(40, suppress_health_check=list(HealthCheck))
@given(workload=support.workloads(unit=1_000), tables=support.tables(unit=1_000))
def test_the_state_counts_what_a_monitor_counts(workload: sb.Workload, tables: list[pa.Table]) -> None:
    """Also where records come late, and where groups count for themselves."""
    played, monitor = Played(workload), sb.Monitor(workload)
    for table in tables:
        if len(table):
            played.push(table)
            monitor.push(table)
    counted = {name: each["reports"] for name, each in monitor.counters["queries"].items()}
    assert reported(played, counted) == counted


def test_queries_that_go_over_to_a_new_plan_report_by_the_old_one_until_then() -> None:
    """Every window has a record, so the reports with rows are all there are."""

    def workload(asked: dict[str, tuple[int, int]]) -> sb.Workload:
        queries = [sb.TopK(name, k, "x", "20 s", frequency=f"{every} s") for name, (k, every) in asked.items()]
        return sb.Workload(queries, stream=sb.Stream("s", time="ts", probability="p"))

    asked = {"a": (2, 9), "b": (3, 20)}
    schema = pa.schema([("ts", pa.timestamp("us")), ("x", pa.float64()), ("p", pa.float64())])
    played = Played(workload(asked), schema)
    for second in range(60):
        if second in (28, 38):
            asked |= {"c": (5, 2)} if second == 28 else {"d": (2, 7)}
            played = played.restarted(workload(asked))
        times = pa.array([second * 1_000_000], pa.timestamp("us"))
        played.push(pa.table([times, [float(second % 7)], [0.5]], schema=schema))
    ends = {(row["query"], row["window_end"]) for row in played.table().to_pylist()}
    assert reported(played, asked) == {name: sum(query == name for query, _ in ends) for name in asked}


def test_a_state_from_before_reports_were_counted_goes_on() -> None:
    """It does not know how far the watermark had come: what is counted begins where it is now."""
    query = sb.TopK("best", k=1, by="score", window="2 ms", per="color")
    workload = sb.Workload([query], stream=sb.Stream("s", time="ts", key="id"))
    played = Played(workload)
    played.push(support.table_of([(0, 1, 1.0, 1, "red"), (10_000, 2, 1.0, 1, "red")]))
    assert reported(played, ["best"]) == {"best": 5}
    old = {
        name: value for name, value in played.clock(LATE).items() if name not in ("until", "first", "newest", "plans")
    }
    assert StreamReports(played.plan.families).still_open(old) == []
    played.tester.updateValueState("clock", LATE, (sealed(KIND, {"state": json_bytes(old)}),))
    played.told.clear()
    played.push(support.table_of([(20_000, 3, 1.0, 1, "red")]))
    assert reported(played, ["best"]) == {"best": 5}
    played.push(support.table_of([(23_000, 4, 1.0, 1, "red")]))
    assert reported(played, ["best"]) == {"best": 6}


def reported(played: Played, queries: Iterable[str]) -> dict[str, int]:
    found = dict.fromkeys(queries, 0)
    for row in played.told:
        for query, reports in row.reports:
            found[query] += reports
    return found
