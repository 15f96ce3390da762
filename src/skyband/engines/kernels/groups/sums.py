"""Totals of groups, a row each, as partial aggregates come and go."""

from __future__ import annotations

from skyband.engines.kernels.jit import kernel
from skyband.model.types import Ints


@kernel
def add_rows(totals: Ints, slot: Ints, rows: Ints, low: int, high: int, sign: int, after: Ints) -> None:
    """Adds the rows [low, high) to the totals of their groups, or takes them away; `after`: what each total is then."""
    for i in range(low, high):
        for c in range(rows.shape[1]):
            totals[slot[i], c] += sign * rows[i, c]
            after[i - low, c] = totals[slot[i], c]
