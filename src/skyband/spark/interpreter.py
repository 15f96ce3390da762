"""The Python that Spark starts on this machine, without the archives that Spark puts before everything else.

Every Python process of Spark's is told to import PySpark from a zip file in which there is no byte code: half a second
of CPU for compiling what lies compiled in the package beside it, for each of a dozen processes of a job that starts.
Py4J comes so as well, and a jar with thousands of names besides, which each worker reads anew with its first task: a
quarter of a second of CPU for nothing.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pyspark

CHOICE = "PYSPARK_PYTHON"
OF_THE_DRIVER = "PYSPARK_DRIVER_PYTHON"
PATH = """#!/bin/sh
set -f
kept= IFS=:
for entry in $PYTHONPATH; do
  case "$entry" in
    {package}/python/lib/*.zip | {package}/jars/spark-core_*.jar) ;;
    *) kept=$kept:$entry ;;
  esac
done
PYTHONPATH=${{kept#:}}
exec {python} "$@"
"""


def interpreter() -> str | None:
    """The program to start instead of this Python; None where somebody chose another one, or another PySpark."""
    package = Path(pyspark.__file__).parent
    chosen = os.environ.get(CHOICE, sys.executable) == sys.executable and OF_THE_DRIVER not in os.environ
    if not chosen or "SPARK_HOME" in os.environ or not package.is_dir():
        return None
    return _program()


@contextmanager
def of_the_driver(python: str | None) -> Iterator[None]:
    """A JVM that is started in here starts this one for itself, to look for sources and to plan what they read."""
    if python is not None:
        os.environ[OF_THE_DRIVER] = python
    try:
        yield
    finally:
        if python is not None:
            del os.environ[OF_THE_DRIVER]


@cache
def _program() -> str:
    folder = mkdtemp(prefix="skyband-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "python")
    package = shlex.quote(str(Path(pyspark.__file__).parent))
    path.write_text(PATH.format(package=package, python=shlex.quote(sys.executable)))
    path.chmod(0o700)
    return str(path)
