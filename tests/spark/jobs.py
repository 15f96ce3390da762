"""`skyband run` as a person runs it: another process."""

from __future__ import annotations

import atexit
import json
import os
import re
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import skyband as sb
from skyband.datasets import market

WORKLOAD = """CREATE STREAM trades
  (ts TIMESTAMP, trade_id BIGINT, symbol STRING, price DOUBLE, size BIGINT, change DOUBLE)
  WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS);
CREATE QUERY biggest AS SELECT TOP 5 trade_id, symbol FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS]
  ORDER BY price * size DESC;
CREATE QUERY largest AS SELECT TOP 3 trade_id FROM trades [RANGE 25 SECONDS SLIDE 5 SECONDS] ORDER BY price * size DESC;
CREATE QUERY leaders AS SELECT TOP 2 PER symbol trade_id FROM trades [ROWS 50 SLIDE 20] ORDER BY abs(change) DESC;
CREATE QUERY entering AS SELECT TOP 4 trade_id FROM trades [RANGE 1 MINUTE SLIDE 15 SECONDS]
  ORDER BY size ASC EMIT CHANGES;
CREATE QUERY lots AS SELECT TOP 3 size FROM trades [RANGE 25 SECONDS SLIDE 5 SECONDS]
  OBJECT size ACROSS symbol (SUM) ORDER BY SUM(price) DESC;
"""
RANGED = ";".join(part for part in WORKLOAD.split(";") if "[ROWS" not in part)
"""Without windows of rows, which take every record, however late."""
SECONDS_A_FILE = 20


def write_workload(folder: Path, text: str = WORKLOAD) -> Path:
    path = folder / "trades.sql"
    path.write_text(text)
    return path


def workload() -> sb.Workload:
    return sb.Workload.from_sql(WORKLOAD)


def trades(files: int, rate: float = 20.0) -> list[pa.Table]:
    """Tables of a stream, in the order in which they arrive."""
    ticks = list(market(seconds=files * SECONDS_A_FILE, rate=rate, symbols=4))
    cuts = range(0, len(ticks), SECONDS_A_FILE)
    return [pa.concat_tables(ticks[low : low + SECONDS_A_FILE]).combine_chunks() for low in cuts]


def write_files(folder: Path, tables: list[pa.Table], first: int = 0) -> None:
    """Files that a stream reads one after the other, with numbers from `first` on."""
    folder.mkdir()
    for number, table in enumerate(tables, first):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1e9 + number, 1e9 + number))


def monitored(tables: list[pa.Table]) -> pa.Table:
    """What a Monitor says of the same tables, to the end."""
    monitor = sb.Monitor(sb.Workload.from_sql(WORKLOAD))
    return pa.concat_tables([*(monitor.push(table) for table in tables), monitor.close()])


def bag(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as sorted text, to be compared as a bag: without nulls, times as UTC."""
    return sorted(
        str(sorted((name, _plain(value)) for name, value in row.items() if value is not None)) for row in rows
    )


def _plain(value: object) -> object:
    """A time with a zone, however it is written, as the same text."""
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def listed(folder: Path) -> pa.Table:
    """Every Parquet file below a folder, as a reader takes them that knows nothing of Spark; names that begin with an
    underscore are hidden."""
    files = sorted(path for path in folder.rglob("*.parquet") if "/_" not in str(path.relative_to(folder.parent)))
    return pa.concat_tables([pq.read_table(path, partitioning=None) for path in files])


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "skyband", *map(str, words)]


def skyband(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=900, check=False, env=os.environ | environment
    )


class Warm:
    """A process that runs one command after the other, with one JVM. What they say is what it adds to two files."""

    def __init__(self, folder: Path, module: str = "tests.spark.warm_command", *more: str) -> None:
        self._said = [folder / "out", folder / "err"]
        self._read = [0, 0]
        self._answers, answers = os.pipe()
        with self._said[0].open("ab") as out, self._said[1].open("ab") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(answers), *more],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                pass_fds=[answers],
                text=True,
                start_new_session=True,
            )
        os.close(answers)

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin is not None
        print(json.dumps([str(word) for word in words]), file=self._process.stdin, flush=True)
        with selectors.DefaultSelector() as ready:
            ready.register(self._answers, selectors.EVENT_READ)
            code = os.read(self._answers, 16) if ready.select(900) else b""
        assert code, f"{words} brought the process down, or to a halt: {self._rest(1)}"
        return subprocess.CompletedProcess(words, int(code), self._rest(0), self._rest(1))

    def _rest(self, number: int) -> str:
        with self._said[number].open("rb") as file:
            file.seek(self._read[number])
            said = file.read()
        self._read[number] += len(said)
        return said.decode()

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        os.close(self._answers)


@cache
def _warm() -> Warm:
    folder = TemporaryDirectory()
    found = Warm(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(found.end)
    return found


def warm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The same in a process that may have run other commands before: for what is not about beginning and end of a
    process, nor about connectors or settings that a JVM is started with."""
    return _warm().run(*words)
