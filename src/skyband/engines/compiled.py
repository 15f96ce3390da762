"""Nobody waits for a compiler: whether an engine's kernels are compiled already. If not, another process compiles them.

A *unit* is an engine for one type of scores, with what prunes for it. Numba keeps its machine code on disk; that all of
it is there is noted beside it, in a file that is named by what the code was made of.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from skyband.engines.base import registered
from skyband.engines.compiling import SETTING, Attempt, alone
from skyband.engines.kernels.common import grouped
from skyband.engines.kernels.common.prune import prune_chunk
from skyband.engines.kernels.jit import prepare as prepare, sources
from skyband.model import ScoreType

TABLE = "grouped"
"""What serves all PER groups of a family together, with kernels like an engine's."""
PAUSE = 0.2
_ready: set[str] = set()
_looked: dict[str, float] = {}
_failed: dict[str, str] = {}
_used: set[tuple[str, str]] = set()
_mine: set[str] = set()


@cache
def unit_of(engine: str, score: ScoreType) -> str:
    return f"{engine}-{score.key.name}"


@cache
def units() -> tuple[str, ...]:
    """Every unit of this package. What others register is compiled where it is used."""
    known = {name: each for name, each in registered(None).items() if each.build.__module__.startswith("skyband.")}
    whole = [TABLE, *(name for name, each in known.items() if each.capabilities.integer_keys)]
    return tuple([f"{name}-float64" for name in (TABLE, *known)] + [f"{name}-int64" for name in whole])


def units_of(engines: Iterable[str]) -> tuple[str, ...]:
    """Those of some engines, for scores of every type."""
    wanted = set(engines)
    return tuple(unit for unit in units() if unit.rpartition("-")[0] in wanted)


def is_compiled(unit: str) -> bool:
    """Whether nobody has to wait for this unit. If not, somebody compiles it from now on. Asked often: looks at the
    disk now and then."""
    if unit in _ready or os.environ.get(SETTING) == "first" or unit not in units():
        return True
    now = time.monotonic()
    if now - _looked.get(unit, -PAUSE) < PAUSE:
        return False
    _looked[unit] = now
    note = note_of(unit)
    if note is None or note.exists() or not _is_under_way(unit, note):
        _ready.add(unit)
        _failed.pop(unit, None)
        return True
    return False


@contextmanager
def first_use(unit: str, purpose: str) -> Iterator[None]:
    """Around what may compile kernels here: of several processes that come to a unit for the first time, one compiles
    them, and the others find them on disk."""
    known = (unit, purpose) in _used or unit in _mine or unit not in units()
    note = None if known else note_of(unit)
    if note is None or note.exists():
        yield
    else:
        with alone(note):
            yield
    _used.add((unit, purpose))


def is_mine(unit: str) -> None:
    """This process was started to compile it, and is given the lock."""
    _mine.add(unit)


def waiting_text(unit: str) -> str:
    """How it stands with a unit that something stands in for."""
    why = _failed.get(unit)
    now = "are being compiled" if why is None else f"could not be compiled ({why})"
    return f"the kernels of {unit} {now}: meanwhile slower code without kernels answers\n"


def note_of(unit: str) -> Path | None:
    """The file that says that all of its code is on disk, beside it; None where nothing is compiled, or kept."""
    folder = cache_folder()
    if folder is None:
        return None
    engine = unit.rpartition("-")[0]
    module = grouped.__name__ if engine == TABLE else registered(None)[engine].build.__module__
    file = sys.modules[module].__file__
    assert file is not None
    kernel: Any = prune_chunk
    # What it is made of, Numba, Python, and the processor.
    made_of = sources(module, Path(file)), kernel._cache._cache_file._version, sys.version
    digest = blake2b(repr((made_of, kernel.targetctx.codegen().magic_tuple())).encode(), digest_size=8).hexdigest()
    return folder / f"{unit}-{digest}.ready"


def cache_folder() -> Path | None:
    """Where notes are, and the kernels of pruning; those of other folders of this package are in folders beside it."""
    kept: Any = getattr(prune_chunk, "_cache", None)
    return None if getattr(kept, "cache_path", None) is None else Path(kept.cache_path)


def _is_under_way(unit: str, note: Path) -> bool:
    """See to it that one process on this machine compiles the unit; False where that cannot be. An attempt that failed
    is told once, and not repeated at once: what answers meanwhile goes on."""
    try:
        attempt = Attempt.claim(note)
    except OSError:
        return False
    if attempt is None:
        return True
    with attempt:
        if note.exists():
            return True
        if (why := attempt.recent_failure()) is None:
            return attempt.start(unit)
    if unit not in _failed:
        warnings.warn(
            f"the kernels of {unit} could not be compiled, so slower code without kernels goes on answering: {why}\n"
            f"hint: `skyband warm --engine {unit.rpartition('-')[0]}` tries again and shows the error",
            RuntimeWarning,
            stacklevel=2,
        )
    _failed[unit] = why
    return True
