"""Scores too low for any window, as far as a sample proves it."""

from __future__ import annotations

import numpy as np

from skyband.engines.kernels.common.kth import kth_best_of_runs
from skyband.engines.kernels.common.order_key import least
from skyband.model import Ints, Keys

MOST_CELLS = 200_000


def bounds(at: Ints, score: Keys, width: int, shortest: int, k: int) -> tuple[Ints, Keys]:
    """Cells (of `width`, numbered from the epoch on) with a proven bound, and the bound: no record of the cell with a
    lower score is ever reported.

    A window of at least `shortest` that touches a cell holds, whole, so many cells in a row that touch it too. So the
    k-th best sampled score of such a run is beaten k times in the window, and the smallest over all runs around the
    cell is a bound.
    """
    length = shortest // width - 1
    none: tuple[Ints, Keys] = (np.empty(0, np.int64), np.empty(0, score.dtype))
    if length < 1 or len(at) < k:
        return none
    cell = at // width
    first, last = int(cell.min()), int(cell.max())
    if last - first >= MOST_CELLS:
        return none
    order = np.argsort(cell, kind="stable")
    cell, score = cell[order] - first, score[order]
    cells = last - first + 1
    kth = kth_best_of_runs(score, np.argsort(score), np.searchsorted(cell, np.arange(cells + 1)), length, k)
    # Of every cell the runs that hold it, or end or begin next to it.
    around = np.lib.stride_tricks.sliding_window_view(np.append(kth, kth.dtype.type(least(kth))), length + 2)
    return first + np.arange(cells), around.min(axis=1)[:cells]
