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
    """Megabytes of memory that are its own, and not those of files that others map too."""
    figures = Path(f"/proc/{process}/status").read_text()
    return int(figures.partition("RssAnon:")[2].split()[0]) / 1_024


def heap(jvm: int) -> float:
    """Megabytes of a JVM's heap that are in use after a full collection."""
    _jcmd(jvm, "GC.run")
    words = _jcmd(jvm, "GC.heap_info").replace(",", " ").split()
    return int(words[words.index("used") + 1].removesuffix("K")) / 1_024


def _jcmd(jvm: int, what: str) -> str:
    java = os.environ.get("JAVA_HOME")
    jcmd = f"{java}/bin/jcmd" if java else "jcmd"
    return subprocess.run([jcmd, str(jvm), what], capture_output=True, text=True, check=True).stdout


def below(process: int) -> Iterator[int]:
    """Its children, and theirs."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            yield child
            yield from below(child)


def command_of(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def per_hour(seconds: Sequence[float], figures: Sequence[float]) -> float:
    """The slope of a line through them."""
    return float(np.polyfit(seconds, figures, 1)[0]) * 3_600
