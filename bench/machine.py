"""Where and on what code a run was made."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARIES = ("numpy", "numba", "llvmlite", "pyarrow", "skyband")


def machine() -> dict[str, object]:
    """Processor, cores, memory, versions; and the load when the run began: figures of a busy machine say little."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def commit() -> dict[str, object]:
    """The commit that was measured, and whether files differed from it. Without git both are None."""
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", ":!bench/results")
    return {"id": head, "dirty": None if changed is None else bool(changed)}


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu_seconds() -> float:
    """CPU time of this process and of all that it has started, as far as they live or were waited for."""
    started: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.parent.name)
        started.setdefault(int(words[1]), []).append(number)
        used[number] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    found, open_ = 0.0, [os.getpid()]
    while open_:
        number = open_.pop()
        found += used.get(number, 0.0)
        open_ += started.get(number, [])
    return found
