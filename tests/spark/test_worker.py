"""What a Python worker does once."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from skyband.spark.stages import worker


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker, "_tasks", 0)
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("fresh")
def test_what_was_imported_is_not_looked_through_after_every_task() -> None:
    gc.unfreeze()
    frozen: list[int] = []
    left: list[list[list[int]]] = []
    for _ in range(worker.FIRST + 2):
        worker.settle()
        frozen.append(gc.get_freeze_count())
        left.append([[]])  # by each task
    assert frozen[0] > 10_000
    assert frozen[worker.FIRST - 1 :] == [frozen[worker.FIRST - 1]] * 3, "what later tasks make can be garbage"
