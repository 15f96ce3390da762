"""Processes as a lease names them, and whether they are still there."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkContext


def this_process() -> dict[str, Any]:
    """This process and its JVM. `machine` is empty where the system does not say which process is which."""
    pids = [os.getpid(), *_jvm()]
    return {"host": socket.gethostname(), "machine": _machine(), "pids": {str(pid): begun(pid) for pid in pids}}


def is_gone(process: Mapping[str, Any]) -> bool:
    """Ended for certain: it was of this machine, and nothing of it runs any more. (A JVM outlives its Python process by
    seconds, and writes meanwhile.)"""
    if not process.get("machine") or process["machine"] != _machine():
        return False
    return not _living(process)


def is_left_behind(process: Mapping[str, Any]) -> bool:
    """A JVM whose Python process has ended: it goes by itself, within seconds."""
    living = _living(process)
    return bool(living) and next(iter(process["pids"])) not in living


def told(process: Mapping[str, Any]) -> str:
    pids = [*_living(process), *process.get("pids", {})]
    return f"process {pids[0] if pids else '?'} on {process.get('host', 'some machine')}"


def _living(process: Mapping[str, Any]) -> list[str]:
    return [pid for pid, since in process.get("pids", {}).items() if begun(int(pid)) == since]


def _jvm() -> list[int]:
    process = getattr(SparkContext._gateway, "proc", None)
    return [] if process is None else [int(process.pid)]


def _machine() -> str:
    """This start of the machine, and who numbers its processes: containers count their own."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def begun(pid: int) -> str:
    """When it began, since numbers are used again; empty if it is not there, or has ended and nobody took note."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in "ZX" else words[19]
