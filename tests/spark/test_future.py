"""A record whose time cannot be true, on Spark: whoever reads the records, not one other row changes."""

from __future__ import annotations

import json
import os
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
STREAMS = int(os.environ.get("POISONED_STREAMS_ON_SPARK", "1"))
"""`make poisoned` sets it."""
BEGIN = datetime(2026, 1, 1)
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "id": pa.int64(), "x": pa.float64(), "color": pa.string()})
QUERIES = """
SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] ORDER BY x;
SELECT TOP 1 PER color id FROM s [RANGE 7 SECONDS] WHERE x > 20 ORDER BY x ASC;
SELECT TOP 2 color, SUM(x) AS total FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY color ORDER BY total;
SELECT TOP 3 id FROM s [UNBOUNDED SLIDE 15 SECONDS] ORDER BY x;
"""
ROWS = "SELECT TOP 2 id FROM s [ROWS 9 SLIDE 4] ORDER BY x;"


def workload(options: str = "", rows: bool = False) -> sb.Workload:
    head = f"CREATE STREAM s WITH (TIME = ts{options}, KEY = id, LATENESS = 3 SECONDS);"
    return sb.Workload.from_sql(head + QUERIES + ROWS * rows)


def parts(seed: int) -> list[pa.Table]:
    """Files of a stream in disorder, a few late."""
    draw = random.Random(seed)
    at = [BEGIN + timedelta(milliseconds=500 * n + draw.randrange(-4_000, 4_000)) for n in range(120)]
    rows = [
        {"ts": when, "id": n, "x": float(draw.randrange(100)), "color": draw.choice(["red", "blue"])}
        for n, when in enumerate(at)
    ]
    return [pa.Table.from_pylist(rows[low : low + 40], SCHEMA) for low in (0, 40, 80)]


def poisoned(tables: list[pa.Table], at: datetime, seed: int = 0) -> list[pa.Table]:
    """The same with one record more."""
    draw = random.Random(seed)
    number = draw.randrange(len(tables))
    row = pa.Table.from_pylist([{"ts": at, "id": 1_000, "x": draw.choice([-1.0, 50.0, 1e9]), "color": "red"}], SCHEMA)
    place = draw.randrange(len(tables[number]) + 1)
    more = pa.concat_tables([tables[number].slice(0, place), row, tables[number].slice(place)])
    return [*tables[:number], more, *tables[number + 1 :]]


def written(folder: Path, tables: list[pa.Table]) -> str:
    folder.mkdir()
    for number, table in enumerate(tables):
        path = folder / f"{number:04}.parquet"
        pq.write_table(table, path, row_group_size=16)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    return str(folder)


def streamed(asked: sb.Workload, given: Any, checkpoint: Path) -> tuple[list[str], int]:
    """Rows of a stream that reads a file in each micro-batch, and how many records were of the future."""
    found: list[pa.Table] = []
    writer = asked.over(given).writeStream.foreachBatch(lambda rows, _: found.append(rows.toArrow()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    told = [json.loads(done.json)["observedMetrics"]["skyband:s:left out"] for done in query.recentProgress]
    rows = [row for table in found for row in table.to_pylist()]
    return jobs.bag(rows), sum(each["future"] or 0 for each in told)


def pushed(asked: sb.Workload, tables: list[pa.Table]) -> list[str]:
    """Of a micro-batch positions go by time."""
    monitor = sb.Monitor(asked)
    in_order = [table.sort_by([("ts", "ascending"), ("id", "ascending")]) for table in tables]
    return jobs.bag([row for table in in_order for row in monitor.push(table).to_pylist()])


def by_frame(spark: SparkSession, path: str) -> Any:
    schema = spark.read.parquet(path).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(path)


def by_scan(spark: SparkSession, path: str) -> Any:
    return sb.scan(path, spark=spark, streaming=True, maxFilesPerTrigger="1")


def test_poisoned_streams(spark: SparkSession, tmp_path: Path) -> None:
    """By the clock or in a history; read by Spark or by tasks; with windows of rows or without."""
    draw = random.Random(16)
    for number in range(STREAMS):
        tables, ahead, scan = parts(number), bool(number % 2), bool(number // 2 % 2)
        asked = workload("" if ahead else " BETWEEN DATE '2025-12-31' AND DATE '2026-01-02'", rows=not scan)
        wrong = [datetime(9999, 12, 1), datetime.now(UTC).replace(tzinfo=None) + timedelta(days=2)]
        at = draw.choice([*wrong, *([] if ahead else [datetime(1, 1, 1), datetime(2026, 1, 2, 0, 0, 1)])])
        path = written(tmp_path / f"in{number}", poisoned(tables, at, number))
        given = (by_scan if scan else by_frame)(spark, path)
        expected = pushed(asked, tables)
        assert expected
        assert streamed(asked, given, tmp_path / f"check{number}") == (expected, 1), (number, at)


def test_a_batch_whoever_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """Also where rows are dropped before Python sees them, and row groups by their statistics."""
    from tests.spark.test_scan import counted

    tables = parts(3)
    path = written(tmp_path / "in", poisoned(poisoned(tables, datetime(9999, 1, 1)), datetime(2200, 1, 1), 1))
    for asked in (workload(), sb.Workload(workload().queries[:1], stream=workload().streams[0])):
        monitor = sb.Monitor(asked)
        expected = jobs.bag([*monitor.push(pa.concat_tables(tables)).to_pylist(), *monitor.close().to_pylist()])
        for given in (spark.read.parquet(path), sb.scan(path, spark=spark)):
            rows, left_out = counted(asked, given)
            assert (rows, left_out["future"]) == (expected, 2)


def test_json_values(spark: SparkSession, tmp_path: Path) -> None:
    """Those that Arrow reads, and those that are left to Spark."""
    from skyband.spark.values import JsonRecords

    tables = [table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC"))) for table in parts(4)]
    texts = [[json.dumps(row | {"ts": row["ts"].isoformat()}) for row in table.to_pylist()] for table in tables]
    # `1e1` is for Spark to read.
    texts[1] += [
        '{"ts": "9999-12-01T00:00:00Z", "id": 1000, "x": 1.0}',
        '{"ts": "9998-12-01T00:00:00Z", "id": 1e1, "x": 1.0}',
    ]
    (tmp_path / "in").mkdir()
    for number, lines in enumerate(texts):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(pa.table({"value": pa.array([each.encode() for each in lines])}), path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    raw = spark.readStream.option("maxFilesPerTrigger", 1).schema("value BINARY").parquet(str(tmp_path / "in"))
    schema = spark.createDataFrame([], "ts TIMESTAMP, id BIGINT, x DOUBLE, color STRING").schema
    assert streamed(workload(), JsonRecords(raw, schema), tmp_path / "check") == (pushed(workload(), tables), 2)


def test_a_replay_decides_as_before(spark: SparkSession, tmp_path: Path) -> None:
    """The clock is what the log of offsets says of a micro-batch, whatever it is when that is done again: an hour
    later in the log is an hour later for the record."""
    now = datetime.now(UTC).replace(tzinfo=None)
    asked = sb.Workload.from_sql(
        "CREATE STREAM s WITH (TIME = ts, AHEAD = 1 SECOND); SELECT TOP 1 FROM s [RANGE 1 SECOND] ORDER BY x;"
    )
    soon = now + timedelta(seconds=600)
    rows = [{"ts": at, "id": 1, "x": 1.0, "color": "red"} for at in (now, now - timedelta(seconds=9), soon)]
    path = written(tmp_path / "in", [pa.Table.from_pylist(rows, SCHEMA)])
    first = streamed(asked, by_frame(spark, path), tmp_path / "check")
    log = tmp_path / "check" / "offsets" / "0"
    noted = log.read_text().splitlines()
    known = json.loads(noted[1])
    for commit in (tmp_path / "check" / "commits").glob("*"):
        commit.unlink()
    assert first[1] == 1
    assert abs(known["batchTimestampMs"] / 1000 - time.time()) < 300
    known["batchTimestampMs"] += 3_600_000
    log.write_text("\n".join([noted[0], json.dumps(known), *noted[2:]]))
    for crc in (tmp_path / "check" / "offsets").glob(".*.crc"):
        crc.unlink()
    again = streamed(asked, by_frame(spark, path), tmp_path / "check")
    assert again[1] == 0, "the log says an hour later"


MENDED = """CREATE STREAM s (ts TIMESTAMP_NTZ, id BIGINT, x DOUBLE, color STRING)
  WITH (TIME = ts, KEY = id, LATENESS = 3 SECONDS{});
CREATE QUERY best AS SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] ORDER BY x;
CREATE QUERY totals AS SELECT TOP 2 color, SUM(x) AS total FROM s [RANGE 4 SECONDS] GROUP BY color ORDER BY total;
"""


def test_a_checkpoint_that_was_poisoned_is_mended(tmp_path: Path) -> None:
    """Of the release before: the watermark went to the year 9999, with all that came later."""
    first, second, third = parts(7)
    before = written(tmp_path / "in", poisoned([first, second], datetime(9999, 12, 1)))
    query, checkpoint = tmp_path / "q.sql", tmp_path / "check"
    words: list[str | Path] = [
        "run",
        query,
        "--source",
        f"s={before}",
        "--sink",
        tmp_path / "out",
        "--stream",
        "--once",
    ]
    words += ["--checkpoint", checkpoint, "--master", "local[2]"]
    newest = second["ts"].to_pandas().max().to_pydatetime()
    mend = str(newest)
    query.write_text(MENDED.format(", AHEAD = NONE"))
    assert jobs.warm(*words).returncode == 0
    known = {path.name for path in (tmp_path / "out").glob("batch=*")}
    pq.write_table(third, tmp_path / "in" / "0002.parquet")
    query.write_text(MENDED.format(""))
    done = jobs.warm(*words, "--drain", "--mend", mend)
    assert done.returncode == 0, done.stderr
    assert "dropped" not in done.stderr
    new = [path for path in (tmp_path / "out").glob("batch=*") if path.name not in known]
    rows = pa.concat_tables([jobs.listed(path) for path in new if list(path.glob("*.parquet"))]).to_pylist()
    whole = [row for row in rows if not row["warming"]]
    monitor = sb.Monitor(sb.Workload.from_sql(MENDED.format("")))
    expected = [row for table in parts(7) for row in monitor.push(table).to_pylist()] + monitor.close().to_pylist()
    wanted = [row for row in expected if row["window_start"] > newest]
    assert len(wanted) > 10
    assert jobs.bag(whole) == jobs.bag(wanted)
    assert any(row["warming"] for row in rows)
    # From here on it is a checkpoint as any other.
    assert jobs.warm(*words).returncode == 0
    for said, more in {
        "is at TIMESTAMP '2026": ["--mend", "2026-02-01"],
        "--mend soon: 'soon' is not a time": ["--mend", "soon"],
    }.items():
        refused = jobs.warm(*words, *more)
        assert refused.returncode == 2
        assert said in refused.stderr
    for said, cut in {"--mend without --checkpoint": slice(-4, -2), "--mend without --stream": slice(-6, -2)}.items():
        less = [word for word in words if word not in words[cut]]
        assert said in jobs.warm(*less, "--mend", mend).stderr


@pytest.mark.parametrize(
    "text", ["2999-01-01T00:00:00.000Z", "10999-12-01T00:00:00.123Z", "+74000-01-01T00:00:00.000Z"]
)
def test_the_watermark_is_told_in_any_year(text: str) -> None:
    from skyband.spark.event_time import SHIFT
    from skyband.spark.metrics import _watermark

    found = _watermark(text)
    assert found is not None
    years = int(text.lstrip("+").partition("-")[0])
    assert abs((found + SHIFT) / 86_400e6 / 365.2425 - (years - 1970)) < 1.01


def test_the_watermark_of_a_time_in_a_datetime() -> None:
    from skyband.spark.event_time import SHIFT
    from skyband.spark.metrics import _watermark

    assert _watermark("2999-01-01T00:00:00.001Z") == 32_472_144_000_001_000 - SHIFT


SECONDS = ['{"ts": 1767225600.25, "id": 1}', '{"ts": 1.7672256e9, "id": 2}', '{"ts": 1767225601, "id": 3}']
SECONDS += ['{"ts": "1767225600.25", "id": 4}', '{"ts": "2026-01-01T00:00:09Z", "id": 5}', '{"ts": true, "id": 6}']
SECONDS += ['{"ts": 1e300, "id": 7}', '{"ts": -0.5, "id": 8}', '{"id": 9}', "{"]


def test_seconds_with_a_fraction_are_times(spark: SparkSession, tmp_path: Path) -> None:
    """In files and in values. Text that looks like one is none, as before."""
    from skyband.runtime.locations import Location
    from skyband.spark.io.sources import open_source
    from skyband.spark.values import JsonRecords

    (tmp_path / "a.json").write_text("\n".join(SECONDS))
    stream = sb.Stream("s", time="ts", columns=[("ts", "TIMESTAMP"), ("id", "BIGINT")])
    files = open_source(spark, Location("json", str(tmp_path / "a.json"), {}), stream, False).frame
    raw = spark.createDataFrame([(text.encode(),) for text in SECONDS], "value BINARY")
    values = JsonRecords(raw, spark.createDataFrame([], "ts TIMESTAMP, id BIGINT").schema).frame
    begin = 1_767_225_600_000_000
    expected = {1: begin + 250_000, 2: begin, 3: begin + 1_000_000, 5: begin + 9_000_000, 8: -500_000}
    for frame in (files, values):
        found = {row.id: row.at for row in frame.selectExpr("id", "unix_micros(ts) AS at").collect() if row.id}
        assert {name: at for name, at in found.items() if at is not None} == expected
        assert set(found) == set(range(1, 10))


FATED = """CREATE STREAM s WITH (TIME = ts, KEY = id, LATENESS = 1 SECOND);
SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE x < 80 ORDER BY sqrt(x - 20);
SELECT TOP 1 PER color id FROM s [RANGE 3 SECONDS] WHERE x > 20 ORDER BY x ASC;
SELECT TOP 2 color, SUM(x) AS total FROM s [RANGE 2 SECONDS] WHERE id % 3 > 0 GROUP BY color ORDER BY total;
SELECT TOP 1 color FROM s [RANGE 4 SECONDS] WHERE x > 10
  OBJECT color ACROSS id IN ('1', '2', '3') (MAX) ORDER BY SUM(x);
SELECT TOP 3 id FROM s [ROWS 9 SLIDE 4] WHERE x > 50 ORDER BY sqrt(x - 70);
SELECT TOP 2 id FROM s [RANGE 4 SECONDS SLIDE 1 SECOND] ORDER BY 2.5 * x;
SELECT TOP 2 id FROM s [RANGE 4 SECONDS SLIDE 1 SECOND] ORDER BY 3.5 * x;
"""


def test_fates_are_those_of_a_monitor_and_add_up(spark: SparkSession, tmp_path: Path) -> None:
    """Of every query: bad, future, dropped, filtered, unranked, ranked."""
    from skyband.runtime.fates import FATES

    asked, tables = sb.Workload.from_sql(FATED), parts(9)
    late = tables[0].slice(0, 15)
    tables = poisoned([tables[0].slice(15), tables[1], pa.concat_tables([tables[2], late])], datetime(9999, 1, 1))
    gaps = [[None if n % 13 == 5 else x for n, x in enumerate(table["x"].to_pylist())] for table in tables]
    tables = [table.set_column(2, "x", pa.array(x)) for table, x in zip(tables, gaps, strict=True)]
    timeless = [[None if n % 17 == 3 else at for n, at in enumerate(table["ts"].to_pylist())] for table in tables]
    tables = [
        table.set_column(0, "ts", pa.array(at, pa.timestamp("us"))) for table, at in zip(tables, timeless, strict=True)
    ]
    given = by_frame(spark, written(tmp_path / "in", tables))
    writer = asked.over(given).writeStream.foreachBatch(lambda rows, _: rows.toArrow())
    query = writer.option("checkpointLocation", str(tmp_path / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    from skyband.spark.metrics import Measures

    measures = Measures.of(asked.plan())
    measures.settle(query)
    monitor = sb.Monitor(asked)
    for table in tables:
        monitor.push(table.sort_by([("ts", "ascending"), ("id", "ascending")]))
    told = monitor.counters["queries"]
    assert measures.fates == {name: {what: counts[what] for what in FATES} for name, counts in told.items()}
    assert {sum(counts.values()) for counts in measures.fates.values()} == {sum(map(len, tables))}
    assert all(sum(counts[what] for counts in told.values()) for what in FATES)
