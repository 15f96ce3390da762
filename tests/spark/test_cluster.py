"""Nothing assumes local mode: the same rows on a standalone cluster of two workers, and through Spark Connect."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband.datasets import market

pytestmark = [pytest.mark.spark, pytest.mark.slow]
JOB = Path(__file__).with_name("cluster_job.py")
SHORT = "[RANGE 20 SECONDS SLIDE 5 SECONDS]"
WORKLOAD = f"""
CREATE STREAM trades WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS);
CREATE STREAM doubtful WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS, PROBABILITY = p);
CREATE STREAM taken_back WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS, OP = op);
CREATE QUERY biggest AS SELECT TOP 5 symbol, price FROM trades {SHORT} ORDER BY price * size;
CREATE QUERY each AS SELECT TOP 2 PER symbol price FROM trades [RANGE 30 SECONDS SLIDE 10 SECONDS] ORDER BY size;
CREATE QUERY rows_ AS SELECT TOP 3 trade_id FROM trades [ROWS 500 SLIDE 100] ORDER BY price ASC;
CREATE QUERY lots AS SELECT TOP 3 size FROM trades {SHORT} OBJECT size ACROSS symbol (SUM) ORDER BY SUM(price);
CREATE QUERY sums AS SELECT TOP 2 symbol, SUM(size) AS sold FROM trades {SHORT} GROUP BY symbol ORDER BY sold;
CREATE QUERY likely AS SELECT TOP 3 trade_id FROM doubtful {SHORT} ORDER BY price * size;
CREATE QUERY kept AS SELECT TOP 4 trade_id, symbol FROM taken_back {SHORT} ORDER BY price;
"""
WORKLOAD += "".join(
    f"CREATE QUERY score{n} AS SELECT TOP 2 trade_id FROM trades [RANGE 15 SECONDS SLIDE 5 SECONDS] "
    f"ORDER BY {n} * price + size;\n"
    for n in range(9)
)
"""A query of every kind. The three streams have the same times, so Spark moves them on as a Monitor does."""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers on loopback, each a process of its own."""
    import pyspark

    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("cluster")
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    shared = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    deploy = "org.apache.spark.deploy"
    ports = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(_free_port())]
    commands = [[f"{deploy}.master.Master", *ports]]
    for _ in range(2):
        web = ["--webui-port", str(_free_port())]
        commands.append([f"{deploy}.worker.Worker", "--cores", "1", "--memory", "1g", *web, master])
    started = []
    for number, command in enumerate(commands):
        with (folder / f"{number}.log").open("w") as log:
            words = [str(home / "bin" / "spark-class"), *command]
            started.append(subprocess.Popen(words, env=shared, stdout=log, stderr=log))
        _wait_for(folder / f"{number}.log", "started|Registering worker|registered with master|I have been elected")
    yield master
    for process in reversed(started):
        process.terminate()
        process.wait(30)


def _wait_for(log: Path, said: str) -> None:
    for _ in range(120):
        if re.search(said, log.read_text()):
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text())


def _job(master: str, folder: Path) -> dict[str, list[list[Any]]]:
    (folder / "workload.sql").write_text(WORKLOAD)
    ticks = list(market(seconds=60, rate=50, symbols=5))
    for number in range(4):
        for name, table in _streams(pa.concat_tables(ticks[15 * number : 15 * number + 15])).items():
            path = folder / "in" / name / f"{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(JOB), master, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    found: dict[str, list[list[Any]]] = json.loads((folder / "found.json").read_text())
    return found


def _streams(trades: pa.Table) -> dict[str, pa.Table]:
    """One record in four has another's key, and takes it back."""
    key = trades["trade_id"].to_numpy()
    back = key % 4 == 3
    likely = pa.array((1 + key % 19) / 20)
    taken_back = trades.set_column(trades.column_names.index("trade_id"), "trade_id", pa.array(key - 5 * back))
    return {
        "trades": trades,
        "doubtful": trades.append_column("p", likely),
        "taken_back": taken_back.append_column("op", pa.array(np.where(back, "D", "I"))),
    }


def _expected(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """All rows, and those that the last watermark reached."""
    monitor = sb.Monitor(sb.Workload.from_sql(WORKLOAD))
    pushed = [
        monitor.push(pq.read_table(folder / "in" / stream.name / f"{number}.parquet"), stream.name)
        for stream in monitor.workload.streams
        for number in range(4)
    ]
    reached = [[str(value) for value in row.values()] for table in pushed for row in table.to_pylist()]
    return reached + [[str(value) for value in row.values()] for row in monitor.close().to_pylist()], reached


def _check(found: dict[str, list[list[Any]]], folder: Path) -> None:
    everything, reached = _expected(folder)
    assert sorted(found["batch"]) == sorted(everything)
    assert sorted(found["stream"]) == sorted(reached)


def test_on_a_standalone_cluster(cluster: str, tmp_path: Path) -> None:
    _check(_job(cluster, tmp_path), tmp_path)


@pytest.mark.skipif(find_spec("grpc") is None, reason="Spark Connect needs grpcio, which is not installed")
def test_through_spark_connect(tmp_path: Path) -> None:
    _check(_job("connect", tmp_path), tmp_path)
