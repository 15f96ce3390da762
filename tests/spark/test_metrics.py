"""Numbers of a job: the same as a Monitor's for the same tables, in the status line and as Prometheus text."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import skyband as sb
from skyband.datasets.disorder import disordered
from tests import support
from tests.drawn import examples
from tests.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
SECOND = 1_000_000
COUNTS = ("late", "dropped", "unranked")


def troubled(files: int) -> list[pa.Table]:
    """A stream in whole milliseconds with late records, some without a price, some without a time."""
    whole = pa.concat_tables(jobs.trades(files, rate=5.0)).combine_chunks()
    whole = whole.set_column(0, "ts", pc.floor_temporal(whole.column("ts"), unit="millisecond"))
    whole = disordered(whole, "ts", 2 * SECOND, seed=3, late=0.05)
    number = np.arange(len(whole))
    for place, every, name in ((0, 97, "ts"), (3, 41, "price")):
        column = pc.if_else(pa.array(number % every == 5), None, whole.column(name))
        whole = whole.set_column(place, whole.schema.field(name), column)
    each = -(-len(whole) // files)
    cut = [whole.slice(each * place, each) for place in range(files)]
    # A few come too late for some of their windows, a few for all of them.
    cut[2], cut[-1] = pa.concat_tables([cut[2], cut[1].slice(10, 3)]), pa.concat_tables([cut[-1], cut[0].slice(10, 4)])
    cut[0], cut[1] = (pa.concat_tables([part.slice(0, 10), part.slice(14)]) for part in cut[:2])
    return cut


def calls(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> int:
    """How often the JVM is asked something meanwhile."""
    from py4j.clientserver import ClientServerConnection  # type: ignore[import-untyped]

    asked: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: object, command: str, *more: object, **said: object) -> object:
        if not command.startswith("m\n"):  # Objects that are not needed any more, whoever had them.
            asked.append(command)
        return send(self, command, *more, **said)

    with monkeypatch.context() as patched:
        patched.setattr(ClientServerConnection, "send_command", counted)
        act()
    return len(asked)


def test_rows_are_counted_in_as_many_calls_however_many_queries_there_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skyband.spark.metrics import Measures, Reports

    rows = spark.range(1).selectExpr("'q1' AS query", "timestamp_seconds(id) AS window_end")
    found: dict[int, int] = {}
    for count in (2, 80):
        queries = [sb.TopK(f"q{n}", 3, "x", "100 seconds", f"{n + 1} seconds") for n in range(count)]
        plan = sb.Workload(queries, stream=sb.Stream("s", time="t")).plan()
        reports = Reports(plan, Measures.of(plan))
        reports.watch(rows)
        found[count] = calls(monkeypatch, partial(reports.watch, rows))
    assert found[80] <= found[2] + 10, found


@pytest.mark.smoke
@pytest.mark.parametrize(("listens", "scans"), [(True, False), (False, True)])
def test_a_stream_counts_what_a_monitor_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listens: bool, scans: bool
) -> None:
    """Whether Spark's listener has heard of every micro-batch by then, of some or of none; whoever reads the files."""
    from skyband.spark.io.sinks import Noop
    from skyband.spark.metrics import Measures
    from skyband.spark.progress import Listener, Progress

    tables, workload = troubled(files=5), sb.Workload.from_sql(jobs.RANGED)
    jobs.write_files(tmp_path / "in", tables)
    files = str(tmp_path / "in")
    df = spark.readStream.schema(spark.read.parquet(files).schema).option("maxFilesPerTrigger", 1).parquet(files)
    measures = Measures.of(workload.plan())
    listener = Listener(measures)
    if listens:
        spark.streams.addListener(listener)
    try:
        scan = sb.scan(files, spark=spark, streaming=True, maxFilesPerTrigger="1")
        writer = workload.over(scan if scans else df).writeStream.foreachBatch(Noop().write_batch)
        query = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
        query.awaitTermination()
        measures.settle(query)
    finally:
        if listens:
            spark.streams.removeListener(listener)
    told = query._jsq.lastProgress()
    assert calls(monkeypatch, lambda: Progress.of(told)) < 20
    assert measures.counts["records"] == sum(map(len, tables))
    assert measures.batches == len([path for path in (tmp_path / "ck" / "commits").iterdir() if path.name.isdigit()])
    monitor = sb.Monitor(workload)
    for table in tables:
        monitor.push(table)
    counted = monitor.counters
    found = measures.counts
    assert {name: found[name] for name in COUNTS} == {name: counted[name] for name in COUNTS}
    assert found["bad"] == sum(counted["bad"].values())
    assert measures.reports == {name: each["reports"] for name, each in counted["queries"].items()}
    assert min(measures.reports.values()) > 0
    assert all(found[name] for name in (*COUNTS, "bad")), "the stream has some of everything"
    for name, family in measures.families.items():
        kept = counted["families"][name]["candidates"]
        # An engine that is rebuilt from rows in every micro-batch forgets some of them earlier than one that goes on;
        # objects are spread over buckets, and each keeps what its own list may need.
        most = kept if family.engine != "eaa" else 8 * kept
        assert kept // 2 < sum(family.kept.values()) <= most
    assert measures.state_bytes > 0
    assert {name for name, family in measures.families.items() if family.kept} == set(counted["families"])


@examples(60)
@given(
    workload=support.workloads(kinds=("range",)),
    at=st.lists(st.integers(-60, 60), max_size=40),
    watermark=st.integers(-80, 80),
)
def test_counts_by_stretches_of_time_are_counts_of_records(
    workload: sb.Workload, at: list[int], watermark: int
) -> None:
    from skyband.runtime.lateness import Lateness

    families = workload.plan().families
    lateness = Lateness.of(list(families))
    seen = lateness.times(np.array(at, np.int64))
    old = np.array([each for each in at if each < watermark], np.int64)
    ends = [meta.window_ends(old) for meta in lateness.metas]
    late = (np.concatenate([first for first, _ in ends]) <= watermark).any(axis=0).sum()
    dropped = (np.concatenate([last for _, last in ends]) <= watermark).all(axis=0).sum()
    assert (seen is None) == (not at)
    if seen is not None:
        times, records = seen.column("at").to_numpy(), seen.column("records").to_numpy()
        assert lateness.count(times, watermark, records) == (late, dropped)
        assert lateness.count(np.array(at, np.int64), watermark) == (late, dropped)


def test_a_job_says_its_numbers_while_it_runs(tmp_path: Path) -> None:
    """Prometheus asks it; Ctrl-C ends it in order; the last line sums up. With --log every line is one of the log."""
    tables = troubled(files=5)
    jobs.write_files(tmp_path / "in", tables)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    source = f"trades={tmp_path / 'in'}?maxFilesPerTrigger=1"
    words: list[str | Path] = ["run", jobs.write_workload(tmp_path, jobs.RANGED), "--source", source]
    words += ["--sink", "noop", "--stream", "--master", "local[2]", "--metrics", f":{port}", "--log", "json"]
    with (tmp_path / "said").open("w") as said:
        job = subprocess.Popen(jobs.command(*words), stdout=said, stderr=said)
    try:
        records = f"skyband_records_total {float(sum(map(len, tables)))}"
        wait_for(lambda: records in (text := scraped(port)) and "skyband_report_delay_seconds{" in text, 300)
        text, health = scraped(port), json.loads(scraped(port, "healthz"))
    finally:
        job.send_signal(signal.SIGINT)
        assert job.wait(60) == 130, (tmp_path / "said").read_text()
    assert health["status"] == "running"
    assert health["batch"] >= 4
    assert abs(datetime.fromisoformat(health["last_success"]).timestamp() - time.time()) < 120
    assert re.search(r"^skyband_stalled 0", text, re.MULTILINE), text
    assert re.search(r"^skyband_lag_seconds [1-9]", text, re.MULTILINE), text
    for name in ("late", "dropped", "unranked", "bad"):
        assert re.search(rf"^skyband_{name}_total [1-9]", text, re.MULTILINE), text
    families = sb.Workload.from_sql(jobs.RANGED).plan().families
    for each in families:
        label = f'family="{each.family.fingerprint}"'
        assert re.search(rf"^skyband_candidates{{.*{label}.*}} [1-9]", text, re.MULTILINE), text
    assert re.search(r"^skyband_state_bytes [1-9]", text, re.MULTILINE)
    assert re.search(r'^skyband_reports_total{query="biggest"} [1-9]', text, re.MULTILINE), text
    lines = [json.loads(line) for line in (tmp_path / "said").read_text().splitlines()]
    assert all(line["stream"] == "trades" and datetime.fromisoformat(line["time"]) for line in lines)
    done = [line for line in lines if line["message"] == "micro-batch done"]
    assert [line["batch"] for line in done][:5] == [0, 1, 2, 3, 4]
    assert sum(line["records"] for line in done) == sum(map(len, tables))
    assert any(line["level"] == "WARNING" and "record left out" in line["message"] for line in lines), (
        "what a worker says"
    )
    last = lines[-1]["message"]
    assert re.fullmatch(
        r"\d+ records in \d+ micro-batches, \d+ reports, \d+ rows, \d+ late, \d+ dropped, \d+ unranked, \d+ bad", last
    )


def test_a_wrong_address_is_refused() -> None:
    from skyband.cli.exporter import serve
    from skyband.spark.metrics import Measures

    with pytest.raises(sb.SkybandError, match="--metrics 9400 is no address"):
        serve(Measures({}), "9400")


def scraped(port: int, path: str = "metrics") -> str:
    try:
        with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text
    except OSError:
        return ""


def wait_for(works: object, seconds: float = 30) -> None:
    assert callable(works)
    late = time.monotonic() + seconds
    while not works():
        assert time.monotonic() < late, "it never came true"
        time.sleep(0.2)
