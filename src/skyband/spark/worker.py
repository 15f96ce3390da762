"""What a Python worker of Spark does between tasks.

PySpark collects garbage after every task, and looks at everything that lives: 0.1 s of CPU where NumPy, pandas, Numba
and the rest are imported, three times in every micro-batch. What was imported stays for ever: nobody has to look at it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")
_known = 0
"""Modules that were there when this worker looked last."""


def settled(sent: Iterator[T]) -> Iterator[T]:
    """What a task sends; behind it the worker is left as `settle` leaves it."""
    yield from sent
    settle()


def settle() -> None:
    """Take out of garbage collection what lives now, if modules were imported since this was done last."""
    global _known
    if len(sys.modules) > _known:
        _known = len(sys.modules)
        gc.collect()
        gc.freeze()
