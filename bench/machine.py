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
