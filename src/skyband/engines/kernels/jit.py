"""How every kernel is compiled: cached on disk, so that the second start of a process does not compile again."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])
_UNCOUNTED: Any = numba.njit
"""Numba does not advertise the option `_nrt`, so its type does not know it."""
_KERNELS = re.compile(r"^\s*from skyband\.engines\.kernels\.(\w+) import", re.MULTILINE)


def kernel(function: F) -> F:
    """Compile at first call, keep the machine code in the cache (NUMBA_CACHE_DIR, or beside the module)."""
    compiled: F = _stamped(numba.njit(cache=True, error_model="numpy")(function))
    return compiled


def bare(function: F) -> F:
    """A kernel that works on its caller's arrays and makes none, so nobody counts references to them: with structures
    of twenty arrays that counting cost more than the work. Making an array in it does not compile."""
    compiled: F = _stamped(_UNCOUNTED(cache=True, error_model="numpy", _nrt=False)(function))
    return compiled


def inlined(function: F) -> F:
    """A small bare kernel for innermost loops: it becomes part of its callers, so its arguments are not copied."""
    compiled: F = _UNCOUNTED(error_model="numpy", _nrt=False, forceinline=True)(function)
    return compiled


def _stamped(compiled: Any) -> Any:
    stored = getattr(compiled, "_cache", None)  # none with NUMBA_DISABLE_JIT
    if stored is not None:
        # Numba asks only whether the function's own file changed. Kernels are compiled into their callers, so one that
        # calls a changed kernel of another file would go on with the old code.
        stamp = _sources(Path(compiled.py_func.__code__.co_filename).stem)
        stored._cache_file._source_stamp = stamp
        # Asked before anything is unpickled: what other sources left behind may name a class that is no more.
        stored._cache_file._version = f"{numba.__version__} {stamp}"
    return compiled


@cache
def _sources(module: str) -> tuple[tuple[str, int, int], ...]:
    """The files a kernel of this module is made of: its own, those it imports from, and so on."""
    home, found, ask = Path(__file__).parent, {"jit"}, [module]
    while ask:
        name = ask.pop()
        if name not in found and (home / f"{name}.py").exists():
            found.add(name)
            ask += _KERNELS.findall((home / f"{name}.py").read_text())
    return tuple((name, *_state(home / f"{name}.py")) for name in sorted(found))


def _state(path: Path) -> tuple[int, int]:
    return path.stat().st_mtime_ns, path.stat().st_size
