"""Leases, notes, marks and folders one by one, in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import skyband as sb
from tests.spark import jobs
from tests.spark.test_ownership import TEXT, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from skyband.spark.io.sinks import Sink
    from skyband.spark.io.small_files import SmallFile

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]


def files(spark: SparkSession, path: Path) -> list[SmallFile]:
    """The same, as this machine's disk and as any file system of Hadoop's."""
    from skyband.spark.io.small_files import StoreFile, small_file
    from skyband.spark.io.storage import Storage

    place = Storage(spark, str(path))
    return [small_file(place), StoreFile(place)]


def test_small_files_are_written_whole_and_made_once(spark: SparkSession, tmp_path: Path) -> None:
    for file in files(spark, tmp_path / "a"):
        assert file.read() is None
        assert file.create("1")
        assert not file.create("2")
        file.write("3")
        assert file.read() == "3"
        assert sorted(each for each in os.listdir(tmp_path) if not each.endswith(".crc")) == ["a"]
        for path in tmp_path.iterdir():
            path.unlink()


def test_one_process_holds_a_lease(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skyband.spark.ownership import lease
    from skyband.spark.ownership.lease import Lease

    monkeypatch.setattr(lease, "LEASE", 1.0)
    monkeypatch.setattr(lease, "LOOK", 0.1)
    for file in files(spark, tmp_path / "a"):
        mine, other = Lease(file, "here", "job"), Lease(file, "here", "job")
        mine.take()
        with pytest.raises(sb.SkybandError, match=f"here is in use: process {os.getpid()} on"):
            other.take()
        mine.release()
        other.take()
        with pytest.raises(sb.SkybandError, match="not this job's to write any more"):
            mine.check()
        mine.beat()
        other.check()
        Lease(file, "elsewhere", "job").take()  # A folder that was copied brings a lease along.
        for path in tmp_path.iterdir():
            path.unlink()


def test_a_dead_holder_is_followed(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once on the same machine; from another when its lease has stood still, unless it beats."""
    from skyband.spark.ownership import lease
    from skyband.spark.ownership.lease import Lease
    from skyband.spark.ownership.processes import this_process

    monkeypatch.setattr(lease, "LEASE", 1.0)
    monkeypatch.setattr(lease, "LOOK", 0.1)
    (file, _), code = files(spark, tmp_path / "a"), "import sys; print(open('/proc/self/stat').read(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", f"{code}; sys.stdin.read()"], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        begun = child.stdout.readline().rpartition(")")[2].split()[19]
        process = this_process() | {"pids": {str(child.pid): begun}}
        held = {"job": "job", "where": "here", "holder": "x", "process": process}
        file.write(json.dumps(held))
        with pytest.raises(sb.SkybandError, match=f"process {child.pid} on"):
            Lease(file, "here", "job").take()
        child.kill()
        child.wait()
        monkeypatch.setattr(lease, "LEASE", 600.0)
        Lease(file, "here", "job").take()
    monkeypatch.setattr(lease, "LEASE", 1.0)
    far = held | {"process": process | {"machine": "another", "host": "far"}}
    file.write(json.dumps(far))
    beating = threading.Timer(0.3, file.write, [json.dumps(far | {"beats": 1})])
    beating.start()
    with pytest.raises(sb.SkybandError, match=r"on far writes to it\nexpected: one job at a time"):
        Lease(file, "here", "job").take()
    Lease(file, "here", "job").take()
    file.write('{"job": "job", "whe')
    Lease(file, "here", "job").take()


def test_a_jvm_that_outlives_its_process_is_waited_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once: "is in use", where a driver was killed and its JVM took some seconds to go."""
    from skyband.spark.ownership import lease
    from skyband.spark.ownership.lease import Lease
    from skyband.spark.ownership.processes import begun, this_process

    monkeypatch.setattr(lease, "LEASE", 1.0)
    monkeypatch.setattr(lease, "LOOK", 0.1)
    (file, _) = files(spark, tmp_path / "a")
    with subprocess.Popen(["sleep", "20"]) as jvm:
        process = this_process() | {"pids": {"999999999": "1", str(jvm.pid): begun(jvm.pid)}}
        file.write(json.dumps({"job": "job", "where": "here", "holder": "x", "process": process}))
        with pytest.raises(sb.SkybandError, match=f"here is in use: process {jvm.pid} on"):
            Lease(file, "here", "job").take()
        monkeypatch.setattr(lease, "LEASE", 600.0)
        ending = threading.Timer(0.5, jvm.kill)
        ending.start()
        caplog.clear()
        Lease(file, "here", "job").take()
        ending.join()
    assert caplog.messages == [f"process {jvm.pid} on {process['host']} may still write to here: waiting up to 600 s"]


def test_a_first_start_that_was_cut_off_while_it_wrote_its_note_is_done_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Once refused for ever: "skyband.json.new is cut short", of a checkpoint with which nothing was begun."""
    from skyband.spark.ownership.lease import Leases
    from skyband.spark.state.checkpoint import Checkpoint

    plan, leases = sb.Workload.from_sql(TEXT).plan(), Leases()
    (tmp_path / "skyband.json.new").write_text("")
    mine = Checkpoint(spark, str(tmp_path))
    assert mine.owner(leases).committed is None
    mine.claim(plan, mine.check(plan))
    leases.release()
    assert sorted(path.name for path in tmp_path.glob("skyband.json*")) == ["skyband.json"]


def test_a_note_that_is_cut_short_or_has_another_name(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once: "not one of `skyband run`", or a JSONDecodeError."""
    from skyband.spark.state.checkpoint import Checkpoint

    plan = sb.Workload.from_sql(TEXT).plan()
    mine = Checkpoint(spark, str(tmp_path))
    mine.claim(plan, mine.check(plan))
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("")
    note, beside = tmp_path / "skyband.json", tmp_path / "skyband.json.new"
    text = note.read_text()
    note.rename(beside)
    assert mine.check(plan).with_batch == {str(query): 0 for query in plan.queries}
    assert "skyband.json is missing; skyband.json.new beside it is whole" in caplog.text
    note.write_text(text[:100])
    assert mine.check(plan).with_batch
    assert "skyband.json is cut short" in caplog.text
    beside.unlink()
    with pytest.raises(sb.SkybandError, match=r"skyband.json is cut short: .* 100 letters are left"):
        mine.check(plan)
    note.rename(beside)
    with pytest.raises(sb.SkybandError, match=r"skyband.json.new is cut short"):
        mine.check(plan)


def stream(target: str) -> Sink:
    from skyband.spark.io.sinks import sink

    return sink(target, sb.Workload.from_sql(TEXT).plan())


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    monitor = sb.Monitor(sb.Workload.from_sql(TEXT))
    tables = [monitor.push(table) for table in jobs.trades(files=3, rate=5.0)]
    return spark.createDataFrame(pa.concat_tables([*tables, monitor.close()])).cache()


def test_of_two_jobs_on_an_empty_sink_one_has_it(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    """Once: both wrote, and 21 of 69 rows of one were left."""
    from skyband.spark.ownership.owner import Owner

    mine, other = Owner(checkpoint="mine"), Owner(checkpoint="other")
    target = stream(f"{tmp_path / 'out'}?every=batch")
    target.prepare(spark, mine)
    with pytest.raises(sb.SkybandError, match="out is in use: process"):
        stream(f"{tmp_path / 'out'}").prepare(spark, other)
    mine.leases.release()
    target.prepare(spark, other)
    target.write_batch(rows, 0)
    with pytest.raises(sb.SkybandError, match="is the sink of another job, whose checkpoint is other"):
        target.prepare(spark, mine)
    other.leases.release()


def test_only_what_is_ours_is_overwritten(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    from skyband.spark.ownership.owner import Owner

    target, out = stream(f"{tmp_path / 'out'}"), tmp_path / "out"
    target.write(rows)
    anew = Owner(overwrite=True)
    with pytest.raises(sb.SkybandError, match=r"nothing says that the rows in .*out are of a job of skyband's"):
        target.prepare(spark, anew)
    (out / "_skyband.lease").write_text(json.dumps({"job": "before", "holder": ""}))
    (out / "batch=1").mkdir()
    (out / "batch=1" / "mine.txt").write_text("do not lose me")
    with pytest.raises(sb.SkybandError, match=r"holds batch=1/mine.txt, which skyband has not written"):
        target.prepare(spark, anew)
    (out / "batch=1" / "mine.txt").unlink()
    target.prepare(spark, anew)
    assert os.listdir(out) == ["_skyband.lease"]
    anew.leases.release()


def test_rows_are_gathered_and_a_reader_never_sees_a_part(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off at every step between two folders, and done again: every row once, in few folders."""
    from skyband.spark.io.row_folders import RowFolders
    from skyband.spark.ownership.owner import Owner

    out = tmp_path / "out"

    def started(committed: int | None) -> Sink:
        owner, target = Owner("job", "", "ck", committed), stream(f"json:{out}?every=1 hour")
        target.prepare(spark, owner)
        owner.leases.release()
        return target

    def seen() -> list[int]:
        return RowFolders(spark, str(out)).shown()

    def part(number: int) -> DataFrame:
        return rows.where(f"pmod(rank, 5) = {number}").repartition(2)

    target = started(None)
    target.write_batch(part(0), 0)
    assert seen() == []
    target.settle(spark, 0, now=False)
    assert seen() == [0], "the first is shown as soon as it is done"
    target.write_batch(part(1), 1)
    target.write_batch(part(2), 2)
    target = started(1)  # Killed: 2 was written, and not committed.
    assert seen() == [0, 1]
    target.write_batch(part(2), 2)
    target.settle(spark, 2, now=True)
    monkeypatch.setattr(RowFolders, "drop_held", lambda self, numbers: None)
    target.write_batch(part(3), 3)
    target.settle(spark, 3, now=True)  # Killed between showing 3 and dropping what was held.
    monkeypatch.undo()
    target = started(3)
    target.write_batch(rows, 4)
    target.settle(spark, 4, now=True)  # Drained: the stream goes on with the same number.
    assert seen() == [0, 1, 2, 3, 4]
    target = started(3)
    target.write_batch(part(4), 4)
    assert seen() == [0, 1, 2, 3]
    target.settle(spark, 4, now=True)
    texts = [line for path in out.rglob("*.json") for line in path.read_text().splitlines()]
    assert jobs.bag(list(map(json.loads, texts))) == told(jobs.trades(files=3, rate=5.0))
    assert len(list((out / "batch=4").glob("*.json"))) == 1
    with pytest.raises(sb.SkybandError, match=r"the checkpoint ends with micro-batch 1, and .* micro-batch 4"):
        started(1)


def test_a_stopped_rename_shows_nothing(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    """While a micro-batch is written, and when that fails, nothing of it is there for a reader."""
    from pyspark.errors import PySparkException

    target = stream(str(tmp_path / "out"))
    target.write_batch(rows, 0)
    before = sorted(map(str, jobs.listed(tmp_path / "out").to_pylist()))
    failing = rows.repartition(3).selectExpr("*", "if(rank = 5, raise_error('no'), 0) AS more")
    for number in (0, 1):
        with pytest.raises(PySparkException, match="no"):
            target.write_batch(failing, number)
    assert sorted(map(str, jobs.listed(tmp_path / "out").to_pylist())) == before


def test_a_checkpoint_of_an_earlier_release_goes_on(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    """Its note knows of no job, and its sink has no mark: it gets one. Identities of its rows stay as they are."""
    from skyband.spark.ownership.lease import Leases
    from skyband.spark.state.checkpoint import Checkpoint
    from skyband.spark.state.note import NOTE

    plan, folder = sb.Workload.from_sql(TEXT).plan(), tmp_path / "ck"
    mine = Checkpoint(spark, str(folder))
    mine.claim(plan, mine.check(plan))
    note = json.loads((folder / NOTE).read_text())
    for name in ("job", "named", "state", "gone", "away", "sources", "sinks", "columns"):
        del note[name]
    (folder / NOTE).write_text(json.dumps(note))
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
        (folder / name / "0").write_text("")
    stream(str(tmp_path / "out")).write_batch(rows, 0)
    jobs_seen = set()
    for _ in range(2):
        known, leases = Checkpoint(spark, str(folder)), Leases()
        owner = known.owner(leases)
        joining = known.check(plan)
        stream(str(tmp_path / "out")).prepare(spark, owner)
        known.claim(plan, joining)
        leases.release()
        jobs_seen.add(owner.job)
        assert (owner.committed, owner.named) == (0, "")
    assert len(jobs_seen) == 1
    assert json.loads((tmp_path / "out" / "_skyband.lease").read_text())["job"] in jobs_seen
