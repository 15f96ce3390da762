"""Python's collector of cycles, held still."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """For work that makes many objects, keeps nearly all of them and ties no cycles, as reading and planning thousands
    of queries does: the collector would walk through all of them again and again, and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
