"""`over()` warns about settings that cost; the commands make them themselves."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import skyband as sb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
WORKLOAD = sb.Workload(
    [sb.TopK("best", 3, "value", "10 seconds", "5 seconds")], stream=sb.Stream("ticks", time="timestamp")
)
COMMAND = """
from skyband.spark.session import session
spark = session(True, master="local[3]", keys=2, checkpoint="check")
for name in ("shuffle.partitions", "execution.arrow.maxRecordsPerBatch", "streaming.stateStore.providerClass",
             "streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "session.timeZone",
             "streaming.checkpointFileManagerClass"):
    print(spark.conf.get(f"spark.sql.{name}"))
print(spark.conf.get("spark.databricks.delta.snapshotPartitions", "50"))

def found(batches):
    import os, sys, pyarrow, pyspark
    for _ in batches:
        pass
    zipped = ".zip" in pyspark.__file__
    yield pyarrow.record_batch({"found": [f"{os.getppid()}|{zipped}|{'skyband.spark.stages.maintain' in sys.modules}"]})

told = [row.found.split("|") for row in spark.range(2).mapInArrow(found, "found STRING").collect()]
print(len({parent for parent, *_ in told}), *told[0][1:])
"""


@pytest.fixture
def theirs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session of somebody else: Spark's defaults."""
    from skyband.spark import settings

    monkeypatch.setattr(settings, "_told", set())
    other = spark.newSession()
    other.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    other.conf.set("spark.sql.shuffle.partitions", "200")
    other.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.HDFSBackedStateStoreProvider")
    return other


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().split(":")[0] for record in caplog.records if record.levelno == logging.WARNING]


def test_a_stream_with_the_defaults_is_warned_once(theirs: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    ticks = theirs.readStream.format("rate").load()
    for _ in range(2):
        WORKLOAD.over(ticks)
    said = warned(caplog)
    assert [text.split(" is ")[0].removeprefix("spark.sql.") for text in said] == [
        "execution.arrow.maxRecordsPerBatch",
        "shuffle.partitions",
        "streaming.stateStore.providerClass",
    ]


def test_rocksdb_without_a_changelog_is_mentioned(theirs: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    from skyband.spark.settings import ARROW_ROWS, CHANGELOG, PARTITIONS, PROVIDER, ROCKSDB

    for name, value in ((ARROW_ROWS, "100000"), (PARTITIONS, "2"), (PROVIDER, ROCKSDB), (CHANGELOG, "false")):
        theirs.conf.set(name, value)
    WORKLOAD.over(theirs.readStream.format("rate").load())
    assert warned(caplog) == [f"{CHANGELOG} is false"]


def test_good_settings_are_not_talked_about(theirs: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    from skyband.spark.settings import ARROW_ROWS

    theirs.conf.set(ARROW_ROWS, "100000")
    WORKLOAD.over(theirs.createDataFrame([], "timestamp TIMESTAMP, value BIGINT"))
    assert warned(caplog) == [], "a batch pays neither for partitions nor for a state store"


def test_the_commands_set_what_suits(tmp_path: object) -> None:
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == [
        "2", "100000", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider", "true", "UTC",
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager", "3",
        # Python workers: forked by one process, PySpark out of the package, ours imported before their first task.
        "1", "False", "True",
    ], done.stderr  # fmt: skip


def processes(spark: SparkSession, act: Callable[[], object], folder: Path) -> list[str]:
    """What the JVM starts meanwhile, as its own recorder tells."""
    jvm: Any = spark._jvm
    flight, path = jvm.jdk.jfr, jvm.java.io.File(str(folder / "flight")).toPath()
    recording = flight.Recording()
    recording.enable("jdk.ProcessStart")
    recording.start()
    act()
    recording.stop()
    recording.dump(path)
    recording.close()
    return [str(event.getString("command")) for event in flight.consumer.RecordingFile.readAllEvents(path)]


def test_a_checkpoint_on_a_disk_asks_no_process_for_links(theirs: SparkSession, tmp_path: Path) -> None:
    """And goes on where Spark's usual way has left it."""
    from skyband.spark.settings import FILE_MANAGER, PARTITIONS, PROVIDER, ROCKSDB, suit_checkpoint

    for name, value in ((PARTITIONS, "1"), (PROVIDER, ROCKSDB)):
        theirs.conf.set(name, value)
    theirs.conf.unset(FILE_MANAGER)
    check = str(tmp_path / "check")

    def step() -> None:
        counted = theirs.readStream.schema("id BIGINT").parquet(str(tmp_path / "in")).groupBy().count()
        writer = counted.writeStream.format("memory").queryName("seen").outputMode("complete")
        writer.option("checkpointLocation", check).trigger(availableNow=True).start().awaitTermination()

    asked = []
    for _ in range(2):
        theirs.range(20).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        asked.append(sum(each.startswith("readlink") for each in processes(theirs, step, tmp_path)))
        suit_checkpoint(theirs, check)
    assert asked[0] > 20, "Spark's usual way"
    assert asked[1] == 0
    assert theirs.table("seen").first() == (40,)


def test_a_checkpoint_elsewhere_or_chosen_stays_with_its_way(theirs: SparkSession, tmp_path: Path) -> None:
    from skyband.spark.settings import FILE_MANAGER, suit_checkpoint

    theirs.conf.unset(FILE_MANAGER)
    for place in ("hdfs://nowhere:9000/check", "s3a://bucket/check"):
        suit_checkpoint(theirs, place)
        assert theirs.conf.get(FILE_MANAGER, None) is None
    theirs.conf.set(FILE_MANAGER, "one.of.Theirs")
    suit_checkpoint(theirs, str(tmp_path))
    assert theirs.conf.get(FILE_MANAGER) == "one.of.Theirs"


UNACTIVATED = """
import skyband as sb
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
df = spark.range(100).selectExpr("timestamp_seconds(id) AS ts", "cast(id * 37 % 101 AS DOUBLE) AS x")
best = sb.TopK("best", 2, "x", "10 seconds")
print(sb.Workload([best], stream=sb.Stream("s", time="ts")).over(df).count())
"""


@pytest.mark.slow
def test_an_environment_that_is_not_activated_is_used_all_the_same(tmp_path: Path) -> None:
    """The python3 on PATH is another one, and knows nothing of skyband."""
    (tmp_path / "python3").symlink_to("/usr/bin/false")
    known = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": os.environ["HOME"], "JAVA_HOME": java_home()}
    known["JDK_JAVA_OPTIONS"] = os.environ["JDK_JAVA_OPTIONS"]
    done = subprocess.run([sys.executable, "-c", UNACTIVATED], env=known, capture_output=True, text=True, check=False)
    assert done.stdout == "20\n", done.stderr


def java_home() -> str:
    java = shutil.which("java")
    return os.environ.get("JAVA_HOME") or str(Path(java or "").resolve().parents[1])
