"""Errors of Spark as ours: one line that says it, and what to do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException

from skyband.errors import DataError, SkybandError, UnavailableError, disk_full
from skyband.spark.session import Chatter, first_line

T = TypeVar("T")
REFUSED = (PySparkException, Py4JError, ConnectionError)
"""What is raised when Spark refuses or fails, and when its process is gone."""
DYING_SECONDS = 10.0
_PYTHON = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_NO_MEMORY = re.compile(r"OutOfMemoryError|exit(?:ed with)? code:? (?:52|137)|exit status:? (?:52|137)", re.IGNORECASE)
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_NO_WORKER = "Python worker exited unexpectedly"


def clearly(action: Callable[[], T]) -> T:
    """Errors of Spark as ours."""
    try:
        return action()
    except REFUSED as error:
        raise explained(error) from error


@contextmanager
def while_spark_lives() -> Iterator[None]:
    """Wherever it is met that Spark's process has ended, it is said; other errors pass."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        # Of what Java itself has thrown it has lived to tell.
        if isinstance(error, Py4JJavaError) or (gone := _gone()) is None:
            raise
        raise gone from error


def explained(error: Exception) -> SkybandError:
    """The one line that says it: the last Python error inside, or the first line of Spark's."""
    said = str(error)
    if not isinstance(error, PySparkException) and (gone := _gone()) is not None:
        return gone
    if _NO_MEMORY.search(said):
        return out_of_memory("Spark")
    if _NO_SPACE.search(said):
        return disk_full()
    if _NO_WORKER in said:
        return out_of_memory("a Python worker of Spark's (or somebody ended it)")
    python = _PYTHON.findall(said)
    if not python:
        return DataError(first_line(error))
    kind, message = python[-1]
    return UnavailableError(message) if kind == UnavailableError.__name__ else DataError(message)


def out_of_memory(who: str) -> SkybandError:
    return UnavailableError(
        f"out of memory: {who} needs more than it has",
        hint="SPARK_DRIVER_MEMORY=4g gives it more (1g unless said; on a cluster spark.executor.memory), and "
        "?maxBytesPerTrigger=64m or ?maxOffsetsPerTrigger=100000 behind a --source lets a micro-batch read less; what "
        "was committed is safe, and the same command goes on from --checkpoint",
    )


def _gone() -> SkybandError | None:
    """What to say of Spark's process, if it has ended."""
    if (code := _jvm_ended()) is None:
        return None
    if Chatter.starved:
        return out_of_memory("Spark")
    return UnavailableError(
        f"Spark's process has ended (exit code {code})",
        hint="the same command goes on from --checkpoint; `skyband --debug run ...` shows what Spark says",
    )


def _jvm_ended() -> int | None:
    """With which code Spark's own process ended; None while it lives."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None:
        return None
    try:
        # Its sockets close before it is gone.
        code: int = process.wait(DYING_SECONDS)
        return code
    except subprocess.TimeoutExpired:
        return None
