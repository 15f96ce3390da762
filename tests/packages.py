"""Jars that some tests need, fetched from Maven beforehand: whoever waits for a network leaves the cores to others.

`python -m tests.packages`; `make test` calls it beside what keeps the cores busy. What cannot be had is asked for once
more, and missed, by the test that needs it.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from skyband.spark.io import maven
from tests import class_archive
from tests.spark import servers

CONNECTORS = ((maven.KAFKA,), (maven.KAFKA, maven.AVRO))
"""Which are asked for together."""


def fetch() -> None:
    for package in (servers.BROKER, servers.hadoop_aws()):
        with TemporaryDirectory() as folder, suppress(pytest.skip.Exception):
            servers.jars(Path(folder), *package)
    for names in CONNECTORS:
        _start(*map(maven.connector, names))
    if maven.CONNECTORS[maven.minor()].delta is not None:
        _start(maven.delta())


def _start(*packages: str) -> None:
    """As a job begins that needs these, in a process of its own: a JVM is told once what it has to fetch."""
    begin = "import sys; from skyband.spark.session import quiet_end, session; quiet_end(session(False, sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", begin, *packages], check=False)


if __name__ == "__main__":
    class_archive.use()
    fetch()
