"""`sb.scan(path)`: tasks that read the files give the rows and counts of `spark.read.parquet(path)`, and read less."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from tests.spark import jobs, test_deletes as deletes, test_objects as objects, test_uncertain as uncertain
from tests.support import table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skyband.spark.io.file_parts import Files
    from skyband.spark.io.sinks import Memory
    from skyband.spark.stages.prune import Prune

pytestmark = [pytest.mark.spark, pytest.mark.smoke, pytest.mark.filterwarnings("ignore::FutureWarning")]
START = dt.datetime(2024, 4, 6, 11, 0)
"""Summer time ends in the session's zone three hours later."""
ONE = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY q AS SELECT TOP 3 * FROM s [RANGE 10 MINUTES SLIDE 1 MINUTE] ORDER BY score;
""")
PLAIN = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY high AS SELECT TOP 3 * FROM s [RANGE 90 MILLISECONDS SLIDE 20 MILLISECONDS] ORDER BY score;
CREATE QUERY low AS SELECT TOP 2 id FROM s [RANGE 50 MILLISECONDS] WHERE bonus > 0 ORDER BY score + bonus ASC;
CREATE QUERY each AS SELECT TOP 2 PER color id FROM s [RANGE 90 MILLISECONDS SLIDE 30 MILLISECONDS] ORDER BY score;
CREATE QUERY above AS SELECT ABOVE 2 id FROM s [RANGE 60 MILLISECONDS] ORDER BY bonus;
CREATE QUERY often AS SELECT TOP 1 id FROM s [RANGE 60 MILLISECONDS] ORDER BY bonus FREQUENCY 25 MILLISECONDS;
CREATE QUERY log AS SELECT TOP 2 id FROM s [RANGE 60 MILLISECONDS SLIDE 20 MILLISECONDS] ORDER BY bonus EMIT CHANGES;
""")


def ranged(workload: sb.Workload) -> sb.Workload:
    """Without windows of rows: their positions are counted in the order of the whole stream."""
    queries = [query for query in workload.queries if query.window.kind == "range"]
    return sb.Workload(queries, streams=workload.streams)


def plain_records() -> pa.Table:
    """Ties, gaps, records without a score or a time."""
    draw = np.random.default_rng(3)
    score = [None if x > 0.95 else float("nan") if x > 0.9 else round(9 * x) / 2 for x in draw.random(600)]
    color = draw.choice(["red", "blue", "a|b"], 600).tolist()
    at = [None if n % 97 == 5 else 1_000 * int(n + draw.integers(-20, 20)) for n in range(600)]
    bonus = draw.integers(-3, 5, 600).tolist()
    return table_of([(at[n], n, score[n], bonus[n], color[n] if n % 11 else None) for n in range(600)])


def way(workload: sb.Workload, scan: Any) -> str:
    from skyband.spark.pipeline import schemas_of, ways

    known = {"s": scan}
    return ways(workload.plan(None, schemas_of(known)), known)["s"]


def counted(workload: sb.Workload, records: Any) -> tuple[list[str], dict[str, Any]]:
    """Result rows in some order, and what was left out."""
    from pyspark.sql import Observation

    from skyband.spark.inputs import by_stream
    from skyband.spark.pipeline import over, schemas_of

    known, seen = by_stream(workload.streams, records), Observation()
    rows = over(workload.plan(None, schemas_of(known)), known, left_out={"s": seen}).toArrow()
    return jobs.bag(rows.to_pylist()), {name: int(count or 0) for name, count in seen.get.items()}


def same(
    spark: SparkSession, workload: sb.Workload, path: Path, format: str = "parquet", **options: Any
) -> dict[str, Any]:
    """Both ways agree, and the tasks did read the files."""
    scan = sb.scan(str(path), spark=spark, format=format, **options)
    assert way(workload, scan).startswith("tasks read the files with Arrow")
    rows, left_out = counted(workload, scan)
    expected = counted(workload, spark.read.format(format).options(**options).load(str(path)))
    assert rows, "a test without rows shows nothing"
    assert (rows, left_out) == expected
    return left_out


MODELS: dict[str, tuple[sb.Workload, pa.Table]] = {
    "complete": (PLAIN, plain_records()),
    "objects": (ranged(objects.WORKLOAD), objects.records()),
    "uncertain": (ranged(uncertain.WORKLOAD), uncertain.records()),
    "many scores": (ranged(deletes.workload(None)), pa.concat_tables(deletes.records(120, deletes=False))),
    "deletes": (ranged(deletes.workload("op")), pa.concat_tables(deletes.records(120, deletes=True))),
}


@pytest.mark.parametrize("model", MODELS)
def test_rows_and_counts_are_those_of_a_data_frame(spark: SparkSession, tmp_path: Path, model: str) -> None:
    workload, table = MODELS[model]
    half = len(table) // 2
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=70)
    left_out = same(spark, workload, tmp_path)
    if model == "complete":
        assert left_out["bad"]
        assert left_out["unranked"]


def typed(rows: int = 40) -> pa.Table:
    """Every type that Spark reads, under its own name; some values missing."""
    draw = np.random.default_rng(8)
    at = [START + dt.timedelta(minutes=20 * n) for n in range(rows)]
    some = [n if n % 7 else None for n in range(rows)]

    def column(kind: pa.DataType, value: Any) -> pa.Array:
        return pa.array([None if n is None else value(n) for n in some], kind)

    columns = {
        "ts": pa.array(at, pa.timestamp("us")),
        "id": pa.array(range(rows), pa.int64()),
        "score": pa.array(draw.integers(0, 9, rows), pa.int32()),
        "instant": column(pa.timestamp("us", "Asia/Tokyo"), lambda n: at[n]),
        "millis": column(pa.timestamp("ms"), lambda n: at[n]),
        "date": column(pa.date32(), lambda n: at[n].date()),
        "old": column(pa.date32(), lambda n: dt.date(1200 + n, 2, 3)),
        "amount": column(pa.decimal128(9, 2), lambda n: Decimal(n) / 4),
        "huge": column(pa.decimal128(30, 3), lambda n: Decimal(10**20 + n)),
        "byte": column(pa.int8(), lambda n: -n),
        "tiny": column(pa.uint8(), lambda n: n),
        "unsigned": column(pa.uint32(), lambda n: 4_000_000_000 + n),
        "wide": column(pa.uint64(), lambda n: 2**63 + n),
        "single": column(pa.float32(), lambda n: n / 3),
        "flag": column(pa.bool_(), lambda n: n % 2 == 0),
        "text": column(pa.large_string(), lambda n: "ä" * (n % 5)),
        "word": column(pa.string(), lambda n: "xyz"[n % 3]).dictionary_encode(),
        "bytes": column(pa.binary(), lambda n: bytes([n])),
        "list": column(pa.list_(pa.float64()), lambda n: [n / 2, None]),
        "struct": column(pa.struct({"a": pa.int32(), "b": pa.string()}), lambda n: {"a": n, "b": None}),
        "map": column(pa.map_(pa.string(), pa.int64()), lambda n: [("k", n)]),
    }
    return pa.table(columns)


def test_columns_are_of_the_types_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(typed(), tmp_path / "in.parquet", row_group_size=9)
    same(spark, ONE, tmp_path)


def test_times_of_96_bits_are_instants(spark: SparkSession, tmp_path: Path) -> None:
    table = typed().select(["ts", "id", "score"])
    pq.write_table(table, tmp_path / "in.parquet", use_deprecated_int96_timestamps=True)
    same(spark, ONE, tmp_path)


def test_dates_that_only_arrow_tells_apart_are_dates(spark: SparkSession, tmp_path: Path) -> None:
    table = (
        typed()
        .select(["date", "id", "score"])
        .cast(pa.schema({"date": pa.date64(), "id": pa.int64(), "score": pa.int32()}))
    )
    pq.write_table(table.rename_columns({"date": "ts"}), tmp_path / "in.parquet")
    assert same(spark, ONE, tmp_path)["bad"] > 0


def test_folders_give_columns(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    pq.write_table(typed().select(["ts", "id", "score"]), tmp_path / "in.parquet")
    df = spark.read.parquet(str(tmp_path / "in.parquet"))
    df = df.withColumn("day", f.expr("cast(ts as date)")).withColumn("half", f.expr("id / 20 >= 1"))
    df = df.withColumn("name", f.expr("case when id % 3 = 0 then 'A/B 100%' when id % 3 = 1 then 'c=d' end"))
    # An hour that comes twice in the session's zone, as text the earlier one.
    df = df.withColumn("hour", f.expr("date_trunc('hour', ts + INTERVAL 12 HOURS)"))
    df.drop("half").write.partitionBy("name", "day", "hour").parquet(str(tmp_path / "with spaces"))
    same(spark, ONE, tmp_path / "with spaces")
    per = sb.Workload.from_sql("""
    CREATE STREAM s WITH (TIME = ts, KEY = id);
    CREATE QUERY q AS SELECT TOP 2 PER name id, hour FROM s [RANGE 2 HOURS]
      WHERE day > DATE '2024-04-06' ORDER BY score;
    """)
    same(spark, per, tmp_path / "with spaces")


def test_files_of_several_schemas_are_read_as_the_first_says(spark: SparkSession, tmp_path: Path) -> None:
    """Spark takes the schema of the first file by name: columns that others lack are NULL, what they have more is not
    seen, and names in another case and narrower numbers are the same columns."""
    table = typed().select(["ts", "id", "score", "text", "single"])
    first = table.set_column(4, "single", table["single"].cast(pa.float64()))
    pq.write_table(first.slice(0, 20), tmp_path / "a.parquet")
    later = table.drop_columns("text").rename_columns({"score": "Score"}).append_column("more", table["id"])
    pq.write_table(later.slice(20, 20), tmp_path / "b.parquet")
    same(spark, ONE, tmp_path)
    same(spark, ONE, tmp_path, mergeSchema="false", pathGlobFilter="b*")


def test_what_only_spark_reads_rightly_is_left_to_it(spark: SparkSession, tmp_path: Path) -> None:
    table = typed().select(["ts", "id", "score"])
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), tmp_path / "b.parquet")
    scan = sb.scan(str(tmp_path), spark=spark)
    assert "Spark reads the records" in way(ONE, scan)
    assert "b.parquet was written with the old calendar" in way(ONE, scan)
    assert counted(ONE, scan) == counted(ONE, spark.read.parquet(str(tmp_path)))
    lenient = sb.scan(str(tmp_path / "a.parquet"), spark=spark, ignoreCorruptFiles=True)
    assert way(ONE, lenient) == "Spark reads the records: ignoreCorruptFiles is set"
    rows = sb.Workload.from_sql("""
    CREATE STREAM s WITH (TIME = ts, KEY = id);
    CREATE QUERY q AS SELECT TOP 3 id FROM s [ROWS 9] ORDER BY score;
    """)
    scan = sb.scan(str(tmp_path / "a.parquet"), spark=spark)
    assert "positions of ROWS" in way(rows, scan)
    assert counted(rows, scan) == counted(rows, spark.read.parquet(str(tmp_path / "a.parquet")))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("score DOUBLE, id BIGINT, ts TIMESTAMP_NTZ, text STRING", "tasks read the files with Arrow"),
        ("score DOUBLE, id DOUBLE, ts TIMESTAMP_NTZ", "column 'id' is int64 and to be read as double"),
        ("score INT, id BIGINT, ts TIMESTAMP", "times are cast through the session's zone"),
    ],
)
def test_declared_columns_are_cast_as_spark_casts_them(
    spark: SparkSession, tmp_path: Path, columns: str, said: str
) -> None:
    from skyband.runtime.locations import Location
    from skyband.spark.io.sources import open_source

    pq.write_table(typed().select(["ts", "id", "score", "text", "map"]), tmp_path / "in.parquet")
    workload = sb.Workload.from_sql(str(ONE).replace("STREAM s WITH", f"STREAM s ({columns}) WITH"))
    opened = open_source(spark, Location("files", str(tmp_path)), workload.streams[0], streaming=False)
    assert said in way(workload, opened)
    assert counted(workload, opened) == counted(workload, opened.frame)


def test_a_file_that_is_gone_or_another_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.failures import clearly

    table = typed().select(["ts", "id", "score"])
    for name in "ab":
        pq.write_table(table, tmp_path / f"{name}.parquet")
    scan = sb.scan(str(tmp_path), spark=spark)
    ONE.over(scan)
    pq.write_table(table.slice(7), tmp_path / "b.parquet")
    with pytest.raises(sb.SkybandError, match=r"b\.parquet is not the file that was listed"):
        clearly(ONE.over(scan).toArrow)
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(sb.SkybandError, match=r"b\.parquet is gone since it was listed"):
        clearly(ONE.over(scan).toArrow)


def test_lines_of_reports_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.reports import lines_of

    pq.write_table(plain_records(), tmp_path / "in.parquet", row_group_size=200)
    scan = sb.scan(str(tmp_path), spark=spark)
    lines, expected = (
        lines_of(PLAIN.over(records, lines=True), PLAIN.results(records), final=True).toArrow()
        for records in (scan, scan.frame)
    )
    assert len(lines) > 0
    assert jobs.bag(lines.to_pylist()) == jobs.bag(expected.to_pylist())


def test_nothing_runs_before_the_rows_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(typed().select(["ts", "id", "score"]), tmp_path / "in.parquet")
    folder = tmp_path / "f"
    spark.read.parquet(str(tmp_path)).write.partitionBy("score").parquet(str(folder))
    scan, tracker = sb.scan(str(folder), spark=spark), spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    ONE.over(scan)
    assert len(tracker.getJobIdsForGroup(None)) == before


# -------------------------------------------------------------------------------------------------------------- streams


def written(workload: sb.Workload, records: Any, checkpoint: Path, memory: Memory) -> None:
    """All there is, one file a micro-batch."""
    writer = workload.over(records).writeStream.foreachBatch(memory.write_batch)
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()


def test_a_stream_goes_on_whoever_reads_its_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark first, then the tasks, several of them for one file: folders, late records and the rest of the state."""
    from skyband.spark import scan as module
    from skyband.spark.io.sinks import Memory
    from skyband.spark.pipeline import schemas_of
    from skyband.spark.state.drain import drain

    monkeypatch.setattr(module, "SHARE_BYTES", 3_000)
    text = str(PLAIN).replace("KEY = id", "KEY = id, LATENESS = 30 MILLISECONDS").replace("PER color", "PER part")
    workload, source, memory = sb.Workload.from_sql(text), tmp_path / "in", Memory()
    table = plain_records().drop_columns("color")
    for number in range(4):
        path = source / f"part=a{number % 2} %25" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(150 * number, 150), path, row_group_size=40)
        os.utime(path, (1e9 + number, 1e9 + number))
    hidden = [path.rename(tmp_path / path.name) for path in source.rglob("[23].parquet")]
    schema = spark.read.parquet(str(source)).schema
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    written(workload, df, tmp_path / "ck", memory)
    for path in hidden:
        path.rename(source / f"part=a{int(path.stem) % 2} %25" / path.name)
    scan = sb.scan(str(source), spark=spark, streaming=True, maxFilesPerTrigger="1")
    assert "new ones as Spark's log of files tells" in way(workload, scan)
    written(workload, scan, tmp_path / "ck", memory)
    plan = workload.plan(None, schemas_of({"s": scan}))
    rest = drain(spark, plan, {"s": scan}, str(tmp_path / "ck")).toArrow()
    found = pa.concat_tables([*memory.tables.values(), rest]).to_pylist()
    again = Memory()
    written(workload, df, tmp_path / "alone", again)
    rest = drain(spark, plan, {"s": df}, str(tmp_path / "alone")).toArrow()
    expected = pa.concat_tables([*again.tables.values(), rest]).to_pylist()
    assert len(memory.tables) >= 4
    assert jobs.bag(found) == jobs.bag(expected)


def test_a_file_of_a_stream_that_is_none_is_named(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.failures import clearly
    from skyband.spark.io.sinks import Memory

    (tmp_path / "in").mkdir()
    pq.write_table(typed().select(["ts", "id", "score"]), tmp_path / "in" / "a.parquet")
    scan = sb.scan(str(tmp_path / "in"), spark=spark, streaming=True)
    (tmp_path / "in" / "b.parquet").write_text("no Parquet file at all")
    with pytest.raises(sb.SkybandError, match=r"b\.parquet cannot be read"):
        clearly(lambda: written(ONE, scan, tmp_path / "ck", Memory()))


# ----------------------------------------------------------------------------------------------------- how much is read


class Reads:
    """What was read of row groups, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from skyband.spark.io.file_parts import Section

        self.columns: list[list[str]] = []
        read = Section.read

        def noted(group: Section, names: Any) -> pa.Table:
            self.columns.append(list(names))
            return read(group, self.columns[-1])

        monkeypatch.setattr(Section, "read", noted)


def pruning(workload: sb.Workload, schema: pa.Schema) -> Prune:
    from skyband.runtime.reader import StreamReader
    from skyband.spark.stages.prune import Bound, Prune

    plan = workload.plan(None, {"s": schema})
    reader = StreamReader(plan.streams[0], schema)
    return Prune(reader, [Bound.of(each, schema) for each in plan.families], now=2**60)


def parquet(schema: pa.Schema) -> Files:
    from skyband.spark.io.file_parts import ColumnsWanted, Files
    from skyband.spark.io.parquet_files import PARQUET

    return Files(PARQUET, ColumnsWanted(schema))


def pruned(workload: sb.Workload, paths: list[Path], schema: pa.Schema) -> list[Mapping[str, Any]]:
    """What one task sends, without Spark."""
    from skyband.spark.io.file_parts import FilePart
    from skyband.spark.stages.scan import PartsOfTasks, Scan

    parts = PartsOfTasks((tuple(FilePart(path.as_uri()) for path in paths),))
    stage = Scan(pruning(workload, schema), parquet(schema), parts)
    return [row for batch in stage(iter([pa.record_batch({"id": [0]})])) for row in batch.to_pylist()]


def test_other_columns_are_read_once_and_where_a_record_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = typed().select(["ts", "id", "score", "text", "list"])
    passing = table.set_column(2, "score", pa.array([-1] * 30 + [5] * 10, pa.int32()))
    pq.write_table(passing, tmp_path / "in.parquet", row_group_size=10)
    both = sb.Workload.from_sql("""
    CREATE STREAM s WITH (TIME = ts, KEY = id);
    CREATE QUERY a AS SELECT TOP 3 id FROM s [RANGE 10 MINUTES] WHERE score > 0 ORDER BY score;
    CREATE QUERY b AS SELECT TOP 3 id FROM s [RANGE 10 MINUTES] WHERE score > 1 ORDER BY score;
    """)
    reads = Reads(monkeypatch)
    rows = pruned(both, [tmp_path / "in.parquet"], passing.schema.set(3, pa.field("text", pa.string())))
    assert len(rows) > 1
    assert reads.columns == [["ts", "score"]] * 4 + [["id", "text", "list"]]


def test_a_bad_record_is_shown_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = typed(8).select(["ts", "id", "score"])
    nothing = pa.array([None, *table["ts"].to_pylist()[1:]], pa.timestamp("us"))
    pq.write_table(table.set_column(0, "ts", nothing), tmp_path / "in.parquet")
    rows = pruned(ONE, [tmp_path / "in.parquet"], table.schema)
    assert rows[-1]["bad"] == 1
    assert "'id': 0" in caplog.text
    assert "#place" not in caplog.text


# -------------------------------------------------------------------------------------------------- what statistics say

LAST_HOUR = sb.Workload.from_sql("""
CREATE STREAM s WITH (TIME = ts, KEY = id);
CREATE QUERY q AS SELECT TOP 2 * FROM s [RANGE 1 HOUR SLIDE 10 MINUTES] ORDER BY score;
""")


def overlapping(kind: pa.DataType, groups: int = 20, rows: int = 60) -> pa.Table:
    """Row groups that all span the same two hours, each with higher scores than the one before."""
    at = [START + dt.timedelta(minutes=120 * n / rows) for n in range(rows)] * groups
    score = [100 * group + n % 10 for group in range(groups) for n in range(rows)]
    return pa.table({
        "ts": pa.array(at, pa.timestamp("us")),
        "id": pa.array(range(groups * rows), pa.int64()),
        "score": pa.array(score, pa.int32()).cast(kind),
    })  # fmt: skip


def with_score(table: pa.Table, place: int, value: float | None) -> pa.Table:
    score = table["score"].to_pylist()
    score[place] = value
    return table.set_column(2, "score", pa.array(score, table.schema.field("score").type))


def listed(workload: sb.Workload, path: Path, schema: pa.Schema) -> list[Mapping[str, Any]]:
    """What one task sends that visits row groups in the order in which the driver names them."""
    from skyband.spark.io.listing import list_files
    from skyband.spark.stages.scan import PartsOfTasks, Scan

    prune, files = pruning(workload, schema), parquet(schema)
    score = prune.families[0].encoder.score_column()
    assert score is not None
    listing = list_files([path.as_uri()], files, lambda _: {})
    tasks = listing.tasks(1, (score.name, schema.field(score.name).type, score.keys))
    stage = Scan(prune, files, PartsOfTasks(tasks))
    return [row for batch in stage(iter([pa.record_batch({"id": [0]})])) for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(12, 2), pa.float64()])
def test_row_groups_that_a_bound_rules_out_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType
) -> None:
    table = overlapping(kind)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=60)
    reads = Reads(monkeypatch)
    rows = listed(LAST_HOUR, tmp_path / "in.parquet", table.schema)
    assert rows[-1]["unranked"] == 0
    # Only the column itself tells that no DOUBLE is NaN.
    alone = [["score"]] * 19 if pa.types.is_floating(kind) else []
    assert sorted(reads.columns) == sorted([["id"], *alone, ["ts", "score"]])


@pytest.mark.parametrize(("kind", "value"), [(pa.int64(), None), (pa.float64(), None), (pa.float64(), float("nan"))])
def test_records_without_a_score_are_counted_in_row_groups_that_are_ruled_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, value: float | None
) -> None:
    table = with_score(with_score(overlapping(kind), 7, value), 200, value)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=60)
    reads = Reads(monkeypatch)
    rows = listed(LAST_HOUR, tmp_path / "in.parquet", table.schema)
    assert rows[-1]["unranked"] == 2
    assert reads.columns.count(["ts", "score"]) == 3


def test_a_threshold_rules_row_groups_out_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = overlapping(pa.int64())
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=60)
    above = sb.Workload([sb.Above("q", 1709, "score", "1 hour")], stream=sb.Stream("s", time="ts", key="id"))
    reads = Reads(monkeypatch)
    listed(above, tmp_path / "in.parquet", table.schema)
    assert reads.columns == [["ts", "score"], ["id"]] * 2


@pytest.mark.parametrize("name", ["falling", "rising", "null", "nan", "two families"])
def test_rows_and_counts_do_not_depend_on_what_is_skipped(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = overlapping(pa.float64() if name == "nan" else pa.int32())
    if name in ("null", "nan"):
        table = with_score(with_score(table, 70, float("nan") if name == "nan" else None), 1_150, None)
    if name == "falling":
        table = table.take(pa.array(np.arange(len(table))[::-1]))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=60)
    other = sb.TopK("other", 3, "id", "2 hours", ascending=True)
    queries = [*LAST_HOUR.queries, *([other] if name == "two families" else [])]
    left_out = same(spark, sb.Workload(queries, streams=LAST_HOUR.streams), tmp_path)
    assert left_out["unranked"] == {"null": 2, "nan": 2}.get(name, 0)
