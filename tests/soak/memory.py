"""What processes hold after collection, and how fast that grows."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

MB = 2**20


def collected() -> float:
    """Megabytes that this process holds once it has given back what it does not need."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return resident(os.getpid())


def resident(process: int) -> float:
    """Megabytes of memory that are its own, and not those of files that others map too; none of one that has ended."""
    words = _read(Path(f"/proc/{process}/status")).partition(b"RssAnon:")[2].split()
    return int(words[0]) / 1_024 if words else 0.0


def heap(jvm: int) -> float:
    """Megabytes of a JVM's heap that are in use after a full collection."""
    _jcmd(jvm, "GC.run")
    words = _jcmd(jvm, "GC.heap_info").replace(",", " ").split()
    return int(words[words.index("used") + 1].removesuffix("K")) / 1_024


def classes(jvm: int) -> dict[str, float]:
    """Megabytes by class, after a full collection."""
    lines = [line.split() for line in _jcmd(jvm, "GC.class_histogram").splitlines()]
    return {line[3]: int(line[2]) / 2**20 for line in lines if len(line) > 3 and line[0].rstrip(":").isdigit()}


def _jcmd(jvm: int, what: str) -> str:
    java = os.environ.get("JAVA_HOME")
    jcmd = f"{java}/bin/jcmd" if java else "jcmd"
    return subprocess.run([jcmd, str(jvm), what], capture_output=True, text=True, check=True).stdout


def below(process: int) -> Iterator[int]:
    """Its children, and theirs."""
    for thread in _listed(Path(f"/proc/{process}/task")):
        for child in map(int, _read(thread / "children").split()):
            yield child
            yield from below(child)


def command_of(process: int) -> str:
    return _read(Path(f"/proc/{process}/cmdline")).replace(b"\0", b" ").decode()


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def _read(path: Path) -> bytes:
    """Nothing of a process that has ended."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def per_hour(seconds: Sequence[float], figures: Sequence[float]) -> float:
    """The slope of a line through them."""
    return float(np.polyfit(seconds, figures, 1)[0]) * 3_600
