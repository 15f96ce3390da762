"""The paper's two recurrences as they stand (uncertain-tkde §3): what the engine is measured against and checked by."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Floats, Ints


@kernel
def recurrence(p: Floats, k: int) -> Floats:
    """Theorem 3.1, O(n·k): top-k probabilities of independent records, best first."""
    above = np.zeros(k)
    above[0] = 1.0
    out = np.empty(len(p))
    for i in range(len(p)):
        out[i] = p[i] * above.sum()
        _put_in(above, p[i])
    return out


@kernel
def recurrence_with_rules(p: Floats, rule: Ints, k: int, first: int, last: int) -> Floats:
    """Theorem 3.2, O(n²·k): the same with rules (numbers from 0; -1 for none), of places first to last only."""
    out = np.empty(last - first)
    mass = np.zeros(rule.max() + 1 if len(rule) else 0)
    above = np.empty(k)
    for i in range(first, last):
        above[:] = 0.0
        above[0] = 1.0
        mass[:] = 0.0
        for j in range(i):
            if rule[j] < 0:
                _put_in(above, p[j])
            elif rule[j] != rule[i]:
                mass[rule[j]] += p[j]
        for total in mass:
            if total > 0:
                _put_in(above, min(total, 1.0))
        out[i - first] = p[i] * above.sum()
    return out


@kernel
def _put_in(above: Floats, p: float) -> None:
    for j in range(len(above) - 1, 0, -1):
        above[j] = above[j] * (1.0 - p) + above[j - 1] * p
    above[0] *= 1.0 - p
