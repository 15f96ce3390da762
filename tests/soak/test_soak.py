"""Nothing grows with what has passed: a Monitor's memory and state, a stream's processes and files.

A short form; `make soak` takes a thousand million records and two hours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak import stream

RECORDS = int(os.environ.get("SKYBAND_SOAK_RECORDS", "14000000"))
SECONDS = float(os.environ.get("SKYBAND_SOAK_SECONDS", "0"))
MORE = 5.0
"""Megabytes that a Monitor may hold at its end beyond what it held at a tenth of the way."""
AN_HOUR = 20.0
"""Megabytes that each process of a stream may grow by."""


@pytest.mark.slow
def test_a_monitor_does_not_grow() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak.monitor", str(RECORDS)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    sys.stdout.write(f"{found}\n")
    assert found["records"] == RECORDS
    assert found["rows"] > RECORDS // 10_000
    assert found["late"] <= found["early"] + MORE
    assert found["state"] <= 1.1 * found["early state"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not SECONDS, reason="hours: make soak")
def test_a_stream_does_not_grow(tmp_path: Path) -> None:
    folder = Path(os.environ.get("SKYBAND_SOAK_FOLDER", tmp_path))
    stream.main(str(folder), str(SECONDS))
    grown = json.loads((folder / "samples.json").read_text())["an hour"]
    more = json.loads((folder / "classes.json").read_text())
    assert max(grown["driver"], grown["heap"], grown["workers"]) <= AN_HOUR, f"{grown}, {folder}, {more}"
