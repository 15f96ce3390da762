"""A Spark stream that runs for hours: memory of every process after collection, state, and files, minute by minute.

python -m tests.soak.stream FOLDER 7200
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tests.soak.memory import below, classes, command_of, heap, per_hour, resident

WORKLOAD = """CREATE STREAM trades
  (ts TIMESTAMP, trade_id BIGINT, symbol STRING, price DOUBLE, size BIGINT, change DOUBLE)
  WITH (TIME = ts, KEY = trade_id, LATENESS = 2 SECONDS, AHEAD = NONE);
CREATE QUERY biggest AS SELECT TOP 5 trade_id, symbol FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE]
  ORDER BY price * size DESC;
CREATE QUERY shorter AS SELECT TOP 3 trade_id FROM trades [RANGE 1 MINUTE SLIDE 30 SECONDS] ORDER BY price * size DESC;
CREATE QUERY leaders AS SELECT TOP 2 PER symbol trade_id FROM trades [RANGE 2 MINUTES] ORDER BY abs(change) DESC;
CREATE QUERY counted AS SELECT TOP 3 trade_id FROM trades [ROWS 5000 SLIDE 1000] ORDER BY size DESC;
CREATE QUERY turns AS SELECT TOP 4 trade_id FROM trades [RANGE 2 MINUTES SLIDE 1 MINUTE] ORDER BY size ASC EMIT CHANGES;
CREATE QUERY lots AS SELECT TOP 3 size FROM trades [RANGE 2 MINUTES SLIDE 1 MINUTE]
  OBJECT size ACROSS symbol (SUM) ORDER BY SUM(price) DESC;
CREATE QUERY symbols AS SELECT TOP 3 symbol, SUM(size) AS shares FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE]
  GROUP BY symbol ORDER BY shares DESC;
"""
Sample = dict[str, float]
MOST = 30
"""Classes of the JVM that are told of: what they have at the end, and how much more than after a third of the time."""


def run(folder: Path, seconds: float, every: float, log: IO[str]) -> list[Sample]:
    """Samples of a job that is given so long after its first one."""
    (folder / "soak.sql").write_text(WORKLOAD)
    job = subprocess.Popen(_command(folder), start_new_session=True, stdout=subprocess.DEVNULL, stderr=log)
    try:
        _wait_for_rows(folder / "out", job)
        return list(_samples(job, folder, seconds, every))
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait(60)


def _command(folder: Path) -> list[str]:
    words = ["run", folder / "soak.sql", "--source", "trades=market://?rate=20&speed=30"]
    words += ["--sink", f"{folder / 'out'}?every=10 seconds", "--stream", "--checkpoint", folder / "checkpoint"]
    words += ["--trigger", "5 seconds", "--log", "json"]
    return [sys.executable, "-m", "skyband", *map(str, words)]


def _wait_for_rows(out: Path, job: subprocess.Popen[bytes]) -> None:
    late = time.monotonic() + 300
    while not any(out.glob("batch=*/part-*")):
        assert job.poll() is None, "the job has ended"
        assert time.monotonic() < late, "no rows came"
        time.sleep(1)


def _samples(job: subprocess.Popen[bytes], folder: Path, seconds: float, every: float) -> Iterator[Sample]:
    began, before = time.monotonic(), dict[str, float]()
    while (gone := time.monotonic() - began) < seconds:
        assert job.poll() is None, "the job has ended"
        found = {"seconds": gone} | _memory(job.pid) | _disk(folder)
        with (folder / "samples.jsonl").open("a") as kept:
            kept.write(json.dumps(found) + "\n")
        yield found
        if not before and gone >= seconds / 3:
            before = classes(_jvm(job.pid))
        time.sleep(every)
    after = classes(_jvm(job.pid))
    more = {name: size - before.get(name, 0.0) for name, size in after.items()}
    most = sorted(more, key=more.__getitem__, reverse=True)[:MOST]
    (folder / "classes.json").write_text(json.dumps({name: [after[name], more[name]] for name in most}, indent=1))


def _memory(driver: int) -> Sample:
    """Of the driver, of the JVM's heap, and of all Python workers together."""
    workers = [process for process in below(driver) if "pyspark.worker" in command_of(process)]
    return {"driver": resident(driver), "heap": heap(_jvm(driver)), "workers": sum(map(resident, workers))}


def _jvm(driver: int) -> int:
    """The first: for a moment a process that it begins looks like itself."""
    return min(process for process in below(driver) if "SparkSubmit" in command_of(process))


def _disk(folder: Path) -> Sample:
    """Megabytes and files of the checkpoint, which stay; folders of rows, which come in time."""
    files = [Path(place) / name for place, _, names in os.walk(folder / "checkpoint") for name in names]
    sizes = [size for size in map(_size, files) if size is not None]
    return {"checkpoint": sum(sizes) / 2**20, "files": len(sizes), "folders": len(list((folder / "out").iterdir()))}


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def slopes(samples: list[Sample]) -> Sample:
    """Growth in an hour, by what is left after the first third."""
    later = samples[len(samples) // 3 :]
    seconds = [each["seconds"] for each in later]
    return {name: per_hour(seconds, [each[name] for each in later]) for name in later[0] if name != "seconds"}


def main(where: str, seconds: str, every: str = "60") -> None:
    folder = Path(where)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("w") as log:
        samples = run(folder, float(seconds), float(every), log)
    told: dict[str, Any] = {"samples": samples, "an hour": slopes(samples)}
    (folder / "samples.json").write_text(json.dumps(told, indent=1))
    sys.stdout.write(json.dumps(told["an hour"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
