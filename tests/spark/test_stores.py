"""Files on other file systems than this machine's: Spark lists them, tasks open them with Arrow, one configuration
serves both; what Arrow cannot open Spark reads, and `explain` says so."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import skyband as sb
from tests.spark import jobs, servers
from tests.spark.test_scan import ONE, counted, typed, way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::FutureWarning")]
BUCKET = "lake"
BIGGEST = ";".join(jobs.WORKLOAD.split(";")[:2]) + ";"
"""One query is enough."""


@pytest.fixture(scope="module")
def bucket(s3: str) -> fs.SubTreeFileSystem:
    """A bucket to write into."""
    found = fs.S3FileSystem(
        access_key="key", secret_key="secret", endpoint_override=s3, scheme="http", allow_bucket_creation=True
    )
    found.create_dir(BUCKET)
    return fs.SubTreeFileSystem(BUCKET, found)


def settings(s3: str, **more: str) -> dict[str, str]:
    """What Spark is told of the server. (Not how to reach Amazon's own, which nothing here can.)"""
    said = {"access.key": "key", "secret.key": "secret", "endpoint": f"http://{s3}", "path.style.access": "true"}
    return {f"fs.s3a.{name}": value for name, value in (said | more).items()}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {}),
        (
            {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b", "fs.s3a.session.token": "c"},
            {"access_key": "a", "secret_key": "b", "session_token": "c"},
        ),
        (
            {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b", "fs.s3a.bucket.lake.access.key": "of lake"},
            {"access_key": "of lake", "secret_key": "b"},
        ),
        (
            {"fs.s3a.endpoint": "host:9000", "fs.s3a.connection.ssl.enabled": "false", "fs.s3a.endpoint.region": "x"},
            {"endpoint_override": "host:9000", "scheme": "http", "force_virtual_addressing": True, "region": "x"},
        ),
        (
            {"fs.s3a.endpoint": "https://host", "fs.s3a.path.style.access": "true"},
            {"endpoint_override": "host", "scheme": "https", "force_virtual_addressing": False},
        ),
        ({"fs.s3a.aws.credentials.provider": "org.x.AnonymousAWSCredentialsProvider"}, {"anonymous": True}),
    ],
)
def test_hadoops_settings_are_arrows_arguments(said: dict[str, str], expected: dict[str, Any]) -> None:
    from skyband.spark.io.stores import arguments

    found = dict(arguments("s3a", "lake", said.get))
    assert found == expected
    assert isinstance(fs.S3FileSystem(**{"region": "x"} | found), fs.S3FileSystem)


def test_an_accounts_key_opens_its_containers() -> None:
    from skyband.spark.io.stores import Stores, arguments

    place = ("abfss", "box@me.dfs.core.windows.net")
    known = arguments(*place, {"fs.azure.account.key.me.dfs.core.windows.net": "a2V5"}.get)
    system, path = Stores({place: known}).reached("abfss://box@me.dfs.core.windows.net/a%20b/c.parquet")
    assert isinstance(system, fs.AzureFileSystem)
    assert path == "box/a b/c.parquet"


class OnS3:
    """Commands whose Spark knows the server, in one process."""

    def __init__(self, folder: Path, said: dict[str, str]) -> None:
        known = {f"spark.hadoop.{name}": value for name, value in said.items()}
        # As a package all of it, 650 MB, would be copied for every command.
        known["spark.driver.extraClassPath"] = servers.jars(folder, *servers.hadoop_aws())
        (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in known.items()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPARK_CONF_DIR", str(folder))
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                patch.delenv(name)
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            self._commands = jobs.Warm(folder)
        self.end = self._commands.end

    def __call__(self, *words: str | Path) -> str:
        done = self._commands.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def command(s3: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnS3]:
    found = OnS3(tmp_path_factory.mktemp("conf"), settings(s3))
    yield found
    found.end()


def test_tasks_read_a_bucket_with_the_keys_that_spark_has(
    command: OnS3, bucket: fs.SubTreeFileSystem, tmp_path: Path
) -> None:
    """A batch and a stream, names with odd letters: the rows of a Monitor that was given the same tables."""
    workload, tables = jobs.write_workload(tmp_path, BIGGEST), jobs.trades(3)
    for number, table in enumerate(tables):
        folder = f"in/part={number % 2} %+#ü"
        bucket.create_dir(folder)
        pq.write_table(table, f"{folder}/{number} of them.parquet", filesystem=bucket)
    source = ["--source", f"trades=s3a://{BUCKET}/in"]
    said = command("run", workload, *source, "--sink", tmp_path / "batch")
    assert "tasks read the files with Arrow (3 files, 3 row groups" in said
    stream: list[str | Path] = ["--stream", "--once", "--drain", "--checkpoint", tmp_path / "ck"]
    said = command("run", workload, *source, "--sink", tmp_path / "stream", *stream)
    assert "new ones as Spark's log of files tells" in said
    monitor = sb.Monitor(sb.Workload.from_sql(BIGGEST))
    rows = pa.concat_tables([*(monitor.push(table) for table in tables), monitor.close()])
    expected = jobs.bag(rows.to_pylist())
    assert expected
    assert jobs.bag(jobs.listed(tmp_path / "batch").to_pylist()) == expected
    assert jobs.bag(jobs.listed(tmp_path / "stream").to_pylist()) == expected


def test_what_arrow_cannot_reach_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A file system of Hadoop's that Arrow knows of, but not how it is put together here."""
    from skyband.spark.scan import scanned

    pq.write_table(typed().select(["ts", "id", "score"]), tmp_path / "in.parquet")
    mounted: dict[str, Any] = {"fs.viewfs.mounttable.t.link./in": tmp_path.as_uri()}
    scan = sb.scan("viewfs://t/in", spark=spark, **mounted)
    said = way(ONE, scan)
    assert said.startswith("Spark reads the records: Arrow cannot read viewfs://t/in/in.parquet: ")
    assert "\n" not in said
    rows = counted(ONE, scan)
    assert rows[0]
    assert rows == counted(ONE, spark.read.parquet(str(tmp_path)))
    stream = sb.scan("viewfs://t/in", spark=spark, streaming=True, **mounted)
    assert "Arrow cannot read viewfs://t/in/in.parquet: " in way(ONE, stream)
    (tmp_path / "empty").mkdir()
    read = spark.readStream.schema(scan.frame.schema).options(**mounted).parquet("viewfs://t/in/empty")
    stream = scanned(read, "parquet", ("viewfs://t/in/empty",), mounted, read)
    assert "Spark reads the records: Arrow cannot reach viewfs://t/in/empty: " in way(ONE, stream)


def test_an_unknown_scheme_is_no_place_for_arrow() -> None:
    from skyband.spark.io.stores import Stores

    with pytest.raises(pa.ArrowInvalid, match="odd"):
        Stores().open("odd://there/a.parquet")


class Counted(io.FileIO):
    """A file that counts how often it is read from, as a server of files counts requests."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        Counted.reads += 1
        return super().read(-1 if size is None else size) or b""


def test_columns_of_a_file_far_away_come_in_few_requests(tmp_path: Path) -> None:
    from skyband.spark.io.parquet_files import ParquetReader

    columns = {f"c{place}": list(range(5_000)) for place in range(12)}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")

    def requests(is_near: bool) -> int:
        file = ParquetReader(pa.PythonFile(Counted(tmp_path / "in.parquet"), "r"), is_near)
        before = Counted.reads
        assert file.read(0, list(columns)).num_columns == 12
        file.close()
        return Counted.reads - before

    assert requests(is_near=True) == 12
    assert requests(is_near=False) == 1
