"""How Hypothesis is asked: for how many cases, and for whole columns in one draw (value by value cost half of what the
engines' tests took)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings, strategies as st

T = TypeVar("T")
SHARE = float(os.environ.get("SKYBAND_SHARE", "0.33"))
"""The test command tries a third of the cases that a test is worth; `make thorough` all, or some times as many."""
LEAST = 10


def examples(worth: int, **more: Any) -> settings:
    """A test that is worth so many random cases."""
    return settings(max_examples=max(round(SHARE * worth), min(worth, LEAST)), deadline=None, **more)


def several(values: Sequence[T], n: int) -> st.SearchStrategy[list[T]]:
    """n of these values, the first being the simplest; what stands there twice comes twice as often."""
    assert 0 < len(values) <= 256
    return st.binary(min_size=n, max_size=n).map(lambda drawn: [values[each % len(values)] for each in drawn])
