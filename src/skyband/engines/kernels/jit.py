"""How every kernel is compiled: cached on disk, so that the second start of a process does not compile again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile at first call, keep the machine code in the cache (NUMBA_CACHE_DIR, or beside the module)."""
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))
