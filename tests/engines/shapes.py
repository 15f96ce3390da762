"""Long streams of integers: the outermost ones, and such as no double tells apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skyband.model import Ints
from tests.engines.conformance.complete import FAR, GREATEST, LEAST

INTEGERS: dict[str, Callable[[np.random.Generator, int], Ints]] = {
    "greatest": lambda random, n: np.full(n, GREATEST),
    "least": lambda random, n: np.full(n, LEAST),
    "outermost": lambda random, n: random.choice(np.array([LEAST, LEAST + 1, 0, GREATEST - 1, GREATEST]), n),
    "far": lambda random, n: FAR + random.integers(0, n // 4, n),
    "falling to the least": lambda random, n: LEAST + np.arange(n)[::-1],
    "rising to the greatest": lambda random, n: GREATEST - np.arange(n)[::-1],
    "everywhere": lambda random, n: random.integers(LEAST, GREATEST, n, endpoint=True),
}
