"""What a Python worker of Spark's does once."""

from __future__ import annotations

import gc

FIRST = 3
"""Tasks in which modules are imported and kernels loaded."""
_tasks = 0


def settle() -> None:
    """At the beginning of a task: what is here stays. PySpark collects garbage after every task, and would look through
    all that was imported, 0.07 s each time. It has just done so: what is garbage is gone."""
    global _tasks
    _tasks += 1
    if _tasks <= FIRST:
        gc.freeze()
