"""The processes of a job, as the system's table has them: the driver, its JVM, executors, Python workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

DAEMON = "\0skyband.spark.daemon\0"
"""A word of its own: a setting of the JVM says it too, and so does, for a moment, whatever the JVM begins."""
GATEWAY, EXECUTOR = "pyspark-shell", "CoarseGrainedExecutorBackend"


def descendants(root: int) -> list[int]:
    """All that it started, and what those started, however deep."""
    parents = _parents()
    found, new = list[int](), [root]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


def jvms(root: int) -> list[int]:
    return [pid for pid in descendants(root) if GATEWAY in _words(pid)]


def executors(root: int) -> list[int]:
    return [pid for pid in descendants(root) if EXECUTOR in _words(pid)]


def workers(root: int) -> list[int]:
    """Forks of a daemon, which is not among them."""
    parents, daemons = _parents(), {pid for pid in descendants(root) if DAEMON in _words(pid)}
    return [pid for pid in daemons if parents.get(pid) in daemons]


def begun(pid: int) -> str:
    """When it began, since numbers are used again; empty if it is not there."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def kill(pids: Iterable[int]) -> bool:
    """At once; whether there was one."""
    hit = False
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            hit = True
    return hit


def _parents() -> dict[int, int]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "stat").read_text().rpartition(")")[2].split()
                if words[0] not in "ZX":
                    found[int(folder.name)] = int(words[1])
    return found


def _words(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""
