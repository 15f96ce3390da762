"""Nobody waits for a compiler: whether an engine's kernels are compiled already, and a process that compiles them.

A *unit* is an engine for one type of scores, with what prunes for it. Numba keeps its machine code on disk; that all of
it is there is noted beside it, in a file that is named by what the code was made of.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from skyband.engines.kernels.common.grouped import report_groups
from skyband.engines.kernels.shared.feed import advance_shared
from skyband.model import ScoreType

SETTING = "SKYBAND_COMPILE"
"""`background` (the default): answer in NumPy while another process compiles. `first`: compile, then answer."""
ENTRY = {"shared": advance_shared, "grouped": report_groups}
"""The engines that are compiled in the background, and the kernel that each begins with."""
PATIENCE = 600.0
"""Seconds after which whoever was to compile is taken for dead."""
PAUSE = 0.2
_ready: set[str] = set()
_looked: dict[str, float] = {}
_children: list[subprocess.Popen[bytes]] = []


def unit_of(engine: str, score: ScoreType) -> str:
    return f"{engine}-{score.key.name}"


UNITS = tuple(unit_of(engine, score) for engine in ENTRY for score in (ScoreType(), ScoreType("BIGINT", whole=True)))


def is_compiled(unit: str) -> bool:
    """Whether nobody has to wait for this unit. If not, somebody compiles it from now on. Asked often: looks at the
    disk now and then."""
    if unit in _ready or unit not in UNITS or os.environ.get(SETTING) == "first":
        return True
    now = time.monotonic()
    if now - _looked.get(unit, -PAUSE) < PAUSE:
        return False
    _looked[unit] = now
    note = _note(unit)
    if note is None or note.exists() or not _compile(unit, note):
        _ready.add(unit)
        return True
    return False


def note_compiled(unit: str) -> None:
    """All of its code is on disk."""
    note = _note(unit)
    if note is not None:
        note.touch()
        with suppress(FileNotFoundError):
            note.with_suffix(".lock").unlink()


def _note(unit: str) -> Path | None:
    """The file that says so, beside the machine code; None where nothing is compiled, or nothing is kept."""
    kernel: Any = ENTRY[unit.partition("-")[0]]
    kept: Any = getattr(kernel, "_cache", None)
    if getattr(kept, "cache_path", None) is None:
        return None
    # Sources and Numba, Python, and the processor.
    made_of = kept._cache_file._version, sys.version, kernel.targetctx.codegen().magic_tuple()
    return Path(kept.cache_path) / f"{unit}-{blake2b(repr(made_of).encode(), digest_size=8).hexdigest()}.ready"


def _compile(unit: str, note: Path) -> bool:
    """See to it that one process on this machine compiles the unit; False where that cannot be."""
    lock = note.with_suffix(".lock")
    with suppress(OSError):
        if time.time() - lock.stat().st_mtime > PATIENCE:
            lock.unlink()
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return True
    except OSError:
        return False
    command = [sys.executable, "-m", "skyband.cli.warm", unit]
    try:
        _children.append(
            subprocess.Popen(
                command,
                env=os.environ | {SETTING: "first", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
    except OSError:
        lock.unlink()
        return False
    return True
