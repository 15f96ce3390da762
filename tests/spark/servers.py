"""A real Kafka broker, a real PostgreSQL and a server of S3, started for the tests and gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

Package = tuple[str, str, str]
"""Group, artifact and version."""
BROKER: Package = ("org.apache.kafka", "kafka_2.13", "4.1.0")
SERVER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
num.partitions={partitions}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def kafka(folder: Path, partitions: int = 1) -> Iterator[str]:
    """`host:port` of a broker with one node, whose topics have so many partitions."""
    found, port = jars(folder, *BROKER), free_port()
    settings = folder / "server.properties"
    settings.write_text(SERVER.format(folder=folder, port=port, controller=free_port(), partitions=partitions))
    java = [str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java", "-cp", found]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    form = [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", str(settings)]
    subprocess.run(form, check=True, **silent)  # type: ignore[call-overload]
    broker = subprocess.Popen([*java, "-Xmx512m", "kafka.Kafka", str(settings)], **silent)  # type: ignore[call-overload]
    try:
        _wait(lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close())
        yield f"127.0.0.1:{port}"
    finally:
        broker.kill()
        broker.wait()


def jars(folder: Path, group: str, artifact: str, version: str) -> str:
    """The class path of a package and all that it needs, fetched by the Ivy that comes with Spark."""
    ivy, listing = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")), folder / "classpath"
    fetch = ["java", "-jar", str(ivy), "-dependency", group, artifact, version, "-confs", "default"]
    said = subprocess.run([*fetch, "-cachepath", str(listing)], capture_output=True, text=True, check=False)
    if said.returncode or not listing.exists():
        pytest.skip(f"{artifact}'s jars cannot be had from Maven")
    return listing.read_text().strip()


def hadoop_aws() -> Package:
    """S3 as Hadoop's file system, in the release that Spark was made with."""
    jar = next(Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar"))
    return "org.apache.hadoop", "hadoop-aws", jar.stem.rpartition("-")[2]


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database."""
    programs = _postgres_programs()
    # Its server does not run as root, and may not look into root's folders.
    folder, user = Path(tempfile.mkdtemp(prefix="skyband-postgres-")), "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    port, data = free_port(), folder / "data"
    how = {"user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    made = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(made, check=True, **how)  # type: ignore[call-overload]
    serve = [programs / "postgres", "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1", "-F"]
    server = subprocess.Popen(serve, **how)  # type: ignore[call-overload]
    try:
        address = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        _wait(lambda: _connect(address))
        yield address
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def s3() -> Iterator[str]:
    """`host:port` of an S3 server without buckets, which takes any key."""
    port = free_port()
    serve = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close())
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _postgres_programs() -> Path:
    found = [str(path) for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    program = found[0] if found else shutil.which("initdb")
    if program is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    return Path(program).parent


def table_rows(address: str, name: str) -> list[dict[str, Any]]:
    """The rows of a table, without what names them."""
    import psycopg
    from psycopg.rows import dict_row
    from psycopg.sql import SQL, Identifier

    with psycopg.connect(address, row_factory=dict_row) as connection:
        rows = connection.execute(SQL("SELECT * FROM {}").format(Identifier(name))).fetchall()
    return [{column: value for column, value in row.items() if column != "identity"} for row in rows]


def _connect(address: str) -> None:
    import psycopg

    psycopg.connect(address).close()


def _wait(works: Callable[[], None], seconds: float = 60) -> None:
    late = time.monotonic() + seconds
    while True:
        try:
            return works()
        except Exception:
            if time.monotonic() > late:
                raise
            time.sleep(0.2)
