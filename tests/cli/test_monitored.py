"""`skyband run --monitor`: files in, rows out, in this process; and what a plain install, without Spark, can do."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.cli.main import app
from skyband.runtime import arrow_files
from skyband.runtime.loose_values import of_lines, of_texts
from tests.spark import jobs

ROOT = Path(__file__).parents[2]
BARE = jobs.WORKLOAD[jobs.WORKLOAD.index("CREATE QUERY") :]
UNDECLARED = "CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS);\n" + BARE


@pytest.fixture(scope="module")
def trades() -> pa.Table:
    """In the order of time and key, which is how a batch is taken."""
    return pa.concat_tables(jobs.trades(files=3)).sort_by([("ts", "ascending"), ("trade_id", "ascending")])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trades.sql").write_text(jobs.WORKLOAD)
    Path("bare.sql").write_text(UNDECLARED)


def run(*words: str) -> None:
    app(["run", *words, "--monitor"], standalone_mode=False)


def expected(trades: pa.Table) -> list[str]:
    return jobs.bag(jobs.monitored([trades]).to_pylist())


def written(folder: str) -> list[str]:
    return jobs.bag(jobs.listed(Path(folder)).to_pylist())


def test_parquet_to_parquet_in_small_chunks(trades: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "CHUNK", 100)
    pq.write_table(trades, "in.parquet", row_group_size=70)
    run("trades.sql", "--source", "trades=in.parquet", "--sink", "out")
    assert written("out") == expected(trades)


def test_files_in_any_order_of_time_are_sorted(trades: pa.Table) -> None:
    Path("in").mkdir()
    for number, start in enumerate((700, 0, 300)):
        pq.write_table(
            trades.slice(start, 400 if start == 300 else 300 if start == 0 else None), f"in/{number}.parquet"
        )
    run("bare.sql", "--source", "trades=in", "--sink", "out")
    assert written("out") == expected(trades)


def test_csv_by_the_names_of_columns_to_csv(trades: pa.Table) -> None:
    csv.write_csv(trades.select(sorted(trades.column_names)), "in.csv")
    run("trades.sql", "--source", "trades=in.csv", "--sink", "csv:out")
    moments = {name: pa.timestamp("us", "UTC") for name in ("window_start", "window_end")}
    options = csv.ConvertOptions(column_types=moments | {"group_key": pa.string()}, strings_can_be_null=True)
    rows = csv.read_csv("out/part-00000.csv", convert_options=options)
    whole = jobs.monitored([trades])
    assert rows.column_names == whole.column_names
    names = ["query", "window_start", "window_end", "row_end", "rank", "trade_id", "change"]
    assert jobs.bag(rows.select(names).to_pylist()) == jobs.bag(whole.select(names).to_pylist())


PLAIN, ZONED = "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%fZ"


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("forms", [[PLAIN], [ZONED] * 300 + [PLAIN], [PLAIN, ZONED], [PLAIN] * 200 + ["none"]])
def test_times_without_a_zone_are_utc(trades: pa.Table, kind: str, forms: list[str]) -> None:
    """Once, in CSV, records without one were bad: `null time`. And in JSON, behind a line that was."""
    rows = trades.to_pylist()
    texts = [row["ts"].strftime(forms[number % len(forms)]) for number, row in enumerate(rows)]
    some = [row for row, text in zip(rows, texts, strict=True) if text != "none"]
    written_times = [row | {"ts": text} for row, text in zip(rows, texts, strict=True)]
    if kind == "csv":
        csv.write_csv(pa.Table.from_pylist(written_times), "in.csv")
    else:
        Path("in.json").write_text("\n".join(map(json.dumps, written_times)))
    run("trades.sql", "--source", f"trades=in.{kind}", "--sink", "out")
    assert written("out") == expected(pa.Table.from_pylist(some, trades.schema))


def test_json_lines_to_json_lines(trades: pa.Table) -> None:
    lines = [json.dumps(row | {"ts": row["ts"].isoformat()}) for row in trades.to_pylist()]
    Path("in.ndjson").write_text("\n".join(lines))
    run("trades.sql", "--source", "trades=in.ndjson", "--sink", "out.json")
    rows = [json.loads(line) for line in Path("out.json/part-00000.json").read_text().splitlines()]
    assert jobs.bag(rows) == expected(trades)


def test_beside_a_line_that_is_no_record_decimals_keep_their_digits() -> None:
    """As Spark has them, rounded: with one such line all with a fraction were NULL, and of BIGINT 2.9 was 2."""
    declared = pa.schema({"price": pa.decimal128(18, 2), "size": pa.int64()})
    lines = [
        b'{"price": 1234567890123456.78, "size": 2}',
        b"oops",
        b'{"price": 9.995, "size": 2.9}',
        b'{"price": 1e17}',
    ]
    found = of_lines(lines, declared, None).to_pydict()
    assert found["price"] == [Decimal("1234567890123456.78"), None, Decimal("10.00"), None]
    assert found["size"] == [2, None, None, None]
    texts = pa.record_batch({"price": pa.array(["1234567890123456.78", "9.995", "oops", "1e17", "NaN", None])})
    assert of_texts(texts, declared, None).to_pydict() == {"price": [*found["price"][::2], None, None, None, None]}


@pytest.mark.parametrize(
    "odd", ["[1]", '{"a": 1}', "true", "NaN", "1e99999999999999999999", "1e999999999", "9" * 5_000]
)
def test_what_is_no_decimal_is_null(odd: str) -> None:
    declared = pa.schema({"price": pa.decimal128(18, 2), "x": pa.float64()})
    assert of_lines([f'{{"price": {odd}}}'.encode()], declared, None).to_pylist() == [{"price": None, "x": None}]
    texts = pa.record_batch({"price": pa.array([odd, "1_000", "\uff11", "", None, " 2.5"])})
    assert of_texts(texts, declared, None).to_pydict() == {"price": [None] * 5 + [Decimal("2.50")]}


def test_orc_and_a_pattern_of_files(trades: pa.Table) -> None:
    orc.write_table(trades.slice(0, 500), "part-1.orc")
    orc.write_table(trades.slice(500), "part-2.orc")
    run("trades.sql", "--source", "trades=part-*.orc", "--sink", "out")
    assert written("out") == expected(trades)


def test_the_console_shows_the_last_lists_in_the_data(trades: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(trades, "in.parquet")
    run("trades.sql", "--source", "trades=in.parquet")
    told = capsys.readouterr()
    newest = trades.column("ts").to_pylist()[-1]
    rows = [row for row in jobs.monitored([trades]).to_pylist() if row["query"] == "biggest"]
    last = max(row["window_end"] for row in rows if row["window_end"] <= newest)
    assert f"biggest at {last:%Y-%m-%d %H:%M:%S}" in told.out
    assert "done in" in told.err
    assert f"{len(trades):,} records" in told.err


def test_the_console_shows_a_score_once_and_exactly(trades: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    """Once it stood beside the nearest DOUBLE, where another query had a score of another type."""
    pq.write_table(trades.append_column("large", pa.array([2**60 + 1] * len(trades))), "in.parquet")
    both = "".join(f"SELECT TOP 1 trade_id FROM trades [ROWS 9] ORDER BY {by} DESC;" for by in ("large", "price"))
    Path("both.sql").write_text(UNDECLARED[: UNDECLARED.index("\n") + 1] + both)
    run("both.sql", "--source", "trades=in.parquet")
    told = capsys.readouterr().out
    assert str(2**60 + 1) in told
    assert "score_bigint" not in told


def test_of_all_time_the_console_shows_the_very_last_list(trades: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(trades, "in.parquet")
    query = "CREATE QUERY ever AS SELECT TOP 2 trade_id FROM trades [UNBOUNDED SLIDE 1 MINUTE] ORDER BY size DESC;"
    Path("ever.sql").write_text(UNDECLARED[: UNDECLARED.index("\n") + 1] + query)
    run("ever.sql", "--source", "trades=in.parquet")
    newest = trades.column("ts").to_pylist()[-1]
    end = newest.replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert f"ever at {end:%Y-%m-%d %H:%M:%S}" in capsys.readouterr().out


def test_two_streams_and_the_market(trades: pa.Table) -> None:
    more = UNDECLARED.replace("trades", "others").replace("QUERY ", "QUERY other_")
    Path("two.sql").write_text(UNDECLARED + more)
    pq.write_table(trades, "in.parquet")
    run("two.sql", "--source", "trades=in.parquet", "--source", "others=market://?seconds=30&rate=20", "--sink", "out")
    rows = jobs.listed(Path("out")).to_pylist()
    assert {row["query"] for row in rows} > {"biggest", "other_biggest", "other_lots"}
    mine = [row for row in rows if not row["query"].startswith("other_")]
    assert jobs.bag(mine) == expected(trades)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--source", "trades=absent.parquet"], "there is no absent.parquet"),
        (["--source", "trade=x"], "the workload has no stream 'trade'"),
        (["--source", "trades=kafka://h:1/t"], "--monitor does not read kafka://"),
        (["--source", "trades=rate://1"], "--monitor does not read rate://"),
        (["--source", "trades=delta:x"], "--monitor does not read delta:"),
        (["--source", "trades=s3://bucket/x"], "s3://bucket/x is not on this machine"),
        (["--source", "trades=market://"], "market:// never ends"),
        (["--source", "trades=in.parquet?mergeSchema=true"], "--source with ?mergeSchema=..., which is for Spark"),
        (["--source", "trades=in.parquet", "--sink", "kafka://h:1/t"], "--monitor does not write to kafka://"),
        (["--source", "trades=in.parquet", "--sink", "postgresql://u@h/d?table=t"], "does not write to postgresql://"),
        (["--source", "trades=in.parquet", "--sink", "delta:out"], "--monitor does not write to delta:"),
        (["--source", "trades=in.parquet", "--sink", "out?per=query"], "--sink with ?per=..., which is for Spark"),
        (["--source", "trades=in.parquet", "--sink", "console?queries=absent"], "shows a query 'absent'"),
        (["--source", "trades=in.parquet", "--sink", "full"], "full is not empty"),
        (["--source", "trades=in.parquet", "--stream"], "--stream with --monitor"),
        (["--source", "trades=in.parquet", "--checkpoint", "ck"], "--checkpoint with --monitor"),
        (["--source", "trades=in.parquet", "--reports", "lines"], "--reports with --monitor"),
        (["--source", "trades=short.parquet"], "the data has no column 'change'"),
        (["--source", "trades=words.parquet"], "column 'price' is declared double, and the data has string"),
        (["--source", "trades=bad.parquet"], "bad.parquet cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], message: str, trades: pa.Table) -> None:
    Path("full").mkdir()
    for name in ("full/something", "bad.parquet"):
        Path(name).write_text("something")
    few = trades.slice(0, 10)
    pq.write_table(few, "in.parquet")
    pq.write_table(few.drop_columns(["change"]), "short.parquet")
    pq.write_table(few.set_column(3, "price", few.column("price").cast(pa.string())), "words.parquet")
    with pytest.raises(sb.SkybandError) as refused:
        run("trades.sql", *words)
    assert message in str(refused.value)


def test_a_folder_is_written_anew_when_asked_for(trades: pa.Table) -> None:
    pq.write_table(trades, "in.parquet")
    for _ in range(2):
        run("trades.sql", "--source", "trades=in.parquet", "--sink", "out", "--overwrite")
    assert written("out") == expected(trades)


def test_old_rows_stay_where_a_run_is_refused(trades: pa.Table) -> None:
    Path("out").mkdir()
    Path("out/part-00000.parquet").write_text("old rows")
    Path("out/_skyband.lease").write_text("{}")
    pq.write_table(trades.drop_columns(["change"]), "short.parquet")
    with pytest.raises(sb.SkybandError, match="the data has no column 'change'"):
        run("trades.sql", "--source", "trades=short.parquet", "--sink", "out", "--overwrite")
    assert Path("out/part-00000.parquet").read_text() == "old rows"


@pytest.mark.parametrize("sink", ["in", "in/", ".", "csv:in"])
@pytest.mark.parametrize("source", ["trades=in", "trades=in/a.parquet", "trades=in/*.parquet"])
def test_records_are_never_overwritten_by_rows(source: str, sink: str, trades: pa.Table) -> None:
    Path("in").mkdir()
    pq.write_table(trades, "in/a.parquet")
    with pytest.raises(sb.SkybandError, match="is read from"):
        run("trades.sql", "--source", source, "--sink", sink, "--overwrite")
    assert pq.read_table("in/a.parquet").num_rows == len(trades)


@pytest.mark.parametrize("file", ["part-00000.parquet", "precious.csv"])
def test_what_is_not_proven_to_be_ours_is_not_removed(file: str, trades: pa.Table) -> None:
    """Seen before: `--overwrite` emptied any folder."""
    pq.write_table(trades, "in.parquet")
    Path("out").mkdir()
    Path("out", file).write_text("old")
    Path("out/_skyband.lease").write_text("{}") if file == "precious.csv" else None
    with pytest.raises(sb.SkybandError, match=r"--overwrite: (nothing says|out holds precious.csv)"):
        run("trades.sql", "--source", "trades=in.parquet", "--sink", "out", "--overwrite")
    assert Path("out", file).read_text() == "old"


@pytest.mark.parametrize("old", [True, False])
def test_rows_go_into_the_folder_that_is_there(old: bool, trades: pa.Table, tmp_path: Path) -> None:
    """It may be a link, or where a disk is mounted: what is in it goes, and it stays."""
    (tmp_path / "disk").mkdir()
    Path("out").symlink_to(tmp_path / "disk")
    if old:
        Path("out/old").mkdir()
        Path("out/old/part-00000.parquet").write_text("old rows")
        Path("out/_skyband.lease").write_text("{}")
    pq.write_table(trades, "in.parquet")
    run("trades.sql", "--source", "trades=in.parquet", "--sink", "out", *(["--overwrite"] if old else []))
    assert Path("out").is_symlink()
    assert written("out") == expected(trades)
    assert not Path("out/old").exists()


def test_a_folder_may_be_said_as_an_address(trades: pa.Table, tmp_path: Path) -> None:
    pq.write_table(trades, "in.parquet")
    run("trades.sql", "--source", "trades=in.parquet", "--sink", f"file://{tmp_path}/out")
    assert written("out") == expected(trades)


# --------------------------------------------------------------------------------------------------- a plain install

PLAIN = """\
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "google", "prometheus_client", "psycopg"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""What only the extras of the package bring cannot be found. A fresh environment would take minutes to make."""
SPARK_MISSING = "skyband: this needs Spark, and PySpark is not installed\nhint: pip install 'skyband[spark]'"


def plain(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PLAIN + code, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def skyband(*words: str) -> subprocess.CompletedProcess[str]:
    return plain("from skyband.cli.main import main\nmain()", *words)


def test_without_spark_a_workload_runs_over_files(trades: pa.Table) -> None:
    pq.write_table(trades, "in.parquet")
    done = skyband("run", "trades.sql", "--source", "trades=in.parquet", "--sink", "out", "--monitor")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert written("out") == expected(trades)


@pytest.mark.parametrize("words", [["--sink", "out"], ["--sink", "out", "--stream"]])
def test_without_spark_what_needs_it_says_how_to_get_it(words: list[str]) -> None:
    Path("in").mkdir()
    done = skyband("run", "trades.sql", "--source", "trades=in", *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(SPARK_MISSING)
    assert "Traceback" not in done.stderr


def test_without_spark_a_program_is_told_the_same() -> None:
    code = """
import skyband as sb
workload = sb.Workload([sb.TopK("best", k=1, by="x", window="2 rows")], stream=sb.Stream("s", time="ts"))
for use in (workload.over, workload.results):
    try:
        use(None)
    except sb.SkybandError as error:
        print(error)
"""
    done = plain(code)
    assert done.stderr == ""
    assert done.stdout.count("this needs Spark, and PySpark is not installed") == 2


def test_without_spark_the_demo_shows_its_lists() -> None:
    done = skyband("demo", "--seconds", "1", "--queries", "5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'skyband[spark]'" in done.stdout
    assert "in one process" in done.stdout


def test_protobuf_is_missed_as_well() -> None:
    done = plain(
        "sys.meta_path[0].find_spec = lambda name, path=None, target=None: "
        "(_ for _ in ()).throw(ModuleNotFoundError(name)) if name.startswith('google') else None\n"
        "import skyband.spark"
    )
    assert "protobuf, which PySpark needs for its state, is not installed" in done.stderr
