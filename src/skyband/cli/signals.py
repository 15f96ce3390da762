"""How a command that runs for ever is asked to end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOPPED = 130
"""The exit code."""
LONGEST_STOP = 30.0
"""Seconds. The next start does again what was not committed, so nothing is lost by an end that is forced."""


def stop_signals() -> threading.Event:
    """Ctrl-C and SIGTERM end a stream in order, the second of them at once; PySpark's own handler would make the
    micro-batch fail."""
    stopped = threading.Event()

    def asked(*_: object) -> None:
        if stopped.is_set():
            force()
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, asked)
    return stopped


def force() -> None:
    """End at once; Spark's process goes when nobody holds its other end."""
    os.write(2, b"skyband: stopped at once; the same command goes on from --checkpoint\n")
    os._exit(STOPPED)


@contextmanager
def at_most(seconds: float = LONGEST_STOP) -> Iterator[None]:
    """Whatever is done takes so long, or the process ends."""
    late = threading.Timer(seconds, force)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
