"""Families that a Python worker has at hand from one micro-batch to the next, so that it need not build them anew.

Spark gives a task any worker of its pool, and does a task again that failed. So what a worker has at hand is used only
if it is what the state store holds: every save draws a version at random and writes it. A family is taken out of here
when it is used, and comes back once it was saved, under the version that was written. A task that fails in between
leaves nothing behind, and a version that was saved and never committed is never asked for. Where another worker went on
with the family, this one repeats what the state tells of its last steps.
"""

from __future__ import annotations

from collections import OrderedDict

from skyband.spark.state.store import FamilyStateStore

WARM_BYTES = 256_000_000
"""Of rows that a worker has at hand; engines take up about as much again."""


class WarmFamilies:
    """By job and by the life of their state; of each the last version that this worker saved. What was not used for the
    longest time goes when there is too much."""

    def __init__(self, most: int = WARM_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._kept: OrderedDict[tuple[str, bytes], tuple[FamilyStateStore, int]] = OrderedDict()

    def take(self, job: str, life: bytes) -> FamilyStateStore | None:
        """The family with this state, as it was saved here last; it is not here any more."""
        return self._pop((job, life))

    def keep(self, job: str, store: FamilyStateStore) -> None:
        """It was saved, and may be taken again."""
        rows = store.operator.store.rows
        size = 0 if rows is None else rows.nbytes
        self._kept[job, store.version.life] = store, size
        self._bytes += size
        while self._bytes > self._most:
            self._pop(next(iter(self._kept)))

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

    def _pop(self, which: tuple[str, bytes]) -> FamilyStateStore | None:
        store, size = self._kept.pop(which, (None, 0))
        self._bytes -= size
        return store


WARM = WarmFamilies()
"""Of this process."""
