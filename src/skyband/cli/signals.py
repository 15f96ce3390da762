"""How a command that runs for ever is asked to end."""

from __future__ import annotations

import signal
import threading


def stop_signals() -> threading.Event:
    """Ctrl-C and SIGTERM end a stream in order; PySpark's own handler would make the micro-batch fail."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
